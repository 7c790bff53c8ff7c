//! A session that no recording has: the live board serves all of it.

use super::live::{Live, NotLive};
use crate::board::{Call, Ended, Outcome, Session};
use crate::region::Budget;
use gil_wire::api::Described;
use gil_wire::identity::DeviceIdentity;

/// The session.
#[derive(Debug)]
pub struct Unrecorded {
    live: Live,
    /// Why no call is answered any more.
    lost: Option<String>,
}

impl Unrecorded {
    /// On the live board.
    pub fn new(live: Live) -> Self {
        Self { live, lost: None }
    }

    fn lose(&mut self, error: &NotLive) {
        self.lost = Some(format!("the live board was lost: {error}"));
    }
}

impl Session for Unrecorded {
    fn apis(&self) -> Vec<Described> {
        self.live.apis().to_vec()
    }

    fn call(&mut self, call: Call<'_>) -> Outcome {
        if let Some(reason) = &self.lost {
            return Outcome::lost(reason);
        }
        self.live.call(&call).unwrap_or_else(|error| {
            self.lose(&error);
            Outcome::lost(error)
        })
    }

    fn finish(&mut self, event: u64, budget: &Budget) -> Option<Ended> {
        if self.lost.is_some() {
            return None;
        }
        let ended = self.live.finish(event, budget);
        ended.inspect_err(|error| self.lose(error)).ok()
    }

    fn identify(&mut self, api: u16, device: u64) -> Option<DeviceIdentity> {
        self.live.identify(api, device).ok()?
    }
}
