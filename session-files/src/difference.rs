//! Where a request first differs from another: of a run from its recording, or of one
//! recording from another.

use gil_wire::Op;
use gil_wire::message::{Call, Direction, RegionDesc};
use std::io::{self, Read};

/// Bytes compared at a time.
const CHUNK: usize = 64 << 10;

/// The first difference between two requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The entry points.
    EntryPoint(Op, Op),
    /// A byte of the arguments, at this offset.
    Argument(usize, u8, u8),
    /// Only the bytes of arguments.
    ArgumentsLen(usize, usize),
    /// The number of regions.
    Regions(usize, usize),
    /// Length or direction of the region of this index.
    Region(usize, RegionDesc, RegionDesc),
    /// A byte of the region of this index, at this offset.
    Byte(usize, u64, u8, u8),
}

impl Difference {
    /// Compares all but what regions hold.
    pub fn of_heads(one: &Call<'_>, other: &Call<'_>) -> Option<Self> {
        if one.op != other.op {
            return Some(Self::EntryPoint(one.op, other.op));
        }
        Self::of_arguments(one.args, other.args)
            .or_else(|| Self::of_regions(&one.regions, &other.regions))
    }

    fn of_arguments(one: &[u8], other: &[u8]) -> Option<Self> {
        if let Some((at, one, other)) = first(one, other) {
            return Some(Self::Argument(at, one, other));
        }
        let (one, other) = (one.len(), other.len());
        (one != other).then_some(Self::ArgumentsLen(one, other))
    }

    fn of_regions(one: &[RegionDesc], other: &[RegionDesc]) -> Option<Self> {
        if one.len() != other.len() {
            return Some(Self::Regions(one.len(), other.len()));
        }
        let mut pairs = one.iter().zip(other).enumerate();
        let (index, (one, other)) = pairs.find(|(_, (one, other))| one != other)?;
        Some(Self::Region(index, *one, *other))
    }

    /// Compares the input of calls whose heads are the same.
    ///
    /// # Errors
    /// The readers', also if they end too early.
    pub fn of_input(
        regions: &[RegionDesc],
        one: &mut impl Read,
        other: &mut impl Read,
    ) -> io::Result<Option<Self>> {
        let ins = regions.iter().enumerate();
        for (index, region) in ins.filter(|(_, region)| region.dir.is_in()) {
            if let Some((at, one, other)) = first_read(one, other, region.len)? {
                return Ok(Some(Self::Byte(index, at, one, other)));
            }
        }
        Ok(None)
    }

    /// As a clause, such as "byte 5 of region 0 is 0x49 now and 0x69 in the recording".
    pub fn between(&self, here: &str, there: &str) -> String {
        match self {
            Self::EntryPoint(one, other) => format!("it is {one} {here} and {other} {there}"),
            Self::Argument(at, one, other) => {
                format!("byte {at} of its arguments is {one:#04x} {here} and {other:#04x} {there}")
            }
            Self::ArgumentsLen(one, other) => {
                format!("its arguments have {one} bytes {here} and {other} {there}")
            }
            Self::Regions(one, other) => {
                format!("it has {one} regions {here} and {other} {there}")
            }
            Self::Region(index, one, other) => {
                let (one, other) = (described(one), described(other));
                format!("region {index} has {one} {here} and {other} {there}")
            }
            Self::Byte(index, at, one, other) => {
                format!("byte {at} of region {index} is {one:#04x} {here} and {other:#04x} {there}")
            }
        }
    }
}

fn described(region: &RegionDesc) -> String {
    let way = match region.dir {
        Direction::In => "to the board",
        Direction::Out => "from the board",
        Direction::InOut => "both ways",
    };
    format!("{} bytes {way}", region.len)
}

/// The first place where both have a byte, and another one.
fn first(one: &[u8], other: &[u8]) -> Option<(usize, u8, u8)> {
    let mut pairs = one.iter().zip(other).enumerate();
    let (at, (one, other)) = pairs.find(|(_, (one, other))| one != other)?;
    Some((at, *one, *other))
}

/// The first of the next `len` bytes of both that differs: its offset, and both bytes.
///
/// # Errors
/// The readers', also if they end too early.
pub fn first_read(
    one: &mut impl Read,
    other: &mut impl Read,
    len: u64,
) -> io::Result<Option<(u64, u8, u8)>> {
    let mut buffers = [vec![0; len.min(CHUNK as u64) as usize], Vec::new()];
    buffers[1] = buffers[0].clone();
    let mut at = 0;
    while at < len {
        let piece = (len - at).min(CHUNK as u64) as usize;
        let [mine, theirs] = &mut buffers;
        let (mine, theirs) = (&mut mine[..piece], &mut theirs[..piece]);
        one.read_exact(mine)?;
        other.read_exact(theirs)?;
        if mine != theirs
            && let Some((offset, one, other)) = first(mine, theirs)
        {
            return Ok(Some((at + offset as u64, one, other)));
        }
        at += piece as u64;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(op: u32, args: &[u8], regions: Vec<RegionDesc>) -> Call<'_> {
        Call {
            seq: 1,
            op: Op(op),
            thread: 1,
            answer: true,
            finish: false,
            event: None,
            args,
            regions,
        }
    }

    fn to_board(len: u64) -> RegionDesc {
        let dir = Direction::In;
        RegionDesc { len, dir }
    }

    #[test]
    fn heads_differ_in_one_clause() {
        let out = RegionDesc {
            len: 4,
            dir: Direction::Out,
        };
        let one = call(0x1_0001, b"args", vec![to_board(4)]);
        let says = |other: Call<'_>| {
            let difference = Difference::of_heads(&one, &other);
            difference.map(|it| it.between("now", "then"))
        };
        assert_eq!(says(one.clone()), None);
        for (other, clause) in [
            (
                call(0x1_0002, b"args", vec![]),
                "it is clGetPlatformIDs now and clGetPlatformInfo then",
            ),
            (
                call(0x1_0001, b"arms", vec![]),
                "byte 2 of its arguments is 0x67 now and 0x6d then",
            ),
            (
                call(0x1_0001, b"arg", vec![]),
                "its arguments have 4 bytes now and 3 then",
            ),
            (
                call(0x1_0001, b"args", vec![]),
                "it has 1 regions now and 0 then",
            ),
            (
                call(0x1_0001, b"args", vec![out]),
                "region 0 has 4 bytes to the board now and 4 bytes from the board then",
            ),
        ] {
            assert_eq!(says(other).as_deref(), Some(clause));
        }
    }

    #[test]
    fn the_first_byte_is_found_wherever_it_lies() {
        let len = 3 * CHUNK + 7;
        for at in [0, 1, CHUNK - 1, CHUNK, 2 * CHUNK + 5, len - 1] {
            let one = vec![0u8; len + 2];
            let mut other = one.clone();
            (other[2 + at], other[len + 1]) = (9, 9);
            let regions = [to_board(2), to_board(len as u64)];
            let difference = Difference::of_input(&regions, &mut &one[..], &mut &other[..]);
            let byte = Difference::Byte(1, at as u64, 0, 9);
            assert_eq!(difference.unwrap(), Some(byte));
        }
    }

    #[test]
    fn input_that_ends_too_early_is_an_error() {
        let regions = [to_board(5)];
        let error = Difference::of_input(&regions, &mut &b"12345"[..], &mut &b"1234"[..]);
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
