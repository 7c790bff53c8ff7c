//! Copies of bytes that must not have a Rust reference, by several threads if there
//! are many.

use crate::crew::Crew;

/// From so many bytes on it is worth to wake helpers: what that takes, one
/// thread copies a part of them in.
const SHARED_FROM: usize = 512 << 10;
/// Least bytes that a thread takes at a time.
const JOB_LEAST: usize = 128 << 10;
/// Most jobs of one list.
const JOBS: usize = 64;

struct One {
    from: *const u8,
    to: *mut u8,
    len: usize,
}

// SAFETY: nothing is done with the addresses but in `One::make`, for which
// `Copies::make` has its caller's word.
unsafe impl Send for One {}

/// Copies to be made.
pub struct Copies {
    list: Vec<One>,
    bytes: usize,
}

impl Copies {
    /// None yet; room for so many.
    pub fn with_room(count: usize) -> Self {
        Self {
            list: Vec::with_capacity(count),
            bytes: 0,
        }
    }

    /// One more: `len` bytes from one address to another.
    pub fn push(&mut self, from: *const u8, to: *mut u8, len: usize) {
        self.list.push(One { from, to, len });
        self.bytes = self.bytes.saturating_add(len);
    }

    /// Makes all of them, in any order.
    ///
    /// # Safety
    /// Until this returns, the bytes that are read stay readable and those that
    /// are written stay writable, and no Rust reference is made to the latter.
    /// None is both. A guest may list a page twice, and gets either's bytes there,
    /// as it does from a page that it writes itself meanwhile.
    pub unsafe fn make(self, crew: Option<&Crew>) {
        let Some(crew) = crew.filter(|_| self.bytes >= SHARED_FROM) else {
            // SAFETY: the caller's word.
            self.list.iter().for_each(|one| unsafe { one.make() });
            return;
        };
        crew.all(&mut self.jobs(), |job| {
            // SAFETY: the caller's word: these are parts of its copies.
            job.iter().for_each(|one| unsafe { one.make() });
            true
        });
    }

    /// The same in lists of about as many bytes each.
    fn jobs(self) -> Vec<Vec<One>> {
        let most = JOB_LEAST.max(self.bytes.div_ceil(JOBS));
        let mut jobs = Vec::with_capacity(self.bytes / most + 1);
        let (mut job, mut room) = (Vec::new(), most);
        for mut one in self.list {
            while one.len > 0 {
                let piece = one.split(room);
                room -= piece.len;
                job.push(piece);
                if room == 0 {
                    jobs.push(std::mem::take(&mut job));
                    room = most;
                }
            }
        }
        jobs.push(job);
        jobs
    }
}

impl One {
    /// Takes its first bytes, `most` or all.
    fn split(&mut self, most: usize) -> Self {
        let len = self.len.min(most);
        let first = Self { len, ..*self };
        self.from = self.from.wrapping_add(len);
        self.to = self.to.wrapping_add(len);
        self.len -= len;
        first
    }

    /// # Safety
    /// As of [`Copies::make`].
    unsafe fn make(&self) {
        // SAFETY: the caller's word.
        unsafe { std::ptr::copy_nonoverlapping(self.from, self.to, self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(lens: &[usize], crew: Option<&Crew>) {
        let bytes: usize = lens.iter().sum();
        let from: Vec<u8> = (0..bytes).map(|at| (at * 7 + at / 251) as u8).collect();
        let mut to = vec![0; bytes];
        let mut copies = Copies::with_room(lens.len());
        let mut at = bytes;
        // The last piece first.
        for len in lens {
            at -= len;
            let to = to.as_mut_ptr().wrapping_add(at);
            copies.push(from[at..].as_ptr(), to, *len);
        }
        // SAFETY: both vectors live on, and each piece has a place of its own.
        unsafe { copies.make(crew) };
        assert!(from == to, "{lens:?}");
    }

    #[test]
    fn every_byte_gets_to_its_place() {
        let crew = Crew::new(2);
        for crew in [None, crew.as_ref()] {
            copied(&[], crew);
            copied(&[0, 5, 0], crew);
            copied(&[SHARED_FROM], crew);
            copied(&[SHARED_FROM + 1, 0, 1, JOB_LEAST, 3], crew);
            copied(&vec![4096; 300], crew);
            copied(&[JOBS * JOB_LEAST * 2 + 77], crew);
        }
    }
}
