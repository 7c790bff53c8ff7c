//! One guest's calls, of each driver that it uses.

use super::DriversBoard;
use super::guest::{Did, Given, Guest};
use super::refusal::Refusal;
use crate::back_end::posted::Costs;
use crate::board::{self, Call, Ended, Outcome};
use crate::region::Budget;
use gil_wire::Op;
use gil_wire::api::{self, Described};
use gil_wire::checkpoint::Survey;
use gil_wire::driver::{CHANGED, CLOSE, Closed, FETCH, FREE, OPEN, number};
use gil_wire::gpu;
use gil_wire::identity::DeviceIdentity;
use gil_wire::message::CallStatus;
use nix::errno::Errno;
use std::collections::BTreeMap;

const NO_CHECKPOINTS: &str = "it uses a GPU's kernel driver, whose memory and jobs cannot be \
    kept: take the checkpoint before it opens the device";

/// A session of the back end.
pub struct Session<'b> {
    board: &'b DriversBoard,
    budget: Budget,
    /// By API.
    guests: BTreeMap<u16, Guest<'b>>,
    /// What posted calls took which no answer has told yet.
    posted: Costs,
}

impl<'b> Session<'b> {
    /// One that has nothing yet.
    pub fn new(board: &'b DriversBoard, budget: &Budget) -> Self {
        Self {
            board,
            budget: budget.clone(),
            guests: BTreeMap::new(),
            posted: Costs::default(),
        }
    }

    /// What the guest has of an API's driver.
    fn guest(&mut self, api: u16) -> Option<&mut Guest<'b>> {
        let served = self.board.of_api(api)?;
        let new = || Guest::new(served, &self.budget, self.board.limit());
        Some(self.guests.entry(api).or_insert_with(new))
    }

    fn execute(&mut self, mut call: Call<'_>) -> Option<Result<Did, Refusal>> {
        let head = call.head;
        let served = self.board.of_api(head.op.api())?;
        let guest = self.guest(head.op.api())?;
        let entry = head.op.entry();
        let own = |does: fn(&mut Guest<'b>, u32) -> Result<Did, Refusal>, guest| {
            number(head.args)
                .map_err(Refusal::from)
                .and_then(|number| does(guest, number))
        };
        Some(match (entry, served.known(entry)) {
            (OPEN, _) => own(Guest::open, guest),
            (CLOSE, _) => Closed::parse(head.args)
                .map_err(Refusal::from)
                .and_then(|closed| guest.close(closed.file)),
            (FREE, _) => own(Guest::free, guest),
            (CHANGED, _) => number(head.args)
                .map_err(Refusal::from)
                .and_then(|number| guest.changed(number, &call.regions)),
            (FETCH, _) => guest.fetch(given(&mut call)),
            (gpu::MEMORY, _) => guest.gpu_memory(given(&mut call)),
            (gpu::JOB, _) => guest.gpu_job(given(&mut call)),
            (gpu::FETCH, _) => guest.gpu_fetch(given(&mut call)),
            (gpu::FAULT, _) => guest.gpu_fault(head.args),
            (_, Some(known)) => guest.ioctl(known, given(&mut call)),
            (_, None) => Err(Refusal::Entry {
                driver: served.table.driver.clone(),
                entry,
            }),
        })
    }
}

/// What a call comes with, its regions taken out of it.
fn given<'a>(call: &mut Call<'a>) -> Given<'a> {
    Given {
        args: call.head.args,
        regions: std::mem::take(&mut call.regions),
        event: call.head.event,
        finish: call.head.finish,
    }
}

/// A post that the driver refuses is logged; a job's event says what became of it.
fn outcome(op: Op, is_answered: bool, did: Did) -> Outcome {
    if let (Some(error), false, true) = (did.error, is_answered, did.ended.is_empty()) {
        return Outcome::refused(format_args!("{op} failed: {error}"));
    }
    Outcome {
        status: CallStatus::Ran,
        result: did.answer,
        cpu_ns: did.cpu_ns,
        out: did.out,
        ended: did.ended,
        work: None,
        notices: false,
        posted: Vec::new(),
    }
}

impl board::Session for Session<'_> {
    fn apis(&self) -> Vec<Described> {
        let served = self.board.served.iter().map(|it| it.table.api);
        api::described(&served.collect::<Vec<_>>())
    }

    fn call(&mut self, call: Call<'_>) -> Outcome {
        let (op, is_answered) = (call.head.op, call.head.answer);
        let mut outcome = match self.execute(call) {
            None => {
                let title = api::api(op.api()).map_or("such a driver", |api| api.title);
                return Outcome::not_served(format_args!(
                    "this board has no render node for the {title}: use one whose GPU has it"
                ));
            }
            Some(Err(refusal)) => Outcome::refused(format_args!("{op} is refused: {refusal}")),
            Some(Ok(did)) => outcome(op, is_answered, did),
        };
        // A post's time is the program's, too: it passes with the next answer.
        if is_answered {
            let (posted, sum) = self.posted.take();
            outcome.cpu_ns = outcome.cpu_ns.saturating_add(sum);
            outcome.posted = posted;
        } else {
            self.posted.add(op, outcome.cpu_ns);
        }
        outcome
    }

    fn finish(&mut self, event: u64, _budget: &Budget) -> Option<Ended> {
        let mut guests = self.guests.values_mut();
        guests.find_map(|guest| guest.jobs.finish(event))
    }

    fn ended_behind(&mut self) -> Option<Ended> {
        let mut guests = self.guests.values_mut();
        guests.find_map(|guest| guest.jobs.ended_behind())
    }

    fn identify(&mut self, api: u16, _device: u64) -> Option<DeviceIdentity> {
        Some(self.board.of_api(api)?.node.identity())
    }

    fn survey(&mut self) -> Survey {
        Survey {
            obstacles: vec![NO_CHECKPOINTS.into()],
            ..Survey::default()
        }
    }

    fn not_run(&self, _op: Op) -> i32 {
        -(Errno::EIO as i32)
    }
}
