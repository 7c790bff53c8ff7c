//! One call that the board answers: what its answer means for the timeline,
//! for guest RAM, and for the thread that waits.

use super::forward::{unexpected, window_places};
use super::{Call, Context, Link, Pending, Refusal, Session};
use crate::client::{Client, ClientError, Received};
use crate::layout::{Status, WaitKind, flag};
use crate::mailbox::Answer;
use crate::memory::write_region;
use crate::vectored::Span;
use gil_address_tables::Extents;
use gil_timing::{Engine, Event, Operation, QueueRef};
use gil_wire::envelope::{self, Class};
use gil_wire::frame::FrameError;
use gil_wire::message::{CallStatus, PRINTED_MAX, Reply, Report};
use gil_wire::trace;
use std::collections::BTreeMap;

/// A board's answer, checked against the call.
struct Done {
    status: CallStatus,
    result: Vec<u8>,
    cpu_ns: u64,
    busy_ns: u64,
    out: Vec<u64>,
    reports: Vec<Report>,
    /// The submissions of earlier operations that are reported, by event.
    seqs: BTreeMap<Event, u64>,
    /// Where the call's own output is in the window, if it is there.
    places: Option<Vec<u64>>,
}

/// What an answer means for simulated time.
struct Settled {
    /// When the thread may go on.
    deadline_ns: u64,
    wait: WaitKind,
    flags: u32,
    /// The call's own output is written at once; its operation ends then.
    at_once: Option<u64>,
}

