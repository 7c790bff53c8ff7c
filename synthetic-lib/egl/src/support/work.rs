//! A context's work: what its calls have the board's device do. The next call that flushes
//! or waits hands it over, as one operation of the graphics engine.

use crate::generated::manual::Object;
use gil_guest::api::{Api, Request};
use gil_wire::Op;
use gil_wire::call::Handle;
use gil_wire::envelope::{Class, Engine, Queue};

/// The board's device that draws: there is one.
const DEVICE: u64 = Handle::BOARD | 1;

/// A call that hands a context's work over; whether the program waits for that.
pub fn handed_over<A: Api>(op: Op, entry: u64, context: &Object, waits: bool) -> Request<A> {
    let mut request = Request::new(op, Class::Enqueue, entry);
    let queue = Queue {
        id: context.number().0,
        in_order: true,
        device: DEVICE,
    };
    request.queue(queue, Engine::GRAPHICS);
    request.signals(gil_guest::new_number(), false);
    request.blocking(waits);
    request
}
