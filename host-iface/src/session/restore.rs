//! Restores a session from a checkpoint.

use super::exchange::{in_len_of, wrong};
use super::forward::unexpected;
use super::log::Kept;
use super::schedule::Pending;
use super::{Context, Session};
use crate::boards::Boards;
use crate::checkpoint::{CheckpointError, Reader, Stored};
use crate::executed::Executed;
use crate::pace::Pace;
use crate::printed::Printed;
use crate::target::Target;
use gil_files::checkpoint::{self, Made, Ran, Record};
use gil_files::recording;
use gil_timing::{Engine, Interval};
use gil_transport::client::{Client, ClientError, Received};
use gil_transport::vectored::{SendSpan, Span};
use gil_wire::api::{self, Described, effect};
use gil_wire::checkpoint::Contents;
use gil_wire::frame::{self, FrameError};
use gil_wire::identity::DeviceInfo;
use gil_wire::message::{CallStatus, Done, Reply, Request};
use gil_wire::words::Words;
use std::io::Read;
use std::sync::Arc;

/// Most bytes of output of a call that made an object.
const MAX_OUTPUT: u64 = 67_108_864;
/// Zeroes, sent where first contents are not kept: the real ones follow.
static ZEROES: [u8; 65_536] = [0; 65_536];
/// Bytes of an object that are read and sent at a time.
const PIECE: u64 = 1_048_576;

impl Session {
    /// The session as it was, without its objects.
    pub(crate) fn restored(
        saved: &checkpoint::Session,
        printed: Vec<u8>,
        target: Target,
        (is_logged, boards): (bool, &Arc<Boards>),
    ) -> Self {
        let (process, pointer_bits) = (saved.process, saved.pointer_bits);
        let mut session = Self::new(process, pointer_bits, target, is_logged, boards);
        session.executed = Executed::restored(saved.executed, &saved.executed_above);
        session.delivery.printed = Printed::restored(printed);
        session.delivery.released = saved.released.iter().copied().collect();
        session.delivery.notices = saved.notices;
        for &(queue, event, code) in &saved.failures {
            let failures = &mut session.delivery.failures;
            failures.note(Some(queue), event, code);
        }
        for awaited in &saved.awaited {
            let pending = Pending {
                seq: awaited.seq,
                has_output: false,
                op: awaited.op,
                is_reported: true,
                is_rejected: false,
                duration_ns: 0,
                pace: Pace::default(),
                job: None,
                engine: Engine::NONE,
                device: (0, false),
                moved: 0,
                queue: awaited.queue,
                is_fence: false,
                observable: awaited.observable,
                awaited: true,
                input_len: 0,
                early: None,
            };
            session.schedule.pending.insert(awaited.event, pending);
        }
        session
    }

    /// Connects to the board, which must have the same devices.
    pub(crate) fn reconnect(
        &mut self,
        context: &mut Context<'_>,
        saved: &[DeviceInfo],
        apis: &[Described],
    ) -> Result<(), CheckpointError> {
        self.or_not_restored(same_descriptions(apis))?;
        if self.links.are_several() {
            let reason = "it used one board: restore it with one";
            return self.or_not_restored(Err(reason.into()));
        }
        let mut client = self.links.first_mut().connect(context)?;
        let found = super::save::devices(&mut client)?;
        let is_recording = found.iter().any(|device| device.api == "replay");
        if found != saved && !is_recording {
            return Err(CheckpointError::Devices {
                found: list(&found),
                saved: list(saved),
            });
        }
        self.links.first_mut().put(client);
        Ok(())
    }

    /// Makes again what a record says.
    pub(crate) fn restore(
        &mut self,
        context: &mut Context<'_>,
        reader: &Reader,
        stored: &Stored,
    ) -> Result<(), CheckpointError> {
        let record = stored.record().map_err(|error| reader.damaged(error))?;
        if let Record::Ran(ran) = &record {
            return self.restore_interval(ran, reader);
        }
        let Some(client) = self.links.first_mut().client() else {
            return Err(reader.not_whole());
        };
        client.begin();
        let done = match &record {
            Record::Call(made) if !is_made_so(made) => return Err(reader.not_whole()),
            Record::Call(made) => {
                return self.restore_call(context, made, reader.bytes(stored)?);
            }
            Record::Contents(contents) => {
                fill(client, *contents, reader, stored)?;
                restored(client)
            }
            Record::Past(event) => ask(client, &Request::Past { event: *event }),
            _ => return Err(reader.not_whole()),
        };
        self.or_not_restored(done?)
    }

    fn or_not_restored(&self, done: Result<(), String>) -> Result<(), CheckpointError> {
        let process = self.links.first().process();
        done.map_err(|reason| CheckpointError::NotRestored { process, reason })
    }

