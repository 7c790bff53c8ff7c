//! The lane in which an operation runs.

use crate::{Engine, QueueRef};

/// Where an operation runs: an engine of a device, or nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Lane {
    pub(crate) engine: Option<(u64, u8)>,
    /// Whether other timelines use it too.
    pub(crate) is_shared: bool,
}

impl Lane {
    /// Of an operation on this queue that occupies this engine.
    pub(crate) fn new(queue: Option<QueueRef>, engine: Engine) -> Self {
        let device = queue.map_or(0, |queue| queue.device);
        let engine = (engine != Engine::NONE).then_some((device, engine.0));
        Self {
            is_shared: engine.is_some() && queue.is_some_and(|queue| queue.is_shared),
            engine,
        }
    }

    /// Whether it is a processor of a device.
    pub(crate) fn is_processor(self) -> bool {
        self.engine
            .is_some_and(|(_, engine)| Engine(engine).is_processor())
    }

    /// The other processors of its device; none if it is no processor itself.
    pub(crate) fn other_processors(self) -> impl Iterator<Item = Self> {
        let own = self.engine.filter(|_| self.is_processor());
        let all = Engine::PROCESSOR_FIRST.0..=Engine::PROCESSOR_LAST.0;
        let all = all.filter_map(move |engine| Some((own?.0, engine)));
        let others = all.filter(move |one| own != Some(*one));
        others.map(move |one| Self {
            engine: Some(one),
            ..self
        })
    }

    /// The same for one timeline alone.
    pub(crate) fn alone(self) -> Self {
        Self {
            is_shared: false,
            ..self
        }
    }
}
