//! One call being built.

use super::{Api, CallResult};
use crate::client::Answered;
use crate::{Error, Import, Region, region};
use gil_wire::Op;
use gil_wire::call::{Handle, INLINE_MAX, InData, InfoType, OutRoom};
use gil_wire::envelope::{Class, Engine, Envelope, Observation, Order, Queue, Share};
use gil_wire::message::Direction;
use gil_wire::rows::{ROWS_MAX, RegionRows, Rows};
use serde::{Deserialize, Serialize};
use std::ffi::{CStr, c_char, c_void};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of all data that goes inside a request; the rest goes by region. As
/// many come back inside a reply.
const INLINE_TOTAL: usize = 4096;
/// Room for an extension list, which is read whole whatever the program asks.
const EXTENSIONS_ROOM: u32 = 7000;
/// Room for limits of 64 bits, which are read whole.
const LIMITS_ROOM: u32 = 64;

/// Whether the program ever asked for output that comes after the call. Then
/// its memory may not hold yet what an operation is to read, which only the
/// host can order: enqueues name their memory instead of copying it.
static LATE_OUTPUT: AtomicBool = AtomicBool::new(false);

/// One call of the API `A` being built.
#[derive(Debug)]
pub struct Request<A> {
    envelope: Envelope<'static>,
    /// The memory it names, in the order of the arguments' region indices.
    regions: Vec<Region>,
    inline_in: usize,
    inline_out: usize,
    /// Memory of the library's own that the board reads.
    own: Vec<Vec<u8>>,
    api: PhantomData<A>,
}

/// The encoded reply to a call of the API `A`.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a, A> {
    bytes: &'a [u8],
    api: PhantomData<A>,
}

impl<'a, A: Api> Reply<'a, A> {
    /// An answer's reply.
    pub fn of(answered: &Answered<'a>) -> Self {
        Self {
            bytes: answered.result,
            api: PhantomData,
        }
    }

    /// The reply type.
    ///
    /// # Errors
    /// The API's code if it does not decode.
    pub fn decode<R: Deserialize<'a>>(self) -> CallResult<R> {
        postcard::from_bytes(self.bytes).map_err(|_| A::GARBLED)
    }
}

impl<A: Api> Request<A> {
    /// A call of `op` that the program entered at `entry`.
    pub fn new(op: Op, class: Class, entry: u64) -> Self {
        Self {
            envelope: Envelope::new(op, class, entry),
            regions: Vec::new(),
            inline_in: 0,
            inline_out: 0,
            own: Vec::new(),
            api: PhantomData,
        }
    }

    /// What `ptr` points to, to be read by the board: small data inside the
    /// request, large data by region.
    ///
    /// # Safety
    /// `ptr` is null or names `len` bytes that stay as they are for `'a`.
    pub unsafe fn input<'a>(&mut self, ptr: *const c_void, len: usize) -> InData<'a> {
        if ptr.is_null() {
            return InData::Null;
        }
        if len == 0 {
            return InData::Inline(&[]);
        }
        let late = self.envelope.class == Class::Enqueue && LATE_OUTPUT.load(Ordering::Relaxed);
        if !late && fits(&mut self.inline_in, len) {
            // SAFETY: the caller's; `len` is small.
            return InData::Inline(unsafe { std::slice::from_raw_parts(ptr.cast(), len) });
        }
        InData::Region(self.region(ptr, len, Direction::In))
    }

    /// Bytes of the library's own, to be read by the board; the request has them until it is
    /// handed over.
    ///
    /// # Safety
    /// What comes back is used as an argument of this request alone, which is not dropped
    /// before that.
    pub unsafe fn input_of<'a>(&mut self, bytes: Vec<u8>) -> InData<'a> {
        let (ptr, len) = (bytes.as_ptr(), bytes.len());
        self.own.push(bytes);
        // SAFETY: they stay where they are as long as the request, which is long enough by
        // the caller's promise.
        unsafe { self.input(ptr.cast(), len) }
    }

