//! One call as the runtime hands it on.

use crate::uapi::Region;
use gil_wire::Op;
use gil_wire::envelope::{Class, Engine, Order, Queue};
use gil_wire::rows::RegionRows;

/// One call but for its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Which entry point.
    pub op: Op,
    /// What it means for time.
    pub class: Class,
    /// [`entry`](crate::entry) when the program entered the library.
    pub entry: u64,
    /// The queue it works on or waits for.
    pub queue: Option<Queue>,
    /// The engine an enqueued operation occupies.
    pub engine: Engine,
    /// How it is ordered with the others of its queue.
    pub order: Order,
    /// Whether an enqueue returns only when its operation is complete; of a wait
    /// for a queue, whether the program is told of what went wrong there.
    pub blocking: bool,
    /// Event numbers it waits for.
    pub waits: &'a [u64],
    /// The event number it signals.
    pub signals: Option<u64>,
    /// Whether the program holds that event.
    pub observable: bool,
    /// An event number that nobody will ask for any more.
    pub retires: Option<u64>,
    /// The memory it names, in the order of the arguments' region indices.
    pub regions: &'a [Region],
    /// Those of them of which only rows count.
    pub rows: &'a [RegionRows],
    /// Whether a call whose memory belongs to an operation that cannot end yet
    /// waits for it; if not, it ends as [`Error::Unresolved`].
    pub patient: bool,
}

impl Call<'_> {
    /// A call without queue, events and regions.
    pub const fn new(op: Op, class: Class, entry: u64) -> Self {
        Self {
            op,
            class,
            entry,
            queue: None,
            engine: Engine::NONE,
            order: Order::Command,
            blocking: false,
            waits: &[],
            signals: None,
            observable: false,
            retires: None,
            regions: &[],
            rows: &[],
            patient: true,
        }
    }
}
