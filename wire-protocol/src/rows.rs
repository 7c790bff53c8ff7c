//! The rows of a rectangular copy or an image. The bytes between the rows belong
//! to the program and do not travel.

use crate::length::Length;
use serde::{Deserialize, Serialize};

/// Most rows in one submission.
pub const ROWS_MAX: u64 = 1_048_576;

/// Rows of bytes, and slices of rows, from the first row's first byte on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rows {
    /// Bytes of a row.
    pub row: u64,
    /// Rows of a slice.
    pub rows: u64,
    /// Bytes from a row's beginning to the next one's.
    pub row_pitch: u64,
    /// The number of slices.
    pub slices: u64,
    /// Bytes from a slice's beginning to the next one's.
    pub slice_pitch: u64,
}

/// The rows of one of a call's regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionRows {
    /// The index of the call's region.
    pub region: u32,
    /// Its rows.
    pub rows: Rows,
}

impl Rows {
    /// Rows one behind the other.
    pub const fn packed_of(row: u64, rows: u64, slices: u64) -> Self {
        Self {
            row,
            rows,
            row_pitch: row,
            slices,
            slice_pitch: row.saturating_mul(rows),
        }
    }

    /// Bytes of all rows, without those between them.
    pub fn packed(&self) -> Length {
        Length::of(self.row) * Length::of(self.rows) * Length::of(self.slices)
    }

    /// Bytes from the first row's first to the last row's last; 0 without rows.
    pub fn span(&self) -> Length {
        if self.row == 0 || self.rows == 0 || self.slices == 0 {
            return Length::of(0u8);
        }
        let last = |count: u64, pitch: u64| Length::of(count - 1) * Length::of(pitch);
        last(self.slices, self.slice_pitch) + self.slice_span()
    }

    /// Bytes from a slice's first row to the end of its last.
    fn slice_span(&self) -> Length {
        let before = Length::of(self.rows.saturating_sub(1)) * Length::of(self.row_pitch);
        before + Length::of(self.row)
    }

    /// The same bytes with the fewest rows: what touches is one row.
    pub fn merged(self) -> Self {
        let slices_touch = Some(self.slice_pitch) == self.rows.checked_mul(self.row_pitch);
        let one_slice = match self.rows.checked_mul(self.slices) {
            Some(rows) if slices_touch || self.slices == 1 => Self {
                rows,
                slices: 1,
                ..self
            },
            _ => self,
        };
        one_slice.with_whole_rows().with_whole_rows()
    }

    /// If a slice's rows touch, each slice is one row.
    fn with_whole_rows(self) -> Self {
        match self.row.checked_mul(self.rows) {
            Some(row) if self.rows == 1 || self.row_pitch == self.row => Self {
                row,
                rows: self.slices,
                row_pitch: self.slice_pitch,
                slices: 1,
                slice_pitch: 0,
            },
            _ => self,
        }
    }

    /// Whether a row begins before the end of the one before.
    pub fn overlap(&self) -> bool {
        let slice = self.slice_span().number();
        self.rows > 1 && self.row_pitch < self.row
            || self.slices > 1 && slice.is_none_or(|slice| self.slice_pitch < slice)
    }

    /// Where each row begins, in their order; none unless each begins behind
    /// the end of the one before, and all end within what can be counted.
    pub fn starts(&self) -> Option<impl Iterator<Item = u64> + use<>> {
        let places = self.places()?;
        (self.row > 0 && !self.overlap()).then_some(places)
    }

