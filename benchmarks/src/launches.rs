//! What an empty kernel, or a draw of few pixels, and what copies cost beside themselves: a
//! program launches kernels, or draws, natively on this machine's device, or on a board where
//! a person ran it, and in the guest without and with what was found.
//!
//! With the means `one` (of the middle half of the times) of a launch and a finish, `cold` the same, or of a longer draw, after a
//! pause, `submit`
//! of what each of many calls takes, `queued` of what each kernel adds that was submitted
//! while the device was busy, `launch` from the call to the kernel's start, natively, and
//! `guest` what the same take in the guest when nothing is added, of which `device` is each of
//! many kernels' execution as the board's timers say:
//!
//! ```text
//! offset     = min(queued - device, 0)
//! gap        = max(queued - device, 0)
//! rest       = one - (guest one + offset) - submit
//! launch     = min(launch - submit, rest)
//! completion = rest - launch
//! wake       = (cold - one) - (guest cold - guest one)
//! post       = (guest posts - posts) / number of posts
//! ```
//!
//! Where a driver spends time on profiling, kernels that nobody profiles are faster than the
//! board's timers say, and the offset is below 0. A copy's time is what it adds to a program
//! natively: `to` beside a launch and a copy of 4 bytes back, `from` beside a launch and a
//! finish.
//!
//! The guest does some of that itself, meanwhile or besides. So what it takes with these
//! figures is measured, and what differs is corrected, [`ROUNDS`] times; the best counts.

use crate::c_program;
use crate::calibrated::Calibrated;
use crate::error::BenchError;
use crate::sampling::Times;
use clap::Args;
use gil_board_client::profile::{Bus, Calls, Copies, Profile};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Processes that share the repetitions.
const NATIVE_PROCESSES: u32 = 15;
/// The same in the guest, where each is a run.
const GUEST_PROCESSES: u32 = 4;
/// Columns of a line of the program about launches.
const COLUMNS: usize = 8;
/// How often the figures are corrected by what the guest takes with them.
const ROUNDS: usize = 3;
/// Most sizes of copies.
const SIZES_MAX: usize = 64;
/// What more bytes take at least, of what fewer take: less is no noise.
const FALLS: f64 = 0.8;
/// How many calls are in the time of those that nobody waits for.
const POSTS: i64 = 14;
/// Noise of a time is at most this part of it.
const NOISE_PART: u64 = 4;
/// Bytes of a copy that adds more than nothing.
const LONG: u64 = 64 << 10;
/// Longest time of a line, in nanoseconds: the most that a profile has.
const NS_MAX: u64 = 10_000_000_000;
/// Largest copy of one.
const BYTES_MAX: u64 = 1 << 40;
/// After such a pause the device sleeps: less than that of the program.
const IDLE_NS: u64 = 500_000;
/// What to measure.
#[derive(Clone, Debug, Args)]
pub struct LaunchesArgs {
    /// How many times to measure.
    #[arg(long, value_name = "NUMBER", default_value_t = 40,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub times: u32,
    /// Use what the program benchmarks/programs/launches.c wrote on another board, with 256 as
    /// its second argument (for OpenGL ES draws.c, with 64), instead of running it here; the
    /// guest is not run.
    #[arg(long, value_name = "FILE")]
    pub native: Option<PathBuf>,
}

