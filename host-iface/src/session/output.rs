//! A call's own output: from the board to guest RAM, or held until its simulated end.

use super::Context;
use super::calls::Call;
use super::delivery::Delivery;
use super::exchange::out_regions;
use crate::held::Form;
use crate::memory::read_region;
use gil_address_tables::Extents;
use gil_transport::client::{Client, ClientError};
use gil_transport::vectored::Span;
use gil_uapi::{GuestLength, flag};
use gil_wire::envelope::Class;
use gil_wire::message::Done;

/// One out region's bytes in an answer.
pub(super) struct Slot {
    /// The output region's index.
    index: usize,
    len: u64,
    /// Empty if the bytes go to guest RAM in place.
    pub(super) bytes: Vec<u8>,
    in_place: bool,
    /// Where the bytes are in the window, if they are there.
    place: Option<u64>,
}

impl Slot {
    /// The output region's index.
    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Where the output region lies.
    pub(super) fn extents<'a>(&self, main: &Call<'a>) -> Option<&'a Extents> {
        out_regions(main).nth(self.index)
    }

    /// Bytes of the output region.
    pub(super) fn room(&self, main: &Call<'_>) -> usize {
        let region = out_regions(main).nth(self.index);
        region.map_or(0, |extents| extents.len().to_usize())
    }

    /// What the output region has from its first byte on; no bytes if guest RAM cannot be
    /// read.
    pub(super) fn contents(&self, context: &Context<'_>, main: &Call<'_>) -> Vec<u8> {
        let place = out_regions(main).nth(self.index).filter(|_| self.in_place);
        let mut bytes = match place {
            Some(extents) => read_region(context.memory, extents).unwrap_or_default(),
            None => self.bytes.clone(),
        };
        bytes.truncate(usize::try_from(self.len).unwrap_or(usize::MAX));
        bytes
    }
}

impl Delivery {
    /// Where each run of bytes in the answer goes: at once to guest RAM if it
    /// is surely ready when the thread goes on, and nothing else is. `places` are
    /// those of the out regions in the window, if the bytes are there.
    pub(super) fn slots(
        &self,
        context: &Context<'_>,
        main: &Call<'_>,
        done: &Done<'_>,
        waits: bool,
        places: Option<&[u64]>,
    ) -> Vec<Slot> {
        let reports = |event| done.reports.iter().any(|report| report.event == event);
        let at_once = match main.envelope.class {
            Class::Enqueue => waits && main.envelope.signals.is_some_and(reports),
            _ => true,
        };
        let outs: Vec<&Extents> = out_regions(main).collect();
        let at_once = at_once && !main.brings_differences() && !main.makes_differences();
        let is_alone = |index: usize| self.held.overlaps(outs[index]) == Ok(false);
        let slot = |(index, &len): (usize, &u64)| Slot {
            index,
            len,
            bytes: Vec::new(),
            in_place: at_once && context.trace.is_none() && is_alone(index),
            place: places.map(|places| places[index]),
        };
        // Lengths beyond the regions were checked to be 0.
        let own = done.out.iter().enumerate().take(outs.len());
        own.filter(|(_, len)| **len > 0).map(slot).collect()
    }

    /// Holds a call's output, but for what is in its place; whether there is
    /// any, or may come.
    pub(super) fn hold(
        &mut self,
        context: &mut Context<'_>,
        main: &Call<'_>,
        slots: Vec<Slot>,
    ) -> bool {
        let is_placed = !slots.is_empty() && slots.iter().all(|slot| slot.in_place);
        let is_applied = main.brings_differences();
        if is_placed || is_applied || out_regions(main).next().is_none() {
            return false;
        }
        let outs: Vec<Extents> = out_regions(main).cloned().collect();
        let seq = main.submission.seq;
        let form = match main.makes_differences() {
            true => Form::Differences,
            false => Form::Beginning,
        };
        self.held.insert(seq, main.envelope.signals, form, outs);
        for slot in slots.into_iter().filter(|slot| !slot.in_place) {
            self.fill(context, (seq, slot.index), slot.bytes);
        }
        true
    }

    /// The call's output is seen at its end, or from now on if that has come;
    /// older output that it lies over goes first, so that the newer one stays.
    pub(super) fn give(&mut self, context: &mut Context<'_>, main: &Call<'_>, end_ns: u64) {
        let (seq, now_ns) = (main.submission.seq, main.submission.now_ns());
        self.held.resolve(seq, end_ns);
        let outs: Vec<&Extents> = out_regions(main).collect();
        self.deliver_over(context, (seq, now_ns), end_ns, &outs);
    }

    /// The answer to the driver about output that stays held.
    pub(super) fn held_flags(is_held: bool) -> u32 {
        if is_held { flag::HOLD } else { 0 }
    }
}

/// Fills the slots, from the window or with the payload.
pub(super) fn fill(
    context: &Context<'_>,
    client: &mut Client,
    main: &Call<'_>,
    slots: &mut [Slot],
) -> Result<(), ClientError> {
    let outs: Vec<&Extents> = out_regions(main).collect();
    let mut spans = Vec::new();
    for slot in slots.iter_mut() {
        let mapped = match slot.in_place {
            // Its addresses were checked with the mailbox.
            true => context
                .memory
                .spans(outs[slot.index], GuestLength(slot.len))
                .unwrap_or(None),
            false => None,
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
            Some(place) => {
                if let Some(window) = client.window() {
                    window.fill_spans(place, targets);
                }
            }
            None => spans.extend(targets),
        }
    }
    client.payload(spans)
}
