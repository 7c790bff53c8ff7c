//! A time line for Perfetto's viewer: tracks of guest threads (calls), queues and devices'
//! engines (operations), in simulated time.
//!
//! | track | slices |
//! |---|---|
//! | a guest thread, in its process | calls, from their begin until they were due to return |
//! | a queue, in its process | operations, from start to end |
//! | an engine of a device | the same operations, of all processes |
//!
//! What takes no time is an instant. Slices of one track that overlap without one being in
//! the other are on a second track of that name, and so on. Rows of a log come nearly in
//! the order of their begins: [`WINDOW`] of them are put in order, and what comes later
//! than that is on a track of its own.

mod lanes;
mod messages;

use crate::log::{Sink, SliceName};
use crate::summary::process_name;
use foldhash::{HashMap, HashMapExt};
use gil_files::calls::{Reader, Row};
use lanes::{Lanes, Step};
use messages::{
    DebugAnnotation, EventName, InternedData, ProcessDescriptor, ThreadDescriptor, TracePacket,
    TrackDescriptor, TrackEvent,
};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};

/// Slices that are put in order.
const WINDOW: usize = 1 << 17;

/// The one sequence of packets.
const SEQUENCE: u32 = 1;

/// The interned names of what a slice says of its call.
const ANNOTATIONS: [&str; 3] = [
    "sequence number",
    "bytes to the board",
    "bytes from the board",
];

/// Where slices are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Track {
    Thread { process: u32, thread: u32 },
    Queue { process: u32, queue: u64 },
    Engine { device: u64, api: u16, engine: u8 },
}

/// One slice.
#[derive(Clone, Copy, Debug)]
struct Slice {
    track: Track,
    begin_ns: u64,
    end_ns: u64,
    name: SliceName,
    about: [u64; 3],
}

/// Writes a trace.
pub struct Trace<W: Write> {
    out: W,
    waiting: BTreeMap<(u64, u64), Slice>,
    count: u64,
    tracks: HashMap<Track, Lanes>,
    processes: HashMap<u32, u64>,
    names: HashMap<SliceName, u64>,
    engines: HashMap<Track, String>,
    last_uuid: u64,
    buffer: Vec<u8>,
}

impl<W: Write> Trace<W> {
    /// Begins a trace.
    ///
    /// # Errors
    /// The writer's.
    pub fn new(out: W) -> io::Result<Self> {
        let mut trace = Self {
            out,
            waiting: BTreeMap::new(),
            count: 0,
            tracks: HashMap::new(),
            processes: HashMap::new(),
            names: HashMap::new(),
            engines: HashMap::new(),
            last_uuid: 0,
            buffer: Vec::new(),
        };
        let named = (1..).zip(ANNOTATIONS).map(|(iid, name)| EventName {
            iid: Some(iid),
            name: Some(name.into()),
        });
        trace.packet(TracePacket {
            sequence_flags: Some(messages::INCREMENTAL_STATE_CLEARED),
            interned_data: Some(InternedData {
                event_names: Vec::new(),
                debug_annotation_names: named.collect(),
            }),
            ..TracePacket::default()
        })?;
        Ok(trace)
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// The writer's.
    pub fn finish(mut self) -> io::Result<()> {
        while let Some((_, slice)) = self.waiting.pop_first() {
            self.write(&slice)?;
        }
        let tracks = std::mem::take(&mut self.tracks);
        for step in tracks.into_values().flat_map(Lanes::finish) {
            self.step(step, None)?;
        }
        self.out.flush()
    }

    fn packet(&mut self, packet: TracePacket) -> io::Result<()> {
        let packet = TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            sequence_flags: packet
                .sequence_flags
                .or(Some(messages::NEEDS_INCREMENTAL_STATE)),
            ..packet
        };
        self.buffer.clear();
        messages::push(packet, &mut self.buffer);
        self.out.write_all(&self.buffer)
    }

    fn add<R: Read>(&mut self, slice: Slice, names: &Reader<R>) -> io::Result<()> {
        self.name(slice.name, names)?;
        self.count += 1;
        self.waiting.insert((slice.begin_ns, self.count), slice);
        if self.waiting.len() > WINDOW
            && let Some((_, first)) = self.waiting.pop_first()
        {
            self.write(&first)?;
        }
        Ok(())
    }

    /// Interns a name, the first time.
    fn name<R: Read>(&mut self, own: SliceName, names: &Reader<R>) -> io::Result<()> {
        if self.names.contains_key(&own) {
            return Ok(());
        }
        let iid = self.names.len() as u64 + 1;
        self.names.insert(own, iid);
        let name = EventName {
            iid: Some(iid),
            name: Some(own.text(names).into()),
        };
        self.packet(TracePacket {
            interned_data: Some(InternedData {
                event_names: vec![name],
                debug_annotation_names: Vec::new(),
            }),
            ..TracePacket::default()
        })
    }

    fn write(&mut self, slice: &Slice) -> io::Result<()> {
        let mut lanes = self.tracks.remove(&slice.track).unwrap_or_else(|| {
            // What runs in a thread may call again; operations of a queue are side by side.
            Lanes::new(matches!(slice.track, Track::Thread { .. }))
        });
        let lane = lanes.place(slice.begin_ns, slice.end_ns);
        let uuid = match lanes.uuid(lane) {
            Some(uuid) => uuid,
            None => self.describe(slice.track, lane)?,
        };
        let steps = lanes.put(lane, uuid, slice.begin_ns, slice.end_ns);
        self.tracks.insert(slice.track, lanes);
        for step in steps {
            self.step(step, Some(slice))?;
        }
        Ok(())
    }

