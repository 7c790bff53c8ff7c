//! One guest program's toy objects.

use super::driver::Driver;
use super::generated::types::*;
use super::generated::{self, Functions};
use gil_board::back_end::dispatch::Dispatch;
use gil_board::back_end::operations::Finished;
use gil_board::back_end::{Call, Current, Enqueued, Enqueues, Objects, Refusal, Table};
use gil_board::board::{self, Ended, Outcome};
use gil_board::region::Budget;
use gil_wire::Op;
use gil_wire::api::{self, Described};
use gil_wire::call::Handle;
use gil_wire::ending::Ending;
use gil_wire::generated::toy::{API, Kind, TOY_NOTIFY};
use gil_wire::identity::DeviceIdentity;
use std::collections::HashMap;

const DISPATCH: Dispatch<Session> = Dispatch {
    function: generated::dispatch,
    failed: generated::dispatch::failed,
    code: |refusal, _| match refusal {
        Refusal::Width { .. } | Refusal::Wide(_) => Some(TOY_INVALID_VALUE),
        _ => None,
    },
    missing: TOY_NOT_SUPPORTED,
};

/// A session of the toy back end. Each command has ended before its call is
/// answered, so that the driver's one number, how long the latest took, is that
/// command's; its output is kept until the host asks.
#[derive(Debug)]
pub struct Session {
    driver: &'static Driver,
    table: Table<Kind, Data>,
    /// Commands that ended and were not asked for.
    ended: HashMap<u64, Ended>,
}

/// Nothing is kept of an object beside the driver's.
#[derive(Debug)]
pub struct Data;

impl From<Kind> for Data {
    fn from(_: Kind) -> Self {
        Self
    }
}

impl Session {
    /// One without objects.
    pub fn new(driver: &'static Driver) -> Self {
        Self {
            driver,
            table: Table::default(),
            ended: HashMap::new(),
        }
    }
}

impl Objects for Session {
    type Kind = Kind;
    type Data = Data;
    type Driver = Driver;
    type Functions = Functions;

    fn driver(&self) -> &'static Driver {
        self.driver
    }

    fn functions(&self) -> &'static Functions {
        &self.driver.functions
    }

    fn table(&self) -> &Table<Kind, Data> {
        &self.table
    }

    fn table_mut(&mut self) -> &mut Table<Kind, Data> {
        &mut self.table
    }
}

impl Current for Session {
    fn make_current(&mut self, context: Handle) -> Result<(), Refusal> {
        let context = self.table.get(context, Kind::Context)?;
        self.driver.set_current(context);
        Ok(())
    }

    /// Each function returns its own.
    fn last_error(&self) -> toyResult {
        TOY_SUCCESS
    }
}

impl Enqueues for Session {
    /// The API has no events.
    fn waits<T>(&mut self, _list: &[Handle]) -> Result<Vec<*mut T>, Refusal> {
        Ok(Vec::new())
    }

    fn has_operation(&self, event: Handle) -> bool {
        self.ended.contains_key(&event.0)
    }

    fn enqueued(&mut self, call: &mut Call, operation: Enqueued<'_>) -> Result<(), Refusal> {
        call.set_enqueued();
        if operation.result != TOY_SUCCESS {
            call.reject(operation.result);
            return Ok(());
        }
        let (duration_ns, ending) = match self.driver.elapsed() {
            // It is none of the device's.
            Ok(_) if call.op() == TOY_NOTIFY => (0, Ending::Done),
            Ok(duration_ns) => (duration_ns, Ending::Done),
            Err(code) => (0, Ending::Failed(code)),
        };
        let finished = Finished {
            duration_ns,
            ending,
        };
        let (number, memory) = (operation.signals.number.0, call.take_memory());
        if call.finishes() {
            finished.report(number, memory, call);
        } else {
            self.ended.insert(number, finished.later(number, memory));
        }
        Ok(())
    }
}

impl board::Session for Session {
    fn apis(&self) -> Vec<Described> {
        api::described(&[API])
    }

    fn call(&mut self, call: board::Call<'_>) -> Outcome {
        let (op, args) = (call.head.op, call.head.args);
        let mut running = Call::of(call);
        match DISPATCH.run(self, &mut running, args) {
            Ok(result) => running.outcome(result),
            Err(refusal) => Outcome::refused(format_args!("{op} is refused: {refusal}")),
        }
    }

    fn finish(&mut self, event: u64, _budget: &Budget) -> Option<Ended> {
        self.ended.remove(&event)
    }

    /// Devices are numbered by their place in the driver's list, from 1.
    fn identify(&mut self, _api: u16, device: u64) -> Option<DeviceIdentity> {
        let number = (device & !Handle::BOARD).checked_sub(1)?;
        self.driver.identity(u32::try_from(number).ok()?)
    }

    fn not_run(&self, _op: Op) -> i32 {
        TOY_FAILED
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.release_all();
    }
}
