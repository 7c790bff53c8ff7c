//! Graphs: work that is described once and launched often. A graph is the library's alone: a
//! launch puts the work of its nodes on streams, each as the program's own call would, so that
//! times, errors and recordings are those of such calls.

pub mod exec;
pub mod user;
pub mod work;

use super::{Details, create};
use crate::generated::manual::Object;
use crate::generated::types::*;
use gil_guest::api::{CallResult, new_number};
use gil_wire::generated::cuda::Kind;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use user::Held;
use work::Work;

/// A node of a graph, by a number that no other node of the process has. A later one is larger.
pub type Id = u64;

static LAST: AtomicU64 = AtomicU64::new(0);

/// A graph.
#[derive(Debug, Default)]
pub struct Graph {
    inner: Mutex<Inner>,
    /// The program's handle; 0 for none yet.
    handle: AtomicUsize,
    /// Whether it is a node's of another graph, and goes with it.
    is_inside: bool,
}

#[derive(Debug, Default)]
struct Inner {
    nodes: BTreeMap<Id, Node>,
    held: Held,
}

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// The program's handle.
    handle: usize,
    /// What it does.
    pub work: Work,
    /// What comes before it.
    before: BTreeSet<Id>,
    /// The node that it is a copy of; 0 for none.
    from: Id,
}

/// A handle's node: its graph, which is gone if the program destroyed it, and its number.
#[derive(Debug)]
pub struct Place(Weak<Graph>, Id);

/// What a list of the program's is given: as many entries as there are, or as there is space
/// for; the rest is null. Without a list it is told how many there are.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`.
///
/// # Safety
/// `count` is null or a number; `to` is null or has space for as many entries.
pub unsafe fn list<T: Copy>(all: &[T], none: T, to: *mut T, count: *mut usize) -> CallResult<()> {
    let count = super::place(count)?;
    // SAFETY: the caller's.
    let room = unsafe { *count };
    if !to.is_null() {
        for n in 0..room {
            // SAFETY: the caller's.
            unsafe { to.add(n).write(all.get(n).copied().unwrap_or(none)) };
        }
    }
    let given = if to.is_null() {
        all.len()
    } else {
        all.len().min(room)
    };
    // SAFETY: the caller's.
    unsafe { *count = given };
    Ok(())
}

/// Makes a graph.
///
/// # Errors
/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub fn make() -> CallResult<CUgraph> {
    shown(&Arc::new(Graph::default()))
}

/// The program's handle of a graph.
///
/// # Errors
/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub fn shown(graph: &Arc<Graph>) -> CallResult<CUgraph> {
    let known = graph.handle.load(Ordering::Acquire);
    if known != 0 {
        return Ok(std::ptr::with_exposed_provenance_mut(known));
    }
    let made: CUgraph = create(Kind::Graph, new_number(), Details::Graph(graph.clone()))?;
    let address = made.expose_provenance();
    graph.handle.store(address, Ordering::Release);
    Ok(made)
}

