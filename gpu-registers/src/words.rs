//! The register file: what a read returns, and which words of a copy in RAM are stale.

/// A value that a register's word must hold in a copy of the register page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Bytes from the start of the register page; a multiple of 4.
    pub offset: u32,
    /// What a read must return.
    pub value: u32,
}

/// The words of a register page, and a copy that only [`Words::store`] and
/// [`Words::take_changes`] bring up to date, as the guest's RAM does.
#[derive(Clone)]
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
