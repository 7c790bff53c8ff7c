//! Power of shader cores, tiler and L2 cache. A change takes no time: PWRTRANS stays 0.

use super::Midgard;
use super::registers::gpu::cause;
use super::registers::power;

impl Midgard {
    /// A store between the first power-on register and the last power-off register.
    pub(super) fn write_power(&mut self, offset: u32, cores: u32) {
        let on = offset < power::OFF;
        let inside = offset - if on { power::ON } else { power::OFF };
        let is_word = inside % power::STRIDE < 8;
        if inside / power::STRIDE >= power::DOMAINS || !is_word {
            return;
        }
        let present = self.words.get(power::PRESENT + inside);
        let ready = power::READY + inside;
        if on {
            self.words.raise(ready, cores & present);
        } else {
            self.words.lower(ready, cores);
        }
        self.raise_gpu(cause::POWER_CHANGED | cause::POWER_CHANGED_ALL);
    }
}
