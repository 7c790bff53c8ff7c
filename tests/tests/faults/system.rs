//! The same in whole runs: a program in a guest loses its board, and the next
//! one has it.

use crate::proxy::{Fault, Proxy, Way, Wrong};
use crate::{ANY_PORT, recording};
use gil_tests::scripted::Scripted;
use gil_tests::{Finished, Link, Run, guest_program};

/// Messages of the guest's first process before its rounds begin, and some of
/// those.
const IN_ITS_ROUNDS: usize = 24;

/// Calls of both processes, at least, that have answers.
const ANSWERED: usize = 12;

/// Runs two processes over a fault of the first one's session.
fn run(fault: Fault, limit: &str) -> Finished {
    run_of("tests/guest/cl_lost.c", Link::OpenCl, fault, limit)
}

fn run_of(source: &str, link: Link, fault: Fault, limit: &str) -> Finished {
    let mut agent = Scripted::listening(ANY_PORT, &[]);
    let next = Scripted::listening(ANY_PORT, &[]);
    let proxy = Proxy::start(&agent.address().parse().unwrap(), Some(fault));
    if fault.wrong == Wrong::Kill {
        let then = next.address().parse().unwrap();
        proxy.kill_with(move || {
            agent.kill();
            then
        });
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let program = guest_program(source, link);
    let address = proxy.address.to_string();
    let options = [
        "--board".as_ref(),
        address.as_ref(),
        "--board-timeout".as_ref(),
        limit.as_ref(),
        "--record".as_ref(),
        trace.as_os_str(),
        program.as_os_str(),
    ];
    let run = Run::new(options).finish().ok();
    assert!(proxy.has_faulted(), "{run:#?}");
    let whole = recording::read(&trace);
    assert!(whole.answered.len() > ANSWERED, "{whole:?}");
    run
}

/// The first process had the API's error, the user a sentence, and the second
/// process its board.
fn is_lost(run: &Finished, reason: &str) {
    let expected = "# the first error is -2\nfirst: lost\nsecond: finished\n";
    assert_eq!(run.stdout, expected, "{run:#?}");
    let lost = run.report.pointer("/board/lost").expect("in the report");
    let lost = lost.as_str().expect("a sentence");
    assert!(lost.contains("lost the board in cl"), "{lost}");
    assert!(lost.contains(reason), "{lost}");
    assert!(run.stderr.contains(lost), "{run:#?}");
}

const fn at(way: Way, wrong: Wrong) -> Fault {
    Fault {
        way,
        message: IN_ITS_ROUNDS,
        wrong,
    }
}

#[test]
fn a_program_whose_connection_is_cut_has_an_error_and_the_next_a_board() {
    is_lost(
        &run(at(Way::ToHost, Wrong::Cut), "100"),
        "closed the connection",
    );
}

#[test]
fn a_program_whose_agent_is_killed_has_an_error_and_the_next_a_board() {
    is_lost(
        &run(at(Way::ToBoard, Wrong::Kill), "100"),
        "closed the connection",
    );
}

#[test]
fn a_program_whose_board_is_silent_has_an_error_at_the_limit() {
    is_lost(
        &run(at(Way::ToHost, Wrong::Swallow), "3"),
        "no answer within 3 s",
    );
}

#[test]
fn a_program_whose_messages_come_in_pieces_has_right_results() {
    let run = run(at(Way::ToHost, Wrong::Pieces), "100");
    assert_eq!(
        run.stdout, "first: finished\nsecond: finished\n",
        "{run:#?}"
    );
}

/// Messages of a process that draws: some as it prepares, and some of its rounds.
const DRAWING: [usize; 4] = [14, 16, 19, 22];

/// A program that draws loses its board: its context is lost, and the next one's is not.
fn loses_its_context(wrong: Wrong, way: Way) {
    for message in DRAWING {
        let fault = Fault {
            way,
            message,
            wrong,
        };
        let run = run_of("tests/guest/gles_lost.c", Link::Gles, fault, "100");
        assert_eq!(run.stdout, "first: lost\nsecond: finished\n", "{run:#?}");
        let lost = run.report.pointer("/board/lost").and_then(|it| it.as_str());
        let lost = lost.expect("a sentence in the report");
        assert!(lost.contains("closed the connection"), "{lost}");
        assert!(run.stderr.contains(lost), "{run:#?}");
    }
}

#[test]
fn a_program_that_draws_has_a_lost_context_where_its_connection_is_cut() {
    loses_its_context(Wrong::Cut, Way::ToHost);
    loses_its_context(Wrong::Half, Way::ToBoard);
}

#[test]
fn and_where_its_agent_is_killed() {
    loses_its_context(Wrong::Kill, Way::ToBoard);
}