/// The graph of a handle.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`.
pub fn find(handle: CUgraph) -> CallResult<Arc<Graph>> {
    let object = Object::find(Kind::Graph, handle)?;
    match object.details() {
        Details::Graph(graph) => Ok(graph.clone()),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

/// Destroys a graph, and its nodes' handles.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`, also for a graph inside of another.
pub fn destroy(entry: u64, handle: CUgraph) -> CallResult<()> {
    super::context::permitted()?;
    let graph = find(handle)?;
    if graph.is_inside {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    Object::release(Kind::Graph, handle, entry)?;
    graph.handle.store(0, Ordering::Release);
    graph.dissolve(entry);
    Ok(())
}

/// The graph and the number of a node.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`.
pub fn node(handle: CUgraphNode) -> CallResult<(Arc<Graph>, Id)> {
    let object = Object::find(Kind::GraphNode, handle)?;
    let Details::Node(Place(graph, id)) = object.details() else {
        return Err(CUDA_ERROR_INVALID_VALUE);
    };
    match graph.upgrade() {
        Some(graph) => Ok((graph, *id)),
        None => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

/// The handles that the program names.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`.
///
/// # Safety
/// `handles` is null or names as many.
pub unsafe fn named(handles: *const CUgraphNode, count: usize) -> CallResult<Vec<CUgraphNode>> {
    if handles.is_null() && count > 0 || count > NODES_MAX {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the caller's.
    let one = |n| unsafe { *handles.add(n) };
    Ok((0..count).map(one).collect())
}

/// Most nodes of a list: more than fit into a guest.
const NODES_MAX: usize = 1 << 28;

/// Does something with a node.
///
/// # Errors
/// The API's code.
pub fn with_node<R>(
    handle: CUgraphNode,
    work: impl FnOnce(&mut Node) -> CallResult<R>,
) -> CallResult<R> {
    let (graph, id) = node(handle)?;
    let mut inner = graph.inner();
    work(inner.nodes.get_mut(&id).ok_or(CUDA_ERROR_INVALID_VALUE)?)
}

/// Takes a node out of its graph.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`.
pub fn destroy_node(entry: u64, handle: CUgraphNode) -> CallResult<()> {
    let (graph, id) = node(handle)?;
    let gone = {
        let mut inner = graph.inner();
        let gone = inner.nodes.remove(&id).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        for other in inner.nodes.values_mut() {
            other.before.remove(&id);
        }
        gone
    };
    gone.dissolve(entry);
    Ok(())
}

/// The node of a copy that came from this one.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` if there is none.
pub fn find_in_copy(original: CUgraphNode, copy: CUgraph) -> CallResult<CUgraphNode> {
    let (_, id) = node(original)?;
    let copy = find(copy)?;
    let inner = copy.inner();
    let found = inner.nodes.values().find(|node| node.from == id);
    found.map(Node::handle).ok_or(CUDA_ERROR_INVALID_VALUE)
}

impl Node {
    /// The program's handle.
    pub fn handle(&self) -> CUgraphNode {
        std::ptr::with_exposed_provenance_mut(self.handle)
    }

    /// Its handle goes, and those of a graph within.
    fn dissolve(self, entry: u64) {
        // It is there, unless the process is ending.
        let _ = Object::release(Kind::GraphNode, self.handle(), entry);
        if let Work::Graph(inside) = &self.work {
            let shown = inside.handle.swap(0, Ordering::AcqRel);
            if shown != 0 {
                let shown = std::ptr::with_exposed_provenance_mut::<CUgraph_st>(shown);
                let _ = Object::release(Kind::Graph, shown, entry);
            }
            inside.dissolve(entry);
        }
    }
}

impl Graph {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One inside of another.
    pub fn inside() -> Arc<Self> {
        Arc::new(Self {
            is_inside: true,
            ..Self::default()
        })
    }

    /// What it keeps of the program's.
    pub fn held<R>(&self, work: impl FnOnce(&mut Held) -> R) -> R {
        work(&mut self.inner().held)
    }

    /// The same, with what the graphs inside keep, kept once more.
    pub fn all_held(&self) -> Held {
        let inner = self.inner();
        let mut all = inner.held.copied();
        for node in inner.nodes.values() {
            if let Work::Graph(inside) = &node.work {
                all.append(inside.all_held());
            }
        }
        all
    }

    /// All that is in it goes.
    fn dissolve(&self, entry: u64) {
        let inner = std::mem::take(&mut *self.inner());
        inner
            .nodes
            .into_values()
            .for_each(|node| node.dissolve(entry));
        inner.held.let_go();
    }

    /// Adds a node behind these.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if one is none of this graph, `CUDA_ERROR_OUT_OF_MEMORY`.
    pub fn add(self: &Arc<Self>, before: &[Id], work: Work) -> CallResult<(Id, CUgraphNode)> {
        let id = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let place = Place(Arc::downgrade(self), id);
        let mut inner = self.inner();
        if before.iter().any(|id| !inner.nodes.contains_key(id)) {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let handle: CUgraphNode = create(Kind::GraphNode, new_number(), Details::Node(place))?;
        let node = Node {
            handle: handle.expose_provenance(),
            work,
            before: before.iter().copied().collect(),
            from: 0,
        };
        inner.nodes.insert(id, node);
        Ok((id, handle))
    }

    /// The numbers of nodes of this graph.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if one is none.
    pub fn ids(&self, handles: &[CUgraphNode]) -> CallResult<Vec<Id>> {
        let one = |handle: &CUgraphNode| {
            let (graph, id) = node(*handle)?;
            match std::ptr::eq(&raw const *graph, self) {
                true => Ok(id),
                false => Err(CUDA_ERROR_INVALID_VALUE),
            }
        };
        handles.iter().map(one).collect()
    }

    /// The handles of nodes, of those that are still there.
    pub fn handles(&self, ids: impl IntoIterator<Item = Id>) -> Vec<CUgraphNode> {
        let inner = self.inner();
        let known = |id| inner.nodes.get(&id).map(Node::handle);
        ids.into_iter().filter_map(known).collect()
    }

    /// All nodes; or those that come behind none.
    pub fn nodes(&self, roots_alone: bool) -> Vec<CUgraphNode> {
        let inner = self.inner();
        let nodes = inner.nodes.values();
        let nodes = nodes.filter(|node| !roots_alone || node.before.is_empty());
        nodes.map(Node::handle).collect()
    }

    /// Pairs of nodes, of which the second comes behind the first.
    pub fn edges(&self) -> Vec<(CUgraphNode, CUgraphNode)> {
        let inner = self.inner();
        let of = |node: &Node| -> Vec<_> {
            let before = node.before.iter().filter_map(|id| inner.nodes.get(id));
            before
                .map(|first| (first.handle(), node.handle()))
                .collect()
        };
        inner.nodes.values().flat_map(of).collect()
    }

    /// What a node comes behind, or what comes behind it.
    pub fn beside(&self, id: Id, is_behind: bool) -> Vec<CUgraphNode> {
        let inner = self.inner();
        let before = |other: &Node| -> BTreeSet<Id> { other.before.clone() };
        match is_behind {
            false => {
                let known = inner.nodes.get(&id).map(before).unwrap_or_default();
                let nodes = known.iter().filter_map(|id| inner.nodes.get(id));
                nodes.map(Node::handle).collect()
            }
            true => {
                let nodes = inner.nodes.values();
                let nodes = nodes.filter(|node| node.before.contains(&id));
                nodes.map(Node::handle).collect()
            }
        }
    }

    /// Has nodes come behind others, or no more.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE`: an edge from a node to itself, one that is there already, or
    /// that is not there to be taken away. Nothing is changed then.
    pub fn connect(&self, edges: &[(Id, Id)], is_added: bool) -> CallResult<()> {
        let mut inner = self.inner();
        let is_there = |&(from, to): &(Id, Id)| {
            let to = inner.nodes.get(&to);
            to.is_some_and(|to| to.before.contains(&from))
        };
        let is_wrong = |edge: &(Id, Id)| edge.0 == edge.1 || is_there(edge) == is_added;
        if edges.iter().any(is_wrong) {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        for (from, to) in edges {
            let Some(to) = inner.nodes.get_mut(to) else {
                return Err(CUDA_ERROR_INVALID_VALUE);
            };
            match is_added {
                true => to.before.insert(*from),
                false => to.before.remove(from),
            };
        }
        Ok(())
    }

    /// A copy, with nodes of its own.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    pub fn copied(&self, is_inside: bool) -> CallResult<Arc<Self>> {
        let (nodes, held) = {
            let inner = self.inner();
            (inner.nodes.clone(), inner.held.copied())
        };
        let copy = Arc::new(Self {
            is_inside,
            ..Self::default()
        });
        copy.inner().held = held;
        let mut ids = BTreeMap::new();
        for (&id, node) in &nodes {
            let work = match &node.work {
                Work::Graph(inside) => Work::Graph(inside.copied(true)?),
                work => work.clone(),
            };
            ids.insert(id, copy.add(&[], work)?.0);
        }
        let mut inner = copy.inner();
        for (id, node) in &nodes {
            if let Some(new) = inner.nodes.get_mut(&ids[id]) {
                new.from = *id;
                new.before = node
                    .before
                    .iter()
                    .filter_map(|id| ids.get(id))
                    .copied()
                    .collect();
            }
        }
        drop(inner);
        Ok(copy)
    }

    /// The nodes, each behind those that it comes behind: number, work, and these.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if one comes behind itself.
    pub fn ordered(&self) -> CallResult<Vec<(Id, Work, Vec<Id>)>> {
        let inner = self.inner();
        let mut left: BTreeMap<Id, usize> = BTreeMap::new();
        let mut behind: BTreeMap<Id, Vec<Id>> = BTreeMap::new();
        let mut ready = BTreeSet::new();
        for (&id, node) in &inner.nodes {
            left.insert(id, node.before.len());
            for before in &node.before {
                behind.entry(*before).or_default().push(id);
            }
            if node.before.is_empty() {
                ready.insert(id);
            }
        }
        let mut order = Vec::with_capacity(inner.nodes.len());
        while let Some(id) = ready.pop_first() {
            let node = &inner.nodes[&id];
            let before = node.before.iter().copied().collect();
            order.push((id, node.work.clone(), before));
            for next in behind.get(&id).into_iter().flatten() {
                let count = left.get_mut(next).ok_or(CUDA_ERROR_INVALID_VALUE)?;
                *count -= 1;
                if *count == 0 {
                    ready.insert(*next);
                }
            }
        }
        match order.len() == inner.nodes.len() {
            true => Ok(order),
            false => Err(CUDA_ERROR_INVALID_VALUE),
        }
    }

    /// The graph as Graphviz's DOT language has it.
    pub fn as_dot(&self) -> String {
        let mut text = String::from("digraph dot {\n");
        let inner = self.inner();
        for (id, node) in &inner.nodes {
            let label = node.work.name();
            text.push_str(&format!("\"{id}\" [label=\"{id}\\n{label}\"];\n"));
        }
        for (id, node) in &inner.nodes {
            for before in &node.before {
                text.push_str(&format!("\"{before}\" -> \"{id}\";\n"));
            }
        }
        text.push_str("}\n");
        text
    }

    /// Whether all of `ends`' nodes come before, or are among, these.
    pub fn leads_to(&self, ends: &[Id], to: &[Id]) -> bool {
        let inner = self.inner();
        let mut reached: BTreeSet<Id> = BTreeSet::new();
        let mut next: Vec<Id> = to.to_vec();
        while let Some(id) = next.pop() {
            if reached.insert(id)
                && let Some(node) = inner.nodes.get(&id)
            {
                next.extend(node.before.iter().copied());
            }
        }
        ends.iter().all(|end| reached.contains(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A graph whose nodes have no handles, with these edges.
    fn graph(count: u64, edges: &[(Id, Id)]) -> Graph {
        let graph = Graph::default();
        for id in 1..=count {
            let node = Node {
                handle: id as usize,
                work: Work::Empty,
                before: BTreeSet::new(),
                from: 0,
            };
            graph.inner().nodes.insert(id, node);
        }
        graph.connect(edges, true).unwrap();
        graph
    }

    fn order(graph: &Graph) -> CallResult<Vec<Id>> {
        let ordered = graph.ordered()?;
        Ok(ordered.into_iter().map(|(id, ..)| id).collect())
    }

    #[test]
    fn each_node_comes_behind_those_before_it() {
        let some = graph(4, &[(4, 1), (1, 3), (2, 3)]);
        assert_eq!(order(&some), Ok(vec![2, 4, 1, 3]));
        assert_eq!(order(&graph(0, &[])), Ok(vec![]));
        let ring = graph(3, &[(1, 2), (2, 3), (3, 1)]);
        assert_eq!(order(&ring), Err(CUDA_ERROR_INVALID_VALUE));
    }

    #[test]
    fn edges_come_and_go_once() {
        let some = graph(3, &[(1, 2)]);
        for wrong in [(1, 2), (1, 1), (1, 9)] {
            let refused = some.connect(&[(2, 3), wrong], true);
            assert_eq!(refused, Err(CUDA_ERROR_INVALID_VALUE), "{wrong:?}");
        }
        assert_eq!(
            some.connect(&[(1, 3)], false),
            Err(CUDA_ERROR_INVALID_VALUE)
        );
        assert_eq!(some.connect(&[(1, 2)], false), Ok(()));
        assert_eq!(order(&some), Ok(vec![1, 2, 3]));
    }

    #[test]
    fn what_leads_to_a_node_is_found() {
        let some = graph(5, &[(1, 2), (2, 3), (4, 5)]);
        assert!(some.leads_to(&[1, 2, 3], &[3]));
        assert!(!some.leads_to(&[4], &[3]));
        assert!(some.leads_to(&[4, 1], &[3, 5]));
        assert!(some.leads_to(&[], &[]));
    }
}