/// One run of bytes in an answer.
struct Slot {
    len: u64,
    to: Destination,
    /// Empty if the bytes go to guest RAM in place.
    bytes: Vec<u8>,
    in_place: bool,
    /// Where the bytes are in the window, if they are there.
    place: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Destination {
    /// The call's own out region of this index, now.
    Own(usize),
    /// Held output: submission and region.
    Held(u64, usize),
    /// Text of the operation that signals this event.
    Printed(Event),
}

impl Session {
    pub(super) fn call(
        &mut self,
        context: &mut Context<'_>,
        main: &Call<'_>,
        calls: &[Call<'_>],
    ) -> Result<Answer, Refusal> {
        let mut sent = self.forward(context, calls, Some(calls.len() - 1))?;
        let input = sent.pop().unwrap_or_default();
        let Link::Open(mut client) = std::mem::replace(&mut self.link, Link::Lost) else {
            return Err(Refusal::Lost);
        };
        let outcome = self.receive(context, &mut client, main, &input);
        context.served.waited += client.take_waited();
        match outcome {
            Ok(answer) => {
                self.link = Link::Open(client);
                Ok(answer)
            }
            Err(Failure::Refused(reason)) => {
                self.link = Link::Open(client);
                let op = main.envelope.op;
                Err(Refusal::Bad(format!("the board refused {op}: {reason}")))
            }
            Err(Failure::Lost(error)) => {
                self.held.forget(main.header.seq);
                self.record_call(context, main, &input, None, &[]);
                Err(self.lose(context, main.envelope.op, &error))
            }
        }
    }

    fn receive(
        &mut self,
        context: &mut Context<'_>,
        client: &mut Client,
        main: &Call<'_>,
        input: &[Vec<u8>],
    ) -> Result<Answer, Failure> {
        let received = client.reply()?;
        let places = match received.in_window {
            true => Some(out_places(client, main)?),
            false => None,
        };
        let done = self.done(main, &received, places)?;
        let settled = self.settle(context, main, &done)?;
        let mut slots = self.slots(context, main, &done, &settled);
        fill(context, client, main, &mut slots)?;
        let output: Vec<&[u8]> = slots.iter().map(|slot| &slot.bytes[..]).collect();
        self.record_call(context, main, input, Some(done.record()), &output);
        self.account(context, main, &done);
        self.place(context, main, slots, &settled);
        match done.status {
            CallStatus::Ran => Ok(Answer {
                reply: self.reply(main, &done, settled.deadline_ns)?,
                deadline_ns: settled.deadline_ns,
                wait: settled.wait,
                flags: settled.flags,
                ..Answer::status(Status::Ok)
            }),
            CallStatus::Refused => Err(Failure::Refused(done.sentence())),
            CallStatus::Lost => Err(Failure::Lost(ClientError::Refused(done.sentence()))),
        }
    }

    /// Decodes an answer and checks all it says against the call.
    fn done(
        &self,
        main: &Call<'_>,
        received: &Received,
        places: Option<Vec<u64>>,
    ) -> Result<Done, ClientError> {
        let reply = postcard::from_bytes(&received.header).map_err(FrameError::from)?;
        let done = match reply {
            Reply::Done {
                seq,
                status,
                result,
                cpu_ns,
                busy_ns,
                out,
                reports,
            } if seq == main.header.seq => Done {
                status,
                result: result.to_vec(),
                cpu_ns,
                busy_ns,
                out,
                seqs: self.seqs(&reports),
                reports,
                places,
            },
            Reply::Refused { reason } => return Err(ClientError::Refused(reason)),
            other => return Err(unexpected(&other, "the call's answer")),
        };
        self.check(main, &done, received.payload_len)?;
        Ok(done)
    }

    fn seqs(&self, reports: &[Report]) -> BTreeMap<Event, u64> {
        let seq = |report: &Report| {
            let (seq, _) = self.unreported.get(&report.event)?;
            Some((report.event, *seq))
        };
        reports.iter().filter_map(seq).collect()
    }

    /// What the guest reads: the encoded envelope answer.
    fn reply(
        &mut self,
        main: &Call<'_>,
        done: &Done,
        deadline_ns: u64,
    ) -> Result<Vec<u8>, ClientError> {
        let at_ns = deadline_ns.max(main.header.now_ns);
        let reply = self.encode(&done.result, Vec::new(), main.header, at_ns);
        reply.map_err(|_| wrong(format!("a result of {} bytes", done.result.len())))
    }

    fn check(&self, main: &Call<'_>, done: &Done, payload_len: u64) -> Result<(), ClientError> {
        let own: Vec<u64> = out_regions(main).map(|extents| extents.len()).collect();
        let mut total = fits(&done.out, &own)?;
        if done.places.is_some() {
            total = 0;
        }
        let mut seen = BTreeMap::new();
        for report in &done.reports {
            let event = report.event;
            let is_own = main.envelope.signals == Some(event);
            let earlier = self.unreported.get(&event);
            let room = match earlier {
                _ if is_own => own.clone(),
                Some((seq, _)) => self.held.lens(*seq),
                None => return Err(wrong(format!("a report of operation {event}"))),
            };
            if seen.insert(event, ()).is_some() || report.printed > PRINTED_MAX {
                return Err(wrong(format!("an odd report of operation {event}")));
            }
            total = total.saturating_add(fits(&report.out, &room)?);
            total = total.saturating_add(report.printed);
        }
        match total == payload_len {
            true => Ok(()),
            false => Err(wrong(format!("{payload_len} bytes of output for {total}"))),
        }
    }

    /// Puts the call and the reports on the timeline.
    fn settle(
        &mut self,
        context: &mut Context<'_>,
        main: &Call<'_>,
        done: &Done,
    ) -> Result<Settled, ClientError> {
        let ran = done.status == CallStatus::Ran;
        let is_enqueue = main.envelope.class == Class::Enqueue;
        let returns_ns = main.entry_ns.saturating_add(done.cpu_ns);
        if ran && is_enqueue {
            self.enqueue(main, returns_ns)?;
        }
        let set = self.resolve(context, main, &done.reports)?;
        if let (Some(event), Some(status)) = (main.envelope.signals, set) {
            // Set twice: the board's result says so, the timeline stays.
            let _ = self.timeline.signal(event, returns_ns, status);
        }
        if let Some(event) = main.envelope.retires {
            self.retire(event);
        }
        let own = main.envelope.signals.filter(|_| is_enqueue && ran);
        let progress = self.learn_ends(own);
        let mut settled = match own {
            Some(event) => self.settle_enqueue(context, main, event, returns_ns),
            None => settled(main, returns_ns, WaitKind::Occupy, Some(returns_ns)),
        };
        if progress {
            settled.flags |= flag::PROGRESS;
        }
        Ok(settled)
    }

    fn enqueue(&mut self, main: &Call<'_>, submit_ns: u64) -> Result<(), ClientError> {
        let envelope = main.envelope;
        let event = envelope.signals.unwrap_or_default();
        let (seq, observable) = (main.header.seq, envelope.observable);
        let operation = Operation {
            event,
            entry_ns: main.entry_ns,
            submit_ns,
            queue: envelope.queue.map(|queue| QueueRef {
                id: queue.id,
                in_order: queue.in_order,
                device: queue.device,
            }),
            engine: engine(envelope.engine),
            waits: envelope.waits.clone(),
            // Until its end is known here; `learn_ends` retires it then.
            observable: true,
        };
        let put = self.timeline.enqueue(operation);
        put.map_err(|error| wrong(error.to_string()))?;
        let awaited = envelope.blocking && !observable;
        self.pending.insert(
            event,
            Pending {
                seq,
                observable,
                awaited,
            },
        );
        self.unreported.insert(event, (seq, envelope.op));
        Ok(())
    }

    /// Tells the timeline what ended. A synchronous call's own report says
    /// that the event it signals was set; returns with which status.
    fn resolve(
        &mut self,
        context: &mut Context<'_>,
        main: &Call<'_>,
        reports: &[Report],
    ) -> Result<Option<i32>, ClientError> {
        let mut set = None;
        for report in reports {
            let event = report.event;
            if main.envelope.signals == Some(event) && main.envelope.class != Class::Enqueue {
                set = Some(report.status);
                continue;
            }
            let known = self.unreported.remove(&event);
            let (_, op) = known.ok_or_else(|| wrong(format!("a report of {event}")))?;
            let done = self
                .timeline
                .resolve(event, report.duration_ns, report.status);
            done.map_err(|error| wrong(error.to_string()))?;
            let entry = context.stats.entry(op);
            entry.gpu_ns = entry.gpu_ns.saturating_add(report.duration_ns);
        }
        Ok(set)
    }

    /// When an enqueue's thread may go on, and what becomes of its output.
    fn settle_enqueue(
        &mut self,
        context: &Context<'_>,
        main: &Call<'_>,
        event: u64,
        returns_ns: u64,
    ) -> Settled {
        let end_ns = self
            .timeline
            .interval(event)
            .map(|interval| interval.end_ns);
        if end_ns.is_some() {
            self.pending.remove(&event);
            if !main.envelope.observable {
                self.timeline.retire(event);
            }
        }
        let outs: Vec<Extents> = out_regions(main).cloned().collect();
        let out_len: u64 = outs.iter().map(Extents::len).sum();
        // More held output than RAM: the thread waits instead of the host.
        let crowded = self.held.guest_bytes().saturating_add(out_len) > context.memory.size();
        let blocking = main.envelope.blocking || crowded && !outs.is_empty();
        let is_past = end_ns.is_some_and(|end_ns| end_ns <= main.header.now_ns);
        match end_ns {
            Some(end_ns) if blocking => {
                let deadline_ns = end_ns.max(returns_ns);
                settled(main, deadline_ns, WaitKind::Sleep, Some(end_ns))
            }
            Some(end_ns) if is_past || outs.is_empty() => {
                settled(main, returns_ns, WaitKind::Occupy, Some(end_ns))
            }
            _ => {
                let mut settled = settled(main, returns_ns, WaitKind::Occupy, None);
                settled.flags |= if end_ns.is_none() { flag::PENDING } else { 0 };
                settled.flags |= self.hold(main.header.seq, outs, end_ns);
                settled
            }
        }
    }

    fn hold(&mut self, seq: u64, outs: Vec<Extents>, end_ns: Option<u64>) -> u32 {
        if outs.is_empty() {
            return 0;
        }
        self.held.insert(seq, outs);
        if let Some(end_ns) = end_ns {
            self.held.resolve(seq, end_ns);
        }
        flag::HOLD
    }

    /// Where each run of bytes in the payload goes.
    fn slots(
        &self,
        context: &Context<'_>,
        main: &Call<'_>,
        done: &Done,
        settled: &Settled,
    ) -> Vec<Slot> {
        let own_seq = main.header.seq;
        let outs: Vec<&Extents> = out_regions(main).collect();
        let may_be_in_place =
            |index: usize| context.trace.is_none() && self.held.overlaps(outs[index]) == Ok(false);
        let slot = |seq: u64, index: usize, len: u64, place: Option<u64>| {
            let to = match settled.at_once {
                Some(_) if seq == own_seq => Destination::Own(index),
                _ => Destination::Held(seq, index),
            };
            let in_place = matches!(to, Destination::Own(index) if may_be_in_place(index));
            let bytes = Vec::new();
            Slot {
                len,
                to,
                bytes,
                in_place,
                place,
            }
        };
        let place = |index: usize| done.places.as_ref().map(|places| places[index]);
        // Lengths beyond the regions were checked to be 0.
        let own_len = outs.len();
        let own = done.out.iter().enumerate();
        let own = own.take(own_len);
        let own = own.map(|(index, &len)| slot(own_seq, index, len, place(index)));
        let reported = done.reports.iter().flat_map(|report| {
            let seq = done.seqs.get(&report.event).copied().unwrap_or(own_seq);
            let outs = report.out.iter().enumerate();
            let outs = outs.map(move |(index, &len)| slot(seq, index, len, None));
            outs.chain([Slot {
                len: report.printed,
                to: Destination::Printed(report.event),
                bytes: Vec::new(),
                in_place: false,
                place: None,
            }])
        });
        own.chain(reported).filter(|slot| slot.len > 0).collect()
    }

    /// Puts what was received in buffers where it belongs.
    fn place(
        &mut self,
        context: &mut Context<'_>,
        main: &Call<'_>,
        slots: Vec<Slot>,
        settled: &Settled,
    ) {
        let buffered = slots.into_iter().filter(|slot| !slot.in_place);
        let (own, held): (Vec<Slot>, Vec<Slot>) =
            buffered.partition(|slot| matches!(slot.to, Destination::Own(_)));
        for slot in held {
            match slot.to {
                Destination::Held(seq, index) => self.held.fill(seq, index, slot.bytes),
                Destination::Printed(event) => self.print(context, main, event, slot.bytes),
                Destination::Own(_) => {}
            }
        }
        let outs: Vec<&Extents> = out_regions(main).collect();
        if !own.is_empty() {
            // Older output first: the newer one stays.
            let end_ns = settled.at_once.unwrap_or(main.header.now_ns);
            for due in self.held.take_overlapping(end_ns, &outs) {
                self.deliver_one(context, main.header.now_ns, due);
            }
        }
        for slot in own {
            if let Destination::Own(index) = slot.to
                && let Err(error) = write_region(context.memory, outs[index], &slot.bytes)
            {
                context
                    .events
                    .warn(format!("output was not delivered: {error}"));
            }
        }
    }

    fn print(&mut self, context: &mut Context<'_>, main: &Call<'_>, event: Event, text: Vec<u8>) {
        if !self.printed.add(event, text) {
            let text = "text that kernels printed is dropped: the program does not take it";
            context.events.warn(text.into());
        }
        let interval = self.timeline.interval(event);
        if interval.is_some() || !self.pending.contains_key(&event) {
            let now_ns = main.header.now_ns;
            self.printed
                .resolve(event, interval.map_or(now_ns, |i| i.end_ns));
        }
    }

    fn account(&self, context: &mut Context<'_>, main: &Call<'_>, done: &Done) {
        let returns_ns = main.entry_ns.saturating_add(done.cpu_ns);
        let now_ns = main.header.now_ns;
        let reported = done.reports.iter().flat_map(|report| &report.out);
        let from_board: u64 = done.out.iter().chain(reported).sum();
        context.stats.board_busy(done.busy_ns);
        let entry = context.stats.entry(main.envelope.op);
        entry.board_cpu_ns = entry.board_cpu_ns.saturating_add(done.cpu_ns);
        entry.bytes_from_board += from_board;
        let simulated = &mut context.stats.report.simulated;
        simulated.excess_ns = simulated
            .excess_ns
            .saturating_add(now_ns.saturating_sub(returns_ns));
    }
}

/// Why a call has no answer for the guest.
enum Failure {
    /// The board refused the call and said why; the session goes on.
    Refused(String),
    /// The session is over.
    Lost(ClientError),
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Self::Lost(error)
    }
}

impl Done {
    /// Why the call was not run.
    fn sentence(&self) -> String {
        String::from_utf8_lossy(&self.result).into_owned()
    }