    /// A string that ends with a NUL, without it.
    ///
    /// # Safety
    /// `string` is null or names such a string.
    pub unsafe fn string<'a>(&mut self, string: *const c_char) -> InData<'a> {
        if string.is_null() {
            return InData::Null;
        }
        // SAFETY: the caller's.
        unsafe { self.input(string.cast(), CStr::from_ptr(string).count_bytes()) }
    }

    /// Room at `ptr` that the call fills before it returns.
    ///
    /// # Safety
    /// `ptr` is null or points to space for `len` bytes.
    pub unsafe fn output(&mut self, ptr: *mut c_void, len: usize) -> OutRoom {
        if ptr.is_null() {
            OutRoom::Null
        } else if len == 0 || fits(&mut self.inline_out, len) {
            OutRoom::Inline(len as u32)
        } else {
            OutRoom::Region(self.region(ptr, len, Direction::Out))
        }
    }

    /// Room at `ptr` that may be filled after the call returned.
    ///
    /// # Safety
    /// `ptr` is null or points to space for `len` bytes, until the operation ended.
    pub unsafe fn output_region(&mut self, ptr: *mut c_void, len: usize) -> OutRoom {
        if ptr.is_null() {
            OutRoom::Null
        } else if len == 0 {
            OutRoom::Inline(0)
        } else {
            OutRoom::Region(self.region(ptr, len, Direction::Out))
        }
    }

    /// Memory at `ptr` of which the operation overwrites parts, perhaps after
    /// the call returned.
    ///
    /// # Safety
    /// `ptr` is null or names `len` bytes, until the operation ended.
    pub unsafe fn inout_region(&mut self, ptr: *mut c_void, len: usize) -> OutRoom {
        match ptr.is_null() || len == 0 {
            // SAFETY: the caller's.
            true => unsafe { self.output_region(ptr, len) },
            false => OutRoom::Region(self.region(ptr, len, Direction::InOut)),
        }
    }

