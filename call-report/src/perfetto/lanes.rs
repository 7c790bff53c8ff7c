//! Slices of one track as lanes: in each, slices follow or contain each other.

/// Events of a lane, which is a track of the trace's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Begin { at_ns: u64, uuid: u64 },
    End { at_ns: u64, uuid: u64 },
    Instant { at_ns: u64, uuid: u64 },
}

/// The lanes of a track.
#[derive(Debug)]
pub(super) struct Lanes {
    /// Whether slices may contain others.
    nests: bool,
    lanes: Vec<Lane>,
}

#[derive(Debug)]
struct Lane {
    uuid: u64,
    /// The ends of the slices that are open, the outermost first.
    open: Vec<u64>,
    /// The last event.
    at_ns: u64,
}

impl Lanes {
    pub(super) fn new(nests: bool) -> Self {
        Self {
            nests,
            lanes: Vec::new(),
        }
    }

    /// The first lane that has room for a slice; it may be a new one.
    pub(super) fn place(&self, begin_ns: u64, end_ns: u64) -> usize {
        let nests = self.nests;
        let mut lanes = self.lanes.iter();
        let found = lanes.position(|lane| lane.takes(nests, begin_ns, end_ns));
        found.unwrap_or(self.lanes.len())
    }

    /// A lane's number in the trace, if it has one.
    pub(super) fn uuid(&self, lane: usize) -> Option<u64> {
        self.lanes.get(lane).map(|lane| lane.uuid)
    }

    /// Puts a slice in a lane, new with this number; what happens there until it has
    /// begun.
    pub(super) fn put(&mut self, lane: usize, uuid: u64, begin_ns: u64, end_ns: u64) -> Vec<Step> {
        if lane == self.lanes.len() {
            self.lanes.push(Lane {
                uuid,
                open: Vec::new(),
                at_ns: 0,
            });
        }
        let Some(lane) = self.lanes.get_mut(lane) else {
            return Vec::new();
        };
        let mut steps = lane.close_until(begin_ns);
        lane.at_ns = begin_ns;
        let at_ns = begin_ns;
        if begin_ns == end_ns {
            steps.push(Step::Instant { at_ns, uuid });
        } else {
            steps.push(Step::Begin { at_ns, uuid });
            lane.open.push(end_ns);
        }
        steps
    }

    /// Ends what is open.
    pub(super) fn finish(self) -> Vec<Step> {
        let mut lanes = self.lanes;
        let all = lanes.iter_mut().map(|lane| lane.close_until(u64::MAX));
        all.flatten().collect()
    }
}

impl Lane {
    fn takes(&self, nests: bool, begin_ns: u64, end_ns: u64) -> bool {
        let open = self.open.iter().rev().find(|&&end| end > begin_ns);
        begin_ns >= self.at_ns
            && match open {
                None => true,
                Some(&outer_ns) => nests && end_ns <= outer_ns,
            }
    }

    fn close_until(&mut self, at_ns: u64) -> Vec<Step> {
        let mut steps = Vec::new();
        while let Some(end_ns) = self.open.pop_if(|end_ns| *end_ns <= at_ns) {
            self.at_ns = end_ns;
            steps.push(Step::End {
                at_ns: end_ns,
                uuid: self.uuid,
            });
        }
        steps
    }
}
