//! What happens when the link to the board fails, at every message of a
//! recorded session and in both directions: the program gets an error or right
//! results, the next session works, and the recording is whole.

mod program;
mod proxy;
mod recording;
#[path = "../../../host-iface/tests/support/mod.rs"]
mod support;
mod system;

use gil_board::board::Board;
use gil_board::replay::ReplayBoard;
use gil_board::server::{Server, ServerOptions, Stopper};
use gil_fuzz::double::Bytes;
use gil_host::Config;
use gil_host::config::Time;
use gil_tests::scripted::Scripted;
use gil_wire::address::Address;
use program::{Outcome, next_session, play};
use proxy::{At, Fault, Proxy, Way, Wrong};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;
use support::guest::Guest;

/// Longest that a test of one fault may take on a busy machine: none waits.
const WATCHDOG: Duration = Duration::from_secs(120);
/// The limit of a call where an answer may never come.
const SHORT: Duration = Duration::from_secs(1);
/// The limit where the end of the connection is to be seen, not this.
const LONG: Duration = Duration::from_secs(100);
const ANY_PORT: &str = "tcp://127.0.0.1:0";
/// Faults that are tried at a time: most of their time is spent waiting.
const ABREAST: usize = 8;

/// An agent in this process.
struct InProcess {
    address: Address,
    stopper: Stopper,
}

impl InProcess {
    fn start(board: impl Board + 'static) -> Self {
        let any = ANY_PORT.parse().unwrap();
        let options = ServerOptions {
            any_local_user: true,
            ..ServerOptions::default()
        };
        let (server, stopper) = Server::bind(&any, Arc::new(board), options).unwrap();
        let address = server.address().clone();
        std::thread::spawn(move || server.run());
        Self { address, stopper }
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}

/// A session that was recorded, twice, and how many messages it has.
struct Recorded {
    _folder: tempfile::TempDir,
    path: PathBuf,
    messages: [usize; 2],
}

fn config(board: &Address, trace: &Path, limit: Duration) -> Config {
    Config {
        board: Some(board.clone()),
        time: Time::Async,
        trace: Some(trace.into()),
        board_timeout: Some(limit),
        ..Config::default()
    }
}

fn recorded() -> &'static Recorded {
    static RECORDED: OnceLock<Recorded> = OnceLock::new();
    RECORDED.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        let agent = InProcess::start(Bytes);
        let proxy = Proxy::start(&agent.address, None);
        let mut guest = Guest::with(config(&proxy.address, &path, LONG), false);
        let outcome = play(&mut guest);
        assert!(outcome.is_finished() && outcome.is_right, "{outcome:?}");
        let messages = [proxy.passed(Way::ToBoard), proxy.passed(Way::ToHost)];
        next_session(&mut guest);
        assert!(play(&mut guest).is_right);
        guest.host.finish();
        Recorded {
            _folder: folder,
            path,
            messages,
        }
    })
}

/// Every message of the recorded session. A message to the board behind these
/// is its end, which nobody waits for.
fn boundaries() -> impl Iterator<Item = (Way, usize)> {
    let [up, down] = recorded().messages;
    assert!(up > 10 && down > 8, "{up} and {down} messages");
    let up = (0..up).map(|message| (Way::ToBoard, message));
    up.chain((0..down).map(|message| (Way::ToHost, message)))
}

/// What a fault left behind.
struct After {
    fault: Fault,
    first: Outcome,
    warnings: Vec<String>,
}

impl After {
    #[track_caller]
    fn has(&self, condition: bool) {
        let (fault, first, warnings) = (&self.fault, &self.first, &self.warnings);
        assert!(condition, "{fault:?}: {first:?} {warnings:?}");
    }

    /// The program had an error, and one sentence named the call.
    #[track_caller]
    fn was_lost(&self) {
        self.has(self.first.is_lost());
        self.has(self.warnings.len() == 1);
        // The board is a recording: without a post, the next call is not the recorded one.
        let begins = [
            "process 42 lost the board in cl",
            "the run departs from the recording at call ",
        ];
        let warning = &self.warnings[0];
        self.has(begins.iter().any(|begin| warning.starts_with(begin)));
    }

    /// Nothing was lost.
    #[track_caller]
    fn went_on(&self) {
        self.has(self.first.is_finished() && self.first.is_right);
        self.has(self.warnings.is_empty());
    }

    fn is_timeout(&self) -> bool {
        let words = [
            "no answer within",
            "did not answer the first contact within",
        ];
        words.iter().any(|words| self.warnings[0].contains(words))
    }
}

