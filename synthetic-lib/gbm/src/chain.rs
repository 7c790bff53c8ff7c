//! The buffers of a window: one is drawn to, others are shown or waiting to be.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Most buffers of a window, as Mesa has it.
pub const BUFFERS_MAX: usize = 4;

/// Whose a buffer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Owner {
    /// Nobody's: it may be drawn to.
    #[default]
    Free,
    /// EGL's, which draws to it.
    Drawn,
    /// The window's: finished, not taken yet.
    Front,
    /// The program's or the display's, which shows it.
    Taken,
}

/// A window's buffers, by number: who has which.
#[derive(Debug, Default)]
pub struct Chain {
    owners: Mutex<[Owner; BUFFERS_MAX]>,
    released: Condvar,
}

impl Chain {
    fn owners(&self) -> MutexGuard<'_, [Owner; BUFFERS_MAX]> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a free buffer to draw to; `None` if there is none.
    pub fn dequeue(&self) -> Option<usize> {
        take(&mut self.owners())
    }

    /// The same; waits until another thread gives one back.
    pub fn dequeue_waiting(&self) -> usize {
        let mut owners = self.owners();
        loop {
            if let Some(free) = take(&mut owners) {
                return free;
            }
            let waited = self.released.wait(owners);
            owners = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What was drawn to is the window's front; what was that is free, if nobody took it.
    pub fn queue(&self, drawn: usize) {
        let mut owners = self.owners();
        for owner in owners.iter_mut().filter(|owner| **owner == Owner::Front) {
            *owner = Owner::Free;
        }
        owners[drawn] = Owner::Front;
    }

    /// What was taken to be drawn to is given back undrawn.
    pub fn cancel(&self, drawn: usize) {
        self.owners()[drawn] = Owner::Free;
        self.released.notify_all();
    }

    /// Takes the front, to show it; `None` if nothing was drawn since it was taken.
    pub fn take_front(&self) -> Option<usize> {
        let mut owners = self.owners();
        let front = owners.iter().position(|owner| *owner == Owner::Front)?;
        owners[front] = Owner::Taken;
        Some(front)
    }

    /// It is no longer shown.
    pub fn release(&self, shown: usize) {
        let mut owners = self.owners();
        if let Some(owner) = owners.get_mut(shown).filter(|it| **it == Owner::Taken) {
            *owner = Owner::Free;
            self.released.notify_all();
        }
    }

    /// Whether one may be drawn to.
    pub fn has_free(&self) -> bool {
        self.owners().contains(&Owner::Free)
    }
}

/// The first that is free: a window that needs few has few.
fn take(owners: &mut [Owner; BUFFERS_MAX]) -> Option<usize> {
    let free = owners.iter().position(|owner| *owner == Owner::Free)?;
    owners[free] = Owner::Drawn;
    Some(free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_drawn_to_only_while_nobody_has_it() {
        let chain = Chain::default();
        let first = chain.dequeue().unwrap();
        chain.queue(first);
        assert_eq!(chain.take_front(), Some(first));
        assert_eq!(chain.take_front(), None, "it is taken");
        let second = chain.dequeue().unwrap();
        assert_ne!(first, second);
        chain.queue(second);
        let third = chain.dequeue().unwrap();
        chain.queue(third);
        assert_eq!(chain.take_front(), Some(third), "the newest is shown");
        chain.release(first);
        assert_eq!(chain.dequeue(), Some(first));
        assert_eq!(chain.dequeue(), Some(second), "nobody took it");
        assert_eq!(chain.dequeue(), Some(3));
        assert!(!chain.has_free());
        assert_eq!(chain.dequeue(), None);
        chain.cancel(3);
        assert!(chain.has_free());
    }

    #[test]
    fn what_was_not_taken_cannot_be_released() {
        let chain = Chain::default();
        let drawn = chain.dequeue().unwrap();
        chain.release(drawn);
        chain.release(BUFFERS_MAX);
        assert_ne!(chain.dequeue(), Some(drawn));
    }
}
