//! A block of interrupt registers: raw status, clear, mask, and the masked status.

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
