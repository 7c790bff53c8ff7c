//! Encodes a call's envelope in place, behind the waiting posts. Guest instructions
//! count here, so nothing is written twice.

use crate::Error;
use crate::uapi::{self, Region};
use gil_wire::compact::Writer;
use gil_wire::envelope::Envelope;
use gil_wire::envelope::bytes::{self, LENGTH};
use postcard::ser_flavors::Flavor;
use serde::Serialize;

/// What a call's arguments are written from.
pub trait Arguments {
    /// Writes them to `out` from `at` on; where they end.
    ///
    /// # Errors
    /// Those of encoding: in memory only that there is no room.
    fn encode(&self, out: &mut [u8], at: usize) -> postcard::Result<usize>;

    /// How many bytes they take.
    ///
    /// # Errors
    /// Those of encoding.
    fn encoded_len(&self) -> postcard::Result<usize>;
}

impl<T: Serialize> Arguments for T {
    #[inline]
    fn encode(&self, out: &mut [u8], at: usize) -> postcard::Result<usize> {
        postcard::serialize_with_flavor(self, Room { out, at })
    }

    fn encoded_len(&self) -> postcard::Result<usize> {
        postcard::to_stdvec(self).map(|bytes| bytes.len())
    }
}

/// Arguments that a function writes by hand.
#[derive(Clone, Copy, Debug)]
pub struct ByHand<F>(pub F);

impl<F: Fn(&mut Writer<'_>)> Arguments for ByHand<F> {
    #[inline(always)]
    fn encode(&self, out: &mut [u8], at: usize) -> postcard::Result<usize> {
        let mut writer = Writer::new(out, at);
        (self.0)(&mut writer);
        writer.end().ok_or(postcard::Error::SerializeBufferFull)
    }

    fn encoded_len(&self) -> postcard::Result<usize> {
        let mut writer = Writer::new(&mut [], 0);
        (self.0)(&mut writer);
        Ok(writer.reach())
    }
}

/// Writes an envelope with `args` to the beginning of `out`; its length.
///
/// # Errors
/// Those of encoding: in memory only that there is no room.
#[inline]
pub(crate) fn envelope(
    envelope: &Envelope<'_>,
    args: &impl Arguments,
    out: &mut [u8],
) -> postcard::Result<usize> {
    let at = write_head(envelope, out)?;
    let end = args.encode(out, at)?;
    bytes::close(&mut out[..end]);
    Ok(end)
}

/// The same, put into its caller with what that knows of the call.
#[inline(always)]
pub(crate) fn envelope_here(
    envelope: &Envelope<'_>,
    args: &impl Arguments,
    out: &mut [u8],
) -> postcard::Result<usize> {
    let full = postcard::Error::SerializeBufferFull;
    let at = envelope.write_head(out).ok_or(full)?;
    let end = args.encode(out, at)?;
    bytes::close(&mut out[..end]);
    Ok(end)
}

/// The same of arguments that `write` writes, which is put into its caller once: its
/// length, or how long it would be where there is no room.
#[inline(always)]
pub(crate) fn numbers_here(
    envelope: &Envelope<'_>,
    write: &impl Fn(&mut Writer<'_>),
    out: &mut [u8],
) -> Result<usize, usize> {
    let at = envelope.write_head(out).ok_or(envelope.head_max())?;
    let mut writer = Writer::new(out, at);
    write(&mut writer);
    let end = writer.end().ok_or(writer.reach())?;
    bytes::close(&mut out[..end]);
    Ok(end)
}

#[inline(never)]
fn write_head(envelope: &Envelope<'_>, out: &mut [u8]) -> postcard::Result<usize> {
    let full = postcard::Error::SerializeBufferFull;
    envelope.write_head(out).ok_or(full)
}

/// Room for a call's arguments.
struct Room<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl Flavor for Room<'_> {
    type Output = usize;

    #[inline]
    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        let room = self.out.get_mut(self.at..self.at + data.len());
        copy(data, room.ok_or(postcard::Error::SerializeBufferFull)?);
        self.at += data.len();
        Ok(())
    }

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        let room = self.out.get_mut(self.at);
        *room.ok_or(postcard::Error::SerializeBufferFull)? = byte;
        self.at += 1;
        Ok(())
    }

    fn finalize(self) -> postcard::Result<usize> {
        Ok(self.at)
    }
}