/// Plays the program over the fault, then another session of the same guest.
fn play_over(proxy: &Proxy, fault: Fault, limit: Duration) -> After {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let mut guest = Guest::with(config(&proxy.address, &trace, limit), false);
    let first = play(&mut guest);
    assert!(proxy.has_faulted(), "{fault:?}");
    let warnings = [guest.log.warnings(), guest.log.fatal()].concat();
    next_session(&mut guest);
    let second = play(&mut guest);
    let all = guest.log.warnings();
    assert!(
        second.is_finished() && second.is_right,
        "{fault:?}: {second:?} {all:?}"
    );
    guest.host.finish();
    let whole = recording::read(&trace);
    for seq in first.answered.iter().chain(&second.answered) {
        assert!(
            whole.answered.contains(seq),
            "{fault:?}: {seq} in {whole:?}"
        );
    }
    After {
        fault,
        first,
        warnings,
    }
}

/// Tries a fault at every boundary, against the recording.
fn everywhere(wrong: Wrong, limit: Duration, check: impl Fn(&After) + Sync) {
    let one = |fault: Fault| {
        let agent = InProcess::start(ReplayBoard::open(&recorded().path).unwrap());
        let proxy = Proxy::start(&agent.address, Some(fault));
        check(&play_over(&proxy, fault, limit));
    };
    let faults: Vec<Fault> = boundaries()
        .map(|(way, message)| Fault {
            way,
            message,
            wrong,
        })
        .collect();
    abreast(&faults, one);
}

/// Tries all of them, several at a time. One that hangs fails.
fn abreast(faults: &[Fault], one: impl Fn(Fault) + Sync) {
    let next = AtomicUsize::new(0);
    let (done, ended) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..ABREAST {
            let (one, next, done) = (&one, &next, done.clone());
            scope.spawn(move || {
                while let Some(fault) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                    one(*fault);
                    let _ = done.send(());
                }
            });
        }
        drop(done);
        for _ in faults {
            match ended.recv_timeout(WATCHDOG) {
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    eprintln!("a fault of {faults:?} hangs");
                    std::process::abort();
                }
                // One failed; its thread says why.
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Ok(()) => {}
            }
        }
    });
}

#[test]
fn a_cut_is_seen_at_once() {
    everywhere(Wrong::Cut, LONG, |after| {
        after.was_lost();
        after.has(!after.is_timeout());
    });
}

#[test]
fn half_a_message_is_no_message() {
    everywhere(Wrong::Half, LONG, |after| {
        after.was_lost();
        after.has(!after.is_timeout());
    });
}

#[test]
fn messages_in_pieces_and_late_ones_do_no_harm() {
    everywhere(Wrong::Pieces, LONG, After::went_on);
    everywhere(Wrong::Delay, LONG, After::went_on);
}

#[test]
fn a_message_that_never_comes_is_waited_for_until_the_limit() {
    everywhere(Wrong::Swallow, SHORT, After::was_lost);
}

/// Without a key, a changed message cannot be detected.
/// Whatever it says then, the program ends and others go on.
#[test]
fn repeated_and_changed_messages_end_no_more_than_their_session() {
    let changed = [At::First, At::Middle, At::Last].map(Wrong::Corrupt);
    for wrong in changed.into_iter().chain([Wrong::Repeat]) {
        everywhere(wrong, SHORT, |after| {
            let first = &after.first;
            // A changed hash is another description of the API.
            let is_refused = first.is_lost() || first.is_not_served();
            after.has(first.is_finished() || is_refused);
            after.has(is_refused != after.warnings.is_empty());
        });
    }
}

#[test]
fn an_agent_that_is_killed_is_seen_and_the_next_one_is_used() {
    let faults: Vec<Fault> = boundaries()
        .map(|(way, message)| Fault {
            way,
            message,
            wrong: Wrong::Kill,
        })
        .collect();
    abreast(&faults, |fault| {
        let replay = ["--replay", recorded().path.to_str().unwrap()];
        let mut agent = Scripted::listening(ANY_PORT, &replay);
        let next = Scripted::listening(ANY_PORT, &replay);
        let proxy = Proxy::start(&agent.address().parse().unwrap(), Some(fault));
        let then = next.address().parse().unwrap();
        proxy.kill_with(move || {
            agent.kill();
            then
        });
        let after = play_over(&proxy, fault, LONG);
        match after.first.is_finished() {
            // The last answer was on its way already.
            true => after.went_on(),
            false => after.was_lost(),
        }
        after.has(after.warnings.is_empty() || !after.is_timeout());
    });
}
