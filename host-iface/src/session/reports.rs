//! Checks and stores the board's reports of ended operations.

use super::exchange::{fits, wrong};
use super::{Context, Session};
use gil_files::recording::{Ended, Record};
use gil_timing::Event;
use gil_transport::client::{Client, ClientError};
use gil_transport::vectored::Span;
use gil_wire::frame::FrameError;
use gil_wire::message::{PRINTED_MAX, Reply, Report, Request};

impl Session {
    /// Has the board wait for an operation.
    pub(super) fn ask_report(
        &mut self,
        context: &mut Context<'_>,
        client: &mut Client,
        event: Event,
    ) -> Result<(), ClientError> {
        client.send_message(&Request::Await { event })?;
        let received = client.reply()?;
        let reply = postcard::from_bytes(&received.header).map_err(FrameError::from)?;
        let (report, busy_ns) = match reply {
            Reply::Ended { report, busy_ns } if report.event == event => (report, busy_ns),
            Reply::Refused { reason } => return Err(ClientError::Refused(reason.into())),
            other => return Err(super::forward::unexpected(&other, "an operation's end")),
        };
        let pending = self.schedule.pending.get(&event);
        let pending = pending.ok_or_else(|| wrong(format!("a report of {event}")))?;
        let room = self.delivery.room_of(pending);
        let len = check(&report, &room)?;
        if len != received.payload_len {
            let found = received.payload_len;
            return Err(wrong(format!("{found} bytes of output for {len}")));
        }
        let bytes = receive(client, &report)?;
        context.stats.board_busy(busy_ns);
        let pieces: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
        let ended = Record::Ended(Ended {
            session: self.link.recorded_as(),
            report: report.clone(),
            busy_ns,
        });
        context.record(&ended, &pieces);
        self.note_report(context, &report)?;
        self.keep_bytes(context, &report, bytes);
        Ok(())
    }

    /// Tells the timeline what an operation took.
    pub(super) fn note_report(
        &mut self,
        context: &mut Context<'_>,
        report: &Report,
    ) -> Result<(), ClientError> {
        let event = report.event;
        let pending = self.schedule.pending.get_mut(&event);
        let pending = pending.filter(|pending| !pending.is_reported);
        let Some(pending) = pending else {
            return Err(wrong(format!("a report of operation {event}")));
        };
        pending.is_reported = true;
        pending.is_rejected = report.rejected;
        let duration_ns = if pending.is_fence {
            0
        } else {
            report.duration_ns
        };
        let entry = context.stats.entry(pending.op);
        entry.gpu_ns = entry.gpu_ns.saturating_add(duration_ns);
        let bytes = report.out.iter().sum::<u64>();
        entry.bytes_from_board += bytes;
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