    /// Where each row begins, in their order, also if they overlap; none unless all end
    /// within what can be counted.
    pub fn places(&self) -> Option<impl Iterator<Item = u64> + use<>> {
        self.span().number()?;
        let (rows, row_pitch, slice_pitch) = (self.rows, self.row_pitch, self.slice_pitch);
        // As many slices as a guest names, without a row, are not looked through.
        let is_empty = self.row == 0 || rows == 0;
        let slices = if is_empty { 0 } else { self.slices };
        let slice = move |slice: u64| (0..rows).map(move |n| slice * slice_pitch + n * row_pitch);
        Some((0..slices).flat_map(slice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(row: u64, (rows, row_pitch): (u64, u64), (slices, slice_pitch): (u64, u64)) -> Rows {
        Rows {
            row,
            rows,
            row_pitch,
            slices,
            slice_pitch,
        }
    }

    #[test]
    fn a_span_ends_with_the_last_row() {
        let some = rows(4, (3, 10), (2, 100));
        assert_eq!(some.span().number(), Some(124));
        assert_eq!(some.packed().number(), Some(24));
        let starts: Vec<_> = some.starts().unwrap().collect();
        assert_eq!(starts, [0, 10, 20, 100, 110, 120]);
        assert_eq!(rows(4, (0, 10), (2, 100)).span().number(), Some(0));
    }

    #[test]
    fn slices_without_rows_are_not_looked_through() {
        let none = rows(1, (0, 1), (1 << 63, 1)).starts();
        assert_eq!(none.unwrap().next(), None);
    }

    #[test]
    fn rows_that_touch_are_one() {
        let one = |merged: Rows| (merged.row, merged.rows * merged.slices);
        assert_eq!(one(Rows::packed_of(4, 3, 2).merged()), (24, 1));
        assert_eq!(one(rows(4, (1, 0), (5, 4)).merged()), (20, 1));
        assert_eq!(one(rows(4, (3, 4), (5, 40)).merged()), (12, 5));
        assert_eq!(one(rows(4, (3, 8), (5, 24)).merged()), (4, 15));
        assert_eq!(one(rows(4, (3, 8), (5, 25)).merged()), (4, 15));
    }

    #[test]
    fn rows_that_overlap_or_overflow_are_none() {
        assert!(rows(4, (2, 3), (1, 0)).starts().is_none());
        assert!(rows(4, (2, 4), (2, 7)).starts().is_none());
        assert!(rows(4, (2, u64::MAX), (2, 7)).starts().is_none());
        assert!(rows(1, (1, 0), (u64::MAX, u64::MAX)).starts().is_none());
        assert!(rows(0, (1, 1), (1, 1)).starts().is_none());
    }

    proptest! {
        #[test]
        fn merging_keeps_the_bytes(
            row in 1u64..5, (n, gap) in (1u64..4, 0u64..3), (slices, more) in (1u64..4, 0u64..3),
        ) {
            let row_pitch = row + gap;
            let before = rows(row, (n, row_pitch), (slices, n * row_pitch + more));
            let bytes = |rows: Rows| -> Vec<u64> {
                let starts = rows.starts().unwrap();
                starts.flat_map(|start| start..start + rows.row).collect()
            };
            let merged = before.merged();
            prop_assert_eq!(bytes(merged), bytes(before));
            prop_assert_eq!(merged.span(), before.span());
            let (rows_touch, slices_touch) = (n == 1 || gap == 0, slices == 1 || more == 0);
            let fewest = match (rows_touch, slices_touch && (n > 1 || gap == 0)) {
                (true, true) => 1,
                (true, false) => slices,
                (false, _) => n * slices,
            };
            prop_assert_eq!(merged.rows * merged.slices, fewest);
            prop_assert_eq!(merged.slices == 1, rows_touch || slices_touch);
        }

        #[test]
        fn rows_lie_where_a_loop_puts_them(
            row in 0u64..5, (n, row_pitch) in (0u64..4, 0u64..7), (slices, slice_pitch) in (0u64..4, 0u64..30),
        ) {
            let some = rows(row, (n, row_pitch), (slices, slice_pitch));
            let mut plain = Vec::new();
            for slice in 0..slices {
                plain.extend((0..n).map(|n| slice * slice_pitch + n * row_pitch));
            }
            let bytes = if row == 0 { 0 } else { plain.last().map_or(0, |last| last + row) };
            prop_assert_eq!(some.span().number(), Some(bytes));
            prop_assert_eq!(some.packed().number(), Some(row * n * slices));
            let apart = plain.windows(2).all(|two| two[0] + row <= two[1]);
            let starts = some.starts().map(Iterator::collect::<Vec<_>>);
            if n > 0 && slices > 0 {
                prop_assert_eq!(starts, (row > 0 && apart).then_some(plain));
            } else {
                prop_assert!(starts.is_none_or(|starts| starts.is_empty()));
            }
        }

        #[test]
        fn any_rows_start_somewhere_or_nowhere(
            row: u64, n: u64, row_pitch: u64, slices: u64, slice_pitch: u64,
        ) {
            let any = rows(row, (n, row_pitch), (slices, slice_pitch)).merged();
            if let Some(starts) = any.starts() {
                let starts: Vec<_> = starts.take(100).collect();
                prop_assert!(starts.windows(2).all(|two| two[0] + any.row <= two[1]));
            }
        }
    }
}