    /// Writes an event, of this slice if it begins one.
    fn step(&mut self, step: Step, slice: Option<&Slice>) -> io::Result<()> {
        let (kind, at_ns, uuid) = match step {
            Step::Begin { at_ns, uuid } => (messages::SLICE_BEGIN, at_ns, uuid),
            Step::End { at_ns, uuid } => (messages::SLICE_END, at_ns, uuid),
            Step::Instant { at_ns, uuid } => (messages::INSTANT, at_ns, uuid),
        };
        let about = slice.filter(|_| kind != messages::SLICE_END);
        let annotations = about.map_or_else(Vec::new, |slice| annotations(slice.about));
        let event = TrackEvent {
            r#type: Some(kind),
            track_uuid: Some(uuid),
            name_iid: about.and_then(|slice| self.names.get(&slice.name).copied()),
            debug_annotations: annotations,
        };
        self.packet(TracePacket {
            timestamp: Some(at_ns),
            track_event: Some(event),
            ..TracePacket::default()
        })
    }

    fn next_uuid(&mut self) -> u64 {
        self.last_uuid += 1;
        self.last_uuid
    }

    /// Says what a track is; its number.
    fn describe(&mut self, track: Track, lane: usize) -> io::Result<u64> {
        let more = match lane {
            0 => String::new(),
            lane => format!(" ({})", lane + 1),
        };
        let uuid = self.next_uuid();
        let mut descriptor = TrackDescriptor {
            uuid: Some(uuid),
            ..TrackDescriptor::default()
        };
        match track {
            Track::Thread { process, thread } => {
                descriptor.parent_uuid = Some(self.process(process)?);
                let name = format!("thread {thread}{more}");
                match (signed(process), signed(thread)) {
                    (Some(pid), Some(tid)) if lane == 0 => {
                        descriptor.thread = Some(ThreadDescriptor {
                            pid: Some(pid),
                            tid: Some(tid),
                            thread_name: Some(name),
                        });
                    }
                    _ => descriptor.name = Some(name),
                }
            }
            Track::Queue { process, queue } => {
                descriptor.parent_uuid = Some(self.process(process)?);
                descriptor.name = Some(format!("queue {queue}{more}"));
            }
            Track::Engine { device, .. } => {
                let engine = self.engines.get(&track).map_or("", |name| name);
                descriptor.name = Some(format!("device {device}: {engine}{more}"));
            }
        }
        self.describe_as(descriptor)?;
        Ok(uuid)
    }

    fn describe_as(&mut self, descriptor: TrackDescriptor) -> io::Result<()> {
        self.packet(TracePacket {
            track_descriptor: Some(descriptor),
            ..TracePacket::default()
        })
    }

    /// The number of a process's own track.
    fn process(&mut self, process: u32) -> io::Result<u64> {
        if let Some(uuid) = self.processes.get(&process) {
            return Ok(*uuid);
        }
        let uuid = self.next_uuid();
        self.processes.insert(process, uuid);
        let name = format!("guest process {}", process_name(process));
        let mut descriptor = TrackDescriptor {
            uuid: Some(uuid),
            ..TrackDescriptor::default()
        };
        match signed(process) {
            Some(pid) => {
                descriptor.process = Some(ProcessDescriptor {
                    pid: Some(pid),
                    process_name: Some(name),
                });
            }
            None => descriptor.name = Some(name),
        }
        self.describe_as(descriptor)?;
        Ok(uuid)
    }
}

/// A number as the format has it; 0 is the idle process there.
fn signed(number: u32) -> Option<i32> {
    i32::try_from(number).ok().filter(|number| *number > 0)
}

fn annotations(about: [u64; 3]) -> Vec<DebugAnnotation> {
    let all = (1..).zip(about).filter(|(_, value)| *value > 0);
    let annotation = |(iid, value)| DebugAnnotation {
        name_iid: Some(iid),
        uint_value: Some(value),
    };
    all.map(annotation).collect()
}

impl<R: Read, W: Write> Sink<R> for Trace<W> {
    fn row(&mut self, row: &Row, names: &Reader<R>) -> io::Result<()> {
        if !row.is_call() {
            return Ok(());
        }
        let slice = |track, name, begin_ns, end_ns: u64| Slice {
            track,
            begin_ns,
            end_ns: end_ns.max(begin_ns),
            name,
            about: [row.seq, row.bytes_to_board, row.bytes_from_board],
        };
        let (process, thread) = (row.process, row.thread);
        let call = Track::Thread { process, thread };
        let name = SliceName::of_call(row);
        self.add(slice(call, name, row.called_ns, row.returned_ns), names)?;
        let Some(operation) = row.operation else {
            return Ok(());
        };
        let Some(interval) = operation.interval else {
            return Ok(());
        };
        let name = SliceName::of_operation(row);
        let of = |track| slice(track, name, interval.start_ns, interval.end_ns);
        if let Some(queue) = row.queue {
            self.add(of(Track::Queue { process, queue }), names)?;
        }
        if operation.engine != 0 {
            let track = Track::Engine {
                device: operation.device,
                api: match operation.engine {
                    // A driver's own processors.
                    8.. => row.op.api(),
                    _ => 0,
                },
                engine: operation.engine,
            };
            let name = || names.engine(row.op.api(), operation.engine).to_owned();
            self.engines.entry(track).or_insert_with(name);
            self.add(of(track), names)?;
        }
        Ok(())
    }
}
