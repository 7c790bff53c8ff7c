//! One call that the board answers: sends it, receives and checks the answer.

use super::calls::{Call, Calls};
use super::forward::{unexpected, window_places};
use super::output::{self, Slot};
use super::schedule::{BoardCpu, Busy};
use super::{Context, Refusal, Session, reports};
use crate::config::Time;
use crate::frames::{Cost, Thread};
use crate::mailbox::Answer;
use gil_address_tables::Extents;
use gil_timing::Event;
use gil_transport::client::{Client, ClientError};
use gil_uapi::GuestLength;
use gil_wire::driver::Fetched;
use gil_wire::envelope::Class;
use gil_wire::finish::Finish;
use gil_wire::frame::FrameError;
use gil_wire::message::{CallStatus, Done, POSTED_MAX, Posted, RegionDesc, Reply, Report};
use gil_wire::words::Words;
use std::collections::BTreeSet;

/// The contents of an answer.
pub(super) struct Brought<'a> {
    /// Checked against the call.
    pub(super) done: Done<'a>,
    /// How long the call keeps its thread.
    pub(super) busy: Busy,
    /// The call's own output.
    pub(super) slots: Vec<Slot>,
    /// Each report's bytes.
    pub(super) bytes: Vec<Vec<Vec<u8>>>,
}

/// Most input that the board keeps for the operations of a session that are not
/// known to have ended; of a guest with less RAM, as much as that.
const KEPT_INPUT_MAX: u64 = 1_073_741_824;

/// Why a call has no answer for the guest.
enum Failure {
    /// The board refused the call and said why; the session goes on.
    Refused(Words),
    /// The board has nothing that takes calls of this API, for this reason; the
    /// session goes on.
    NotServed(Words),
    /// The session is over.
    Lost(ClientError),
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Self::Lost(error)
    }
}

impl Session {
    /// Has the board execute the last call.
    pub(super) fn call(
        &mut self,
        context: &mut Context<'_>,
        calls: &mut Calls<'_>,
    ) -> Result<Answer, Refusal> {
        let waits = self.must_wait(context, calls.last());
        let finish = self.must_finish(context, calls.last(), waits);
        calls.last_mut().finish = finish;
        self.make_room(context, calls.last())?;
        let (main, unsent) = (calls.last(), calls.unsent());
        let op = main.envelope.op;
        let mut sent = self.forward(context, unsent, Some(unsent.len() - 1))?;
        let input = sent.pop().unwrap_or_default();
        let mut client = self.links.of_mut(op).take().ok_or(Refusal::Lost)?;
        let mut header = Vec::new();
        let outcome = self.receive(context, &mut client, main, waits, &input, &mut header);
        context.took.waited += client.take_waited();
        if let Some(event) = main.envelope.retires {
            self.schedule.retire(event);
        }
        match outcome {
            Ok(brought) => {
                self.links.of_mut(op).put(client);
                let answer = self.settle(context, main, waits, brought);
                answer.inspect_err(|_| self.delivery.held.forget(main.submission.seq))
            }
            Err(Failure::Refused(reason)) => {
                self.links.of_mut(op).put(client);
                Err(Refusal::Bad(format!("the board refused {op}: {reason}")))
            }
            Err(Failure::NotServed(reason)) => {
                let link = self.links.of_mut(op);
                link.put(client);
                link.is_not_served(context, op.api(), reason);
                Err(Refusal::Unserved)
            }
            Err(Failure::Lost(error)) => {
                let link = self.links.of(op);
                link.record_call(context, main, &input, None, &[]);
                Err(self.lose(context, op, &error))
            }
        }
    }

    /// Whether the thread goes on only after the operation's end: it says so,
    /// or there is more held output than RAM already.
    fn must_wait(&self, context: &Context<'_>, main: &Call<'_>) -> bool {
        let out_len: GuestLength = out_regions(main).map(Extents::len).sum();
        let held = self.delivery.held.guest_bytes().saturating_add(out_len);
        main.envelope.blocking
            || is_last_of_frame(context, main)
            || !out_len.is_zero() && held > context.memory.size()
    }

