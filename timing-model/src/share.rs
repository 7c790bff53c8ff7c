//! How much of an engine an operation needs.

/// Thousandths of an engine, for a group of operations. Operations of one group whose shares fit
/// into the engine together run at the same time, each for as long as alone. Those of different
/// groups take turns, as kernels of different contexts do on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share {
    thousandths: u16,
    group: u32,
    timeline: u32,
}

impl Share {
    /// All of it.
    pub const WHOLE: Self = Self {
        thousandths: 1000,
        group: 0,
        timeline: 0,
    };
    /// Most operations that run on an engine at the same time: CUDA devices run at most 128
    /// kernels so (CUDA C++ Programming Guide, technical specifications for each compute
    /// capability).
    pub const MOST_PARTS: usize = 125;

    /// Of this many thousandths: no more than all, and no less than what lets
    /// [`MOST_PARTS`](Self::MOST_PARTS) run together.
    pub const fn of_thousand(thousandths: u16, group: u32) -> Self {
        const LEAST: u16 = Share::WHOLE.thousandths / Share::MOST_PARTS as u16;
        if thousandths >= Self::WHOLE.thousandths {
            return Self::WHOLE;
        }
        let thousandths = if thousandths < LEAST {
            LEAST
        } else {
            thousandths
        };
        Self {
            thousandths,
            group,
            timeline: 0,
        }
    }

    /// The same for a timeline of this number: groups are a timeline's own.
    pub(crate) const fn on(self, timeline: u32) -> Self {
        Self { timeline, ..self }
    }

    /// Whether it is all of it.
    pub const fn is_whole(self) -> bool {
        self.thousandths == Self::WHOLE.thousandths
    }

    /// Whether it finds room beside others of its group.
    pub(crate) fn fits(self, others: impl Iterator<Item = Self>) -> bool {
        let all = others.chain([self]);
        let sum: u32 = all.map(|share| u32::from(share.thousandths)).sum();
        sum <= u32::from(Self::WHOLE.thousandths)
    }

    /// Whether it may run beside another at all.
    pub(crate) const fn goes_with(self, other: Self) -> bool {
        let is_same = self.group == other.group && self.timeline == other.timeline;
        is_same && !self.is_whole() && !other.is_whole()
    }
}

impl Default for Share {
    fn default() -> Self {
        Self::WHOLE
    }
}