/// Means of the middle half of the program's times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launches {
    /// Of a launch and a finish.
    pub one: Duration,
    /// Of [`Launched::number`] launches and a finish.
    pub many: Duration,
    /// From the call until the kernel starts.
    pub launch: Duration,
    /// Of each of many kernels.
    pub device: Duration,
    /// Of a launch and a finish after a pause.
    pub cold: Duration,
    /// What each of many launches' calls takes.
    pub submit: Duration,
    /// What each of many kernels adds that were submitted while the device was busy.
    pub queued: Duration,
    /// What calls add for which nobody waits, where boards tell what they take.
    pub posts: Duration,
    /// Of copies to the device, by their bytes.
    pub to: BTreeMap<u64, Duration>,
    /// From the device.
    pub from: BTreeMap<u64, Duration>,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Launched {
    /// The API's name, in a profile.
    pub api: &'static str,
    /// The words for what the device is given: one, and several.
    pub launch: [&'static str; 2],
    /// The words for what it is given after a pause.
    pub paused: &'static str,
    /// For the board's profile.
    pub calls: Calls,
    /// The same: what copies take.
    pub copies: Copies,
    /// Copies that are not there, since something disturbed their measurement.
    pub left_out: Vec<LeftOut>,
    /// How many launches are many.
    pub number: u32,
    /// On the board itself.
    pub native: Launches,
    /// In the guest, as the board's timers say; without and with what was found.
    pub guest: Option<[Launches; 2]>,
}

/// A direction of copies whose times no bus has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// `to` or `from` the device.
    pub way: &'static str,
    /// What was measured, as a clause.
    pub why: String,
}

/// Measures what an API's launches cost; `say` hears of the progress. Programs lie in `folder`.
///
/// # Errors
/// [`BenchError`] says what cannot be measured.
pub fn launches(
    api: &Calibrated,
    args: &LaunchesArgs,
    folder: &Path,
    say: &dyn Fn(&str),
) -> Result<Launched, BenchError> {
    if let Some(path) = &args.native {
        let (device, repetitions, native) = found(&c_program::written(path)?, path, api)?;
        let calls = native.calls(&native.alone(), repetitions, device);
        let (copies, left_out) = usable(native.copies(), native.one);
        return Ok(Launched {
            api: api.name,
            launch: api.launch,
            paused: api.paused,
            copies,
            left_out,
            calls,
            number: api.many,
            native,
            guest: None,
        });
    }
    say("compiling the program");
    let built = c_program::build(api.launches, folder, api.libraries, api.libraries)?;
    say("measuring on this machine's device");
    let text = c_program::pooled(NATIVE_PROCESSES, || {
        let mut command = Command::new(&built.native);
        c_program::said(command.args(numbers(args, NATIVE_PROCESSES, api.many)))
    })?;
    let (device, repetitions, native) = found(&text, &built.native, api)?;
    let guest = |how: &str, calls: Option<&Calls>, copies: Option<Copies>| {
        say(&format!("measuring in the guest, times {how}"));
        let (board, launches) = in_guest(api, args, (calls, copies), folder, &built.guest)?;
        match board == device {
            true => Ok(launches),
            false => Err(BenchError::Devices {
                native: device.clone(),
                board,
            }),
        }
    };
    let plain = guest("as they are", None, None)?;
    let mut calls = native.calls(&plain, repetitions, device.clone());
    let (mut copies, left_out) = usable(native.copies(), native.one);
    let none = Calls {
        repetitions,
        device: calls.device.clone(),
        ..Calls::default()
    };
    let error = native.error(&plain);
    let mut best = (error, none, Copies::default(), plain.clone());
    for round in 1..=ROUNDS {
        let how = format!("corrected, {round} of {ROUNDS}");
        let corrected = guest(&how, Some(&calls), Some(copies.clone()))?;
        let error = native.error(&corrected);
        let next = native.next(&corrected, &calls, &copies, api.many);
        if error < best.0 {
            best = (error, calls, copies, corrected);
        }
        (calls, copies) = next;
    }
    let (_, calls, copies, corrected) = best;
    Ok(Launched {
        api: api.name,
        launch: api.launch,
        paused: api.paused,
        calls,
        copies,
        left_out,
        number: api.many,
        native,
        guest: Some([plain, corrected]),
    })
}

fn numbers(args: &LaunchesArgs, processes: u32, many: u32) -> [String; 2] {
    [c_program::shared(args.times, processes), many].map(|number| number.to_string())
}