    /// Publishes operations ahead while the board keeps more input of them
    /// than it should, with the call's own. What waits for an event that nobody
    /// has set keeps its input.
    fn make_room(&mut self, context: &mut Context<'_>, main: &Call<'_>) -> Result<(), Refusal> {
        let own = in_len(main);
        let most = context.memory.size().0.min(KEPT_INPUT_MAX);
        while own > 0 && self.schedule.kept_input > most.saturating_sub(own) {
            match self.publish_one(context) {
                Ok(()) => {}
                Err(Refusal::Unresolved) => break,
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(())
    }

    /// Whether operations are to end before the board answers: one that starts
    /// at once, or that is waited for, is as well finished in one go.
    fn must_finish(&self, context: &Context<'_>, main: &Call<'_>, waits: bool) -> bool {
        let envelope = main.envelope;
        match envelope.class {
            _ if waits || context.time == Time::Strict => true,
            Class::Enqueue => {
                let operation = self.schedule.operation(main, main.entry_ns);
                let timeline = &self.schedule.timeline;
                let at_once_ns = main.submission.now_ns().max(operation.submit_ns);
                let by_ns = at_once_ns.saturating_add(operation.delays.launch_ns);
                timeline.would_start(&operation, by_ns)
            }
            _ => envelope.signals.is_none(),
        }
    }

    /// Receives the answer, whose message is put into `header`.
    fn receive<'a>(
        &mut self,
        context: &mut Context<'_>,
        client: &mut Client,
        main: &Call<'_>,
        waits: bool,
        input: &[Vec<u8>],
        header: &'a mut Vec<u8>,
    ) -> Result<Brought<'a>, Failure> {
        let received = client.reply()?;
        context.stats.went_there_and_back(main.envelope.op);
        let places = match received.in_window {
            true => Some(out_places(client, main)?),
            false => None,
        };
        *header = received.header;
        let (mut done, posted, work) = decode(main, header)?;
        if let Some(work) = work {
            let own_ns = context.works.of(work, own_ns(&done, &posted));
            done.cpu_ns = own_ns.saturating_add(posted_ns(&posted));
        }
        self.check(main, &done, received.payload_len, received.in_window)?;
        let places = places.as_deref();
        let mut slots = self.delivery.slots(context, main, &done, waits, places);
        output::fill(context, client, main, &mut slots)?;
        match main.brings_differences() {
            true => self.apply(context, main, &done, &slots)?,
            false => self.mirrors.received(context, main, &slots),
        }
        let bytes = done.reports.iter();
        let bytes = bytes.map(|report| reports::receive(client, report));
        let bytes = bytes.collect::<Result<Vec<_>, _>>()?;
        let own = slots.iter().map(|slot| &slot.bytes);
        let all = own.chain(bytes.iter().flatten()).map(Vec::as_slice);
        let all: Vec<&[u8]> = all.collect();
        let place = self.links.place(main.envelope.op);
        let process = self.links.first().process();
        let thread = self.thread(main.submission);
        let link = self.links.of_mut(main.envelope.op);
        link.record_posted(context, &posted);
        link.record_call(context, main, input, Some(&done), &all);
        let kept = link.kept.take();
        if done.status == CallStatus::Ran {
            link.remember(kept, Some(done.result));
        }
        link.lateness.spend(main);
        let took = BoardCpu {
            own_ns: own_ns(&done, &posted),
            posted_ns: self.schedule.posted_ns(&posted),
            spent: link.lateness.take_spent(&posted),
        };
        let busy = self.schedule.busy(main, &took);
        account(
            context,
            (thread, place, process),
            (main, busy.returns_ns),
            &done,
            &posted,
        );
        self.delivery.notices |= done.notices;
        self.note(context, (main, busy), &done)?;
        match done.status {
            CallStatus::Ran => Ok(Brought {
                done,
                busy,
                slots,
                bytes,
            }),
            CallStatus::Refused => Err(Failure::Refused(sentence(&done))),
            CallStatus::NotServed => Err(Failure::NotServed(sentence(&done))),
            CallStatus::Lost => Err(Failure::Lost(ClientError::Refused(sentence(&done)))),
        }
    }

    /// Brings the guest's memory up to date, by differences that the call's end brought.
    fn apply(
        &mut self,
        context: &mut Context<'_>,
        main: &Call<'_>,
        done: &Done<'_>,
        slots: &[Slot],
    ) -> Result<(), ClientError> {
        let has_ended = |event| done.reports.iter().any(|report| report.event == event);
        let is_early = main.envelope.signals.is_some_and(|event| !has_ended(event));
        if is_early && !slots.is_empty() {
            return Err(wrong("differences of memory before the call's end".into()));
        }
        if let Ok(fetched) = Fetched::parse(done.result) {
            context.stats.board_compared(fetched.compare_ns);
        }
        let applied = self.mirrors.apply(context, main, slots);
        applied.map_err(|error| wrong(error.to_string()))
    }

