//! A device that replaces driver, host and board in tests. It checks its input as
//! the driver and the host would, and records all of it.

use crate::Error;
use crate::api::{Api, CallResult, Described, Kept};
use crate::device::{Device, Outcome};
use crate::registry::{Registry, Tag};
use crate::uapi::{self, Region};
use gil_wire::Op;
use gil_wire::envelope::{self, Answer, Class, Envelope, Observation};
use nix::errno::Errno;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// One submission as the device got it.
#[derive(Clone, Debug)]
pub struct Seen {
    request: Vec<u8>,
    /// Its regions.
    pub regions: Vec<Region>,
}

impl Seen {
    /// Its envelopes.
    ///
    /// # Panics
    /// If they do not decode.
    pub fn envelopes(&self) -> Vec<Envelope<'_>> {
        envelope::parse(&self.request).expect("a request of whole envelopes")
    }

    /// Each envelope's arguments, decoded.
    ///
    /// # Panics
    /// If they do not decode.
    pub fn args<A: serde::de::DeserializeOwned>(&self) -> Vec<A> {
        let decode = |e: &Envelope<'_>| postcard::from_bytes(e.args).expect("arguments");
        self.envelopes().iter().map(decode).collect()
    }
}

/// The device's answers.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// Status, wait and flags; the reply's length is filled in.
    pub outcome: Outcome,
    /// The encoded reply type.
    pub result: Vec<u8>,
    /// How observed events ended.
    pub observed: Vec<Observation>,
    /// Text that kernels printed.
    pub printed: Vec<u8>,
    /// What else is ready.
    pub more: u8,
}

impl Played {
    /// An answer with this encoded result.
    pub fn result(value: &impl serde::Serialize) -> Self {
        Self {
            result: postcard::to_stdvec(value).expect("serialising to memory"),
            ..Self::default()
        }
    }

    /// An answer with this status and nothing else.
    pub fn status(status: u32) -> Self {
        let mut played = Self::default();
        played.outcome.status = status;
        played
    }

    fn encode(&self) -> Vec<u8> {
        let answer = Answer {
            result: &self.result,
            observed: self.observed.as_slice().into(),
            printed: &self.printed,
            more: self.more,
        };
        postcard::to_stdvec(&answer).expect("serialising to memory")
    }
}