/// What the program says in the guest, with a profile that has this alone: the device, and what each
/// takes.
fn in_guest(
    api: &Calibrated,
    args: &LaunchesArgs,
    (calls, copies): (Option<&Calls>, Option<Copies>),
    folder: &Path,
    program: &Path,
) -> Result<(String, Launches), BenchError> {
    // Nothing of another target: the native times are the board's own.
    let mut profile = Profile::empty();
    let copies = copies.map(|it| (api.name.into(), it));
    profile.copies.extend(copies);
    let named = calls.map(|calls| (api.name.into(), calls.clone()));
    profile.calls.extend(named);
    let path = folder.join("profile.toml");
    fs::write(&path, profile.text())?;
    let text = c_program::pooled(GUEST_PROCESSES, || {
        let mut command = c_program::in_guest_with_kernels(&folder.join("report.json"))?;
        command.arg("--board-profile").arg(&path);
        command
            .arg(program)
            .args(numbers(args, GUEST_PROCESSES, api.many));
        c_program::said(&mut command)
    })?;
    let (device, _, launches) = found(&text, program, api)?;
    Ok((device, launches))
}

/// What the text of an API's program says: the device, the number of repetitions, and
/// what each takes: the mean of the middle half.
fn found(text: &str, path: &Path, api: &Calibrated) -> Result<(String, u32, Launches), BenchError> {
    let (file, launch) = (Calibrated::file(api.launches), api.launch[0]);
    let wrong = |what: String| BenchError::File {
        path: path.into(),
        what,
    };
    let mut lines = text.lines();
    let device = lines.next().unwrap_or_default().trim().to_owned();
    let mut columns: [Vec<Duration>; COLUMNS] = Default::default();
    let mut copies: [BTreeMap<u64, Vec<Duration>>; 2] = Default::default();
    for (at, line) in lines.enumerate() {
        let mut words = line.split_whitespace();
        let kind = words.next().unwrap_or_default();
        let numbers: Result<Vec<u64>, _> = words.map(str::parse::<u64>).collect();
        match (kind, numbers.as_deref()) {
            (kind, Ok(numbers))
                if kind == launch
                    && numbers.len() == COLUMNS
                    && numbers.iter().all(|&ns| ns <= NS_MAX) =>
            {
                for (column, ns) in columns.iter_mut().zip(numbers) {
                    column.push(Duration::from_nanos(*ns));
                }
            }
            ("number", Ok(&[number])) if number == u64::from(api.many) => {}
            ("number", Ok(&[number])) => {
                let what = format!(
                    "{file} wrote this with {number} as its second argument: run it again with {}",
                    api.many
                );
                return Err(wrong(what));
            }
            ("to" | "from", Ok(&[bytes @ ..=BYTES_MAX, ns @ ..=NS_MAX]))
                if copies[0].len().max(copies[1].len()) < SIZES_MAX =>
            {
                let own = &mut copies[usize::from(kind == "from")];
                let times = own.entry(bytes).or_default();
                times.push(Duration::from_nanos(ns));
            }
            _ => {
                let what = format!(
                    "line {} of what {file} writes is `{launch}` with {COLUMNS} times, or `to` or `from` with bytes and a time, none over 10 s, and is {line:.80?}",
                    at + 2
                );
                return Err(wrong(what));
            }
        }
    }
    let repetitions = columns[0].len() as u32;
    if repetitions == 0 {
        return Err(wrong(format!("{file} wrote no times there")));
    }
    let [one, many, launch, device_time, cold, submit, queued, posts] =
        columns.map(|times| Times::new(times).middle());
    let [to, from] = copies.map(|of| {
        let times = of.into_iter();
        times
            .map(|(bytes, times)| (bytes, Times::new(times).middle()))
            .collect()
    });
    let native = Launches {
        one,
        many,
        launch,
        device: device_time,
        cold,
        submit,
        queued,
        posts,
        to,
        from,
    };
    Ok((device, repetitions, native))
}

