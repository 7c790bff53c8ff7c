//! The L2 cache. Commands take no time.

use super::registers::{l2, unit};
use super::{Store, Utgard};
use crate::effects::{Effect, Flush};

impl Utgard {
    pub(super) fn write_l2(&mut self, register: u32, store: &Store, effects: &mut Vec<Effect>) {
        match register {
            l2::COMMAND if store.value & 1 == 0 => {}
            l2::COMMAND | l2::CLEAR_PAGE => effects.push(Effect::Flush(Flush::Caches)),
            l2::MAX_READS | l2::ENABLE | l2::PERFCNT_SRC0 | l2::PERFCNT_SRC1 => {
                self.words.set(unit::L2 + register, store.value);
            }
            _ => {}
        }
    }
}
