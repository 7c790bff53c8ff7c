//! Graphs as they are launched: their nodes' work in an order, and on which stream each is put.
//!
//! Work that comes behind no other than the last of a stream goes on on that stream; what could
//! run beside it has a stream of the library's own. Where streams meet, one waits for an event
//! of the other.

use super::work::Work;
use super::{Graph, Id, user::Held};
use crate::generated::manual::Object;
use crate::generated::types::*;
use crate::support::context::{self, Context};
use crate::support::{Details, create, event, streams};
use gil_guest::api::{CallResult, new_number};
use gil_wire::generated::cuda::{self as wire, Kind};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most streams of a launch, that which it is put on included.
const LANES_MAX: usize = 8;
/// A stream that waits for no default stream.
const NON_BLOCKING: u32 = 1;
/// An event without a time.
const NO_TIMES: u32 = 2;
/// Flags that change nothing here: free memory of the graph's, upload, the nodes' own priorities.
const FLAGS: u64 = 1 | UPLOAD | 8;
/// The graph is uploaded when it is instantiated: no flag of what is made.
pub const UPLOAD: u64 = 2;

/// One.
#[derive(Debug)]
pub struct Exec {
    /// What it was made with.
    pub flags: u64,
    context: Arc<Context>,
    held: Mutex<Held>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    steps: Vec<Step>,
    insides: Insides,
    /// Streams beside that of the launch.
    lanes: Vec<usize>,
    /// Events: of steps that others wait for, of each lane's end, and two of the launch.
    events: Vec<usize>,
    /// The queue of the last launch.
    last: Option<u64>,
}

/// A node's work in its place.
#[derive(Clone, Debug)]
struct Step {
    node: Id,
    work: Work,
    is_enabled: bool,
    /// The steps before it.
    before: Vec<usize>,
    lane: usize,
    /// The steps on other lanes that it waits for.
    waits: Vec<usize>,
    /// Where its event is, if others wait for it.
    event: Option<usize>,
}

/// The start of a launch on its stream, and the end of the latest one.
const START: usize = 0;
const EARLIER: usize = 1;

/// Which steps are those of the graph inside of a node.
type Insides = Vec<(Id, Range<usize>)>;

/// Adds a graph's nodes behind these steps; the steps that all of it ends with.
fn flatten(
    graph: &Graph,
    first: &[usize],
    (steps, inside_of): (&mut Vec<Step>, &mut Insides),
) -> CallResult<Vec<usize>> {
    let mut ends: BTreeMap<Id, Vec<usize>> = BTreeMap::new();
    let mut open: BTreeSet<usize> = BTreeSet::new();
    let mut is_empty = true;
    for (node, work, nodes_before) in graph.ordered()? {
        is_empty = false;
        let mut before: Vec<usize> = Vec::new();
        for id in &nodes_before {
            before.extend(ends.get(id).into_iter().flatten());
        }
        if before.is_empty() {
            before = first.to_vec();
        }
        before.iter().for_each(|step| {
            open.remove(step);
        });
        let end = match &work {
            Work::Graph(inside) => {
                let from = steps.len();
                let end = flatten(inside, &before, (steps, inside_of))?;
                inside_of.push((node, from..steps.len()));
                end
            }
            _ => {
                steps.push(Step {
                    node,
                    work,
                    is_enabled: true,
                    before,
                    lane: 0,
                    waits: Vec::new(),
                    event: None,
                });
                vec![steps.len() - 1]
            }
        };
        open.extend(&end);
        ends.insert(node, end);
    }
    Ok(match is_empty {
        true => first.to_vec(),
        false => open.into_iter().collect(),
    })
}