impl Launches {
    /// Natively: what a guest takes that costs nothing itself.
    fn alone(&self) -> Self {
        Self {
            one: self.device.min(self.queued),
            cold: self.device.min(self.queued),
            device: self.device,
            ..Self::default()
        }
    }

    /// What they cost on the board, if the guest takes this.
    fn calls(&self, guest: &Self, repetitions: u32, device: String) -> Calls {
        let more = ns(self.queued) - ns(guest.device);
        let offset_ns = more.min(0);
        let submit = ns(self.submit);
        let rest = (ns(self.one) - ns(guest.one) - offset_ns - submit).max(0);
        let launch = (ns(self.launch) - submit).clamp(0, rest);
        Calls {
            submit_ns: above(submit),
            launch_ns: above(launch),
            gap_ns: above(more),
            wake_ns: above(self.pause() - guest.pause()),
            idle_ns: IDLE_NS,
            offset_ns,
            completion_ns: above(rest - launch),
            post_ns: self.post_ns(guest, 0),
            repetitions,
            device,
            ..Calls::default()
        }
    }

    /// By what each call that nobody waits for takes less than on the board, if the guest was
    /// told `post_ns` of it.
    fn post_ns(&self, guest: &Self, post_ns: u64) -> u64 {
        let is_told = !self.posts.is_zero() && !guest.posts.is_zero();
        let more = if is_told {
            ns(guest.posts) - ns(self.posts)
        } else {
            0
        };
        above(signed(post_ns) + more / POSTS)
    }

    /// What a pause adds.
    fn pause(&self) -> i64 {
        ns(self.cold) - ns(self.one)
    }

    /// What each of so many launches adds to one.
    fn each(&self, many: u32) -> i64 {
        (ns(self.many) - ns(self.one)) / i64::from(many - 1)
    }

    /// The mean of what differs from this, as parts and without signs.
    fn error(&self, guest: &Self) -> f64 {
        let part = |own: Duration, guest: Duration| {
            let own = own.as_secs_f64().max(f64::MIN_POSITIVE);
            (guest.as_secs_f64() / own - 1.0).abs()
        };
        let ways = [(&self.to, &guest.to), (&self.from, &guest.from)];
        let copies = ways.into_iter().flat_map(|(own, guest)| {
            let both = own.iter().zip(guest.values());
            both.map(|((_, own), guest)| part(*own, *guest))
        });
        let all: Vec<f64> = [
            part(self.one, guest.one),
            part(self.cold, guest.cold),
            part(self.many, guest.many),
        ]
        .into_iter()
        .chain((!self.posts.is_zero()).then(|| part(self.posts, guest.posts)))
        .chain(copies)
        .collect();
        all.iter().sum::<f64>() / all.len() as f64
    }

    /// These figures, corrected by what the guest takes with them.
    fn next(&self, guest: &Self, calls: &Calls, copies: &Copies, many: u32) -> (Calls, Copies) {
        let mut calls = calls.clone();
        let one = ns(self.one) - ns(guest.one);
        let completion = signed(calls.completion_ns) + one;
        calls.completion_ns = above(completion);
        // What a completion cannot take off, a launch may.
        calls.launch_ns = above(signed(calls.launch_ns) + completion.min(0));
        calls.post_ns = self.post_ns(guest, calls.post_ns);
        calls.wake_ns = above(signed(calls.wake_ns) + self.pause() - guest.pause());
        let each = self.each(many) - guest.each(many);
        // Whatever bounds how fast they follow one another.
        if self.submit >= self.queued {
            calls.submit_ns = above(signed(calls.submit_ns) + each);
        } else {
            let gap = signed(calls.gap_ns) + each;
            calls.gap_ns = above(gap);
            calls.offset_ns += gap.min(0);
        }
        let noise_ns = noise_ns(self.one);
        let copies = Copies {
            to: next(
                &copies.to,
                (&self.to, &guest.to),
                self.least() - guest.least(),
                noise_ns,
            ),
            from: next(&copies.from, (&self.from, &guest.from), one, noise_ns),
        };
        (calls, copies)
    }

