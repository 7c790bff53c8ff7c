//! What `gil calibrate calls` prints of launches, or draws, and copies.

use gil_benchmarks::{Launched, Launches, LeftOut};
use gil_wire::words::Words;
use std::time::Duration;

/// So many times as often is measured on a machine that is not quiet.
const MORE: u32 = 4;
/// By what part of a time machines differ from one run to the next, in most measurements.
const NOISE: f64 = 0.1;
/// One of so many lines may be worse without a sentence.
const WORSE: usize = 4;

fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// How long a kernel or a draw lasts beside what the device's timers say.
fn profiled(offset_ns: i64) -> String {
    match offset_ns {
        0 => "as profiled".into(),
        _ => {
            let less = us(Duration::from_nanos(offset_ns.unsigned_abs()));
            format!("{less:.1} us less than profiled")
        }
    }
}

/// What calls take that nobody waits for, where that was measured.
fn posted(post_ns: u64) -> String {
    match post_ns {
        0 => String::new(),
        _ => format!(", a call without an answer {post_ns} ns less than on the board"),
    }
}

/// What was found, a line for each measurement.
pub fn costs(launched: &Launched) -> String {
    let calls = &launched.calls;
    let ns = |ns| us(Duration::from_nanos(ns));
    let mut text = format!(
        "{}: submission {:.1} us, launch {:.1} us, gap {:.1} us, after a pause {:.1} us, completion {:.1} us, the device's time {}{}; means of the middle half of {}\n",
        Words::from(calls.device.as_str()),
        ns(calls.submit_ns),
        ns(calls.launch_ns),
        ns(calls.gap_ns),
        ns(calls.wake_ns),
        ns(calls.completion_ns),
        profiled(calls.offset_ns),
        posted(calls.post_ns),
        calls.repetitions,
    );
    let lines = lines(launched);
    if !lines.is_empty() {
        text += &format!(
            "{:39} {:>12} {:>22} {:>22}\n",
            "", "natively", "in the guest", "with these costs"
        );
    }
    lines.iter().for_each(|line| text += &line.shown());
    text
}

/// What was measured natively and in the guest.
struct Line {
    what: String,
    native: Duration,
    /// Without and with what was found.
    guest: [Duration; 2],
}

impl Line {
    fn shown(&self) -> String {
        let Self { what, native, .. } = self;
        let [plain, corrected] = self.guest.map(|it| beside(it, *native));
        format!(
            "{what:39} {:>9.1} us {plain:>22} {corrected:>22}\n",
            us(*native)
        )
    }

    /// Whether what was found makes it worse, by more than machines differ from one run to
    /// the next.
    fn is_worse(&self) -> bool {
        let [plain, corrected] = self.guest.map(|it| it.abs_diff(self.native));
        corrected > plain && corrected > self.native.mul_f64(NOISE)
    }
}

/// All of it; nothing without a guest.
fn lines(launched: &Launched) -> Vec<Line> {
    let Some(guest) = &launched.guest else {
        return Vec::new();
    };
    let native = &launched.native;
    let line = |what: String, of: &dyn Fn(&Launches) -> Duration| Line {
        what,
        native: of(native),
        guest: guest.each_ref().map(of),
    };
    let [launch, launches] = launched.launch;
    let many = format!("{} {launches} and a finish", launched.number);
    let mut lines = vec![
        line(format!("a {launch} and a finish"), &|it| it.one),
        line(launched.paused.into(), &|it| it.cold),
        line(many, &|it| it.many),
    ];
    if !native.posts.is_zero() {
        lines.push(line("14 calls of state before one, of it".into(), &|it| {
            it.posts
        }));
    }
    lines.extend(native.to.keys().map(|bytes| {
        let what = format!("{bytes} bytes there, a launch, 4 back");
        line(what, &|it| it.to.get(bytes).copied().unwrap_or_default())
    }));
    lines.extend(native.from.keys().map(|bytes| {
        let what = format!("a launch, {bytes} bytes back");
        line(what, &|it| it.from.get(bytes).copied().unwrap_or_default())
    }));
    lines
}

/// A sentence if what was found makes much of it worse.
pub fn doubted(launched: &Launched) -> String {
    let lines = lines(launched);
    let worse = lines.iter().filter(|line| line.is_worse()).count();
    let has_none = lines.iter().all(|line| line.guest[0] == line.guest[1]);
    if !lines.is_empty() && has_none {
        return "gil: no costs bring the guest closer to the native times than none do, so the profile has none: leave the machine to the measurement, and calibrate again\n".into();
    }
    match worse * WORSE > lines.len() {
        false => String::new(),
        true => format!(
            "gil: {worse} of {} lines are further from the native time with these costs than without them, perhaps since something kept the machine busy meanwhile: leave it to the measurement, and calibrate again\n",
            lines.len()
        ),
    }
}

/// A line for each direction of copies that the profile does not get.
pub fn left_out(launched: &Launched, is_native: bool) -> String {
    let times = launched.calls.repetitions.saturating_mul(MORE);
    let how = match is_native {
        false => format!("--times {times}"),
        true => format!("`launches {times} {}` there", launched.number),
    };
    let line = |it: &LeftOut| {
        let LeftOut { way, why } = it;
        format!(
            "gil: copies {way} the device are left out of the profile and last as on the board, since {why}: leave the machine to the measurement, or measure more often, with {how}\n"
        )
    };
    launched.left_out.iter().map(line).collect()
}

/// A time, and by how much it differs from this one.
fn beside(time: Duration, from: Duration) -> String {
    let part = (us(time) / us(from) - 1.0) * 100.0;
    format!("{:.1} us ({part:+.1} %)", us(time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_board_client::profile::{Calls, Copies};

    #[test]
    fn costs_that_make_it_worse_are_doubted() {
        let times = |one, many, cold| Launches {
            one: Duration::from_micros(one),
            many: Duration::from_micros(many),
            cold: Duration::from_micros(cold),
            ..Launches::default()
        };
        let launched = |corrected| Launched {
            api: "api",
            launch: ["launch", "launches"],
            paused: "the same after a pause",
            calls: Calls::default(),
            copies: Copies::default(),
            left_out: Vec::new(),
            number: 64,
            native: times(100, 1000, 200),
            guest: Some([times(97, 900, 150), corrected]),
        };
        // Closer, or no further than noise is.
        assert_eq!(doubted(&launched(times(92, 1050, 201))), "");
        let said = doubted(&launched(times(130, 1050, 201)));
        assert!(said.starts_with("gil: 1 of 3 lines are further"), "{said}");
        let quiet = Launched {
            guest: None,
            ..launched(times(130, 1050, 201))
        };
        assert_eq!(doubted(&quiet), "");
    }
}