    fn restore_interval(&mut self, ran: &Ran, reader: &Reader) -> Result<(), CheckpointError> {
        let interval = Interval {
            queued_ns: ran.queued_ns,
            submitted_ns: ran.submitted_ns,
            start_ns: ran.start_ns,
            end_ns: ran.end_ns,
            ending: ran.ending,
        };
        let restored = self.schedule.timeline.restore(ran.event, interval);
        restored.map_err(|_| reader.not_whole())
    }

    /// Has the board do a call again; it must answer as it did.
    fn restore_call(
        &mut self,
        context: &mut Context<'_>,
        made: &Made<'_>,
        payload: Vec<u8>,
    ) -> Result<(), CheckpointError> {
        let call = &made.call;
        let served = self.links.first().served.check(call.op.api());
        self.or_not_restored(served.map_err(|error| error.to_string()))?;
        let Some(client) = self.links.first_mut().client() else {
            return Ok(());
        };
        if let Some(number) = made.found {
            let api = call.op.api();
            let done = ask(client, &Request::NumberFrom { api, number })?;
            self.or_not_restored(done)?;
        }
        let Some(client) = self.links.first_mut().client() else {
            return Ok(());
        };
        send(client, made, &payload)?;
        let answer = match made.result {
            Some(_) => Some(Answer::receive(client)?),
            None => None,
        };
        let is_same = answer.as_ref().is_none_or(|answer| answer.is_of(made));
        self.record_restored(context, made, &payload, answer.as_ref());
        let reason = || {
            let (op, then) = (call.op, made.result.unwrap_or_default());
            let now = answer.as_ref().map_or(String::new(), Answer::told);
            format!(
                "the board answers {op} otherwise than it did then (result {then:02x?}, now {now})"
            )
        };
        self.or_not_restored(is_same.then_some(()).ok_or_else(reason))?;
        self.remember_again(made, payload);
        Ok(())
    }

    /// A checkpoint of the restored session needs the call, too.
    fn remember_again(&mut self, made: &Made<'_>, payload: Vec<u8>) {
        let call = &made.call;
        let effect = effect(call.op, call.args, made.result);
        let (Some(log), Some(effect)) = (&mut self.links.first_mut().log, effect) else {
            return;
        };
        let kept = Kept {
            result: made.result.map(<[u8]>::to_vec),
            ..Kept::new(call, vec![payload])
        };
        log.add(kept, effect);
    }

    fn record_restored(
        &self,
        context: &mut Context<'_>,
        made: &Made<'_>,
        payload: &[u8],
        answer: Option<&Answer>,
    ) {
        if context.trace.is_none() {
            return;
        }
        let record = recording::Record::Call(recording::Called {
            session: self.links.first().recorded_as(),
            call: made.call.clone(),
            done: answer.and_then(|answer| answer.done().ok()),
        });
        let mut pieces = inputs(made, payload);
        pieces.extend(answer.map(|answer| &answer.payload[..]));
        context.record(&record, &pieces);
    }
}

/// What the board answered to a call that was made again.
struct Answer {
    header: Vec<u8>,
    payload: Vec<u8>,
}

impl Answer {
    fn receive(client: &mut Client) -> Result<Self, ClientError> {
        let Received {
            header,
            payload_len,
            ..
        } = client.reply()?;
        if payload_len > MAX_OUTPUT {
            return Err(wrong(format!("{payload_len} bytes of output")));
        }
        let mut payload = vec![0; payload_len as usize];
        client.payload([Span::target(&mut payload)])?;
        let answer = Self { header, payload };
        answer.done()?;
        Ok(answer)
    }

    fn reply(&self) -> Result<Reply<'_>, ClientError> {
        Ok(postcard::from_bytes(&self.header).map_err(FrameError::from)?)
    }

    /// Whether it is the one that the call got then.
    fn is_of(&self, made: &Made<'_>) -> bool {
        let same =
            |done: Done<'_>| done.status == CallStatus::Ran && Some(done.result) == made.result;
        self.done().is_ok_and(same)
    }

    /// What it says, for those who look for the reason.
    fn told(&self) -> String {
        match self.done() {
            Ok(Done { status, result, .. }) => format!("{status:?}, {result:02x?}"),
            Err(_) => "something else".into(),
        }
    }

    fn done(&self) -> Result<Done<'_>, ClientError> {
        match self.reply()? {
            Reply::Done { done, .. } => Ok(done),
            Reply::Refused { reason } => Err(ClientError::Refused(reason.into())),
            Reply::Departed { reason } => Err(ClientError::Departed(reason.into())),
            other => Err(unexpected(&other, "the call's answer")),
        }
    }
}

