//! Checks and stores the board's reports of ended operations.

use super::exchange::{fits, wrong};
use super::schedule::Early;
use super::{Context, Session};
use gil_files::recording::{Ended, Record};
use gil_timing::{Event, Measured};
use gil_transport::client::{Client, ClientError};
use gil_transport::vectored::Span;
use gil_wire::frame::FrameError;
use gil_wire::message::{ENDED_MAX, PRINTED_MAX, Reply, Report, Request};

/// When the report that was asked for counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// At once: it is the operation's turn.
    Now,
    /// When its turn comes, as that of others.
    Later,
}

impl Session {
    /// Has the board wait for an operation. It may say besides how others
    /// ended: that is kept until their turn comes.
    pub(super) fn ask_report(
        &mut self,
        context: &mut Context<'_>,
        client: &mut Client,
        (event, when): (Event, When),
    ) -> Result<(), ClientError> {
        client.send_message(&Request::Await { event })?;
        let received = client.reply()?;
        context.stats.went_there_and_back(self.op_of(event));
        let reply = postcard::from_bytes(&received.header).map_err(FrameError::from)?;
        let (reports, busy_ns) = match reply {
            Reply::Ended { reports, busy_ns } if is_about(&reports, event) => (reports, busy_ns),
            Reply::Refused { reason } => return Err(ClientError::Refused(reason.into())),
            Reply::Departed { reason } => return Err(ClientError::Departed(reason.into())),
            other => return Err(super::forward::unexpected(&other, "an operation's end")),
        };
        let place = self.links.place(self.op_of(event));
        let mut len = 0u64;
        for report in &reports {
            let room = self.room_for(report, place)?;
            len = len.saturating_add(check(report, &room)?);
        }
        if len != received.payload_len {
            let found = received.payload_len;
            return Err(wrong(format!("{found} bytes of output for {len}")));
        }
        context.stats.board_busy(place, busy_ns);
        self.log_busy(context, event, busy_ns);
        let mut busy_ns = Some(busy_ns);
        for report in reports {
            let bytes = receive(client, &report)?;
            self.record_end(context, &report, busy_ns.take().unwrap_or(0), &bytes);
            match report.event == event && when == When::Now {
                true => self.note_now(context, &report, bytes)?,
                false => self.note_later(report, bytes)?,
            }
        }
        Ok(())
    }

    /// Bytes of output that an operation may report to have made, of each region.
    /// It must be one of the board that reports it.
    fn room_for(&self, report: &Report, place: usize) -> Result<Vec<u64>, ClientError> {
        let pending = self.schedule.pending.get(&report.event);
        let pending = pending.filter(|pending| self.links.place(pending.op) == place);
        let pending = pending.ok_or_else(|| wrong(format!("a report of {}", report.event)))?;
        Ok(self.delivery.room_of(pending))
    }

    fn record_end(
        &self,
        context: &mut Context<'_>,
        report: &Report,
        busy_ns: u64,
        bytes: &[Vec<u8>],
    ) {
        if context.trace.is_none() {
            return;
        }
        let pieces: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
        let ended = Record::Ended(Ended {
            session: self.links.of(self.op_of(report.event)).recorded_as(),
            report: report.clone(),
            busy_ns,
        });
        context.record(&ended, &pieces);
    }

    /// Notes the report of an operation whose turn it is.
    fn note_now(
        &mut self,
        context: &mut Context<'_>,
        report: &Report,
        bytes: Vec<Vec<u8>>,
    ) -> Result<(), ClientError> {
        self.note_report(context, report)?;
        self.keep_bytes(context, report, bytes);
        Ok(())
    }

    /// Keeps the report of an operation until its turn comes.
    pub(super) fn note_later(
        &mut self,
        report: Report,
        bytes: Vec<Vec<u8>>,
    ) -> Result<(), ClientError> {
        let event = report.event;
        let pending = self.schedule.pending.get_mut(&event);
        let new = pending.filter(|pending| !pending.is_reported && pending.early.is_none());
        let again = || wrong(format!("another report of operation {event}"));
        new.ok_or_else(again)?.early = Some(Early { report, bytes });
        Ok(())
    }

