//! Counters and stopwatches of a run.

use crate::boards::Boards;
use crate::busy::Busy;
use crate::frames::Frames;
use crate::jobs;
use crate::known::known;
use gil_report::{self as report, Entry, PROCESSES_MAX, Process, Report};
use gil_timing::Contention;
use gil_wire::Op;
use gil_wire::api::is_of_a_driver;
use gil_wire::driver::{CLOSE, Closed};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Sums of a run, as of now. They only ever grow, but for `sessions`; none
/// begins anew when the program starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Doorbells, of all kinds.
    pub doorbells: u64,
    /// Calls to the board's APIs, posts included.
    pub calls: u64,
    /// Of these, posts.
    pub posts: u64,
    /// Region bytes to the board.
    pub bytes_to_board: u64,
    /// Region bytes from the board.
    pub bytes_from_board: u64,
    /// Outputs delivered late, as [`report::Totals`] has it.
    pub late_deliveries: u64,
    /// Guest nanoseconds that operations took on the device.
    pub gpu_ns: u64,
    /// Nanoseconds of the board's CPU in the API's functions.
    pub board_cpu_ns: u64,
    /// Guest nanoseconds of delay that calls were given.
    pub wait_ns: u64,
    /// See [`report::Simulated::excess_ns`].
    pub excess_ns: u64,
    /// Wall time of the host interface's own work.
    pub bridge_wall_ns: u64,
    /// Wall time in doorbells, the wait for the board included.
    pub doorbell_wall_ns: u64,
    /// Wall time that the board worked for calls, by its own clock.
    pub board_wall_ns: u64,
    /// Sessions that are open.
    pub sessions: u64,
}

/// What a run's report is made of.
#[derive(Debug)]
pub struct Stats {
    /// Filled as things happen; times of [`report::Wall`] at the end.
    pub report: Report,
    /// Frames of programs that draw.
    pub frames: Frames,
    /// Jobs on GPUs' processors.
    pub jobs: jobs::Ended,
    /// How busy engines are, once somebody has asked how the run does.
    pub busy: Option<Busy>,
    entries: BTreeMap<Op, Entry>,
    clock: Clock,
}

/// Stopwatches. Each runs by itself; they are not computed from each other.
#[derive(Debug)]
struct Clock {
    loaded: Instant,
    started: Option<Instant>,
    ended: Option<Instant>,
    first_call: Option<Instant>,
    /// The latest simulated time that was heard of.
    now_ns: u64,
    /// Since when the simulator runs by itself.
    outside_since: Instant,
    /// Since when the bridge works.
    inside_since: Instant,
    simulator: Duration,
    bridge: Duration,
    board: Duration,
    transport: Duration,
    /// What the board was busy for in this doorbell.
    busy: Duration,
    /// As `bridge`, since the host interface was loaded.
    whole_bridge: Duration,
    /// As `board`, since the host interface was loaded.
    whole_board: Duration,
    /// All doorbells, since the host interface was loaded.
    doorbells: Duration,
}

impl Stats {
    /// All zero; the clock starts. Processors of GPUs have this contention.
    pub fn new(simulator: &str, contention: Contention) -> Self {
        let now = Instant::now();
        let report = Report {
            version: report::VERSION,
            gil: env!("CARGO_PKG_VERSION").into(),
            simulator: simulator.into(),
            ..Report::default()
        };
        Self {
            report,
            frames: Frames::default(),
            jobs: jobs::Ended::new(contention),
            busy: None,
            entries: BTreeMap::new(),
            clock: Clock {
                loaded: now,
                started: None,
                ended: None,
                first_call: None,
                now_ns: 0,
                outside_since: now,
                inside_since: now,
                simulator: Duration::ZERO,
                bridge: Duration::ZERO,
                board: Duration::ZERO,
                transport: Duration::ZERO,
                busy: Duration::ZERO,
                whole_bridge: Duration::ZERO,
                whole_board: Duration::ZERO,
                doorbells: Duration::ZERO,
            },
        }
    }

    /// A doorbell rings.
    pub fn enter(&mut self) {
        self.look();
        self.clock.busy = Duration::ZERO;
        self.report.totals.doorbells += 1;
    }

    /// The simulator tells something by itself: the stopwatches of both sides
    /// are read.
    pub fn look(&mut self) {
        let now = Instant::now();
        self.clock.simulator += now - self.clock.outside_since;
        self.clock.inside_since = now;
        self.clock.outside_since = now;
    }

