//! One guest program's devices.

use super::driver::Driver;
use super::generated::types::*;
use super::generated::{self, Functions};
use crate::back_end::dispatch::Dispatch;
use crate::back_end::{Call, Objects, Refusal, Table};
use crate::board::{self, Ended, Outcome};
use crate::region::Budget;
use gil_wire::Op;
use gil_wire::api::{self, Described};
use gil_wire::generated::nvml::{API, Kind};

const DISPATCH: Dispatch<Session> = Dispatch {
    function: generated::dispatch,
    failed: generated::dispatch::failed,
    code: |refusal, _| match refusal {
        Refusal::Width { .. } | Refusal::Wide(_) => Some(NVML_ERROR_INVALID_ARGUMENT),
        _ => None,
    },
    missing: NVML_ERROR_FUNCTION_NOT_FOUND,
};

/// A session of the back end: the devices that it has seen. Nothing of it is the library's.
#[derive(Debug)]
pub struct Session {
    driver: &'static Driver,
    table: Table<Kind, Data>,
}

/// Nothing is kept of a device beside the library's.
#[derive(Debug)]
pub struct Data;

impl From<Kind> for Data {
    fn from(_: Kind) -> Self {
        Self
    }
}

impl Session {
    /// One that has seen no device.
    pub fn new(driver: &'static Driver) -> Self {
        Self {
            driver,
            table: Table::default(),
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

    /// It has no operations.
    fn finish(&mut self, _event: u64, _budget: &Budget) -> Option<Ended> {
        None
    }

    fn not_run(&self, _op: Op) -> i32 {
        NVML_ERROR_UNKNOWN
    }
}