    /// Checks all that an answer says against the call.
    fn check(
        &self,
        main: &Call<'_>,
        done: &Done<'_>,
        payload_len: u64,
        in_window: bool,
    ) -> Result<(), ClientError> {
        let own = out_lens(main);
        let mut total = fits(&done.out, &own)?;
        if in_window {
            total = 0;
        }
        let mut seen = BTreeSet::new();
        for report in &done.reports {
            let event = report.event;
            let room = self.report_room(main, event);
            let room = room.filter(|_| seen.insert(event));
            let room = room.ok_or_else(|| wrong(format!("a report of operation {event}")))?;
            total = total.saturating_add(reports::check(report, &room)?);
        }
        match total == payload_len {
            true => Ok(()),
            false => Err(wrong(format!("{payload_len} bytes of output for {total}"))),
        }
    }

    /// Bytes of output that a report may bring; `None` if there is nothing to
    /// report.
    fn report_room(&self, main: &Call<'_>, event: Event) -> Option<Vec<u64>> {
        if main.envelope.signals == Some(event) {
            return Some(out_lens(main));
        }
        let operation = self.schedule.pending.get(&event)?;
        let place = |op| self.links.place(op);
        let is_its = place(operation.op) == place(main.envelope.op);
        (is_its && !operation.is_reported).then(|| self.delivery.room_of(operation))
    }
}

/// Whether the board waits there for its device, and the program with it.
fn is_last_of_frame(context: &Context<'_>, main: &Call<'_>) -> bool {
    let envelope = main.envelope;
    context.finish == Finish::Frame
        && envelope.class == Class::Enqueue
        && gil_wire::api::ends_frame(envelope.op)
}

/// Counts an answer in its thread's frame.
fn frame_part(
    context: &mut Context<'_>,
    thread: Thread,
    main: &Call<'_>,
    done: &Done<'_>,
    own_ns: u64,
    posted: &[Posted],
) {
    let own = done
        .reports
        .iter()
        .find(|report| main.envelope.signals == Some(report.event));
    let gpu_ns = own.map_or(0, |report| report.duration_ns);
    let part = context.stats.frames.part(thread);
    part.bytes_from_board += done.result.len() as u64 + done.out.iter().sum::<u64>();
    let cost = Cost {
        calls: 1,
        cpu_ns: own_ns,
        gpu_ns,
        longest_ns: own_ns.saturating_add(gpu_ns),
    };
    part.took(main.envelope.op, cost);
    for post in posted {
        let cost = Cost {
            calls: post.calls.into(),
            cpu_ns: post.cpu_ns,
            gpu_ns: 0,
            longest_ns: post.longest_ns,
        };
        part.took(post.op, cost);
    }
}

