//! A board that is plain enough to be checked: one buffer of bytes a session.

use gil_board::board::{Board, BoardError, Call, Ended, Guest, Outcome, Output, Session};
use gil_board::region::Budget;
use gil_wire::api::Described;
use gil_wire::checkpoint::Survey;
use gil_wire::ending::Ending;
use gil_wire::generated::opencl as cl;
use gil_wire::identity::DeviceInfo;
use gil_wire::message::CallStatus;
use std::collections::HashMap;

/// Nanoseconds of every operation.
pub const DURATION_NS: u64 = 1_000_000;

/// Writes, adds one to every byte, and reads; everything else is answered with
/// its arguments backwards.
#[derive(Debug)]
pub struct Bytes;

impl Board for Bytes {
    fn devices(&self) -> Vec<DeviceInfo> {
        Vec::new()
    }

    fn open<'b>(
        &'b self,
        _guest: Guest,
        _budget: &Budget,
    ) -> Result<Box<dyn Session + 'b>, BoardError> {
        Ok(Box::new(Buffer::default()))
    }
}

#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    /// Operations that nobody asked for yet.
    ended: HashMap<u64, Ended>,
}

impl Session for Buffer {
    fn apis(&self) -> Vec<Described> {
        gil_wire::api::described(&[1])
    }

    fn call(&mut self, call: Call<'_>) -> Outcome {
        let result = call.head.args.iter().rev().copied().collect();
        let mut out = self.run(call.head.op, call.regions);
        let mut ended = Vec::new();
        if let Some(event) = call.head.event {
            let own = match call.head.finish {
                true => Vec::new(),
                false => std::mem::take(&mut out),
            };
            let operation = Ended {
                duration_ns: DURATION_NS,
                out: own,
                ..Ended::bare(event, Ending::Done)
            };
            match call.head.finish {
                true => ended.push(operation),
                false => drop(self.ended.insert(event, operation)),
            }
        }
        Outcome {
            status: CallStatus::Ran,
            result,
            cpu_ns: 1000,
            out,
            ended,
            work: None,
            notices: false,
            posted: Vec::new(),
        }
    }

    fn finish(&mut self, event: u64, _budget: &Budget) -> Option<Ended> {
        self.ended.remove(&event)
    }

    fn survey(&mut self) -> Survey {
        Survey::default()
    }
}

impl Buffer {
    fn run(&mut self, op: gil_wire::Op, regions: Vec<gil_board::region::Region>) -> Vec<Output> {
        if op == cl::CL_ENQUEUE_ND_RANGE_KERNEL {
            let bytes = self.bytes.iter_mut();
            bytes.for_each(|byte| *byte = byte.wrapping_add(1));
        }
        let mut out = Vec::new();
        for mut region in regions {
            if region.dir().is_in() {
                self.bytes = region.bytes().to_vec();
            } else {
                let len = region.len().min(self.bytes.len());
                region.bytes_mut()[..len].copy_from_slice(&self.bytes[..len]);
                out.push(Output::whole(region));
            }
        }
        out
    }
}
