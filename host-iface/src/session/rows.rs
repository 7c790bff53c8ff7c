//! Regions that consist of rows: the bytes between the rows are neither read nor
//! written, and conflict with no other operation.

use super::Refusal;
use crate::submission::Region;
use gil_uapi::GuestLength;
use gil_wire::envelope::Envelope;
use gil_wire::rows::{ROWS_MAX, RegionRows, Rows};
use std::borrow::Cow;

/// A submission's regions, each with no more than the rows that its envelope
/// names.
pub(super) fn regions<'a>(
    envelopes: &[Envelope<'_>],
    regions: &'a [Region],
) -> Result<Cow<'a, [Region]>, Refusal> {
    if envelopes.iter().all(|envelope| envelope.rows.is_empty()) {
        return Ok(Cow::Borrowed(regions));
    }
    let mut narrowed = regions.to_vec();
    let (mut first, mut left) = (0usize, ROWS_MAX);
    for envelope in envelopes {
        let end = first.saturating_add(envelope.regions as usize);
        let own = narrowed.get_mut(first..end).unwrap_or_default();
        for RegionRows { region, rows } in envelope.rows.iter() {
            let region = own.get_mut(*region as usize);
            let region = region.ok_or_else(|| bad("rows of a region that it does not have"))?;
            narrow(region, rows, &mut left)?;
        }
        first = end;
    }
    Ok(Cow::Owned(narrowed))
}

fn narrow(region: &mut Region, rows: &Rows, left: &mut u64) -> Result<(), Refusal> {
    let count = rows.rows.checked_mul(rows.slices);
    let rest = count.and_then(|count| left.checked_sub(count));
    *left = rest.ok_or_else(|| bad("more rows than a submission may have"))?;
    let starts = rows.starts();
    let extents = starts.and_then(|starts| region.extents.runs(starts, GuestLength(rows.row)));
    let extents = extents.filter(|extents| !extents.is_empty());
    region.extents = extents.ok_or_else(|| bad("rows that are not in their region"))?;
    Ok(())
}

fn bad(reason: &str) -> Refusal {
    Refusal::Bad(reason.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_address_tables::Extents;
    use gil_uapi::{Extent, GuestAddress};
    use gil_wire::Op;
    use gil_wire::envelope::Class;
    use gil_wire::message::Direction;

    fn region(gpa: u64) -> Region {
        let (gpa, len) = (GuestAddress(gpa), GuestLength(100));
        Region {
            dir: Direction::Out,
            extents: Extents::new([Extent { gpa, len }], len).unwrap(),
            instead: None,
        }
    }

    fn envelope(regions: u32, rows: Vec<RegionRows>) -> Envelope<'static> {
        Envelope {
            regions,
            rows: rows.into(),
            ..Envelope::new(Op::new(1, 1), Class::Enqueue, 0)
        }
    }

    fn of(region: u32, row: u64, rows: u64, row_pitch: u64) -> RegionRows {
        let rows = Rows {
            row,
            rows,
            row_pitch,
            slices: 1,
            slice_pitch: 0,
        };
        RegionRows { region, rows }
    }

    #[test]
    fn only_the_rows_are_left_of_a_region() {
        let all = [region(1000), region(2000), region(3000)];
        let envelopes = [envelope(1, vec![]), envelope(2, vec![of(1, 4, 2, 50)])];
        let narrowed = regions(&envelopes, &all).ok().unwrap();
        assert_eq!(narrowed[..2], all[..2]);
        let extent = |gpa| Extent {
            gpa: GuestAddress(gpa),
            len: GuestLength(4),
        };
        let rows: Vec<_> = narrowed[2].extents.iter().collect();
        assert_eq!(rows, [extent(3000), extent(3050)]);
        assert_eq!(narrowed[2].extents.len(), GuestLength(8));
    }

    #[test]
    fn rows_that_cannot_be_are_refused() {
        let all = [region(1000)];
        for rows in [
            of(1, 4, 2, 50),
            of(0, 4, 3, 50),
            of(0, 4, 2, 3),
            of(0, 0, 2, 50),
            of(0, 4, 0, 50),
            of(0, 1, ROWS_MAX + 1, 1),
            of(0, u64::MAX, u64::MAX, u64::MAX),
        ] {
            let envelopes = [envelope(1, vec![rows])];
            let result = regions(&envelopes, &all);
            assert!(matches!(result, Err(Refusal::Bad(_))), "{rows:?}");
        }
        let none_there = [envelope(9, vec![of(0, 4, 1, 4)])];
        assert!(regions(&none_there, &all).is_err());
    }
}
