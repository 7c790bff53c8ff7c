//! The calls that a job becomes: the memory of its address space, the job, and what it
//! changed.

use super::memory::Part;
use crate::pace::Pace;
use crate::submission::{Clock, Region, Submission};
use gil_uapi::REPLY_MAX;
use gil_wire::Op;
use gil_wire::driver::{FETCH_MOST, WAIT};
use gil_wire::envelope::{self, Class, Engine, Envelope, Order, Queue};
use gil_wire::gpu::{self, FAULT, FETCH, JOB, MEMORY, WINDOW, Window};
use gil_wire::message::Direction;

/// Windows of memory that one submission sends; those that are fetched have room beside.
const SENT_MOST: usize = 32;
/// The queue of fetches.
const FETCHES: u64 = 0xff;
/// The node has one device.
const DEVICE: u64 = 1;

/// Submissions of one GPU.
#[derive(Debug)]
pub struct Calls {
    api: u16,
    seq: u64,
    events: u64,
}

/// The number of the host's copy of a window.
fn mirror(window: &Window) -> u64 {
    u64::from(window.space) << 28 | ((window.address / WINDOW) & 0x0fff_ffff)
}

fn region(part: &Part, dir: Direction) -> Region {
    Region {
        dir,
        extents: part.extents.clone(),
        instead: None,
    }
}

impl Calls {
    /// Of this API's, none yet.
    pub fn new(api: u16) -> Self {
        Self {
            api,
            seq: 0,
            events: 0,
        }
    }

    fn submission(&mut self, now_ns: u64, request: Vec<u8>, regions: Vec<Region>) -> Submission {
        self.seq += 1;
        Submission {
            seq: self.seq,
            thread: 0,
            clock: Clock {
                now_ns,
                counter: 0,
                counter_hz: 1,
            },
            request,
            regions,
            reply_cap: REPLY_MAX as usize,
            pace: Pace::default(),
        }
    }

    fn event(&mut self) -> u64 {
        self.events += 1;
        self.events
    }

    fn op(&self, entry: u16) -> Op {
        Op::new(self.api, entry)
    }

    /// A window's bytes; of one without pages, that it is gone.
    fn push_memory(&self, part: &Part, request: &mut Vec<u8>, regions: &mut Vec<Region>) {
        let mut args = Vec::new();
        part.window.encode(&mut args);
        let has_bytes = !part.extents.is_empty();
        let envelope = Envelope {
            regions: u32::from(has_bytes),
            mirror: Some(mirror(&part.window)),
            args: &args,
            ..Envelope::new(self.op(MEMORY), Class::Post, 0)
        };
        envelope::push(&envelope, request);
        regions.extend(has_bytes.then(|| region(part, Direction::In)));
    }

    /// The memory of an address space, so far as it does not go with the job.
    pub fn memory<'p>(&mut self, now_ns: u64, parts: &'p [Part]) -> (Vec<Submission>, &'p [Part]) {
        let mut all = Vec::new();
        let mut rest = parts;
        while rest.len() > SENT_MOST {
            let (now, later) = rest.split_at(SENT_MOST);
            let (mut request, mut regions) = (Vec::new(), Vec::new());
            for part in now {
                self.push_memory(part, &mut request, &mut regions);
            }
            all.push(self.submission(now_ns, request, regions));
            rest = later;
        }
        (all, rest)
    }

    /// A job, with the number of what executes it, behind the rest of its memory, and how much of what it changes one fetch
    /// brings; the event that it signals, and parts that are to be fetched yet.
    pub fn job<'p>(
        &mut self,
        now_ns: u64,
        (job, engine): (&gpu::Job, u8),
        rest: &[Part],
        parts: &'p [Part],
    ) -> (Submission, u64, &'p [Part]) {
        let (mut request, mut regions) = (Vec::new(), Vec::new());
        for part in rest {
            self.push_memory(part, &mut request, &mut regions);
        }
        let event = self.event();
        let args = postcard::to_allocvec(job).unwrap_or_default();
        let envelope = Envelope {
            queue: Some(queue(engine.into())),
            engine: Engine(Engine::PROCESSOR_FIRST.0 + engine),
            signals: Some(event),
            observable: true,
            args: &args,
            ..Envelope::new(self.op(JOB), Class::Enqueue, 0)
        };
        envelope::push(&envelope, &mut request);
        let left = self.push_fetch(event, parts, &mut request, &mut regions);
        (self.submission(now_ns, request, regions), event, left)
    }

    /// More of what a job changed.
    pub fn fetch<'p>(
        &mut self,
        now_ns: u64,
        event: u64,
        parts: &'p [Part],
    ) -> (Submission, &'p [Part]) {
        let (mut request, mut regions) = (Vec::new(), Vec::new());
        let left = self.push_fetch(event, parts, &mut request, &mut regions);
        (self.submission(now_ns, request, regions), left)
    }

    fn push_fetch<'p>(
        &mut self,
        event: u64,
        parts: &'p [Part],
        request: &mut Vec<u8>,
        regions: &mut Vec<Region>,
    ) -> &'p [Part] {
        let (now, left) = parts.split_at(parts.len().min(FETCH_MOST));
        let mut args = Vec::new();
        now.iter().for_each(|part| part.window.encode(&mut args));
        regions.extend(now.iter().map(|part| region(part, Direction::Out)));
        let envelope = Envelope {
            queue: Some(queue(FETCHES)),
            order: Order::Marker,
            blocking: true,
            waits: vec![event].into(),
            signals: Some(self.event()),
            regions: now.len() as u32,
            args: &args,
            ..Envelope::new(self.op(FETCH), Class::Enqueue, 0)
        };
        envelope::push(&envelope, request);
        left
    }

    /// Where the job of an event failed.
    pub fn fault(&mut self, now_ns: u64, event: u64) -> Submission {
        let mut request = Vec::new();
        let args = postcard::to_allocvec(&event).unwrap_or_default();
        let envelope = Envelope {
            args: &args,
            ..Envelope::new(self.op(FAULT), Class::Sync, 0)
        };
        envelope::push(&envelope, &mut request);
        self.submission(now_ns, request, Vec::new())
    }

    /// When and how a job ends.
    pub fn wait(&mut self, now_ns: u64, event: u64) -> Submission {
        let mut request = Vec::new();
        let envelope = Envelope {
            waits: vec![event].into(),
            ..Envelope::new(self.op(WAIT), Class::Wait, 0)
        };
        envelope::push(&envelope, &mut request);
        self.submission(now_ns, request, Vec::new())
    }
}

fn queue(id: u64) -> Queue {
    Queue {
        id,
        in_order: true,
        device: DEVICE,
    }
}

/// The numbers of the copies that a fetch brings up to date.
pub fn fetched(args: &[u8]) -> Vec<u64> {
    let windows = Window::parse(args).unwrap_or_default();
    windows.iter().map(mirror).collect()
}
