//! Notices for the guest, stored until it asks: the driver's about contexts, from any
//! thread, and the board's own about failed operations whose calls had returned.

use gil_wire::call::Handle;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Most bytes of a text, without its NUL; more is cut off.
pub const TEXT_MAX: usize = 1023;
/// Most bytes of a driver's private data; more is cut off.
pub const PRIVATE_MAX: usize = 1024;
/// Most notices of one context that wait; later ones are dropped.
const WAITING_MAX: usize = 16;
/// The same for all contexts of a session.
const ALL_WAITING_MAX: usize = 256;

/// Something said of a context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notice {
    /// The guest's number of the context.
    pub context: Handle,
    /// In words.
    pub text: Vec<u8>,
    /// For the driver's vendor.
    pub private: Vec<u8>,
}

#[derive(Debug, Default)]
struct Inbox {
    waiting: VecDeque<Notice>,
    has_news: bool,
}

impl Inbox {
    fn add(&mut self, notice: Notice) {
        let all = self.waiting.iter();
        let of_it = all.filter(|n| n.context == notice.context).count();
        if of_it < WAITING_MAX && self.waiting.len() < ALL_WAITING_MAX {
            self.waiting.push_back(notice);
            self.has_news = true;
        }
    }
}

/// A context that a driver may speak of.
#[derive(Debug)]
struct Heard {
    inbox: Weak<Mutex<Inbox>>,
    context: Handle,
}

/// By what drivers are given as user data: numbers, never used again, so that a
/// word that comes late finds nothing.
#[derive(Debug)]
struct Listeners {
    all: BTreeMap<usize, Heard>,
    last: usize,
}

static LISTENERS: Mutex<Listeners> = Mutex::new(Listeners {
    all: BTreeMap::new(),
    last: 0,
});

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was said of a session's contexts.
#[derive(Debug, Default)]
pub struct Notices {
    inbox: Arc<Mutex<Inbox>>,
}

/// Listens for a context until it is dropped.
#[derive(Debug)]
pub struct Listener(usize);

impl Listener {
    /// What to give the driver as user data: a number, not an address (see
    /// `LISTENERS`).
    pub fn user_data(&self) -> *mut c_void {
        self.0 as *mut c_void
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        locked(&LISTENERS).all.remove(&self.0);
    }
}

impl Notices {
    /// Listens for a context that the guest numbers so.
    pub fn listen(&self, context: Handle) -> Listener {
        let mut listeners = locked(&LISTENERS);
        listeners.last += 1;
        let number = listeners.last;
        let inbox = Arc::downgrade(&self.inbox);
        listeners.all.insert(number, Heard { inbox, context });
        Listener(number)
    }

    /// Whether something was said since this was asked last.
    pub fn take_news(&mut self) -> bool {
        std::mem::take(&mut locked(&self.inbox).has_news)
    }

    /// The board says something itself.
    pub fn say(&self, context: Handle, text: String) {
        locked(&self.inbox).add(Notice {
            context,
            text: text.into_bytes(),
            private: Vec::new(),
        });
    }

    /// The next notice.
    pub fn next(&self) -> Option<Notice> {
        locked(&self.inbox).waiting.pop_front()
    }
}

/// A driver says something of the context that is listened to with this user
/// data, if it still is. Cut texts to [`TEXT_MAX`], private data to
/// [`PRIVATE_MAX`].
pub fn hear(user_data: *mut c_void, text: Vec<u8>, private: Vec<u8>) {
    let listeners = locked(&LISTENERS);
    let Some(heard) = listeners.all.get(&(user_data as usize)) else {
        return;
    };
    if let Some(inbox) = heard.inbox.upgrade() {
        locked(&inbox).add(Notice {
            context: heard.context,
            text,
            private,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(data: *mut c_void, text: &str) {
        hear(data, text.into(), Vec::new());
    }

    #[test]
    fn a_driver_that_never_stops_takes_no_memory() {
        let notices = Notices::default();
        let contexts = 1..=100;
        let listeners: Vec<_> = contexts.map(|n| notices.listen(Handle(n))).collect();
        for listener in &listeners {
            (0..100).for_each(|_| say(listener.user_data(), "again"));
        }
        let kept = std::iter::from_fn(|| notices.next()).collect::<Vec<_>>();
        assert_eq!(kept.len(), ALL_WAITING_MAX);
        let of_first = kept.iter().filter(|n| n.context == Handle(1));
        assert_eq!(of_first.count(), WAITING_MAX);
    }

    #[test]
    fn words_of_contexts_that_are_gone_find_nobody() {
        let notices = Notices::default();
        let (first, second) = (notices.listen(Handle(1)), notices.listen(Handle(2)));
        let (gone, number) = (first.user_data(), second.0);
        drop(first);
        say(gone, "late");
        assert_eq!(notices.next(), None);
        drop(notices);
        // The session is over, and its contexts are not released yet.
        say(second.user_data(), "late");
        drop(second);
        assert!(!locked(&LISTENERS).all.contains_key(&number));
    }
}
