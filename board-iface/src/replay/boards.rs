//! Recordings of runs with several boards: each session is of one of them.

use super::ReplayError;
use super::file::{RecordedSession, Recording};
use gil_wire::choice::Together;

/// Checks that no two of these sessions are of different boards. Those of one board are for
/// the same APIs, and boards of one run have none in common.
pub fn check_one(recording: &Recording, places: &[usize]) -> Result<(), ReplayError> {
    let mut boards: Vec<Vec<u16>> = Vec::new();
    for session in places.iter().map(|&place| &recording.sessions[place]) {
        let numbers = numbers(session);
        let is_another = |board: &Vec<u16>| board.iter().all(|number| !numbers.contains(number));
        if !numbers.is_empty() && boards.iter().all(is_another) {
            boards.push(numbers);
        }
    }
    if boards.len() < 2 {
        return Ok(());
    }
    let path = recording.path.clone();
    let option = |board: &Vec<u16>| {
        let file = path.display();
        match Together::of_all(board) {
            Some(apis) => format!("--board {}=replay:{file}", apis.name()),
            None => format!("--board replay:{file}"),
        }
    };
    let boards = boards.iter().map(option).collect();
    Err(ReplayError::Boards { path, boards })
}

fn numbers(session: &RecordedSession) -> Vec<u16> {
    session.apis.iter().map(|api| api.number).collect()
}