/// Counts what an answer says of a call of this thread, on the board of this place, in this
/// process; the call returns then.
fn account(
    context: &mut Context<'_>,
    (thread, place, process): (Thread, usize, u32),
    (main, returns_ns): (&Call<'_>, u64),
    done: &Done<'_>,
    posted: &[Posted],
) {
    let now_ns = main.submission.now_ns();
    context.stats.board_busy(place, done.busy_ns);
    let own_ns = own_ns(done, posted);
    let entry = context.stats.entry(main.envelope.op);
    entry.board_cpu_ns = entry.board_cpu_ns.saturating_add(own_ns);
    context
        .stats
        .brought(main.envelope.op, done.out.iter().sum());
    if let Some(process) = context.stats.process(process) {
        process.board_cpu_ns = process.board_cpu_ns.saturating_add(done.cpu_ns);
    }
    for post in posted {
        let entry = context.stats.entry(post.op);
        entry.board_cpu_ns = entry.board_cpu_ns.saturating_add(post.cpu_ns);
    }
    frame_part(context, thread, main, done, own_ns, posted);
    context.took.cost = super::called::Cost {
        board_ns: done.busy_ns,
        board_cpu_ns: own_ns,
        bytes: done.out.iter().sum(),
    };
    context.log_costs(main, process, posted);
    let simulated = &mut context.stats.report.simulated;
    simulated.target_cpu_ns = simulated
        .target_cpu_ns
        .saturating_add(returns_ns.saturating_sub(main.entry_ns));
    simulated.excess_ns = simulated
        .excess_ns
        .saturating_add(now_ns.saturating_sub(returns_ns));
}

/// What posts before a call took, which its answer says with its own.
fn posted_ns(posted: &[Posted]) -> u64 {
    let each = posted.iter().map(|post| post.cpu_ns);
    each.fold(0, u64::saturating_add)
}

/// What the call itself took.
fn own_ns(done: &Done<'_>, posted: &[Posted]) -> u64 {
    done.cpu_ns.saturating_sub(posted_ns(posted))
}

/// The answer to a call.
fn decode<'a>(
    main: &Call<'_>,
    header: &'a [u8],
) -> Result<(Done<'a>, Vec<Posted>, Option<u64>), ClientError> {
    match postcard::from_bytes(header).map_err(FrameError::from)? {
        Reply::Done {
            seq,
            done,
            posted,
            work,
        } if seq == main.submission.seq && posted.len() <= POSTED_MAX => Ok((done, posted, work)),
        Reply::Refused { reason } => Err(ClientError::Refused(reason.into())),
        Reply::Departed { reason } => Err(ClientError::Departed(reason.into())),
        other => Err(unexpected(&other, "the call's answer")),
    }
}

/// Whether an answer says that the enqueue `main` was refused: there is no
/// operation, and the result says why.
pub(super) fn is_refused(main: &Call<'_>, done: &Done<'_>) -> bool {
    let own = |report: &&Report| main.envelope.signals == Some(report.event);
    let own = done.reports.iter().find(own);
    main.envelope.class == Class::Enqueue && own.is_some_and(|report| report.rejected)
}

/// Why a call was not executed.
fn sentence(done: &Done<'_>) -> Words {
    String::from_utf8_lossy(done.result).into_owned().into()
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

/// Bytes of the regions that go in.
pub(super) fn in_len_of(regions: &[RegionDesc]) -> u64 {
    let ins = regions.iter().filter(|region| region.dir.is_in());
    ins.fold(0, |sum, region| sum.saturating_add(region.len))
}

/// Bytes of a call's input regions.
pub(super) fn in_len(call: &Call<'_>) -> u64 {
    let ins = call.regions.iter().filter(|region| region.dir.is_in());
    ins.map(|region| region.len()).sum::<GuestLength>().0
}

/// Bytes that a call has in its regions.
pub(super) fn moved(call: &Call<'_>) -> u64 {
    let regions = call.regions.iter();
    regions.map(|region| region.len()).sum::<GuestLength>().0
}

/// Bytes of each out region, as the board counts them.
fn out_lens(main: &Call<'_>) -> Vec<u64> {
    out_regions(main).map(|region| region.len().0).collect()
}

pub(super) fn out_regions<'a>(main: &Call<'a>) -> impl Iterator<Item = &'a Extents> {
    let outs = main.regions.iter().filter(|region| region.dir.is_out());
    outs.map(|region| &region.extents)
}

/// The sum of `lens`, each within its buffer's size.
pub(super) fn fits(lens: &[u64], room: &[u64]) -> Result<u64, ClientError> {
    let within = lens.iter().zip(room).all(|(len, room)| len <= room);
    let extra = lens.iter().skip(room.len()).any(|&len| len > 0);
    match within && !extra {
        true => Ok(lens.iter().fold(0, |sum, &len| sum.saturating_add(len))),
        false => Err(wrong(format!(
            "output of {lens:?} bytes for room of {room:?}"
        ))),
    }
}

pub(super) fn wrong(found: String) -> ClientError {
    let expected = "an answer that fits the call";
    ClientError::Unexpected { found, expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_fits_its_regions_one_by_one() {
        let sum = |lens: &[u64], room: &[u64]| fits(lens, room).ok();
        assert_eq!(sum(&[2, 1], &[2, 3]), Some(3));
        assert_eq!(sum(&[2], &[2, 3]), Some(2));
        assert_eq!(sum(&[2, 0], &[2]), Some(2), "nothing, for no region");
        assert_eq!(sum(&[2, 1], &[2]), None);
        assert_eq!(sum(&[3, 0], &[2, 3]), None);
    }
}