type Script = dyn FnMut(&[Envelope<'_>], &[Region]) -> Result<Played, Errno> + Send;

struct Inner {
    script: Mutex<Box<Script>>,
    seen: Mutex<Vec<Seen>>,
    waits: Mutex<Vec<uapi::Wait>>,
    interrupts: Mutex<VecDeque<Errno>>,
    imports: Mutex<Vec<u32>>,
    forked: AtomicBool,
}

/// The device; clones are the same device.
#[derive(Clone)]
pub struct Double(Arc<Inner>);

impl Double {
    /// A device that answers each submission as `script` does.
    pub fn answering(
        script: impl FnMut(&[Envelope<'_>], &[Region]) -> Result<Played, Errno> + Send + 'static,
    ) -> Self {
        Self(Arc::new(Inner {
            script: Mutex::new(Box::new(script)),
            seen: Mutex::default(),
            waits: Mutex::default(),
            interrupts: Mutex::default(),
            imports: Mutex::default(),
            forked: AtomicBool::new(false),
        }))
    }

    /// The next waits end with these errors, one each.
    pub fn interrupt_waits(&self, errors: impl IntoIterator<Item = Errno>) {
        lock(&self.0.interrupts).extend(errors);
    }

    /// Everything that was handed over so far, refused or not.
    pub fn seen(&self) -> Vec<Seen> {
        lock(&self.0.seen).clone()
    }

    /// How many submissions were handed over so far.
    pub fn submissions(&self) -> usize {
        lock(&self.0.seen).len()
    }

    /// Every wait so far.
    pub fn waits(&self) -> Vec<uapi::Wait> {
        lock(&self.0.waits).clone()
    }

    /// The imports that were not forgotten.
    pub fn imports(&self) -> Vec<u32> {
        lock(&self.0.imports).clone()
    }

    /// Whether this is a forked child's copy.
    pub fn is_forked(&self) -> bool {
        self.0.forked.load(Ordering::Relaxed)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// What the driver and the host insist on.
fn check(request: &[u8], regions: &[Region], envelopes: &[Envelope<'_>]) {
    assert!(request.len() <= uapi::REQUEST_MAX);
    assert!(regions.len() <= uapi::REGIONS_MAX);
    assert!(regions.iter().all(|r| r.len > 0));
    let (_, posts) = envelopes.split_last().expect("not empty");
    let needs_no_answer = |e: &Envelope<'_>| match e.class {
        Class::Post => true,
        Class::Enqueue => !e.blocking && e.regions == 0,
        _ => false,
    };
    assert!(posts.iter().all(needs_no_answer));
    let named: u32 = envelopes.iter().map(|e| e.regions).sum();
    assert_eq!(named as usize, regions.len());
}

impl Device for Double {
    fn submit(
        &self,
        request: &[u8],
        regions: &[Region],
        reply: &mut [u8],
    ) -> Result<Outcome, Errno> {
        let envelopes = envelope::parse(request).expect("a request of whole envelopes");
        check(request, regions, &envelopes);
        lock(&self.0.seen).push(Seen {
            request: request.to_vec(),
            regions: regions.to_vec(),
        });
        let played = (lock(&self.0.script))(&envelopes, regions)?;
        let bytes = played.encode();
        let len = bytes.len().min(reply.len());
        reply[..len].copy_from_slice(&bytes[..len]);
        Ok(Outcome {
            reply_len: len,
            ..played.outcome
        })
    }

    fn wait(&self, wait: &uapi::Wait) -> Result<(), Errno> {
        lock(&self.0.waits).push(*wait);
        match lock(&self.0.interrupts).pop_front() {
            Some(errno) => Err(errno),
            None => Ok(()),
        }
    }

    /// Numbered by its descriptor; of one page.
    fn import(&self, buffer: BorrowedFd<'_>) -> Result<(u32, u64), Errno> {
        let number = u32::try_from(buffer.as_raw_fd()).map_err(|_| Errno::EBADF)?;
        lock(&self.0.imports).push(number);
        Ok((number, 4096))
    }

    fn pin(&self, _: *const c_void, _: usize) -> Result<u32, Errno> {
        Err(Errno::ENOTTY)
    }

    fn fence(&self, _: u64) -> Result<OwnedFd, Errno> {
        Err(Errno::ENOTTY)
    }

    fn forget(&self, import: u32) {
        lock(&self.0.imports).retain(|known| *known != import);
    }

    fn forked(&self) {
        self.0.forked.store(true, Ordering::Relaxed);
    }
}

/// The plainest API there is, for tests of what every API shares.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

/// Its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainKind {
    /// The board's own.
    Device,
    /// Made by programs.
    Buffer,
}

impl Described for Plain {
    const NUMBER: u16 = 99;
    type Kind = PlainKind;
    type Status = i32;
    const SUCCESS: i32 = 0;
    const BOUNDS: i32 = 1;
    const VALUE: i32 = 2;

    fn tag(kind: PlainKind) -> Tag {
        kind as Tag
    }

    fn invalid(kind: PlainKind) -> i32 {
        10 + kind as i32
    }

    fn release(kind: PlainKind) -> Option<Op> {
        (kind == PlainKind::Buffer).then_some(Op::new(Self::NUMBER, 1))
    }

    fn dispatch() -> *const c_void {
        std::ptr::null()
    }
}

impl Api for Plain {
    type Details = ();
    const GARBLED: i32 = 3;

    fn registry() -> &'static Registry<Kept<Self>> {
        static REGISTRY: Registry<Kept<Plain>> = Registry::new();
        &REGISTRY
    }

    fn code(_: Op, _: &Error) -> i32 {
        4
    }

    fn status(ended: CallResult<()>) -> i32 {
        ended.err().unwrap_or(Self::SUCCESS)
    }

    fn is_found(kind: PlainKind) -> bool {
        kind == PlainKind::Device
    }
}
