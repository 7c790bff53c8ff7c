//! What the board has in buffers, for the guest: behind the driver's own wait.

use super::guest::{Did, Given, Guest};
use super::jobs::{executed_ns, now_ns};
use super::node::Raw;
use super::refusal::{FILE, Refusal};
use super::served::Known;
use crate::board::{Ended, Output};
use crate::region::Region;
use gil_wire::driver::{Fetch, Fetched};
use gil_wire::ending::Ending;
use nix::errno::Errno;
use std::time::Duration;

/// How long the driver waits for a buffer's jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    /// Until they have ended.
    End,
    /// Not at all.
    Now,
}

impl Guest<'_> {
    /// Waits for the first buffer, and brings what is new of it and of the others that no
    /// job uses then. Jobs that have ended are reported with it: nobody needs to ask for
    /// them.
    ///
    /// # Errors
    /// [`Refusal`]: nothing was called.
    pub fn fetch(&mut self, given: Given<'_>) -> Result<Did, Refusal> {
        let Fetch { file, buffers } = Fetch::parse(given.args)?;
        let known = self.served.waits().ok_or(Errno::EOPNOTSUPP)?;
        self.check_regions(&buffers, &given.regions)?;
        let mut cpu_ns = 0;
        let mut results = Vec::new();
        let mut out = Vec::new();
        let mut until = Until::End;
        for (number, region) in buffers.into_iter().zip(given.regions) {
            let wait = self.wait(known, (file, number), until, &mut cpu_ns);
            let news =
                wait.and_then(|()| self.buffers.pull(self.served, &self.files, number, region));
            let (result, bytes) = match news.map_err(|refusal| refusal.errno().ok_or(refusal)) {
                Ok(bytes) => (0, bytes),
                Err(Ok(error)) => (-(error as i32), Output::None),
                Err(Err(refusal)) => return Err(refusal),
            };
            results.push(result);
            out.push(bytes);
            until = Until::Now;
        }
        let took = self.buffers.take_time();
        Ok(Did {
            cpu_ns,
            ..self.fetched(took, results, out, given.event)
        })
    }

    /// What a fetch brings, with the jobs that have ended, and its own event.
    pub(super) fn fetched(
        &mut self,
        took: Duration,
        results: Vec<i32>,
        out: Vec<Output>,
        event: Option<u64>,
    ) -> Did {
        let fetched = Fetched {
            compare_ns: u64::try_from(took.as_nanos()).unwrap_or(u64::MAX),
            results,
        };
        let mut ended = self.jobs.ended();
        ended.extend(event.map(|event| Ended::bare(event, Ending::Done)));
        Did {
            answer: fetched.encode(),
            out,
            ended,
            ..Did::default()
        }
    }

    /// Each buffer that is there has a region for all of its bytes.
    fn check_regions(&self, buffers: &[u32], regions: &[Region]) -> Result<(), Refusal> {
        if buffers.len() != regions.len() {
            let index = regions.len().min(buffers.len());
            return Err(Refusal::Region { index, wanted: 0 });
        }
        for (index, (number, region)) in buffers.iter().zip(regions).enumerate() {
            // Of one that is not there, its result says so.
            let wanted = self.buffers.len(*number).unwrap_or(region.len());
            if region.dir().is_in() || region.len() != wanted {
                return Err(Refusal::Region { index, wanted });
            }
        }
        Ok(())
    }

    /// Calls the driver's wait for a buffer, which adds its own time.
    fn wait(
        &mut self,
        known: &Known,
        (file, number): (u32, u32),
        until: Until,
        cpu_ns: &mut u64,
    ) -> Result<(), Refusal> {
        // Asked for a buffer that a job uses, Linux 6.1 waits up to a tick all the same.
        if until == Until::Now && self.jobs.use_buffer(number) {
            return Err(Errno::EBUSY.into());
        }
        let handle = self.buffers.handle(&self.files, file, number)?;
        let what = FILE;
        let missing = Refusal::Missing { what, number: file };
        let open = self.files.get(&file).ok_or(missing)?;
        let layout = &known.layout;
        let mut argument = vec![0; layout.size];
        for place in &layout.buffers {
            place.write(&mut argument, handle.into());
        }
        let limit = u64::try_from(self.limit.as_nanos()).unwrap_or(u64::MAX);
        let (deadline, is_poll) = match until {
            Until::End => (now_ns().saturating_add(limit), false),
            Until::Now => (0, true),
        };
        for place in &layout.deadlines {
            place.write(&mut argument, deadline);
        }
        if let Some(flags) = layout.flags {
            let value = if is_poll { flags.polls } else { flags.waits };
            flags.at.write(&mut argument, value);
        }
        let mut call = Raw::of(&known.ioctl, layout, &argument, Vec::new())?;
        let began = executed_ns();
        let result = open.ioctl(&mut call);
        *cpu_ns += executed_ns().saturating_sub(began);
        result?;
        Ok(())
    }
}