    fn record(&self) -> trace::Done<'_> {
        trace::Done {
            status: self.status,
            result: &self.result,
            cpu_ns: self.cpu_ns,
            busy_ns: self.busy_ns,
            out: self.out.clone(),
            reports: self.reports.clone(),
        }
    }
}

/// Fills the slots, from the window or with the payload.
fn fill(
    context: &Context<'_>,
    client: &mut Client,
    main: &Call<'_>,
    slots: &mut [Slot],
) -> Result<(), ClientError> {
    let outs: Vec<&Extents> = out_regions(main).collect();
    let mut spans = Vec::new();
    for slot in slots.iter_mut() {
        let mapped = match slot.to {
            Destination::Own(index) if slot.in_place => {
                // Its addresses were checked with the mailbox.
                context.memory.spans(outs[index], slot.len).unwrap_or(None)
            }
            _ => None,
        };
        slot.in_place = mapped.is_some();
        let targets = match mapped {
            Some(mapped) => mapped,
            None => {
                slot.bytes = vec![0; slot.len as usize];
                vec![Span::target(&mut slot.bytes)]
            }
        };
        match slot.place {
            Some(place) => take(client, place, targets),
            None => spans.extend(targets),
        }
    }
    client.payload(spans)
}

/// Fills spans with what is in the window from `place` on.
fn take(client: &Client, mut place: u64, targets: Vec<Span<'_>>) {
    let Some(window) = client.window() else {
        return;
    };
    for mut target in targets {
        window.fill_span(place, &mut target);
        place += target.len() as u64;
    }
}