    /// Rows at `ptr`, to be read by the board, which gets them one behind the
    /// other.
    ///
    /// # Errors
    /// The API's code for more rows than a request may name.
    ///
    /// # Safety
    /// `ptr` is null or names the rows, which stay as they are for `'a`.
    pub unsafe fn input_rows<'a>(
        &mut self,
        ptr: *const c_void,
        rows: Rows,
    ) -> CallResult<InData<'a>> {
        let rows = rows.merged();
        let span = span::<A>(&rows)?;
        if ptr.is_null() || span == 0 || rows.rows == 1 {
            // SAFETY: the caller's.
            return Ok(unsafe { self.input(ptr, span) });
        }
        Ok(InData::Region(self.region_rows(
            ptr,
            span,
            rows,
            Direction::In,
        )))
    }

    /// Room for rows at `ptr`, perhaps to be filled after the call returned;
    /// the board gives them one behind the other.
    ///
    /// # Errors
    /// As [`input_rows`](Self::input_rows).
    ///
    /// # Safety
    /// `ptr` is null or points to space for the rows, until the operation ended.
    pub unsafe fn output_rows(&mut self, ptr: *mut c_void, rows: Rows) -> CallResult<OutRoom> {
        let rows = rows.merged();
        let span = span::<A>(&rows)?;
        if ptr.is_null() || span == 0 || rows.rows == 1 {
            // SAFETY: the caller's.
            return Ok(unsafe { self.output_region(ptr, span) });
        }
        Ok(OutRoom::Region(self.region_rows(
            ptr,
            span,
            rows,
            Direction::Out,
        )))
    }

    fn region_rows(&mut self, ptr: *const c_void, span: usize, rows: Rows, dir: Direction) -> u32 {
        let region = self.region(ptr, span, dir);
        self.envelope
            .rows
            .to_mut()
            .push(RegionRows { region, rows });
        region
    }

    /// Room for a query's value.
    ///
    /// # Safety
    /// `ptr` is null or points to space for `len` bytes.
    pub unsafe fn info_room(
        &mut self,
        kind: InfoType<A::Kind>,
        ptr: *mut c_void,
        len: usize,
    ) -> OutRoom {
        match kind {
            // SAFETY: the caller's.
            InfoType::Bytes => unsafe { self.output(ptr, len) },
            InfoType::Extensions(_) | InfoType::ExtensionVersions(_) => {
                OutRoom::Inline(EXTENSIONS_ROOM)
            }
            InfoType::WideLimits => OutRoom::Inline(LIMITS_ROOM),
            InfoType::Sizes | InfoType::Limits | InfoType::Handles(_) | InfoType::Local => {
                OutRoom::Null
            }
        }
    }

    /// Room for rows in an import, the first at `offset`; the board gives them one
    /// behind the other.
    ///
    /// # Errors
    /// The API's code for more rows than a request may name.
    pub fn output_rows_of(
        &mut self,
        import: &Import,
        offset: usize,
        rows: Rows,
    ) -> CallResult<OutRoom> {
        let rows = rows.merged();
        let region = import.region(offset, span::<A>(&rows)?, Direction::Out);
        Ok(OutRoom::Region(self.rows_of(region, rows)))
    }

    /// Rows in an import, the first at `offset`, to be read by the board, which gets
    /// them one behind the other.
    ///
    /// # Errors
    /// As [`output_rows_of`](Self::output_rows_of).
    pub fn input_rows_of(
        &mut self,
        import: &Import,
        offset: usize,
        rows: Rows,
    ) -> CallResult<InData<'static>> {
        let rows = rows.merged();
        let region = import.region(offset, span::<A>(&rows)?, Direction::In);
        Ok(InData::Region(self.rows_of(region, rows)))
    }

    /// Bytes in an import, from `offset` on, to be read by the board.
    pub fn input_in(&mut self, import: &Import, offset: usize, len: usize) -> InData<'static> {
        InData::Region(self.push(import.region(offset, len, Direction::In)))
    }

    /// Room in an import, from `offset` on, perhaps to be filled after the call returned.
    pub fn output_in(&mut self, import: &Import, offset: usize, len: usize) -> OutRoom {
        OutRoom::Region(self.push(import.region(offset, len, Direction::Out)))
    }

    fn rows_of(&mut self, region: Region, rows: Rows) -> u32 {
        let region = self.push(region);
        if rows.rows > 1 {
            let rows = RegionRows { region, rows };
            self.envelope.rows.to_mut().push(rows);
        }
        region
    }

    fn region(&mut self, ptr: *const c_void, len: usize, dir: Direction) -> u32 {
        self.push(region(ptr, len, dir))
    }

    fn push(&mut self, region: Region) -> u32 {
        self.regions.push(region);
        let index = self.envelope.regions;
        self.envelope.regions += 1;
        index
    }

    /// The queue it works on or waits for, and the engine it occupies.
    pub fn queue(&mut self, queue: Queue, engine: Engine) {
        self.envelope.queue = Some(queue);
        self.envelope.engine = engine;
    }

    /// How much of the engine it needs.
    pub fn share(&mut self, share: Share) {
        self.envelope.share = share;
    }

    /// How it is ordered with the others of its queue.
    pub fn order(&mut self, order: Order) {
        self.envelope.order = order;
    }

    /// Whether the call returns only when its operation is complete.
    pub fn blocking(&mut self, blocking: bool) {
        self.envelope.blocking = blocking;
    }

    /// The events it waits for.
    pub fn waits(&mut self, events: &[Handle]) {
        self.envelope.waits = events.iter().map(|event| event.0).collect();
    }

    /// The event it signals, and whether the program holds that.
    pub fn signals(&mut self, event: Handle, observable: bool) {
        self.envelope.signals = Some(event.0);
        self.envelope.observable = observable;
    }

    /// An event that nobody will ask for any more.
    pub fn retires(&mut self, event: Handle) {
        self.envelope.retires = Some(event.0);
    }

    /// Its regions' bytes are those that the board has of this number, as far as they
    /// are not sent: one that did not change since arrives there without bytes.
    pub fn mirror(&mut self, number: Handle) {
        self.envelope.mirror = Some(number.0);
    }

    /// Runs it to its end and gives the encoded reply to `read`.
    ///
    /// # Errors
    /// The API's code for what went wrong on the way, or that of `read`.
    pub fn forward<T>(
        self,
        args: &impl Serialize,
        read: impl FnOnce(Reply<'_, A>) -> CallResult<T>,
    ) -> CallResult<T> {
        if self.has_late_output() {
            LATE_OUTPUT.store(true, Ordering::Relaxed);
        }
        let own = self.envelope.signals;
        let read = |answered: Answered<'_>| {
            ended_well::<A>(&answered.observed, |event| Some(event) == own)?;
            read(Reply::of(&answered))
        };
        crate::client()
            .and_then(|client| client.forward_with(&self.envelope, &self.regions, args, read))
            .unwrap_or_else(|error| Err(A::failed(self.envelope.op, &error)))
    }

    /// As [`forward`](Self::forward), but `None`, and nothing is done, if its
    /// memory still belongs to an operation that cannot end yet.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn try_forward<T>(
        self,
        args: &impl Serialize,
        read: impl FnOnce(Reply<'_, A>) -> CallResult<T>,
    ) -> CallResult<Option<T>> {
        let read = |answered: Answered<'_>| read(Reply::of(&answered));
        let client = crate::client();
        match client.and_then(|it| it.try_forward_with(&self.envelope, &self.regions, args, read)) {
            Ok(result) => result.map(Some),
            Err(Error::Unresolved) => Ok(None),
            Err(error) => Err(A::failed(self.envelope.op, &error)),
        }
    }

    /// Hands it over with the next call that needs an answer, in order.
    ///
    /// # Errors
    /// The API's code for what went wrong on the way.
    pub fn post(self, args: &impl Serialize) -> CallResult<()> {
        crate::client()
            .and_then(|client| match A::POSTS_LAZILY {
                false => client.post_with(&self.envelope, &self.regions, args),
                true => client.post_lazily(&self.envelope, &self.regions, args),
            })
            .map_err(|error| A::failed(self.envelope.op, &error))
    }

    /// Whether it names no memory of the program's.
    pub fn is_inline(&self) -> bool {
        self.regions.is_empty()
    }

    /// Waits for its events, or for all of its queue so far.
    ///
    /// # Errors
    /// The API's code for events that ended badly, the error of an operation on
    /// the queue that was refused too late to say so, or the API's code for what
    /// went wrong on the way.
    pub fn wait(mut self) -> CallResult<()> {
        let Envelope {
            op, entry, queue, ..
        } = self.envelope;
        let observed = crate::client().and_then(|client| match queue {
            Some(_) => {
                self.envelope.blocking = true;
                client.forward(&self.envelope, &(), |answer| answer.observed)
            }
            None => client.observe(op, entry, &self.envelope.waits),
        });
        let observed = observed.map_err(|error| A::failed(op, &error))?;
        ended_well::<A>(&observed, |_| queue.is_none())
    }

    fn has_late_output(&self) -> bool {
        let is_out = |region: &Region| region.dir != Direction::In as u32;
        let envelope = &self.envelope;
        envelope.class == Class::Enqueue && !envelope.blocking && self.regions.iter().any(is_out)
    }
}

