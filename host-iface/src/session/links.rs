//! A session's connections: one to each board, of which a call's API chooses.

use super::link::Link;
use crate::boards::Boards;
use gil_wire::Op;
use std::sync::Arc;

/// All of them, each opened by the first call of its APIs.
#[derive(Debug)]
pub(super) struct Links {
    boards: Arc<Boards>,
    all: Vec<Link>,
}

impl Links {
    /// Of a guest process whose pointers have so many bits, with no connection
    /// yet.
    pub(super) fn new(
        process: u32,
        pointer_bits: u32,
        is_logged: bool,
        boards: &Arc<Boards>,
    ) -> Self {
        let count = boards.all().len();
        let link = |board| Link::new(process, pointer_bits, is_logged, (boards, board));
        Self {
            boards: boards.clone(),
            all: (0..count).map(link).collect(),
        }
    }

    /// The place of the one that serves this call's API.
    pub(super) fn place(&self, op: Op) -> usize {
        self.boards.place(op.api())
    }

    /// The one that serves this call's API.
    pub(super) fn of(&self, op: Op) -> &Link {
        &self.all[self.place(op)]
    }

    /// The same, to change it.
    pub(super) fn of_mut(&mut self, op: Op) -> &mut Link {
        let place = self.place(op);
        &mut self.all[place]
    }

    /// The one to the board for APIs that no other serves: of a run with one
    /// board, that one.
    pub(super) fn first(&self) -> &Link {
        &self.all[0]
    }

    /// The same, to change it.
    pub(super) fn first_mut(&mut self) -> &mut Link {
        &mut self.all[0]
    }

    pub(super) fn all(&self) -> &[Link] {
        &self.all
    }

    pub(super) fn all_mut(&mut self) -> &mut [Link] {
        &mut self.all
    }

    pub(super) fn are_several(&self) -> bool {
        self.boards.are_several()
    }
}