/// Says which lane each step is on, and what it waits for; how many lanes, and events of steps.
fn spread(steps: &mut [Step]) -> (usize, usize) {
    let mut tails: Vec<Option<usize>> = vec![None];
    let mut events = 0;
    for n in 0..steps.len() {
        let before = steps[n].before.clone();
        let goes_on = before.iter().map(|step| (*step, steps[*step].lane));
        let goes_on = goes_on
            .into_iter()
            .find(|(step, lane)| tails[*lane] == Some(*step));
        let lane = match goes_on {
            Some((_, lane)) => lane,
            None => match tails.iter().position(Option::is_none) {
                Some(lane) => lane,
                None if tails.len() < LANES_MAX => {
                    tails.push(None);
                    tails.len() - 1
                }
                // One more would wait for a stream; so it waits for another's work.
                None => n % LANES_MAX,
            },
        };
        tails[lane] = Some(n);
        let elsewhere = before.into_iter().filter(|step| steps[*step].lane != lane);
        let waits: Vec<usize> = elsewhere.collect();
        for step in &waits {
            if steps[*step].event.is_none() {
                steps[*step].event = Some(events);
                events += 1;
            }
        }
        steps[n].lane = lane;
        steps[n].waits = waits;
    }
    (tails.len(), events)
}

/// Makes one of a graph, in the current context.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for a graph with a ring or flags that are none,
/// `CUDA_ERROR_NOT_SUPPORTED` for launches by the device; the API's code.
pub fn make(entry: u64, graph: &Graph, flags: u64) -> CallResult<CUgraphExec> {
    if flags & !(FLAGS | 4) != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    if flags & 4 != 0 {
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    }
    let (mut steps, mut insides) = (Vec::new(), Vec::new());
    flatten(graph, &[], (&mut steps, &mut insides))?;
    let (lanes, events) = spread(&mut steps);
    let mut inner = Inner {
        steps,
        insides,
        ..Inner::default()
    };
    let made = inner.furnish(entry, lanes, events);
    if let Err(code) = made {
        inner.dissolve(entry);
        return Err(code);
    }
    let context = context::with(|context| Ok(context.clone()))?;
    let exec = Exec {
        flags,
        context,
        held: Mutex::new(graph.all_held()),
        inner: Mutex::new(inner),
    };
    create(Kind::GraphExec, new_number(), Details::Exec(Arc::new(exec)))
}