    /// Tells the timeline what an operation took.
    pub(super) fn note_report(
        &mut self,
        context: &mut Context<'_>,
        report: &Report,
    ) -> Result<(), ClientError> {
        let event = report.event;
        let start_ns = self.schedule.start_ns(event);
        let pending = self.schedule.pending.get_mut(&event);
        let pending = pending.filter(|pending| !pending.is_reported);
        let Some(pending) = pending else {
            return Err(wrong(format!("a report of operation {event}")));
        };
        pending.is_reported = true;
        self.schedule.kept_input -= pending.input_len;
        self.schedule.unreported -= 1;
        pending.is_rejected = report.rejected;
        let bytes = report.out.iter().sum::<u64>();
        let duration_ns = if pending.is_fence {
            0
        } else {
            let costs = self.schedule.costs.of(pending.op);
            let measured = Measured {
                duration_ns: report.duration_ns,
                bytes: pending.moved,
                start_ns,
            };
            let lasts_ns = costs.lasts(pending.engine, &measured);
            pending.pace.stretch(lasts_ns)
        };
        pending.duration_ns = duration_ns;
        let op = pending.op;
        context.stats.brought(op, bytes);
        self.log_brought(context, event, bytes);
        self.count_gpu_time(context, op, duration_ns);
        // The driver refused it behind the program's back, and says more.
        self.delivery.notices |= report.rejected;
        let timeline = &mut self.schedule.timeline;
        let noted = timeline.report(event, duration_ns, report.ending);
        noted.map_err(|error| wrong(error.to_string()))
    }

    /// Keeps what an operation made until its end.
    pub(super) fn keep_bytes(
        &mut self,
        context: &mut Context<'_>,
        report: &Report,
        bytes: Vec<Vec<u8>>,
    ) {
        let operation = self.schedule.pending.get(&report.event);
        let delivery = &mut self.delivery;
        delivery.keep_bytes(context, report, operation, bytes);
    }
}

/// Whether these can be the answer to who asked for an operation. Text is kept
/// only of operations that were asked for.
fn is_about(reports: &[Report], event: Event) -> bool {
    let Some((first, others)) = reports.split_first() else {
        return false;
    };
    first.event == event
        && others.len() < ENDED_MAX
        && others
            .iter()
            .all(|other| other.event != event && other.printed == 0)
}

/// Whether a report fits its operation's output; its bytes of payload.
pub(super) fn check(report: &Report, room: &[u64]) -> Result<u64, ClientError> {
    if report.printed > PRINTED_MAX {
        return Err(wrong(format!("{} bytes of text", report.printed)));
    }
    let event = report.event;
    if report.rejected && report.payload_len() != Some(0) {
        return Err(wrong(format!("output of operation {event}, refused")));
    }
    Ok(fits(&report.out, room)?.saturating_add(report.printed))
}

/// A report's bytes: a piece for each out region, and one for its text.
pub(super) fn receive(client: &mut Client, report: &Report) -> Result<Vec<Vec<u8>>, ClientError> {
    let lens = report.out.iter().chain([&report.printed]);
    let mut bytes: Vec<Vec<u8>> = lens.map(|&len| vec![0; len as usize]).collect();
    client.payload(bytes.iter_mut().map(|bytes| Span::target(bytes)))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_fits_its_operation() {
        let of = |out: &[u64], printed, rejected| {
            let out = out.to_vec();
            let report = Report {
                out,
                printed,
                rejected,
                ..Report::default()
            };
            check(&report, &[5]).ok()
        };
        assert_eq!(of(&[5], PRINTED_MAX, false), Some(5 + PRINTED_MAX));
        assert_eq!(of(&[5], PRINTED_MAX + 1, false), None);
        assert_eq!(of(&[6], 0, false), None);
        assert_eq!(of(&[], 0, true), Some(0));
        assert_eq!(of(&[0], 0, true), Some(0));
        assert_eq!(of(&[1], 0, true), None, "refused, and made something");
    }
}