    /// Of a launch and the shortest copy back.
    fn least(&self) -> i64 {
        ns(self.from.values().next().copied().unwrap_or_default())
    }

    /// What copies take on the board beside what is around them.
    fn copies(&self) -> Copies {
        let least = self.from.values().next().copied().unwrap_or_default();
        Copies {
            to: bus(&self.to, least),
            from: bus(&self.from, self.one),
        }
    }
}

fn ns(time: Duration) -> i64 {
    signed(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// Nothing for what is below nothing.
fn above(ns: i64) -> u64 {
    u64::try_from(ns).unwrap_or(0)
}

/// Copies' times, corrected by what programs that copy take more natively than in the guest;
/// what is around the copies takes `around` more. Where that gives what no bus does, something
/// disturbed the guest, and the earlier times stay.
fn next(
    bus: &Option<Bus>,
    (native, guest): (&BTreeMap<u64, Duration>, &BTreeMap<u64, Duration>),
    around: i64,
    noise_ns: u64,
) -> Option<Bus> {
    let bus = bus.as_ref()?;
    let measured = bus.measured.iter().map(|(bytes, own)| {
        let of = |times: &BTreeMap<u64, Duration>| times.get(bytes).copied().map_or(0, ns);
        let more = of(native) - of(guest) - around;
        // Where the guest takes longer than the board whatever the copy takes, that stays.
        match above(signed(*own) + more) {
            0 => (*bytes, *own),
            corrected => (*bytes, corrected),
        }
    });
    let corrected = Bus {
        measured: measured.collect(),
        ..bus.clone()
    };
    match impossible(&corrected, noise_ns) {
        None => Some(corrected),
        Some(_) => Some(bus.clone()),
    }
}

/// Copies' times less what is around them; `None` if none was measured.
fn bus(times: &BTreeMap<u64, Duration>, around: Duration) -> Option<Bus> {
    let measured = times.iter().map(|(bytes, time)| {
        let ns = u64::try_from(time.saturating_sub(around).as_nanos());
        // What takes no time does not follow the bus.
        (*bytes, ns.unwrap_or(u64::MAX).max(1))
    });
    let measured: Vec<_> = measured.collect();
    (!measured.is_empty()).then(|| Bus {
        measured,
        ..Bus::default()
    })
}

/// The copies, but for directions in which more bytes took less time than fewer, or none, by
/// more than the noise: a copy's time is the difference of two of which each takes `around`.
fn usable(copies: Copies, around: Duration) -> (Copies, Vec<LeftOut>) {
    let noise_ns = noise_ns(around);
    let mut left_out = Vec::new();
    let mut checked = |way, bus: Option<Bus>| {
        let why = bus.as_ref().and_then(|bus| impossible(bus, noise_ns));
        let is_fine = why.is_none();
        left_out.extend(why.map(|why| LeftOut { way, why }));
        bus.filter(|_| is_fine)
    };
    let copies = Copies {
        to: checked("to", copies.to),
        from: checked("from", copies.from),
    };
    (copies, left_out)
}

/// The noise of a copy's time, in nanoseconds, where `around` is what takes it.
fn noise_ns(around: Duration) -> u64 {
    above(ns(around)) / NOISE_PART
}

/// What no bus does, if this one did.
fn impossible(bus: &Bus, noise_ns: u64) -> Option<String> {
    let measured = || bus.measured.iter();
    // What took none at all was measured as 1; what is short may add none.
    if let Some((bytes, _)) = measured().find(|(bytes, ns)| *ns <= 1 && *bytes >= LONG) {
        return Some(format!("one of {bytes} bytes took no time"));
    }
    let mut pairs = measured().zip(measured().skip(1));
    let falls = pairs.find(|(fewer, more)| {
        more.1 as f64 <= fewer.1 as f64 * FALLS && fewer.1 - more.1 > noise_ns
    });
    falls.map(|((fewer, long), (more, short))| {
        format!("one of {more} bytes took {short} ns, and one of {fewer} bytes {long} ns")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const API: Calibrated = Calibrated {
        name: "api",
        launches: "programs/launches.c",
        many: 64,
        programs: "programs/kernels.c",
        libraries: &[],
        fitted: &[],
        launch: ["launch", "launches"],
        paused: "the same after a pause",
    };

    fn read(text: &str) -> Result<(String, u32, Launches), BenchError> {
        found(text, Path::new("native.txt"), &API)
    }

    fn launches(text: &str) -> Launches {
        read(&format!("GPU\n{text}")).unwrap().2
    }

    #[test]
    fn costs_are_what_the_guest_does_not_take() {
        let text = "GPU of mine\nlaunch 50000 239000 27000 2000 90000 2000 3000 0\nlaunch 40000 229000 25000 1000 80000 1000 2000 0\nlaunch 60000 249000 29000 3000 100000 3000 4000 0\n";
        let (device, repetitions, native) = read(text).unwrap();
        assert_eq!(native.one, Duration::from_micros(50));
        // 189 µs for 63 launches are 3 each, of which the guest knows 1.
        let guest = launches("launch 6000 70000 0 1000 16000 0 0 0\n");
        let calls = native.calls(&guest, repetitions, device);
        let costs = (calls.launch_ns, calls.gap_ns, calls.completion_ns);
        assert_eq!(costs, (25_000, 2_000, 17_000));
        assert_eq!((calls.wake_ns, calls.offset_ns), (30_000, 0));
        assert_eq!(calls.submit_ns, 2_000);
        assert_eq!((calls.repetitions, &*calls.device), (3, "GPU of mine"));
    }

    #[test]
    fn posts_take_as_long_as_natively() {
        let native = launches("launch 50000 239000 27000 2000 90000 2000 3000 4000\n");
        let guest = launches("launch 6000 70000 0 1000 16000 0 0 11000\n");
        let calls = native.calls(&guest, 1, String::new());
        assert_eq!(calls.post_ns, 500);
        let corrected = launches("launch 6000 70000 0 1000 16000 0 0 5400\n");
        let (calls, _) = native.next(&corrected, &calls, &Copies::default(), 64);
        assert_eq!(calls.post_ns, 600);
        // Nobody told.
        let guest = launches("launch 6000 70000 0 1000 16000 0 0 0\n");
        assert_eq!(native.calls(&guest, 1, String::new()).post_ns, 0);
    }

    #[test]
    fn no_cost_is_below_nothing() {
        let native = launches("launch 5000 257000 90000 4000 4000 1000 4000 0\n");
        let calls = native.calls(
            &launches("launch 9000 9000 9000 9000 9000 9000 9000 0\n"),
            1,
            String::new(),
        );
        let costs = (calls.launch_ns, calls.gap_ns, calls.completion_ns);
        assert_eq!((costs, calls.wake_ns), ((0, 0, 0), 0));
        assert_eq!(calls.offset_ns, -5_000);
    }

    #[test]
    fn what_profiling_costs_is_taken_off() {
        let native = launches("launch 45000 423000 11000 16000 45000 3000 6000 0\n");
        let calls = native.calls(&native.alone(), 1, String::new());
        let costs = (calls.launch_ns, calls.gap_ns, calls.completion_ns);
        assert_eq!((costs, calls.offset_ns), ((8_000, 0, 38_000), -10_000));
    }

    #[test]
    fn copies_take_what_they_add() {
        let native = launches(
            "launch 500 1 1 1 1 1 1 0\nto 10 900\nto 2000 4500\nfrom 4 1100\nfrom 9000 2500\n",
        );
        let copies = native.copies();
        assert_eq!(copies.to.unwrap().measured, [(10, 1), (2000, 3400)]);
        assert_eq!(copies.from.unwrap().measured, [(4, 600), (9000, 2000)]);
        let none = launches("launch 500 1 1 1 1 1 1 0\n").copies();
        assert_eq!((none.to, none.from), (None, None));
    }

    #[test]
    fn copies_that_no_bus_does_are_left_out() {
        let said = |measured: &[(u64, u64)]| {
            let bus = Bus {
                measured: measured.to_vec(),
                ..Bus::default()
            };
            let to = Some(Bus {
                gb_s: Some(2.0),
                ..Bus::default()
            });
            let from = Some(bus);
            let (copies, left_out) = usable(Copies { to, from }, Duration::from_nanos(400));
            assert!(copies.to.is_some());
            assert_eq!(copies.from.is_none(), !left_out.is_empty());
            let left_out = left_out.into_iter().next();
            left_out.map(|it| format!("{}: {}", it.way, it.why))
        };
        assert_eq!(said(&[(4, 900), (4096, 850), (1 << 20, 90_000)]), None);
        assert_eq!(
            said(&[(4, 900), (4096, 700)]).unwrap(),
            "from: one of 4096 bytes took 700 ns, and one of 4 bytes 900 ns"
        );
        assert_eq!(
            said(&[(4, 1), (1 << 16, 1)]).unwrap(),
            "from: one of 65536 bytes took no time"
        );
        // What is short is lost in the noise.
        assert_eq!(said(&[(4, 120), (4096, 30), (1 << 16, 5000)]), None);
        assert_eq!(said(&[]), None);
    }

    /// A guest that something disturbed does not make a long copy shorter than a short one.
    #[test]
    fn copies_are_not_corrected_into_what_no_bus_does() {
        let times = |all: [(u64, u64); 2]| {
            let all = all.map(|(bytes, us)| (bytes, Duration::from_micros(us)));
            BTreeMap::from(all)
        };
        let bus = Some(Bus {
            measured: vec![(1 << 18, 40_000), (1 << 20, 45_000)],
            ..Bus::default()
        });
        let native = times([(1 << 18, 80), (1 << 20, 85)]);
        let corrected = |guest: [(u64, u64); 2]| {
            let guest = times(guest);
            next(&bus, (&native, &guest), 0, 4000).unwrap().measured
        };
        let disturbed = corrected([(1 << 18, 80), (1 << 20, 115)]);
        assert_eq!(disturbed, [(1 << 18, 40_000), (1 << 20, 45_000)]);
        let quiet = corrected([(1 << 18, 79), (1 << 20, 86)]);
        assert_eq!(quiet, [(1 << 18, 41_000), (1 << 20, 44_000)]);
    }

    /// So many launches are in what they take.
    #[test]
    fn another_number_of_launches_is_refused() {
        let read = |number| read(&format!("GPU\nnumber {number}\nlaunch 1 2 3 4 5 6 7 0\n"));
        assert!(read(64).is_ok());
        let refused = read(256).unwrap_err().to_string();
        assert!(
            refused.contains("with 256 as its second argument"),
            "{refused}"
        );
        assert!(refused.ends_with("run it again with 64"), "{refused}");
    }

    #[test]
    fn what_the_program_did_not_write_is_refused() {
        for text in [
            "",
            "GPU\n",
            "GPU\nlaunch 1 2 3 4 5 6\n",
            "GPU\n1 2 3 4 5 6 7\n",
            "GPU\nlaunch 1 2 3 -4 5 6 7\n",
            "GPU\nlaunch 1 2 3 4 5 6 7 0\nto 5\n",
            "GPU\nto 5 5\n",
            "GPU\ndraw 1 2 3 4 5 6 7 0\n",
            "GPU\nlaunch 1 2 3 4 5 6 10000000001 0\n",
            "GPU\nlaunch 1 2 3 4 5 6 7 0\nto 5 18446744073709551615\n",
            "GPU\nlaunch 1 2 3 4 5 6 7 0\nto 18446744073709551615 5\n",
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains("native.txt"), "{error}");
        }
    }
}