    /// The doorbell is answered; of its time, `waited` was spent waiting. It
    /// was `op`'s, if it was a call's to the board.
    pub fn leave(&mut self, waited: Duration, op: Option<Op>) {
        let now = Instant::now();
        let whole = now - self.clock.inside_since;
        let own = whole.saturating_sub(waited);
        self.clock.bridge += own;
        self.clock.transport += waited.saturating_sub(self.clock.busy);
        self.clock.whole_bridge += own;
        self.clock.doorbells += whole;
        self.clock.outside_since = now;
        if let Some(op) = op {
            self.entry(op).wall_ns += nanos(whole);
        }
    }

    /// A doorbell rang at this simulated time.
    pub fn rang(&mut self, now_ns: u64) {
        self.clock.now_ns = self.clock.now_ns.max(now_ns);
    }

    /// The program starts: the stopwatches count from here.
    pub fn started(&mut self, now_ns: u64) {
        self.clock.started = Some(self.clock.inside_since);
        self.clock.ended = None;
        self.clock.simulator = Duration::ZERO;
        self.clock.bridge = Duration::ZERO;
        self.clock.board = Duration::ZERO;
        self.clock.transport = Duration::ZERO;
        self.report.program.started = true;
        self.report.simulated.boot_ns = now_ns;
    }

    /// The program ended.
    pub fn ended(&mut self, now_ns: u64) {
        self.clock.ended = Some(Instant::now());
        self.report.program.ended = true;
        let simulated = &mut self.report.simulated;
        simulated.program_ns = now_ns.saturating_sub(simulated.boot_ns);
        self.clock.stop(&mut self.report.wall);
    }

    /// The first call to the board; whether this is it.
    pub fn first_call(&mut self, now_ns: u64) -> bool {
        if self.clock.first_call.is_some() {
            return false;
        }
        self.clock.first_call = Some(Instant::now());
        self.report.simulated.boot_to_first_call_ns = Some(now_ns);
        true
    }

    /// A session lost a board.
    pub fn lost(&mut self, place: usize, text: &str) {
        let lost = &mut self.report.board.lost;
        lost.get_or_insert_with(|| text.into());
        if let Some(board) = self.report.boards.get_mut(place) {
            board.lost.get_or_insert_with(|| text.into());
        }
    }

    /// A board was busy for a call.
    pub fn board_busy(&mut self, place: usize, busy_ns: u64) {
        if let Some(board) = self.report.boards.get_mut(place) {
            board.board_ns = board.board_ns.saturating_add(busy_ns);
        }
        let busy = Duration::from_nanos(busy_ns);
        self.clock.busy = self.clock.busy.saturating_add(busy);
        self.clock.board = self.clock.board.saturating_add(busy);
        self.clock.whole_board = self.clock.whole_board.saturating_add(busy);
    }

    /// What a process did, if it is one of those that are listed.
    pub fn process(&mut self, process: u32) -> Option<&mut Process> {
        let all = &mut self.report.processes;
        let known = all.iter().rposition(|known| known.process == process);
        let place = match known {
            Some(place) => place,
            None if all.len() < PROCESSES_MAX => {
                let calls = BTreeMap::new();
                all.push(Process {
                    process,
                    calls,
                    ..Process::default()
                });
                all.len() - 1
            }
            None => return None,
        };
        all.get_mut(place)
    }

    /// A process called an entry point of a board's API.
    pub fn counted(&mut self, process: u32, op: Op) {
        self.entry(op).count += 1;
        let title = gil_wire::api::api(op.api()).map_or("unknown", |api| api.title);
        let Some(process) = self.process(process) else {
            return;
        };
        match process.calls.get_mut(title) {
            Some(count) => *count += 1,
            None => {
                process.calls.insert(title.into(), 1);
            }
        }
    }

    /// A program lists what it called.
    pub fn called(&mut self, entries: &[Op]) {
        let names = entries.iter().filter_map(|op| op.name());
        let called = &mut self.report.called;
        called.extend(names.map(str::to_owned));
        called.sort_unstable();
        called.dedup();
    }

    /// An entry point's counters; those that this build does not know have
    /// theirs in common, for any guest can make up their numbers.
    pub fn entry(&mut self, op: Op) -> &mut Entry {
        let op = match self.entries.contains_key(&op) {
            true => op,
            false => known(op),
        };
        self.entries.entry(op).or_insert_with(|| Entry {
            name: op.name().map_or("unknown".into(), str::to_owned),
            api: op.api(),
            op: op.0,
            ..Entry::default()
        })
    }

    /// An entry point's counters, if it was called.
    pub fn find(&self, op: Op) -> Option<&Entry> {
        self.entries.get(&op)
    }

