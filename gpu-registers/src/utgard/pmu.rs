//! Power management. A change takes no time. Powering down takes a processor's job; its
//! registers stay, which the driver does not rely on.

use super::registers::{pmu, unit};
use super::{PROCESSORS, Store, Utgard};
use crate::effects::{Effect, Lost};

const DOMAINS: u32 = 0x3f;
const COMMAND_DONE: u32 = 1;

impl Utgard {
    pub(super) fn write_pmu(&mut self, register: u32, store: &Store, effects: &mut Vec<Effect>) {
        let status = unit::PMU + pmu::STATUS;
        let causes = unit::PMU + pmu::INT_RAWSTAT;
        match register {
            pmu::POWER_UP => {
                self.words.lower(status, store.value);
                self.words.raise(causes, COMMAND_DONE);
            }
            pmu::POWER_DOWN => {
                self.words.raise(status, store.value & DOMAINS);
                self.words.raise(causes, COMMAND_DONE);
                self.lose_power(store.value, effects);
            }
            pmu::INT_CLEAR => self.words.lower(causes, store.value),
            pmu::INT_MASK | pmu::SW_DELAY => self.words.set(unit::PMU + register, store.value),
            _ => {}
        }
    }

    fn lose_power(&mut self, domains: u32, effects: &mut Vec<Effect>) {
        for index in 0..PROCESSORS {
            let domain = if index == 0 { 0 } else { index + 1 };
            if domains >> domain & 1 != 0 && self.is_running(index) {
                self.lose(index, Lost::Power, effects);
                self.settle_idle(index);
            }
        }
    }
}
