//! A block of interrupt registers: raw status, clear, mask, and the masked status.

use crate::effects::Effect;
use crate::words::Words;

/// Where a block's registers are. The line is high while the masked status is not 0.
#[derive(Clone, Copy)]
pub(crate) struct InterruptBlock {
    /// Raised causes; a write sets bits.
    pub raw: u32,
    /// A write of 1 clears a cause. Reads as 0.
    pub clear: u32,
    /// Causes that reach the line.
    pub mask: u32,
    /// `raw & mask`, read only.
    pub stat: u32,
    /// The causes that the block has.
    pub causes: u32,
}

impl InterruptBlock {
    /// Raises causes.
    pub fn raise(&self, words: &mut Words, causes: u32) {
        words.raise(self.raw, causes & self.causes);
        self.settle(words);
    }

    /// Clears causes.
    pub fn clear(&self, words: &mut Words, causes: u32) {
        words.lower(self.raw, causes);
        self.settle(words);
    }

    /// Whether the line is high.
    pub fn level(&self, words: &Words) -> bool {
        words.get(self.stat) != 0
    }

    /// Whether a store at `offset` is a driver's answer to an interrupt.
    pub fn is_answer(&self, offset: u32) -> bool {
        offset == self.clear || offset == self.mask
    }

    /// A store to one of the block's registers; false if `offset` is none of them.
    pub fn write(&self, words: &mut Words, offset: u32, value: u32) -> bool {
        if offset == self.raw {
            self.raise(words, value);
        } else if offset == self.clear {
            self.clear(words, value);
        } else if offset == self.mask {
            words.set(self.mask, value);
            self.settle(words);
        } else {
            return offset == self.stat;
        }
        true
    }

    fn settle(&self, words: &mut Words) {
        words.set(self.stat, words.get(self.raw) & words.get(self.mask));
    }
}

/// The levels of blocks' lines, a bit each.
pub(crate) fn levels(words: &Words, blocks: impl Iterator<Item = InterruptBlock>) -> u32 {
    let lines = (0..).zip(blocks);
    lines.fold(0, |all, (line, block): (u32, _)| {
        all | u32::from(block.level(words)) << line
    })
}

/// The lines whose block a store at `offset` answers, a bit each.
pub(crate) fn answered(offset: u32, blocks: impl Iterator<Item = InterruptBlock>) -> u32 {
    let lines = (0..).zip(blocks);
    lines.fold(0, |all, (line, block): (u32, _)| {
        all | u32::from(block.is_answer(offset)) << line
    })
}

/// Tells the lines that changed from `before` to `now`, and those answered ones that are
/// still high.
pub(crate) fn tell(before: u32, now: u32, answered: u32, effects: &mut Vec<Effect>) {
    let told = (before ^ now) | (answered & now);
    for line in (0..32).filter(|line| told >> line & 1 != 0) {
        let high = now >> line & 1 != 0;
        effects.push(Effect::Interrupt { line, high });
    }
}
