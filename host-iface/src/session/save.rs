//! Saves a session in a checkpoint.

use super::forward::unexpected;
use super::link::Link;
use super::{Context, Refusal, Session};
use crate::checkpoint::{CheckpointError, Writer};
use gil_files::checkpoint::{self, Awaited, Made, Ran, Record};
use gil_transport::client::{Client, ClientError};
use gil_transport::vectored::Span;
use gil_wire::checkpoint::{Contents, Survey};
use gil_wire::frame::FrameError;
use gil_wire::identity::DeviceInfo;
use gil_wire::message::{Reply, Request};
use gil_wire::words::Words;

impl Session {
    /// Publishes all operations and delivers what is ready. Returns when all
    /// have ended, in nanoseconds of guest time.
    pub(crate) fn settle_all(&mut self, context: &mut Context<'_>, now_ns: u64) -> u64 {
        let end = loop {
            if let Err(refusal) = self.publish_one(context) {
                break refusal;
            }
        };
        // Nothing is left but operations behind a user event, if any: these are
        // reported to whoever takes the checkpoint.
        if !matches!(end, Refusal::Unresolved) {
            let links = self.links.all_mut().iter_mut();
            links.for_each(Link::lose);
        }
        self.delivery.deliver(context, now_ns);
        self.schedule.timeline.last_end_ns()
    }

    /// Why the session cannot be in a checkpoint, in one sentence.
    pub(crate) fn not_saved(&self, reason: impl std::fmt::Display) -> CheckpointError {
        CheckpointError::Process {
            process: self.links.first().process(),
            reason: reason.to_string(),
        }
    }

    /// The board's devices, if the session is on a board.
    pub(crate) fn devices(&mut self) -> Option<Result<Vec<DeviceInfo>, ClientError>> {
        self.links.first_mut().client().map(devices)
    }

    /// Writes the session, which is quiet.
    pub(crate) fn save(&mut self, number: u64, out: &mut Writer) -> Result<(), CheckpointError> {
        let printed = self.delivery.printed.all();
        let head = self.head(number, printed.len() as u64);
        out.write(&Record::Session(head), &[&printed])?;
        let Some(mut client) = self.links.first_mut().take() else {
            return Ok(());
        };
        let saved = self.save_objects(&mut client, out);
        if !matches!(saved, Err(CheckpointError::Client(_))) {
            self.links.first_mut().put(client);
        }
        saved
    }

    /// Whether the session can be in a checkpoint, as far as this side knows.
    pub(crate) fn check_quiet(&self, now_ns: u64) -> Result<(), CheckpointError> {
        let links = self.links.all();
        let waiting = self.schedule.timeline.unresolved();
        let last_end_ns = self.schedule.timeline.last_end_ns();
        let has_log = self.links.first().log.as_ref().map(|log| log.is_whole());
        let reason = match has_log {
            _ if links.iter().any(Link::is_lost) => "it lost its board".into(),
            _ if links.iter().all(Link::is_unopened) => return Ok(()),
            _ if self.links.are_several() => {
                "it uses a run's several boards: take the checkpoint before its first call, or run with one board".into()
            }
            _ if waiting > 0 => format!(
                "{waiting} of its operations wait for user events that are not set: set them before"
            ),
            _ if last_end_ns > now_ns || !self.delivery.held.is_empty() => {
                "operations are under way: wait for their end".into()
            }
            Some(true) => return Ok(()),
            Some(false) => {
                "what made its objects exceeds the bound of what is remembered: take the checkpoint before it builds as much".into()
            }
            None => {
                "it uses the GPU, and what made its objects is not remembered: set checkpoint-log, or take the checkpoint before the first call".into()
            }
        };
        Err(self.not_saved(reason))
    }