/// Copies one slice to another of its length. Most are numbers of a few bytes:
/// two pieces that may overlap are less work than a call.
#[inline]
fn copy(from: &[u8], to: &mut [u8]) {
    match from.len() {
        0 => {}
        1..4 => {
            let last = from.len() - 1;
            (to[0], to[last / 2 + last % 2]) = (from[0], from[last / 2 + last % 2]);
            to[last] = from[last];
        }
        4..8 => ends::<4>(from, to),
        8..=16 => ends::<8>(from, to),
        _ => to.copy_from_slice(from),
    }
}

/// Copies the first and the last `N` bytes.
#[inline]
fn ends<const N: usize>(from: &[u8], to: &mut [u8]) {
    if let (Some(first), Some(to)) = (from.first_chunk::<N>(), to.first_chunk_mut::<N>()) {
        *to = *first;
    }
    if let (Some(last), Some(to)) = (from.last_chunk::<N>(), to.last_chunk_mut::<N>()) {
        *to = *last;
    }
}

/// Refuses more regions than a submission takes.
pub(crate) fn check_regions(regions: &[Region]) -> Result<(), Error> {
    if regions.len() > uapi::REGIONS_MAX {
        return Err(Error::Bounds {
            what: "a number of memory regions",
            len: regions.len(),
            max: uapi::REGIONS_MAX,
        });
    }
    Ok(())
}

/// Why an envelope does not encode: in memory that can only be its length.
#[cold]
pub(crate) fn too_long(
    envelope: &Envelope<'_>,
    args: &impl Arguments,
    error: postcard::Error,
) -> Error {
    match args.encoded_len() {
        Ok(len) => too_large(envelope.head_max() + len),
        Err(_) => Error::Answer(error),
    }
}

/// No request has so many bytes, the length in front of it included.
pub(crate) fn too_large(len: usize) -> Error {
    Error::Bounds {
        what: "a request in bytes",
        len: len - LENGTH,
        max: uapi::REQUEST_MAX - LENGTH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_wire::Op;
    use gil_wire::envelope::{self, Class, Engine, Queue};
    use proptest::prelude::*;

    fn query() -> Envelope<'static> {
        Envelope::new(Op::new(1, 2), Class::Query, 1 << 40)
    }

    #[test]
    fn an_envelope_stands_behind_its_length() {
        let call = Envelope {
            queue: Some(Queue {
                id: 3,
                in_order: true,
                device: 4,
            }),
            engine: Engine::COPY_IN,
            waits: (&[5, 6]).into(),
            signals: Some(7),
            ..query()
        };
        let mut bytes = [0; 200];
        let len = envelope(&call, &(7u32, "seven"), &mut bytes).unwrap();
        let all = envelope::parse(&bytes[..len]).unwrap();
        assert_eq!((all.len(), all[0].op, all[0].entry), (1, call.op, 1 << 40));
        assert_eq!((all[0].queue, all[0].signals), (call.queue, Some(7)));
        assert_eq!(*all[0].waits, [5, 6]);
        assert_eq!(postcard::from_bytes(all[0].args), Ok((7u32, "seven")));
    }

    #[test]
    fn what_is_too_long_says_how_long() {
        let args = vec![0u8; 9000];
        let mut bytes = [0; uapi::REQUEST_MAX];
        let error = envelope(&query(), &args, &mut bytes).unwrap_err();
        let error = too_long(&query(), &args, error);
        let Error::Bounds { len, max, .. } = error else {
            panic!("{error}");
        };
        assert!(len > 9000 && max == 8188, "{len} {max}");
        let waits = vec![1; 2000];
        let many = Envelope {
            waits: waits.into(),
            ..query()
        };
        assert!(envelope(&many, &0u8, &mut bytes).is_err());
    }

    proptest! {
        #[test]
        fn arguments_are_postcards(numbers: Vec<u64>, text: String, data: Vec<u8>, small: (u8, i32)) {
            let args = (numbers, text, serde_bytes_like(&data), small);
            let mut out = vec![0xee; 20_000];
            let len = postcard::serialize_with_flavor(&args, Room { out: &mut out, at: 0 });
            prop_assert_eq!(&out[..len.unwrap()], &postcard::to_stdvec(&args).unwrap());
        }

        #[test]
        fn slices_of_any_length_are_copied(from: Vec<u8>) {
            let mut to = vec![0; from.len()];
            copy(&from, &mut to);
            prop_assert_eq!(from, to);
        }
    }

    fn serde_bytes_like(data: &[u8]) -> gil_wire::call::InData<'_> {
        gil_wire::call::InData::Inline(data)
    }
}
