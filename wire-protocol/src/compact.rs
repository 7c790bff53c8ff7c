//! Hand-written encoding of arguments, in postcard's format: for the most frequent
//! calls, where guest instructions count.

use crate::call::Handle;

/// Writes to a slice from some place on. What does not fit is not written, and
/// reported at the [end](Self::end).
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    /// One that writes to `out` from `at` on.
    #[inline(always)]
    pub fn new(out: &'a mut [u8], at: usize) -> Self {
        Self { out, at }
    }

    /// Where it stands; `None` if something did not fit.
    #[inline(always)]
    pub fn end(&self) -> Option<usize> {
        (self.at <= self.out.len()).then_some(self.at)
    }

    /// Where it would stand if everything fitted.
    pub fn reach(&self) -> usize {
        self.at
    }

    /// A byte as it is: also a boolean, the tag of an optional value, and the
    /// number of a variant if there are fewer than 128.
    #[inline(always)]
    pub fn byte(&mut self, byte: u8) {
        if let Some(place) = self.out.get_mut(self.at) {
            *place = byte;
        }
        self.at += 1;
    }

    /// An unsigned number of 16 to 64 bits: its least significant seven bits
    /// first, the highest bit of each byte but the last set.
    #[inline(always)]
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    /// A signed number of 16 to 64 bits.
    #[inline(always)]
    pub fn signed(&mut self, number: i64) {
        self.number(((number << 1) ^ (number >> 63)) as u64);
    }

    /// A number of 32 bits with a point.
    #[inline(always)]
    pub fn float(&mut self, number: f32) {
        self.piece(&number.to_le_bytes(), 4);
    }

    /// The same of 64 bits.
    #[inline(always)]
    pub fn double(&mut self, number: f64) {
        self.piece(&number.to_le_bytes(), 8);
    }

    /// Values, their number in front, if there are any.
    #[inline(always)]
    pub fn list<T: Copy>(&mut self, values: Option<&[T]>, write: impl Fn(&mut Self, T)) {
        let Some(values) = values else {
            return self.byte(0);
        };
        self.byte(1);
        self.number(values.len() as u64);
        for value in values {
            write(self, *value);
        }
    }

    /// The first `len` of these bytes, written before.
    #[inline(always)]
    pub fn piece<const N: usize>(&mut self, bytes: &[u8; N], len: usize) {
        let room = self.out.get_mut(self.at..self.at + N);
        match room.and_then(|room| room.first_chunk_mut()) {
            Some(room) => {
                *room = *bytes;
                self.at += len;
            }
            None => bytes.iter().take(len).for_each(|byte| self.byte(*byte)),
        }
    }

    /// Bytes without their length.
    #[inline(always)]
    pub fn raw(&mut self, bytes: &[u8]) {
        let end = self.at + bytes.len();
        if let Some(room) = self.out.get_mut(self.at..end) {
            room.copy_from_slice(bytes);
        }
        self.at = end;
    }

    /// An object's number.
    #[inline(always)]
    pub fn handle(&mut self, handle: Handle) {
        self.number(handle.on_wire());
    }

    /// A sequence of bytes, its length in front.
    #[inline(always)]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        bytes.iter().for_each(|byte| self.byte(*byte));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn its_bytes_are_postcards(byte: u8, number: u64, small: u32, handle: u64, bytes: Vec<u8>) {
            let values = (byte, number, small, Handle(handle), &bytes);
            let wanted = postcard::to_stdvec(&values).unwrap();
            let mut out = vec![0; wanted.len() + 3];
            let mut writer = Writer::new(&mut out, 3);
            writer.byte(byte);
            writer.number(number);
            writer.number(small.into());
            writer.handle(Handle(handle));
            writer.bytes(&bytes);
            prop_assert_eq!(writer.end(), Some(wanted.len() + 3));
            prop_assert_eq!(&out[3..], wanted);
        }
    }

    proptest! {
        #[test]
        fn so_are_its_numbers(small: i16, long: i64, float: f32, double: f64, list: Option<Vec<i32>>) {
            let values = (small, long, float, double, &list);
            let wanted = postcard::to_stdvec(&values).unwrap();
            let mut out = vec![0; wanted.len()];
            let mut writer = Writer::new(&mut out, 0);
            writer.signed(small.into());
            writer.signed(long);
            writer.float(float);
            writer.double(double);
            writer.list(list.as_deref(), |to, value| to.signed(value.into()));
            prop_assert_eq!(writer.end(), Some(wanted.len()));
            prop_assert_eq!(out, wanted);
        }
    }

    #[test]
    fn pieces_need_no_more_room_than_their_bytes() {
        let mut out = [9; 7];
        let mut writer = Writer::new(&mut out, 0);
        writer.piece(&[1, 2, 3, 4], 2);
        assert_eq!(writer.end(), Some(2));
        writer.piece(&[3, 4, 5, 6, 7, 8], 5);
        assert_eq!(writer.end(), Some(7));
        writer.piece(&[1], 1);
        assert_eq!(writer.end(), None);
        assert_eq!(out, [1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn raw_bytes_fit_whole_or_not_at_all() {
        let mut out = [9; 3];
        let mut writer = Writer::new(&mut out, 1);
        writer.raw(&[1, 2]);
        assert_eq!(writer.end(), Some(3));
        writer.raw(&[3]);
        assert_eq!((writer.end(), writer.reach()), (None, 4));
        assert_eq!(out, [9, 1, 2]);
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let mut out = [0; 2];
        let mut writer = Writer::new(&mut out, 1);
        writer.byte(7);
        assert_eq!(writer.end(), Some(2));
        writer.number(300);
        assert_eq!(writer.end(), None);
        assert_eq!(writer.reach(), 4, "where two bytes more would end");
        assert_eq!(out, [0, 7]);
    }
}