/// Whether `len` more bytes go inside; counts them if so.
fn fits(total: &mut usize, len: usize) -> bool {
    let fits = len <= INLINE_MAX && *total + len <= INLINE_TOTAL;
    *total += if fits { len } else { 0 };
    fits
}

/// Bytes from the first row to the end of the last, if these can be named.
fn span<A: Api>(rows: &Rows) -> CallResult<usize> {
    let few = rows
        .rows
        .checked_mul(rows.slices)
        .is_some_and(|n| n <= ROWS_MAX);
    let span = rows.span().get().filter(|_| few);
    span.ok_or(A::BOUNDS)
}

/// Checks that all operations succeeded: those that the call named, and those
/// of its queue that were reported with it.
fn ended_well<A: Api>(observed: &[Observation], is_named: impl Fn(u64) -> bool) -> CallResult<()> {
    let mut failed = observed
        .iter()
        .filter_map(|seen| Some((seen.event, seen.ending.failure()?)));
    match failed.next() {
        Some((event, code)) if is_named(event) => Err(A::failed_wait(code)),
        Some((_, error)) => Err(refused_late::<A>(error)),
        None => Ok(()),
    }
}

#[cold]
fn refused_late<A: Api>(code: i32) -> i32 {
    A::refused_late();
    code
}