/// The one of a handle.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`.
pub fn find(handle: CUgraphExec) -> CallResult<Arc<Exec>> {
    let object = Object::find(Kind::GraphExec, handle)?;
    match object.details() {
        Details::Exec(exec) => Ok(exec.clone()),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

/// Destroys one: what was launched goes on.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`.
pub fn destroy(entry: u64, handle: CUgraphExec) -> CallResult<()> {
    context::permitted()?;
    let exec = find(handle)?;
    Object::release(Kind::GraphExec, handle, entry)?;
    let held = std::mem::take(&mut *exec.held());
    exec.let_go(entry, held);
    let inner = std::mem::take(&mut *exec.inner());
    // With their context went its streams and events, and others may have their addresses.
    if !exec.context.is_destroyed() {
        inner.dissolve(entry);
    }
    Ok(())
}

fn handle<T>(address: usize) -> *mut T {
    std::ptr::with_exposed_provenance_mut(address)
}

impl Inner {
    /// Makes the streams and events that it needs.
    fn furnish(&mut self, entry: u64, lanes: usize, events: usize) -> CallResult<()> {
        let op = wire::CU_STREAM_CREATE;
        for _ in 1..lanes {
            let stream = streams::make(entry, op, NON_BLOCKING, 0)?;
            self.lanes.push(stream.expose_provenance());
        }
        // Without streams of its own nothing waits but a launch for an earlier one.
        let ends = if lanes > 1 { lanes - 1 + events } else { 0 };
        for _ in 0..2 + ends {
            self.events.push(event::make(NO_TIMES)?.expose_provenance());
        }
        Ok(())
    }

    /// Puts the steps on their streams.
    fn put(&self, entry: u64, stream: CUstream) -> CallResult<()> {
        let wait = |on: CUstream, event| event::stream_waits(entry, on, handle(event), 0);
        if !self.lanes.is_empty() {
            event::record(entry, handle(self.events[START]), stream)?;
            for lane in &self.lanes {
                wait(handle(*lane), self.events[START])?;
            }
        }
        for step in &self.steps {
            let on = self.lane(step.lane, stream);
            for before in &step.waits {
                if let Some(event) = self.steps[*before].event {
                    wait(on, self.event_of(event))?;
                }
            }
            if step.is_enabled {
                step.work.put(entry, on)?;
            }
            if let Some(event) = step.event {
                event::record(entry, handle(self.event_of(event)), on)?;
            }
        }
        Ok(())
    }

    /// Has the stream of the launch wait for the others.
    fn end(&self, entry: u64, stream: CUstream) -> CallResult<()> {
        for lane in 1..=self.lanes.len() {
            let end = self.end_of(lane);
            event::record(entry, handle(end), self.lane(lane, stream))?;
            event::stream_waits(entry, stream, handle(end), 0)?;
        }
        Ok(())
    }

    fn dissolve(self, entry: u64) {
        // What went with its context is not there any more.
        for stream in self.lanes {
            let _ = streams::destroy(entry, handle(stream));
        }
        for made in self.events {
            let _ = event::destroy(entry, handle(made));
        }
    }

    /// Where a lane's end has its event, and a step.
    fn end_of(&self, lane: usize) -> usize {
        self.events[1 + lane]
    }

    fn event_of(&self, event: usize) -> usize {
        self.events[2 + self.lanes.len() + event]
    }

    fn lane(&self, lane: usize, stream: CUstream) -> CUstream {
        match lane {
            0 => stream,
            lane => handle(self.lanes[lane - 1]),
        }
    }

    fn step(&mut self, node: Id) -> CallResult<&mut Step> {
        let found = self.steps.iter_mut().find(|step| step.node == node);
        found.ok_or(CUDA_ERROR_INVALID_VALUE)
    }
}

impl Exec {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts its work on a stream.
    ///
    /// # Errors
    /// The API's code.
    pub fn launch(&self, entry: u64, stream: CUstream) -> CallResult<()> {
        let queue = context::with(|context| match Arc::ptr_eq(context, &self.context) {
            true => streams::with_any_lane(context, stream, |lane| Ok(lane.queue.id)),
            false => Err(CUDA_ERROR_INVALID_CONTEXT),
        })?;
        // Also so that no other thread puts its steps between these.
        let mut inner = self.inner();
        // None if another thread destroyed it.
        let earlier = inner.events.get(EARLIER).copied();
        let earlier = handle(earlier.ok_or(CUDA_ERROR_INVALID_VALUE)?);
        if inner.last.replace(queue).is_some_and(|last| last != queue) {
            event::stream_waits(entry, stream, earlier, 0)?;
        }
        let done = inner.put(entry, stream);
        // Also what was put there before something failed comes before what the stream has next.
        let ended = inner.end(entry, stream);
        done.and(ended)?;
        event::record(entry, earlier, stream)
    }

    /// Gives a node's step other work of its kind.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE`.
    pub fn change(&self, node: Id, mut new: Work) -> CallResult<()> {
        context::permitted()?;
        let mut inner = self.inner();
        if let Work::Graph(new) = new {
            let mut insides = inner.insides.iter();
            let inside = insides.find(|(inside, _)| *inside == node);
            let steps = inside.ok_or(CUDA_ERROR_INVALID_VALUE)?.1.clone();
            let exchanged = inner.exchange(steps, &new);
            return exchanged.map_err(|_| CUDA_ERROR_INVALID_VALUE);
        }
        let step = inner.step(node)?;
        step.work
            .gives_way_to(&new)
            .map_err(|_| CUDA_ERROR_INVALID_VALUE)?;
        if let (Work::Kernel(old), Work::Kernel(new)) = (&step.work, &mut new) {
            new.attributes.clone_from(&old.attributes);
        }
        step.work = new;
        Ok(())
    }

    /// Whether a node's work is done, which the program may choose for launches, copies and
    /// memory that is set.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE`.
    pub fn enabled(&self, node: Id, new: Option<bool>) -> CallResult<bool> {
        context::permitted()?;
        let mut inner = self.inner();
        let step = inner.step(node)?;
        if !matches!(step.work, Work::Kernel(_) | Work::Copy(_) | Work::Set(_)) {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        step.is_enabled = new.unwrap_or(step.is_enabled);
        Ok(step.is_enabled)
    }

    /// Takes the work of another graph, which has the same nodes and edges.
    ///
    /// # Errors
    /// What is different.
    pub fn update(&self, entry: u64, graph: &Graph) -> Result<(), CUgraphExecUpdateResult> {
        context::permitted().map_err(|_| CU_GRAPH_EXEC_UPDATE_ERROR)?;
        {
            let mut inner = self.inner();
            let all = 0..inner.steps.len();
            inner.exchange(all, graph)?;
        }
        let old = std::mem::replace(&mut *self.held(), graph.all_held());
        self.let_go(entry, old);
        Ok(())
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of objects of the program's, when what was launched is over.
    fn let_go(&self, entry: u64, held: Held) {
        if held.is_empty() {
            return;
        }
        let last = {
            let inner = self.inner();
            inner.last.map(|_| inner.events[EARLIER])
        };
        if let Some(last) = last.filter(|_| !self.context.is_destroyed()) {
            // If that fails, nothing of the launch goes on.
            let _ = event::finish(entry, wire::CU_EVENT_SYNCHRONIZE, handle(last));
        }
        held.let_go();
    }

    /// The same work as a graph.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    pub fn as_graph(&self) -> CallResult<Arc<Graph>> {
        let graph = Graph::inside();
        let mut ids: Vec<Id> = Vec::new();
        for step in &self.inner().steps {
            let before: Vec<Id> = step.before.iter().map(|step| ids[*step]).collect();
            let work = match step.is_enabled {
                true => step.work.clone(),
                false => Work::Empty,
            };
            ids.push(graph.add(&before, work)?.0);
        }
        let held = self.held().copied();
        graph.held(|its| *its = held);
        Ok(graph)
    }
}

impl Inner {
    /// Some steps take the work of a graph, which has the same nodes and edges.
    fn exchange(
        &mut self,
        steps: Range<usize>,
        graph: &Graph,
    ) -> Result<(), CUgraphExecUpdateResult> {
        let mut new = Vec::new();
        let made = flatten(graph, &[], (&mut new, &mut Vec::new()));
        made.map_err(|_| CU_GRAPH_EXEC_UPDATE_ERROR)?;
        let first = steps.start;
        let old = &mut self.steps[steps];
        if old.len() != new.len() {
            return Err(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
        }
        for (old, new) in old.iter().zip(&new) {
            old.work.gives_way_to(&new.work)?;
            let before = old.before.iter().filter_map(|step| step.checked_sub(first));
            if !before.eq(new.before.iter().copied()) {
                return Err(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
            }
        }
        for (old, new) in old.iter_mut().zip(new) {
            old.work = new.work;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(before: &[&[usize]]) -> Vec<Step> {
        let step = |(node, before): (usize, &&[usize])| Step {
            node: node as Id,
            work: Work::Empty,
            is_enabled: true,
            before: before.to_vec(),
            lane: 0,
            waits: Vec::new(),
            event: None,
        };
        before.iter().enumerate().map(step).collect()
    }

    /// A step's lane, and what it waits for.
    type Placed = (usize, Vec<usize>);

    fn spreading(before: &[&[usize]]) -> (Vec<Placed>, (usize, usize)) {
        let mut steps = steps(before);
        let counts = spread(&mut steps);
        let each = steps.into_iter().map(|step| (step.lane, step.waits));
        (each.collect(), counts)
    }

    #[test]
    fn a_chain_needs_one_stream_and_no_event() {
        let (each, counts) = spreading(&[&[], &[0], &[1]]);
        assert_eq!(each, [(0, vec![]), (0, vec![]), (0, vec![])]);
        assert_eq!(counts, (1, 0));
    }

    #[test]
    fn branches_have_streams_and_meet_by_events() {
        let (each, counts) = spreading(&[&[], &[0], &[0], &[1, 2]]);
        let expected = [(0, vec![]), (0, vec![]), (1, vec![0]), (0, vec![2])];
        assert_eq!(each, expected);
        assert_eq!(counts, (2, 2));
    }

    #[test]
    fn there_are_few_streams() {
        let all: Vec<&[usize]> = vec![&[]; 20];
        let (each, counts) = spreading(&all);
        assert_eq!(counts, (LANES_MAX, 0));
        assert!(
            each.iter()
                .all(|(lane, waits)| *lane < LANES_MAX && waits.is_empty())
        );
    }
}
