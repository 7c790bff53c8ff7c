//! Sends calls to the board, with their input directly from guest RAM.

use super::calls::Call;
use super::delivery::Delivery;
use super::{Context, Refusal, Session};
use crate::memory::read_region;
use crate::submission::Region;
use gil_transport::client::{Client, ClientError};
use gil_transport::vectored::{SendSpan, Span};
use gil_transport::window;
use gil_uapi::GuestLength;
use gil_wire::Op;
use gil_wire::frame;
use gil_wire::message::{Reply, Request};
use gil_wire::words::Words;

/// One input region's bytes.
enum Input<'a> {
    /// In guest RAM.
    InPlace(Vec<Span<'a>>),
    /// Copied: guest RAM is not mapped here, held output lies over it, or the
    /// run is recorded.
    Copied(Vec<u8>),
}

/// Input as it was sent, for the recording; a list of regions for each call.
pub(super) type Sent = Vec<Vec<Vec<u8>>>;

impl Session {
    /// Sends posts and, last, the call `answered`, if there is one. What goes
    /// wrong on the way loses the board. With several boards, each gets its own
    /// calls in their order, that of the last call after the others; a board of
    /// others that is lost is noticed by their next call.
    pub(super) fn forward(
        &mut self,
        context: &mut Context<'_>,
        calls: &[Call<'_>],
        answered: Option<usize>,
    ) -> Result<Sent, Refusal> {
        let all: Vec<&Call<'_>> = calls.iter().collect();
        let Some(last) = calls.last() else {
            return Ok(Sent::new());
        };
        if !self.links.are_several() {
            return self.forward_to_one(context, &all, answered);
        }
        let place = |call: &Call<'_>| self.links.place(call.envelope.op);
        let last = place(last);
        let mut places: Vec<usize> = calls.iter().map(place).collect();
        places.sort_unstable();
        places.dedup();
        for other in places.into_iter().filter(|&other| other != last) {
            let links = &self.links;
            let own = |call: &&&Call<'_>| links.place(call.envelope.op) == other;
            let own: Vec<&Call<'_>> = all.iter().filter(own).copied().collect();
            match self.forward_to_one(context, &own, None) {
                Ok(_) | Err(Refusal::Lost) => {}
                Err(refusal) => return Err(refusal),
            }
        }
        let links = &self.links;
        let own = |call: &&&Call<'_>| links.place(call.envelope.op) == last;
        let own: Vec<&Call<'_>> = all.iter().filter(own).copied().collect();
        self.forward_to_one(context, &own, answered.map(|_| own.len() - 1))
    }

    /// Sends calls of one board.
    fn forward_to_one(
        &mut self,
        context: &mut Context<'_>,
        calls: &[&Call<'_>],
        answered: Option<usize>,
    ) -> Result<Sent, Refusal> {
        let Some(last) = calls.last() else {
            return Ok(Sent::new());
        };
        let op = last.envelope.op;
        let mut client = self.open(context, op, last.submission.now_ns())?;
        let inputs = self.delivery.inputs(context, calls)?;
        let kept: Vec<_> = calls
            .iter()
            .map(|call| self.kept(context.memory, call))
            .collect();
        let outcome = send(&mut client, calls, &inputs, answered);
        context.took.waited += client.take_waited();
        let link = self.links.of_mut(op);
        link.put(client);
        match outcome {
            Ok(()) => {
                let unanswered = calls.len() - usize::from(answered.is_some());
                calls[..unanswered]
                    .iter()
                    .for_each(|call| link.lateness.spend(call));
                for (index, kept) in kept.into_iter().enumerate() {
                    match answered == Some(index) {
                        true => link.kept = kept,
                        false => link.remember(kept, None),
                    }
                }
                let process = link.process();
                let sent = sent(context, process, calls, inputs);
                link.record_posts(context, calls, &sent, answered);
                Ok(sent)
            }
            Err(error) => Err(self.lose(context, op, &error)),
        }
    }

    /// Takes the connection out of the session, made if there is none yet.
    pub(super) fn open(
        &mut self,
        context: &mut Context<'_>,
        op: Op,
        now_ns: u64,
    ) -> Result<Box<Client>, Refusal> {
        let link = self.links.of_mut(op);
        if link.is_lost() {
            return Err(Refusal::Lost);
        }
        let opened = link.open(context, op, now_ns);
        opened.map_err(|error| self.lose(context, op, &error))
    }
}

impl Delivery {
    fn inputs<'a>(
        &self,
        context: &Context<'a>,
        calls: &[&Call<'_>],
    ) -> Result<Vec<Vec<Input<'a>>>, Refusal> {
        let one = |call: &&Call<'_>| {
            let regions = call.regions.iter().filter(|region| region.dir.is_in());
            regions.map(|region| self.input(context, region)).collect()
        };
        calls.iter().map(one).collect()
    }

    fn input<'a>(&self, context: &Context<'a>, region: &Region) -> Result<Input<'a>, Refusal> {
        if let Some(bytes) = &region.instead {
            return Ok(Input::Copied(bytes.clone()));
        }
        let extents = &region.extents;
        let bad = |error: crate::memory::MemoryError| Refusal::Bad(error.to_string());
        let overlaps = self.held.overlaps(extents);
        let overlaps = overlaps.map_err(|_| Refusal::Unresolved)?;
        if !overlaps && context.trace.is_none() {
            let spans = context.memory.spans(extents, extents.len()).map_err(bad)?;
            if let Some(spans) = spans {
                return Ok(Input::InPlace(spans));
            }
        }
        let mut bytes = read_region(context.memory, extents).map_err(bad)?;
        self.held.overlay(extents, &mut bytes);
        Ok(Input::Copied(bytes))
    }
}