    /// Sums as of now.
    pub fn counters(&self) -> Counters {
        let Report {
            totals, simulated, ..
        } = &self.report;
        let sum = |of: fn(&Entry) -> u64| self.entries.values().map(of).sum();
        Counters {
            doorbells: totals.doorbells,
            calls: sum(|entry| entry.count),
            posts: totals.posts,
            bytes_to_board: sum(|entry| entry.bytes_to_board),
            bytes_from_board: sum(|entry| entry.bytes_from_board),
            late_deliveries: totals.late_deliveries,
            gpu_ns: sum(|entry| entry.gpu_ns),
            board_cpu_ns: sum(|entry| entry.board_cpu_ns),
            wait_ns: simulated.wait_ns,
            excess_ns: simulated.excess_ns,
            bridge_wall_ns: nanos(self.clock.whole_bridge),
            doorbell_wall_ns: nanos(self.clock.doorbells),
            board_wall_ns: nanos(self.clock.whole_board),
            sessions: 0,
        }
    }

    /// So many bytes of the guest's memory were compared with what the board has, or what
    /// differs there was written, in this time.
    pub fn compared(&mut self, bytes: usize, took: Duration) {
        let mirrored = &mut self.report.mirrored;
        mirrored.compared_bytes += bytes as u64;
        mirrored.compare_ns = mirrored.compare_ns.saturating_add(nanos(took));
    }

    /// A board compared buffers for so long.
    pub fn board_compared(&mut self, ns: u64) {
        let mirrored = &mut self.report.mirrored;
        mirrored.board_compare_ns = mirrored.board_compare_ns.saturating_add(ns);
    }

    /// The guest waited for a board's answer to this operation, or to how it ended.
    pub fn went_there_and_back(&mut self, op: Op) {
        self.report.mirrored.round_trips += u64::from(is_of_a_driver(op));
    }

    /// A call to a board, with so many bytes of its regions and these arguments.
    pub fn sent(&mut self, op: Op, bytes: u64, args: &[u8]) {
        self.entry(op).bytes_to_board += bytes;
        if !is_of_a_driver(op) {
            return;
        }
        let mirrored = &mut self.report.mirrored;
        mirrored.bytes_to_board += bytes;
        if op.entry() == CLOSE
            && let Ok(closed) = Closed::parse(args)
        {
            mirrored.ioctls = mirrored.ioctls.saturating_add(closed.ioctls.into());
        }
    }

    /// So many bytes of regions came from a board.
    pub fn brought(&mut self, op: Op, bytes: u64) {
        self.entry(op).bytes_from_board += bytes;
        if is_of_a_driver(op) {
            self.report.mirrored.bytes_from_board += bytes;
        }
    }

    /// Output was delivered, so long after its simulated end.
    pub fn delivered(&mut self, late_ns: u64) {
        let totals = &mut self.report.totals;
        totals.late_deliveries += u64::from(late_ns > gil_wire::control::LATE_NS);
        totals.latest_delivery_ns = totals.latest_delivery_ns.max(late_ns);
    }

    /// The report as of now.
    pub fn finish(&self, boards: &Boards) -> Report {
        Report {
            frames: self.frames.report(),
            jobs: self.jobs.report(),
            ..self.so_far(boards)
        }
    }

    /// The same without frames and jobs, which take long to sum up.
    pub fn so_far(&self, boards: &Boards) -> Report {
        let mut report = self.report.clone();
        if self.clock.ended.is_none() {
            self.cut_short(&mut report);
        }
        report.wall.since_load_ns = nanos(self.clock.loaded.elapsed());
        report.entries = self.entries.values().cloned().collect();
        let sum = |of: fn(&Entry) -> u64| self.entries.values().map(of).sum();
        report.simulated.gpu_ns = sum(|entry| entry.gpu_ns);
        report.simulated.board_cpu_ns = sum(|entry| entry.board_cpu_ns);
        report.totals.calls = sum(|entry| entry.count);
        report.totals.bytes_to_board = sum(|entry| entry.bytes_to_board);
        report.totals.bytes_from_board = sum(|entry| entry.bytes_from_board);
        sum_boards(&mut report, boards);
        report
    }

    /// The latest simulated time that was heard of.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns
    }

    /// Wall time from the program's start to the last doorbell's end, or the program's.
    pub fn doorbell_ns(&self) -> u64 {
        let clock = &self.clock;
        let until = clock.ended.unwrap_or(clock.outside_since);
        let since = |at| nanos(until.saturating_duration_since(at));
        clock.started.map_or(0, since)
    }

    /// The run ends before the program: its simulated time is that of its last doorbell,
    /// and since then the simulator ran.
    fn cut_short(&self, report: &mut Report) {
        self.clock.stop(&mut report.wall);
        if self.clock.started.is_none() {
            return;
        }
        let simulated = &mut report.simulated;
        simulated.program_ns = self.clock.now_ns.saturating_sub(simulated.boot_ns);
        let wall = &mut report.wall;
        let since = nanos(self.clock.outside_since.elapsed());
        wall.simulator_ns = wall.simulator_ns.saturating_add(since);
        wall.unaccounted_ns = wall.unaccounted_ns.saturating_sub_unsigned(since);
    }
}

