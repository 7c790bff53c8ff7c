//! What a call took on the CPU: of its own thread, and of the threads and processes that it
//! started. What else is executed on the machine meanwhile does not count, nor what the
//! thread slept.
//!
//! Asking the kernel for a thread's time takes longer than most calls. So a piece of work
//! below [`SHORT`] is taken to have been executed all the time; the kernel is asked at the end
//! of a longer one, and at the beginning of one that does not follow closely on another.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::collections::HashMap;
use std::fs;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Too short for another thread to have had the CPU for long.
const SHORT: Duration = Duration::from_micros(20);
/// Long enough for a driver to have started threads: they are looked for.
const LONG: Duration = Duration::from_micros(200);
/// Of what a call took, the time that its thread was not executed: above this, others may
/// have worked for it.
const WAITED: Duration = Duration::from_millis(1);

/// What a thread was executed, at a moment.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: Instant,
    executed: Duration,
    /// Since when it was executed all the time, as far as is known.
    last: Instant,
}

thread_local! {
    static MARK: Cell<Option<Mark>> = const { Cell::new(None) };
}

static OTHERS: Mutex<Others> = Mutex::new(Others::new());

/// Runs `f`; what it took on the CPU.
pub fn measure<R>(f: impl FnOnce() -> R) -> (R, Duration) {
    let mark = begin();
    let began = Instant::now();
    let result = f();
    (result, end(mark, began))
}

/// Looks for what threads and processes were executed that started since the last look.
/// Whoever loads a driver looks once, for the threads that are there.
pub fn look() -> Duration {
    OTHERS.lock().map_or(Duration::ZERO, |mut it| it.worked())
}

/// What other threads of this process than the one that asks were executed, and processes
/// that it started and that ended.
pub fn others() -> Duration {
    let all = clock(ClockId::CLOCK_PROCESS_CPUTIME_ID) + children();
    all.saturating_sub(clock(ClockId::CLOCK_THREAD_CPUTIME_ID))
}

/// The thread's last mark, made anew if the work before it is long over.
fn begin() -> Mark {
    let known = MARK.get().filter(|mark| mark.last.elapsed() < SHORT);
    known.unwrap_or_else(Mark::now)
}

fn end(mark: Mark, began: Instant) -> Duration {
    let now = Instant::now();
    let wall = now - began;
    if wall < SHORT {
        MARK.set(Some(Mark { last: now, ..mark }));
        return wall;
    }
    let after = Mark::now();
    // Between the mark and this work there was only what is short.
    let before = began - mark.at;
    let since = after.executed.saturating_sub(mark.executed);
    let own = since.saturating_sub(before).min(wall);
    let others = match wall > LONG {
        true => look(),
        false => Duration::ZERO,
    };
    let others = others * u32::from(wall - own > WAITED);
    MARK.set(Some(Mark {
        last: Instant::now(),
        ..after
    }));
    own + others
}

impl Mark {
    fn now() -> Self {
        let executed = clock(ClockId::CLOCK_THREAD_CPUTIME_ID);
        let at = Instant::now();
        Self {
            at,
            executed,
            last: at,
        }
    }
}

fn clock(id: ClockId) -> Duration {
    clock_gettime(id).map_or(Duration::ZERO, Duration::from)
}

/// Threads of this process, and processes that it started, when somebody looked last.
struct Others {
    children: Duration,
    process: Duration,
    threads: Option<HashMap<i32, Duration>>,
}

impl Others {
    const fn new() -> Self {
        Self {
            children: Duration::ZERO,
            process: Duration::ZERO,
            threads: None,
        }
    }

    /// What threads were executed that were not there at the last look, and processes that
    /// ended since. The first look finds none: nobody knows which threads are new.
    fn worked(&mut self) -> Duration {
        let children = children();
        let ended = children.saturating_sub(self.children);
        self.children = children;
        let (process, threads) = (clock(ClockId::CLOCK_PROCESS_CPUTIME_ID), threads());
        let known = self.threads.take().zip(threads.as_ref());
        let started = known.map_or(Duration::ZERO, |(before, now)| {
            let both = before.iter().filter_map(|(thread, then)| {
                let now = now.get(thread)?;
                Some(now.saturating_sub(*then))
            });
            let all = process.saturating_sub(self.process);
            all.saturating_sub(both.sum())
        });
        (self.process, self.threads) = (process, threads);
        ended + started
    }
}

/// What ended processes that this one started were executed.
fn children() -> Duration {
    let used = getrusage(UsageWho::RUSAGE_CHILDREN);
    let used = used.map(|used| used.user_time() + used.system_time());
    let micros = used.map_or(0, |time| time.num_microseconds());
    Duration::from_micros(micros.try_into().unwrap_or_default())
}

/// What each thread of this process was executed; `None` if that cannot be read, as of a
/// kernel without `CONFIG_SCHED_INFO`.
fn threads() -> Option<HashMap<i32, Duration>> {
    let all = fs::read_dir("/proc/self/task").ok()?;
    let of = |entry: fs::DirEntry| {
        let thread = entry.file_name().to_str()?.parse().ok()?;
        let text = fs::read_to_string(entry.path().join("schedstat")).ok()?;
        let executed = text.split(' ').next()?.parse().ok()?;
        Some((thread, Duration::from_nanos(executed)))
    };
    let found: HashMap<_, _> = all.flatten().filter_map(of).collect();
    // At least the calling thread is there.
    (!found.is_empty()).then_some(found)
}