/// Counts what was sent; what was copied of it.
fn sent(
    context: &mut Context<'_>,
    process: u32,
    calls: &[&Call<'_>],
    inputs: Vec<Vec<Input<'_>>>,
) -> Sent {
    let mut all = Vec::with_capacity(calls.len());
    for (call, inputs) in calls.iter().zip(inputs) {
        let len: u64 = lens(call).iter().sum();
        context
            .stats
            .sent(call.envelope.op, len, call.envelope.args);
        let part = context.stats.frames.part((process, call.submission.thread));
        part.bytes_to_board += len + call.envelope.args.len() as u64;
        let copied = inputs.into_iter().filter_map(|input| match input {
            Input::Copied(bytes) => Some(bytes),
            Input::InPlace(_) => None,
        });
        all.push(copied.collect());
    }
    all
}

fn send(
    client: &mut Client,
    calls: &[&Call<'_>],
    inputs: &[Vec<Input<'_>>],
    answered: Option<usize>,
) -> Result<(), ClientError> {
    let mut heads = Vec::new();
    let mut ends = Vec::with_capacity(calls.len());
    for (index, call) in calls.iter().enumerate() {
        let is_answered = answered == Some(index);
        let places = window_places(client, call).filter(|_| is_answered);
        if is_answered {
            let all = call.regions.iter().map(Region::len);
            client.expect(all.sum::<GuestLength>().0);
            if let Some(window) = client.window_mut() {
                window.begin(end_of(call.regions, places.as_deref()));
            }
        }
        if let Some(places) = &places {
            put(client, call, &inputs[index], places);
        }
        let request = Request::Call(call.message());
        let in_window = places.is_some();
        let payload_len = match in_window {
            true => 0,
            false => lens(call).iter().sum(),
        };
        frame::begin_with(&request, payload_len, in_window, &mut heads)?;
        ends.push((heads.len(), in_window));
    }
    let mut spans: Vec<SendSpan<'_>> = Vec::new();
    let mut from = 0;
    for (&(end, in_window), inputs) in ends.iter().zip(inputs) {
        spans.push(Span::source(&heads[from..end]));
        if !in_window {
            inputs.iter().for_each(|input| input.push_to(&mut spans));
        }
        from = end;
    }
    client.send(spans)
}

/// Where the regions of a call that is answered are in the window; `None` if
/// its bytes go through the socket, or it has none.
pub(super) fn window_places(client: &Client, call: &Call<'_>) -> Option<Vec<u64>> {
    let window = client.window().filter(|_| !call.regions.is_empty())?;
    window::places(&call.descriptions(), window.len())
}

/// Bytes of the window up to the last that a call with these regions uses.
fn end_of(regions: &[Region], places: Option<&[u64]>) -> u64 {
    let regions = regions.iter().zip(places.unwrap_or_default());
    let ends = regions.map(|(region, place)| place + region.len().0);
    ends.max().unwrap_or(0)
}

/// Copies a call's input to its places in the window.
fn put(client: &Client, call: &Call<'_>, inputs: &[Input<'_>], places: &[u64]) {
    let regions = call.regions.iter().zip(places);
    let ins = regions.filter(|(region, _)| region.dir.is_in());
    for ((_, &place), input) in ins.zip(inputs) {
        input.put(client, place);
    }
}

impl Input<'_> {
    fn put(&self, client: &Client, place: u64) {
        let Some(window) = client.window() else {
            return;
        };
        match self {
            Self::Copied(bytes) => window.put(place, bytes),
            Self::InPlace(list) => window.put_spans(place, list),
        }
    }

    fn push_to<'s>(&'s self, spans: &mut Vec<SendSpan<'s>>) {
        match self {
            Self::Copied(bytes) => spans.push(Span::source(bytes)),
            Self::InPlace(list) => spans.extend(list.iter().map(Span::to_send)),
        }
    }
}

/// Bytes of each region that goes in.
fn lens(call: &Call<'_>) -> Vec<u64> {
    let ins = call.regions.iter().filter(|region| region.dir.is_in());
    ins.map(|region| region.len().0).collect()
}

/// A reply of another kind than the call allows.
pub(super) fn unexpected(reply: &Reply<'_>, expected: &'static str) -> ClientError {
    let found = match reply {
        Reply::Opened { .. } => "a session's opening".into(),
        Reply::Done { seq, .. } => format!("the answer to call {seq}"),
        Reply::Ended { reports, .. } => {
            let events: Vec<u64> = reports.iter().map(|report| report.event).collect();
            format!("the end of operations {events:?}")
        }
        Reply::Pong { .. } => "a pong".into(),
        Reply::Devices { .. } => "a list of devices".into(),
        Reply::Identity { .. } => "a device's identity".into(),
        Reply::Survey(_) | Reply::Contents | Reply::Restored => "a part of a checkpoint".into(),
        Reply::Unable { reason } => Words::from(reason.as_str()).to_string(),
        Reply::Status(_) => "the agent's status".into(),
        Reply::Refused { .. } | Reply::Departed { .. } => "a refusal".into(),
    };
    ClientError::Unexpected { found, expected }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_address_tables::Extents;
    use gil_uapi::{Extent, GuestAddress};
    use gil_wire::message::Direction;

    #[test]
    fn a_call_uses_the_window_up_to_the_end_of_its_last_region() {
        let gpa = GuestAddress(1);
        let regions = [5000, 10].map(GuestLength).map(|len| Region {
            dir: Direction::In,
            extents: Extents::new([Extent { gpa, len }], len).unwrap(),
            instead: None,
        });
        assert_eq!(end_of(&regions, Some(&[0, 8192])), 8202);
        assert_eq!(end_of(&regions[..1], Some(&[0])), 5000);
        assert_eq!(end_of(&regions, None), 0, "they go through the socket");
    }
}