/// What each of several boards took.
fn sum_boards(report: &mut Report, boards: &Boards) {
    for (place, board) in report.boards.iter_mut().enumerate() {
        let own = report.entries.iter();
        let own = own.filter(|entry| boards.place(entry.api) == place);
        let own: Vec<&Entry> = own.collect();
        let sum = |of: fn(&Entry) -> u64| own.iter().map(|entry| of(entry)).sum();
        board.calls = sum(|entry| entry.count);
        board.gpu_ns = sum(|entry| entry.gpu_ns);
        board.board_cpu_ns = sum(|entry| entry.board_cpu_ns);
        board.bytes_to_board = sum(|entry| entry.bytes_to_board);
        board.bytes_from_board = sum(|entry| entry.bytes_from_board);
    }
    // The one for other APIs, if there is none.
    let is_there = |board: &report::Served| board.address.is_some() || board.calls > 0;
    report.boards.retain(is_there);
}

impl Clock {
    /// Takes the stopwatches' values.
    fn stop(&self, wall: &mut report::Wall) {
        let since_load = |at: Instant| nanos(at - self.loaded);
        let end = self.ended.unwrap_or_else(Instant::now);
        let inside = end.saturating_duration_since(self.inside_since);
        wall.boot_to_first_call_ns = self.first_call.map(since_load);
        wall.boot_ns = self.started.map_or(0, since_load);
        wall.total_ns = self.started.map_or(0, |at| nanos(end - at));
        wall.simulator_ns = nanos(self.simulator);
        wall.bridge_ns = nanos(self.bridge);
        if self.ended.is_some() {
            wall.bridge_ns += nanos(inside);
        }
        wall.board_ns = nanos(self.board);
        wall.transport_ns = nanos(self.transport);
        let parts = [
            wall.simulator_ns,
            wall.bridge_ns,
            wall.board_ns,
            wall.transport_ns,
        ];
        let parts: u64 = parts.iter().sum();
        wall.unaccounted_ns = wall.total_ns as i64 - parts as i64;
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use gil_transport::client::Cancel;

    fn only() -> Boards {
        Boards::new(&Config::default(), &Cancel::default()).unwrap()
    }

    #[test]
    fn entry_points_that_nobody_knows_are_counted_together() {
        let mut stats = Stats::new("test", Contention::NONE);
        stats.entry(Op::new(1, 1)).count += 1;
        (0..1000).for_each(|n| stats.entry(Op::new(200, n)).count += 1);
        let entries = stats.finish(&only()).entries;
        let counts: Vec<_> = entries.iter().map(|e| (e.name.as_str(), e.count)).collect();
        assert_eq!(counts, [("unknown", 1000), ("clGetPlatformIDs", 1)]);
    }

    #[test]
    fn a_run_that_is_cut_short_has_its_times_so_far() {
        let mut stats = Stats::new("test", Contention::NONE);
        assert_eq!(stats.finish(&only()).simulated.program_ns, 0);
        stats.enter();
        stats.started(1000);
        stats.leave(Duration::ZERO, None);
        stats.enter();
        stats.rang(5000);
        stats.leave(Duration::ZERO, None);
        std::thread::sleep(Duration::from_millis(20));
        let report = stats.finish(&only());
        let wall = report.wall;
        assert_eq!(report.simulated.program_ns, 4000);
        assert!(wall.simulator_ns >= 20_000_000, "{wall:?}");
        let off = wall.unaccounted_ns.unsigned_abs();
        assert!(off * 20 < wall.total_ns, "{wall:?}");
    }

    #[test]
    fn the_stopwatches_add_up_to_the_wall() {
        let mut stats = Stats::new("test", Contention::NONE);
        stats.enter();
        stats.started(1000);
        stats.leave(Duration::ZERO, None);
        std::thread::sleep(Duration::from_millis(20));
        stats.enter();
        std::thread::sleep(Duration::from_millis(30));
        stats.board_busy(0, 10_000_000);
        stats.leave(Duration::from_millis(15), Some(Op::new(1, 1)));
        stats.enter();
        stats.ended(5000);
        let report = stats.finish(&only());
        let wall = report.wall;
        assert_eq!(report.simulated.program_ns, 4000);
        assert!(wall.simulator_ns >= 20_000_000, "{wall:?}");
        assert!(wall.bridge_ns >= 15_000_000, "{wall:?}");
        assert_eq!(wall.board_ns, 10_000_000);
        assert_eq!(wall.transport_ns, 5_000_000);
        assert!(report.entries[0].wall_ns >= 30_000_000);
        let off = wall.unaccounted_ns.unsigned_abs();
        assert!(off * 50 < wall.total_ns, "{wall:?}");
    }
}
