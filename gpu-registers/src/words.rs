//! The register file: what a read returns, and which words of a copy in RAM are stale.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A value that a register's word must hold in a copy of the register page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Bytes from the start of the register page; a multiple of 4.
    pub offset: u32,
    /// What a read must return.
    pub value: u32,
}

/// Why saved registers are none of this GPU.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum BadState {
    /// The register page has another size.
    #[error("the saved registers are {found} bytes, this GPU has {expected}")]
    Size {
        /// Of the saved one, bytes.
        found: u32,
        /// Of the GPU, bytes.
        expected: u32,
    },
    /// A word lies outside the page.
    #[error("a saved register is at {0:#x}, outside the page")]
    Offset(u32),
    /// A job has an address space that does not exist.
    #[error("a saved job is in address space {0}, which does not exist")]
    Space(u8),
    /// A job has a number that was not given out, or another's.
    #[error("a saved job has number {0}, which is not its own")]
    Job(u64),
}

/// Words that are not 0, as a checkpoint has them.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedWords {
    bytes: u32,
    words: Vec<(u32, u32)>,
}

impl From<Words> for SavedWords {
    fn from(words: Words) -> Self {
        let offsets = (0..).step_by(4);
        let all = offsets.zip(&words.now).filter(|(_, word)| **word != 0);
        Self {
            bytes: words.bytes(),
            words: all.map(|(offset, word)| (offset, *word)).collect(),
        }
    }
}

impl TryFrom<SavedWords> for Words {
    type Error = BadState;

    /// The whole copy is stale.
    fn try_from(saved: SavedWords) -> Result<Self, BadState> {
        const LARGEST: u32 = 0x1_0000;
        let (found, expected) = (saved.bytes, LARGEST);
        if found > LARGEST {
            return Err(BadState::Size { found, expected });
        }
        let mut words = Self::new(found);
        for (offset, word) in saved.words {
            if offset >= found || offset % 4 != 0 {
                return Err(BadState::Offset(offset));
            }
            words.set(offset, word);
        }
        words.spoil_all();
        Ok(words)
    }
}

/// The words of a register page, and a copy that only [`Words::store`] and
/// [`Words::take_changes`] bring up to date, as the guest's RAM does.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "SavedWords", into = "SavedWords")]
pub(crate) struct Words {
    now: Vec<u32>,
    copy: Vec<u32>,
    touched: Vec<usize>,
    marked: Vec<bool>,
}

impl Words {
    /// `bytes` of registers, all zero; its copy is, too.
    pub fn new(bytes: u32) -> Self {
        let count = bytes as usize / 4;
        Self {
            now: vec![0; count],
            copy: vec![0; count],
            touched: Vec::new(),
            marked: vec![false; count],
        }
    }

    /// The page's size.
    pub fn bytes(&self) -> u32 {
        self.now.len() as u32 * 4
    }

    /// Whether the page has this size.
    pub fn expect(&self, bytes: u32) -> Result<(), BadState> {
        let (found, expected) = (self.bytes(), bytes);
        if found == expected {
            return Ok(());
        }
        Err(BadState::Size { found, expected })
    }

    /// All words, in the order of their offsets.
    pub fn all(&self) -> &[u32] {
        &self.now
    }

    /// What a read at `offset` returns; 0 outside the page.
    pub fn get(&self, offset: u32) -> u32 {
        self.now.get(offset as usize / 4).copied().unwrap_or(0)
    }

    /// Sets a word; outside the page, nothing.
    pub fn set(&mut self, offset: u32, value: u32) {
        let index = offset as usize / 4;
        if let Some(word) = self.now.get_mut(index) {
            *word = value;
            self.mark(index);
        }
    }

    /// Two words, the low one at `offset`.
    pub fn get64(&self, offset: u32) -> u64 {
        u64::from(self.get(offset)) | u64::from(self.get(offset + 4)) << 32
    }

    /// Sets two words, the low one at `offset`.
    pub fn set64(&mut self, offset: u32, value: u64) {
        self.set(offset, value as u32);
        self.set(offset + 4, (value >> 32) as u32);
    }

    /// Sets bits of a word.
    pub fn raise(&mut self, offset: u32, bits: u32) {
        self.set(offset, self.get(offset) | bits);
    }

    /// Clears bits of a word.
    pub fn lower(&mut self, offset: u32, bits: u32) {
        self.set(offset, self.get(offset) & !bits);
    }

    /// The guest stored `value`: its copy holds it, whatever the register does with it.
    pub fn store(&mut self, offset: u32, value: u32) {
        let index = offset as usize / 4;
        if let Some(word) = self.copy.get_mut(index) {
            *word = value;
            self.mark(index);
        }
    }

    /// The guest stored bytes that are no register's: up to two words of its copy are wrong.
    pub fn spoil(&mut self, offset: u32) {
        let first = offset & !3;
        for word in [first, first.saturating_add(4)] {
            self.store(word, !self.get(word));
        }
    }

    /// The copy holds anything.
    fn spoil_all(&mut self) {
        self.copy = self.now.iter().map(|word| !word).collect();
        self.touched = (0..self.now.len()).collect();
        self.marked.fill(true);
    }

    /// The words whose copy is stale, each once; from then on the copy is up to date.
    pub fn take_changes(&mut self, changes: &mut Vec<Change>) {
        for index in self.touched.drain(..) {
            self.marked[index] = false;
            if self.copy[index] != self.now[index] {
                self.copy[index] = self.now[index];
                changes.push(Change {
                    offset: index as u32 * 4,
                    value: self.now[index],
                });
            }
        }
    }

    fn mark(&mut self, index: usize) {
        if !self.marked[index] {
            self.marked[index] = true;
            self.touched.push(index);
        }
    }
}

/// Checks that running jobs have numbers of their own, below the next one.
pub(crate) fn check_numbers(
    jobs: impl Iterator<Item = u64>,
    next_job: u64,
) -> Result<(), BadState> {
    let mut seen = Vec::new();
    for job in jobs {
        if job >= next_job || seen.contains(&job) {
            return Err(BadState::Job(job));
        }
        seen.push(job);
    }
    Ok(())
}