/// Where the call's out regions are in the window.
fn out_places(client: &Client, main: &Call<'_>) -> Result<Vec<u64>, ClientError> {
    let places = window_places(client, main);
    let places =
        places.ok_or_else(|| wrong("output in a window that the call does not use".into()))?;
    let regions = main.regions.iter().zip(places);
    let outs = regions.filter(|(region, _)| region.dir.is_out());
    Ok(outs.map(|(_, place)| place).collect())
}

fn settled(main: &Call<'_>, deadline_ns: u64, wait: WaitKind, at_once: Option<u64>) -> Settled {
    let is_ahead = deadline_ns > main.header.now_ns;
    Settled {
        deadline_ns: if is_ahead { deadline_ns } else { 0 },
        wait: if is_ahead { wait } else { WaitKind::None },
        flags: 0,
        at_once,
    }
}

fn out_regions<'a>(main: &Call<'a>) -> impl Iterator<Item = &'a Extents> {
    let outs = main.regions.iter().filter(|region| region.dir.is_out());
    outs.map(|region| &region.extents)
}

/// The sum of `lens`, each within its room.
fn fits(lens: &[u64], room: &[u64]) -> Result<u64, ClientError> {
    let within = lens.iter().zip(room).all(|(len, room)| len <= room);
    let extra = lens.iter().skip(room.len()).any(|&len| len > 0);
    match within && !extra {
        true => Ok(lens.iter().fold(0, |sum, &len| sum.saturating_add(len))),
        false => Err(wrong(format!(
            "output of {lens:?} bytes for room of {room:?}"
        ))),
    }
}

fn wrong(found: String) -> ClientError {
    let expected = "an answer that fits the call";
    ClientError::Unexpected { found, expected }
}

fn engine(engine: envelope::Engine) -> Engine {
    match engine {
        envelope::Engine::Compute => Engine::Compute,
        envelope::Engine::CopyIn => Engine::CopyIn,
        envelope::Engine::CopyOut => Engine::CopyOut,
        envelope::Engine::None | envelope::Engine::Marker | envelope::Engine::Barrier => {
            Engine::None
        }
    }
}
