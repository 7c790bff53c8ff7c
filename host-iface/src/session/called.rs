//! Rows for the log of calls. A call's row is complete once its operation's end is known.

use super::calls::Call;
use super::labels::Named;
use super::{Context, Session};
use crate::mailbox::Answer;
use foldhash::HashMap;
use gil_files::calls::{Interval, Kind, Operation, Row};
use gil_timing::Event;
use gil_wire::envelope::Class;
use gil_wire::message::Posted;

/// What an answer says that a call took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Nanoseconds that the board was busy.
    pub board_ns: u64,
    /// Of the board's CPU.
    pub board_cpu_ns: u64,
    /// Bytes of regions that came.
    pub bytes: u64,
}

/// Rows that wait.
#[derive(Debug, Default)]
pub(super) struct Called {
    /// Those of calls whose operations have not ended.
    open: HashMap<Event, Row>,
    /// What became known of operations before their calls had rows.
    early: HashMap<Event, Known>,
    /// What operations run.
    named: Named,
}

#[derive(Debug, Default)]
struct Known {
    interval: Option<Interval>,
    board_ns: u64,
    bytes: u64,
}

impl Context<'_> {
    /// Adds a row, if calls are logged. If it cannot be written, the log ends.
    pub(super) fn log(&mut self, row: Row) {
        if let Some(log) = self.calls
            && let Err(error) = log.push(row)
        {
            self.events.warn(error.to_string());
            *self.calls = None;
        }
    }

    /// Logs what calls cost that had no answer, as the answer to a later one says.
    pub(super) fn log_costs(&mut self, main: &Call<'_>, process: u32, posted: &[Posted]) {
        if self.calls.is_none() {
            return;
        }
        for post in posted {
            self.log(Row {
                kind: Kind::Costs,
                process,
                thread: main.submission.thread,
                seq: main.submission.seq,
                called_ns: main.entry_ns,
                returned_ns: main.entry_ns,
                board_cpu_ns: post.cpu_ns,
                calls: post.calls.into(),
                ..Row::of(Class::Post, post.op)
            });
        }
    }
}

/// Whether the program went on before the call was handed over: what hands over a post
/// without memory may be another call, or the program's end, any time later.
fn returned_at_once(call: &Call<'_>) -> bool {
    call.envelope.class == Class::Post && call.regions.is_empty()
}

impl Session {
    /// Logs calls that were executed, the last of which has this answer, if it is among
    /// them.
    pub(super) fn log_calls(
        &mut self,
        context: &mut Context<'_>,
        calls: &[&Call<'_>],
        answer: Option<&Answer>,
    ) {
        if context.calls.is_none() {
            return;
        }
        for call in calls {
            let mut row = self.row(context, call, answer.filter(|_| call.is_last));
            row.label = self.called.named.label(context, call);
            self.log_call(context, call, row);
        }
        self.called.early.clear();
    }

    fn row(&self, context: &Context<'_>, call: &Call<'_>, answer: Option<&Answer>) -> Row {
        let (envelope, submission) = (call.envelope, call.submission);
        let process = self.process();
        let cost = match call.is_last {
            true => context.took.cost,
            false => Cost::default(),
        };
        let due_ns = answer.map_or(0, |answer| answer.deadline_ns);
        Row {
            process,
            thread: submission.thread,
            seq: submission.seq,
            queue: envelope.queue.map(|queue| queue.id),
            called_ns: call.entry_ns,
            // Nobody waits in what a GPU asks for by itself.
            returned_ns: match call.is_last && process != 0 && !returned_at_once(call) {
                true => due_ns.max(submission.now_ns()),
                false => call.entry_ns,
            },
            operation: self.operation(call),
            board_ns: cost.board_ns,
            board_cpu_ns: cost.board_cpu_ns,
            bytes_to_board: super::exchange::in_len(call),
            bytes_from_board: cost.bytes,
            site: envelope.site,
            ..Row::of(envelope.class, envelope.op)
        }
    }

    /// The operation that a call enqueued; none if it was refused.
    fn operation(&self, call: &Call<'_>) -> Option<Operation> {
        let envelope = call.envelope;
        let event = envelope.signals?;
        let is_enqueued =
            self.called.early.contains_key(&event) || self.schedule.pending.contains_key(&event);
        if envelope.class != Class::Enqueue || !is_enqueued {
            return None;
        }
        let queue = envelope.queue;
        let queue = queue.map(|queue| self.schedule.queue_ref(envelope.op, queue));
        Some(Operation {
            device: queue.map_or(0, |queue| queue.device),
            engine: envelope.engine.0,
            interval: None,
        })
    }

    fn log_call(&mut self, context: &mut Context<'_>, call: &Call<'_>, mut row: Row) {
        let (Some(event), Some(operation)) = (call.envelope.signals, &mut row.operation) else {
            return context.log(row);
        };
        let known = self.called.early.remove(&event).unwrap_or_default();
        row.board_ns = row.board_ns.saturating_add(known.board_ns);
        row.bytes_from_board = row.bytes_from_board.saturating_add(known.bytes);
        operation.interval = known.interval;
        match known.interval {
            Some(_) => context.log(row),
            None => {
                self.called.open.insert(event, row);
            }
        }
    }

    /// An operation's interval is known.
    pub(super) fn log_end(&mut self, context: &mut Context<'_>, event: Event) {
        if context.calls.is_none() {
            return;
        }
        let interval = self.schedule.timeline.interval(event);
        let interval = interval.map(|it| Interval {
            start_ns: it.start_ns,
            end_ns: it.end_ns,
        });
        let Some(mut row) = self.called.open.remove(&event) else {
            self.called.early.entry(event).or_default().interval = interval;
            return;
        };
        if let Some(operation) = &mut row.operation {
            operation.interval = interval;
        }
        context.log(row);
    }

    /// The board was busy until it said how an operation ended.
    pub(super) fn log_busy(&mut self, context: &Context<'_>, event: Event, busy_ns: u64) {
        if context.calls.is_none() {
            return;
        }
        let busy = match self.called.open.get_mut(&event) {
            Some(row) => &mut row.board_ns,
            None => &mut self.called.early.entry(event).or_default().board_ns,
        };
        *busy = busy.saturating_add(busy_ns);
    }

    /// Bytes of an operation's output came.
    pub(super) fn log_brought(&mut self, context: &Context<'_>, event: Event, bytes: u64) {
        if context.calls.is_none() {
            return;
        }
        let sum = match self.called.open.get_mut(&event) {
            Some(row) => &mut row.bytes_from_board,
            None => &mut self.called.early.entry(event).or_default().bytes,
        };
        *sum = sum.saturating_add(bytes);
    }

    /// Logs the calls whose operations' ends will never be known.
    pub(super) fn log_rest(&mut self, context: &mut Context<'_>) {
        let mut rest: Vec<Row> = self.called.open.drain().map(|(_, row)| row).collect();
        rest.sort_by_key(|row| (row.called_ns, row.seq));
        rest.into_iter().for_each(|row| context.log(row));
    }
}
