//! The process's own client: opened at the first use, unusable in a forked child,
//! flushed at exit.

use crate::device::{Device, DeviceFile};
use crate::{Client, Error, called, late};
use gil_wire::control::{self, Called, Late};
use gil_wire::envelope::{Class, Envelope};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static CLIENT: OnceLock<Result<Client, Error>> = OnceLock::new();
static CHILD: AtomicBool = AtomicBool::new(false);

/// This process's session, opened now if it is the first use.
///
/// # Errors
/// [`Error::NotHere`] or [`Error::Version`] if the device cannot be used,
/// [`Error::Forked`] in a child of the process that opened it.
#[inline]
pub fn client() -> Result<&'static Client, Error> {
    match CLIENT.get() {
        Some(Ok(client)) if !is_forked() => Ok(client),
        _ => first_client(),
    }
}

#[cold]
fn first_client() -> Result<&'static Client, Error> {
    if is_forked() {
        return Err(Error::Forked);
    }
    match CLIENT.get_or_init(|| start(|| Ok(Box::new(DeviceFile::open()?)))) {
        Ok(client) => Ok(client),
        Err(error) => Err(error.clone()),
    }
}

/// Whether this is a forked child of the process that opened the device. Such a
/// child must not touch what its parent's threads may have locked.
#[inline]
pub fn is_forked() -> bool {
    CHILD.load(Ordering::Relaxed)
}

/// Makes `device` this process's device, in tests. False if it has one.
#[cfg(any(test, feature = "double"))]
pub fn install(device: Box<dyn Device>) -> bool {
    let mut first = false;
    CLIENT.get_or_init(|| {
        first = true;
        start(|| Ok(device))
    });
    first
}

fn start(open: impl FnOnce() -> Result<Box<dyn Device>, Error>) -> Result<Client, Error> {
    // SAFETY: both take plain functions that live as long as this library; the
    // child's uses only atomics and close.
    unsafe {
        libc::pthread_atfork(None, None, Some(in_child));
        libc::atexit(at_exit);
    }
    let client = open().map(Client::new)?;
    match std::env::var_os(control::CALL_SITES) {
        Some(_) => Ok(client.with_sites()),
        None => Ok(client),
    }
}

unsafe extern "C" fn in_child() {
    match CLIENT.get() {
        Some(Err(_)) => {}
        Some(Ok(client)) => {
            CHILD.store(true, Ordering::Relaxed);
            client.forked();
        }
        // Another thread is opening it: the cell stays locked in this child.
        None => CHILD.store(true, Ordering::Relaxed),
    }
}

extern "C" fn at_exit() {
    if let Some(Ok(client)) = CLIENT.get() {
        client.flush_at_exit();
        tell_late(client);
        list_calls(client);
    }
}

/// Says how many callbacks came late, if any did.
fn tell_late(client: &Client) {
    let callbacks = late::counted();
    if callbacks == 0 || is_forked() {
        return;
    }
    let call = Envelope::new(control::LATE, Class::Sync, crate::entry());
    // There is nobody to report an error to.
    let _ = client.forward(&call, &Late { callbacks }, |_| ());
}

/// Says what was called, if the environment asks for it.
fn list_calls(client: &Client) {
    if std::env::var_os("GIL_LIST_CALLS").is_none() || is_forked() {
        return;
    }
    let call = Envelope::new(control::CALLED, Class::Sync, crate::entry());
    let entries = called::all();
    // There is nobody to report an error to.
    let _ = client.forward(&call, &Called { entries }, |_| ());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::double::{Double, Played};
    use crate::entry;
    use gil_wire::Op;

    const OP: Op = Op::new(1, 7);

    /// The child's exit code: 0 if every way in says that it is forked.
    fn child(client: &Client, double: &Double) -> i32 {
        let before = double.submissions();
        let post = client.post(&Envelope::new(OP, Class::Post, entry()), &2u8);
        let forward = client.forward(&Envelope::new(OP, Class::Sync, entry()), &3u8, |_| ());
        let found = super::client().map(|_| ());
        client.flush_at_exit();
        let refused = [post, forward, found] == [const { Err(Error::Forked) }; 3];
        i32::from(!(refused && double.submissions() == before && double.is_forked()))
    }

    #[test]
    fn a_forked_child_reaches_nothing_and_its_parent_goes_on() {
        let double = Double::answering(|_, _| Ok(Played::default()));
        assert!(install(Box::new(double.clone())));
        let client = super::client().unwrap();
        client
            .post(&Envelope::new(OP, Class::Post, entry()), &1u8)
            .unwrap();
        // SAFETY: the child calls only what must work in a forked child of a
        // program with threads, and leaves by _exit.
        match unsafe { libc::fork() } {
            // SAFETY: ends the child without running the harness's handlers.
            0 => unsafe { libc::_exit(child(client, &double)) },
            child => {
                let mut status = -1;
                // SAFETY: `status` has space for one int.
                unsafe { libc::waitpid(child, &mut status, 0) };
                assert_eq!(status, 0);
            }
        }
        client
            .forward(&Envelope::new(OP, Class::Sync, entry()), &4u8, |_| ())
            .unwrap();
        let seen = double.seen();
        assert_eq!(seen.len(), 1, "one submission with the post in front");
        assert_eq!(seen[0].args::<u8>(), [1, 4]);
    }
}
