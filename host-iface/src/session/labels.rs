//! What operations run, by name, for the log of calls: kernels have names, and draws the
//! program that their context selected. Only while calls are logged.

use super::Context;
use super::calls::Call;
use foldhash::HashMap;
use gil_wire::api::subject;
use gil_wire::subject::Subject;

/// Most objects whose names are remembered, of each kind. A program that has more of them at
/// a time gets rows without.
const OBJECTS_MAX: usize = 1 << 16;

/// Longest name that is kept whole.
const NAME_MAX: usize = 512;

/// The labels of a session's objects, as the log numbers them.
#[derive(Debug, Default)]
pub(super) struct Named {
    objects: HashMap<u64, u32>,
    /// What is selected within an object.
    selected: HashMap<u64, Selected>,
}

#[derive(Clone, Copy, Debug)]
struct Selected {
    what: &'static str,
    number: u64,
}

impl Named {
    /// The label of what a call's operation runs; 0 if it runs nothing. Remembers what the
    /// call says of names.
    pub(super) fn label(&mut self, context: &mut Context<'_>, call: &Call<'_>) -> u32 {
        let Some(log) = context.calls else {
            return 0;
        };
        let (op, args) = (call.envelope.op, call.envelope.args);
        match subject(op, args) {
            None => return 0,
            Some(Subject::Runs(object)) => return self.of(object),
            Some(Subject::RunsSelected(within)) => {
                let selected = self.selected.get(&within).filter(|it| it.number != 0);
                let label = |it: &Selected| {
                    let name = op.name().unwrap_or_default();
                    log.label(&format!("{name}, {} {}", it.what, it.number))
                };
                return selected.map_or(0, label);
            }
            Some(Subject::Named { object, name }) => {
                let name = name.strip_suffix(&[0]).unwrap_or(name);
                let name = &name[..name.len().min(NAME_MAX)];
                let label = log.label(&String::from_utf8_lossy(name));
                self.is(object, label);
            }
            Some(Subject::Like { object, other }) => self.is(object, self.of(other)),
            Some(Subject::Ended(object)) => {
                self.objects.remove(&object);
            }
            Some(Subject::Selects {
                within,
                what,
                number,
            }) => self.selects(within, Selected { what, number }),
        }
        0
    }

    fn of(&self, object: u64) -> u32 {
        self.objects.get(&object).copied().unwrap_or(0)
    }

    fn is(&mut self, object: u64, label: u32) {
        if self.objects.len() < OBJECTS_MAX {
            self.objects.insert(object, label);
        }
    }

    fn selects(&mut self, within: u64, selected: Selected) {
        let has_room = self.selected.len() < OBJECTS_MAX;
        if has_room || self.selected.contains_key(&within) {
            self.selected.insert(within, selected);
        }
    }
}
