//! Other recorded sessions that begin as this one: a recording may have several runs of a
//! program, which differ from some request on.

use super::Departure;
use super::file::{Place, RecordedSession, Recording};
use gil_files::difference::{Difference, first_read};
use gil_files::recording::{Called, Record};
use gil_wire::message::Done;

/// Whether two sessions have the same first calls, answers and times. Of operations whose end
/// the guest was not told (`is_untold`) nothing is asked.
pub fn begin_alike(
    recording: &Recording,
    [one, other]: [usize; 2],
    calls: usize,
    is_untold: &dyn Fn(u64) -> bool,
) -> Result<bool, Departure> {
    let [one, other] = [one, other].map(|number| &recording.sessions[number]);
    if one.pointer_bits != other.pointer_bits || other.calls.len() < calls {
        return Ok(false);
    }
    for place in 0..calls {
        let (first, second) = (one.calls[place].head()?, other.calls[place].head()?);
        if !are_alike(&first, &second) || one.posted(place) != other.posted(place) {
            return Ok(false);
        }
        let places = [&one.calls[place], &other.calls[place]].map(|call| call.payload());
        let told = first.call.event.filter(|event| !is_untold(*event));
        let len = payload_len(&first);
        if !has_same_bytes(recording, &places, len)? || !end_alike(recording, [one, other], told)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn are_alike(one: &Called<'_>, other: &Called<'_>) -> bool {
    let have_same_done = match (&one.done, &other.done) {
        (Some(one), Some(other)) => answers_alike(one, other),
        (None, None) => true,
        _ => false,
    };
    have_same_done
        && one.call.event == other.call.event
        && Difference::of_heads(&one.call, &other.call).is_none()
}

/// All but the board's wall time.
fn answers_alike(one: &Done<'_>, other: &Done<'_>) -> bool {
    let busy_ns = one.busy_ns;
    *one == Done {
        busy_ns,
        ..other.clone()
    }
}

fn payload_len(called: &Called<'_>) -> u64 {
    let lens = Record::Call(called.clone()).payload_len();
    lens.map_or(0, |(into, back)| into.saturating_add(back))
}

/// Whether an operation ended alike in both, as far as the board was asked.
fn end_alike(
    recording: &Recording,
    sessions: [&RecordedSession; 2],
    event: Option<u64>,
) -> Result<bool, Departure> {
    let Some(event) = event else { return Ok(true) };
    match sessions.map(|session| session.ended.get(&event)) {
        [None, None] => Ok(true),
        [Some(one), Some(other)] if one.report == other.report => {
            let len = one.report.payload_len().unwrap_or(0);
            has_same_bytes(recording, &[&one.payload, &other.payload], len)
        }
        _ => Ok(false),
    }
}

fn has_same_bytes(
    recording: &Recording,
    [one, other]: &[impl std::borrow::Borrow<Place>; 2],
    len: u64,
) -> Result<bool, Departure> {
    let mut one = recording.payload(one.borrow())?;
    let mut other = recording.payload(other.borrow())?;
    let compared = first_read(&mut one, &mut other, len);
    recording.check(one)?;
    recording.check(other)?;
    Ok(compared?.is_none())
}