/// The bytes of the regions that go in: those that are kept, and zeroes.
fn inputs<'a>(made: &Made<'_>, mut payload: &'a [u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for (index, region) in made.call.regions.iter().enumerate() {
        let len = if region.dir.is_in() { region.len } else { 0 };
        if made.contents != u32::try_from(index).ok() {
            // The record's head and payload agree.
            let (own, rest) = payload.split_at(len.min(payload.len() as u64) as usize);
            pieces.push(own);
            payload = rest;
            continue;
        }
        let most = ZEROES.len();
        let zeroes = |at| &ZEROES[..most.min((len - at) as usize)];
        pieces.extend((0..len).step_by(most).map(zeroes));
    }
    pieces
}

fn send(client: &mut Client, made: &Made<'_>, payload: &[u8]) -> Result<(), ClientError> {
    let mut head = Vec::new();
    let len = in_len_of(&made.call.regions);
    frame::begin(&Request::Call(made.call.clone()), len, &mut head)?;
    let pieces = inputs(made, payload);
    let spans = std::iter::once(&head[..]).chain(pieces);
    client.send(spans.map(Span::source).collect::<Vec<SendSpan<'_>>>())
}

/// Whether a call was answered if it was to be, and left nothing under way.
fn is_made_so(made: &Made<'_>) -> bool {
    made.call.finish && made.call.answer == made.result.is_some()
}

/// Sends what an object holds, a piece at a time as it comes from the file.
fn fill(
    client: &mut Client,
    contents: Contents,
    reader: &Reader,
    stored: &Stored,
) -> Result<(), CheckpointError> {
    let Contents { api, object, len } = contents;
    let mut payload = reader.payload(stored)?;
    let mut head = Vec::new();
    let begun = frame::begin(&Request::Fill { api, object, len }, len, &mut head);
    begun.map_err(ClientError::from)?;
    client.send([Span::source(&head)])?;
    let mut piece = vec![0; len.min(PIECE) as usize];
    loop {
        let read = payload.read(&mut piece);
        let count = read.map_err(|error| reader.unread(error))?;
        if count == 0 {
            return Ok(());
        }
        client.send([Span::source(&piece[..count])])?;
    }
}

/// Asks the board for a part that is nothing but numbers; the inner error says
/// why it does not take it.
fn ask(client: &mut Client, request: &Request<'_>) -> Result<Result<(), String>, ClientError> {
    client.send_message(request)?;
    restored(client)
}

/// The board's answer to a part; the inner error says why it does not take it.
fn restored(client: &mut Client) -> Result<Result<(), String>, ClientError> {
    let received = client.reply()?;
    match postcard::from_bytes(&received.header).map_err(FrameError::from)? {
        Reply::Restored => Ok(Ok(())),
        Reply::Unable { reason } => Ok(Err(Words::from(reason).to_string())),
        Reply::Refused { reason } => Err(ClientError::Refused(reason.into())),
        Reply::Departed { reason } => Err(ClientError::Departed(reason.into())),
        other => Err(unexpected(&other, "a part's restoring")),
    }
}

/// What was saved of calls is read by the descriptions of this build.
fn same_descriptions(saved: &[Described]) -> Result<(), String> {
    for saved in saved {
        let ours = api::api(saved.number);
        if let Some(ours) = ours.filter(|ours| ours.hash != saved.hash) {
            return Err(format!(
                "the checkpoint was taken with another description of {}: take it again, or restore it with the release that made it",
                ours.title
            ));
        }
    }
    Ok(())
}

fn list(devices: &[DeviceInfo]) -> String {
    let each = devices
        .iter()
        .map(|d| format!("{} ({})", d.name, d.version));
    match devices.is_empty() {
        true => "no device".into(),
        false => each.collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_wire::Op;
    use gil_wire::message::Call;

    #[test]
    fn a_call_is_made_again_as_it_was_made() {
        let is = |answer, finish, result: Option<&[u8]>| {
            let call = Call {
                seq: 1,
                op: Op::new(1, 1),
                thread: 1,
                answer,
                finish,
                event: None,
                args: b"",
                regions: Vec::new(),
            };
            let (contents, found) = (None, None);
            is_made_so(&Made {
                call,
                contents,
                found,
                result,
            })
        };
        assert!(is(true, true, Some(b"")) && is(false, true, None));
        assert!(!is(true, true, None), "an answer that nobody kept");
        assert!(!is(false, true, Some(b"")), "one that does not come");
        assert!(!is(true, false, Some(b"")), "something is left under way");
    }
}
