//! Things that are made ahead, so that nobody waits for them: a few at a time,
//! made one after the other in the background.

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroUsize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Keeps some ready, made by a thread of its own, which ends when this is
/// dropped.
#[derive(Debug)]
pub struct Ready<T> {
    shared: Arc<Shared<T>>,
    most: NonZeroUsize,
}

#[derive(Debug)]
struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    made: VecDeque<io::Result<T>>,
    /// How many threads wait for one.
    waiting: usize,
    /// When the last was made, or when as many as wanted were no longer ready.
    since: Instant,
    is_over: bool,
}

impl<T: Send + 'static> Ready<T> {
    /// Keeps `most` ready. The first is made at once, and so is one that somebody
    /// waits for; before others the thread pauses, for the sake of those at work: a
    /// short run that needs one does not pay for two.
    ///
    /// # Errors
    /// The system's, if it gives no thread.
    pub fn new(
        most: NonZeroUsize,
        pause: Duration,
        make: impl FnMut() -> io::Result<T> + Send + 'static,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                made: VecDeque::new(),
                waiting: 0,
                since: Instant::now(),
                is_over: false,
            }),
            changed: Condvar::new(),
        });
        let maker = shared.clone();
        let thread = std::thread::Builder::new().name("launcher".into());
        thread.spawn(move || maker.keep(most.get(), pause, make))?;
        Ok(Self { shared, most })
    }

    /// How many are kept ready.
    pub fn most(&self) -> usize {
        self.most.get()
    }

    /// The one that was made first. Waits until there is one.
    ///
    /// # Errors
    /// Why it could not be made; the next one is made anew.
    pub fn take(&self) -> io::Result<T> {
        let mut state = self.shared.lock();
        state.waiting += 1;
        if state.made.len() >= self.most() {
            state.since = Instant::now();
        }
        self.shared.changed.notify_all();
        loop {
            if let Some(one) = state.made.pop_front() {
                state.waiting -= 1;
                self.shared.changed.notify_all();
                return one;
            }
            state = self.shared.wait(state);
        }
    }
}

impl<T> Drop for Ready<T> {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_all();
    }
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        let state = self.changed.wait(state);
        state.unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, most: usize, pause: Duration, mut make: impl FnMut() -> io::Result<T>) {
        loop {
            let one = make();
            let mut state = self.lock();
            state.made.push_back(one);
            state.since = Instant::now();
            drop(state);
            self.changed.notify_all();
            if !self.is_another_wanted(most, pause) {
                return;
            }
        }
    }

    /// Waits until another has to be made, or nobody wants any.
    fn is_another_wanted(&self, most: usize, pause: Duration) -> bool {
        let mut state = self.lock();
        while !state.is_over {
            let now = Instant::now();
            // A time that no clock reaches is none.
            let until = state.since.checked_add(pause);
            // What failed once would fail again until somebody hears of it.
            let has_failed = state.made.iter().any(Result::is_err);
            let is_full = state.made.len() >= most || has_failed;
            match until.filter(|_| !is_full) {
                _ if state.made.len() < state.waiting => return true,
                Some(until) if now >= until => return true,
                Some(until) => {
                    let waited = self.changed.wait_timeout(state, until - now);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                None => state = self.wait(state),
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};

    /// Makes 0, 1, 2 …, and says which; the third fails.
    fn numbers(most: usize, pause: Duration) -> (Ready<u32>, Receiver<u32>) {
        let (says, made) = channel();
        let mut next = 0..;
        let make = move || {
            let number = next.next().expect("numbers do not end");
            // A test that is over does not hear it.
            let _ = says.send(number);
            match number {
                2 => Err(io::ErrorKind::OutOfMemory.into()),
                number => Ok(number),
            }
        };
        let most = NonZeroUsize::new(most).unwrap();
        (Ready::new(most, pause, make).unwrap(), made)
    }

    #[test]
    fn what_is_taken_is_made_again_in_order_and_failures_are_heard() {
        let (ready, made) = numbers(2, Duration::ZERO);
        assert_eq!([made.recv(), made.recv()], [Ok(0), Ok(1)]);
        assert!(made.try_recv().is_err(), "two are kept");
        assert_eq!(ready.take().unwrap(), 0);
        assert_eq!(made.recv(), Ok(2));
        assert_eq!(ready.take().unwrap(), 1);
        assert!(ready.take().is_err());
        assert_eq!(ready.take().unwrap(), 3);
    }

    #[test]
    fn nobody_waits_for_the_pause() {
        let (ready, made) = numbers(8, Duration::MAX);
        assert_eq!(made.recv(), Ok(0));
        assert_eq!(ready.take().unwrap(), 0);
        assert_eq!(ready.take().unwrap(), 1);
    }

    #[test]
    fn nothing_is_made_once_nobody_wants_any() {
        let (ready, made) = numbers(1, Duration::ZERO);
        assert_eq!(made.recv(), Ok(0));
        drop(ready);
        assert!(made.recv().is_err(), "the thread has ended");
    }
}
