//! Entry points that this build knows, and one number for all others: a guest or a board may
//! name any, and what is counted for each is bounded.

use gil_wire::Op;

/// Stands for every entry point that this build does not know.
const UNKNOWN: Op = Op(0);

/// An entry point, or the number of all that nobody knows.
pub fn known(op: Op) -> Op {
    match op.name() {
        Some(_) => op,
        None => UNKNOWN,
    }
}