#[cfg(test)]
mod tests {
    use super::super::Described;
    use super::*;
    use crate::double::Plain;

    fn request() -> Request<Plain> {
        Request::new(Op::new(1, 1), Class::Query, 0)
    }

    #[test]
    fn small_data_goes_inside_and_large_data_by_region() {
        let bytes = [7u8; 2000];
        let mut request = request();
        // SAFETY: every length is within `bytes`.
        let mut input = |len| unsafe { request.input(bytes.as_ptr().cast(), len) };
        assert_eq!(input(0), InData::Inline(&[]));
        assert_eq!(input(3), InData::Inline(&[7; 3]));
        assert_eq!(input(1025), InData::Region(0));
        for _ in 0..3 {
            assert_eq!(input(1024), InData::Inline(&bytes[..1024]));
        }
        assert_eq!(input(1024), InData::Region(1), "the request would be full");
        // SAFETY: null is allowed.
        let null = unsafe { request.input(std::ptr::null(), 5) };
        assert_eq!(null, InData::Null);
        let lengths: Vec<_> = request.regions.iter().map(|r| (r.len, r.dir)).collect();
        assert_eq!(lengths, [(1025, 1), (1024, 1)]);
    }

    #[test]
    fn rows_are_a_region_unless_they_touch() {
        let mut room = [0u8; 100];
        let ptr: *mut c_void = room.as_mut_ptr().cast();
        let apart = Rows {
            row: 4,
            rows: 3,
            row_pitch: 10,
            slices: 1,
            slice_pitch: 0,
        };
        let many = Rows {
            rows: ROWS_MAX + 1,
            ..apart
        };
        let mut request = request();
        // SAFETY: what is named is within `room`; more is refused unseen.
        unsafe {
            let touching = request.input_rows(ptr, Rows::packed_of(4, 3, 2));
            assert_eq!(touching, Ok(InData::Inline(&[0; 24])));
            assert_eq!(request.input_rows(ptr, apart), Ok(InData::Region(0)));
            assert_eq!(request.output_rows(ptr, apart), Ok(OutRoom::Region(1)));
            assert_eq!(request.output_rows(ptr, many), Err(Plain::BOUNDS));
        }
        let lengths: Vec<_> = request.regions.iter().map(|r| (r.len, r.dir)).collect();
        assert_eq!(lengths, [(24, 1), (24, 2)]);
        let rows: Vec<_> = request
            .envelope
            .rows
            .iter()
            .map(|r| (r.region, r.rows))
            .collect();
        assert_eq!(rows, [(0, apart), (1, apart)]);
    }

    #[test]
    fn room_for_later_is_a_region() {
        let mut room = [0u8; 16];
        let mut request = request();
        let ptr: *mut c_void = room.as_mut_ptr().cast();
        // SAFETY: every length is within `room`.
        unsafe {
            assert_eq!(request.output(ptr, 16), OutRoom::Inline(16));
            assert_eq!(request.output_region(ptr, 16), OutRoom::Region(0));
            assert_eq!(request.output_region(ptr, 0), OutRoom::Inline(0));
            assert_eq!(
                request.output_region(std::ptr::null_mut(), 16),
                OutRoom::Null
            );
            assert_eq!(request.string(c"abc".as_ptr()), InData::Inline(b"abc"));
        }
    }
}