    fn head(&self, number: u64, printed: u64) -> checkpoint::Session {
        let (executed, executed_above) = self.executed.numbers();
        let pending = self.schedule.pending.iter();
        let mut awaited: Vec<_> = pending
            .map(|(&event, pending)| Awaited {
                event,
                seq: pending.seq,
                op: pending.op,
                queue: pending.queue,
                observable: pending.observable,
            })
            .collect();
        awaited.sort_unstable_by_key(|awaited| awaited.event);
        checkpoint::Session {
            number,
            process: self.links.first().process(),
            pointer_bits: self.links.first().pointer_bits(),
            apis: self.links.first().apis(),
            executed,
            executed_above,
            released: self.delivery.released.iter().copied().collect(),
            notices: self.delivery.notices,
            awaited,
            failures: self.delivery.failures.all(),
            printed,
        }
    }

    fn save_objects(
        &mut self,
        client: &mut Client,
        out: &mut Writer,
    ) -> Result<(), CheckpointError> {
        client.begin();
        let survey = survey(client)?;
        if let Some(obstacle) = survey.obstacles.first() {
            return Err(self.not_saved(Words::from(obstacle.as_str())));
        }
        self.save_calls(out)?;
        for past in survey.past {
            out.write(&Record::Past(past), &[])?;
        }
        for contents in survey.contents {
            let bytes = fetch(client, contents)?;
            let bytes = bytes.map_err(|reason| self.not_saved(reason))?;
            out.write(&Record::Contents(contents), &[&bytes])?;
        }
        for (event, interval) in self.schedule.timeline.ended() {
            let ran = Ran {
                event,
                queued_ns: interval.queued_ns,
                submitted_ns: interval.submitted_ns,
                start_ns: interval.start_ns,
                end_ns: interval.end_ns,
                ending: interval.ending,
            };
            out.write(&Record::Ran(ran), &[])?;
        }
        Ok(())
    }

    fn save_calls(&mut self, out: &mut Writer) -> Result<(), CheckpointError> {
        let log = self.links.first_mut().log.as_mut();
        for entry in log.into_iter().flat_map(|log| log.calls()) {
            let call = &entry.call;
            let record = Record::Call(Made {
                call: call.message(),
                contents: entry.effect.contents,
                found: entry.effect.found,
                result: call.result.as_deref(),
            });
            let payload: Vec<&[u8]> = call.payload.iter().map(Vec::as_slice).collect();
            out.write(&record, &payload)?;
        }
        Ok(())
    }
}

pub(super) fn devices(client: &mut Client) -> Result<Vec<DeviceInfo>, ClientError> {
    client.begin();
    client.send_message(&Request::Devices)?;
    let received = client.reply()?;
    match postcard::from_bytes(&received.header).map_err(FrameError::from)? {
        Reply::Devices { devices } => Ok(devices),
        Reply::Refused { reason } => Err(ClientError::Refused(reason.into())),
        other => Err(unexpected(&other, "a list of devices")),
    }
}

fn survey(client: &mut Client) -> Result<Survey, ClientError> {
    client.send_message(&Request::Survey)?;
    let received = client.reply()?;
    match postcard::from_bytes(&received.header).map_err(FrameError::from)? {
        Reply::Survey(survey) => Ok(survey),
        Reply::Refused { reason } => Err(ClientError::Refused(reason.into())),
        other => Err(unexpected(&other, "a survey")),
    }
}

/// An object's bytes, or why the board does not give them.
fn fetch(client: &mut Client, contents: Contents) -> Result<Result<Vec<u8>, String>, ClientError> {
    let Contents { api, object, .. } = contents;
    client.begin();
    client.send_message(&Request::Fetch { api, object })?;
    let received = client.reply()?;
    match postcard::from_bytes(&received.header).map_err(FrameError::from)? {
        Reply::Contents if received.payload_len == contents.len => {}
        Reply::Unable { reason } => return Ok(Err(Words::from(reason).to_string())),
        Reply::Refused { reason } => return Err(ClientError::Refused(reason.into())),
        other => return Err(unexpected(&other, "what an object holds")),
    }
    let mut bytes = Vec::new();
    let len = contents.len as usize;
    if bytes.try_reserve_exact(len).is_err() {
        return Err(super::exchange::wrong(format!("an object of {len} bytes")));
    }
    bytes.resize(len, 0);
    client.payload([Span::target(&mut bytes)])?;
    Ok(Ok(bytes))
}
