//! Child processes that never outlive `gil`, and ways to end them.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// How often a process that is to end is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Has the kernel end the child if `gil` is gone, however it went.
pub fn dies_with_us(command: &mut Command) -> &mut Command {
    ends_with_us(command, Signal::SIGKILL)
}

/// The same for a child that is a `gil` itself: it is asked, so that it ends what it
/// started and removes its files.
pub fn is_asked_to_end_with_us(command: &mut Command) -> &mut Command {
    ends_with_us(command, Signal::SIGTERM)
}

fn ends_with_us(command: &mut Command, signal: Signal) -> &mut Command {
    let parent = nix::unistd::getpid();
    let tie = move || {
        nix::sys::prctl::set_pdeathsig(signal)?;
        // The parent may have gone before the line above.
        if nix::unistd::getppid() != parent {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(())
    };
    // SAFETY: between fork and exec, `tie` makes system calls only: it takes
    // no lock and allocates nothing.
    unsafe { command.pre_exec(tie) }
}

/// Asks this process's children to end, and waits until they have, but no longer than
/// that. Nothing is asked on a kernel that does not list them.
pub fn ask_children(within: Duration) {
    let children = children();
    for &child in &children {
        let _ = kill(child, Signal::SIGTERM);
    }
    let until = Instant::now() + within;
    let are_there = || children.iter().any(|child| is_running(*child));
    while are_there() && Instant::now() < until {
        std::thread::sleep(LOOK);
    }
}

/// The children of every thread of this process.
fn children() -> Vec<Pid> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten();
    let lists = threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let numbers = lists.flat_map(|list| {
        let numbers = list.split_whitespace().map(str::parse);
        numbers.flatten().collect::<Vec<i32>>()
    });
    numbers.map(Pid::from_raw).collect()
}

/// Whether a child has not ended yet, reaped or not.
fn is_running(child: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{child}/stat"));
    // The state follows the name, which is in parentheses.
    let state = stat.ok().and_then(|stat| {
        let (_, rest) = stat.rsplit_once(')')?;
        rest.trim_start().chars().next()
    });
    !matches!(state, None | Some('Z' | 'X'))
}

/// A child that is ended when it goes out of scope.
#[derive(Debug)]
pub struct Owned {
    child: Child,
    ended: Option<ExitStatus>,
}

impl Owned {
    /// Starts `command` in a process group of its own, so that Ctrl-C reaches
    /// `gil` alone.
    ///
    /// # Errors
    /// Those of starting a process.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let child = dies_with_us(command).process_group(0).spawn()?;
        Ok(Self { child, ended: None })
    }

    /// The child, for its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Its exit status, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended
    }

    /// Waits for its end.
    pub fn ends_within(&mut self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while self.ended().is_none() {
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(LOOK);
        }
        true
    }

    /// Ends it: asks by `signal`, and insists if it has not ended after
    /// `patience`.
    pub fn end(&mut self, signal: Signal, patience: Duration) {
        self.signal(signal);
        if !self.ends_within(patience) {
            self.signal(Signal::SIGKILL);
            self.ended = self.child.wait().ok();
        }
    }

    fn signal(&mut self, signal: Signal) {
        // Not waited for yet, so the number is still its own.
        if self.ended().is_none() {
            let _ = kill(Pid::from_raw(self.child.id().cast_signed()), signal);
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if self.ended().is_none() {
            self.end(Signal::SIGTERM, Duration::from_secs(2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stubborn_child_is_ended() {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' TERM; while :; do sleep 1; done"]);
        let mut child = Owned::start(&mut command).unwrap();
        assert!(!child.ends_within(Duration::from_millis(50)));
        child.end(Signal::SIGTERM, Duration::from_millis(200));
        assert!(child.ended().is_some());
    }
}
