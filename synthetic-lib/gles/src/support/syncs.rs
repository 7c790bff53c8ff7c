//! Waits for sync objects. The board ends each wait of its own soon, since no other thread
//! of the guest goes on meanwhile; the program's is as many of them as its timeout allows.

use super::Context;
use crate::generated::manual::{Object, Request};
use crate::generated::types::*;
use gil_egl::support::work;
use gil_guest::api::CallResult;
use gil_wire::envelope::Class;
use gil_wire::generated::gles as wire;
use std::time::{Duration, Instant};

/// `glClientWaitSync`. Without a timeout, it asks how the board stands.
///
/// # Errors
/// The API's code.
pub fn client_wait(
    entry: u64,
    current: &Context,
    sync: &Object,
    flags: GLbitfield,
    timeout: GLuint64,
) -> CallResult<GLenum> {
    let op = wire::GL_CLIENT_WAIT_SYNC;
    if timeout == 0 {
        return ask(
            Request::new(op, Class::Sync, entry),
            current,
            sync,
            (flags, 0),
        );
    }
    let request = work::handed_over(op, entry, current, true);
    // None: later than any clock says.
    let deadline = Instant::now().checked_add(Duration::from_nanos(timeout));
    let ended = ask(request, current, sync, (flags, timeout))?;
    until(deadline, ended, |left| {
        let request = Request::new(op, Class::Sync, gil_guest::entry());
        ask(request, current, sync, (flags, left))
    })
}

/// Waits again until the deadline while waits end without the sync object's signal; how
/// that ended.
fn until(
    deadline: Option<Instant>,
    mut ended: GLenum,
    mut again: impl FnMut(GLuint64) -> CallResult<GLenum>,
) -> CallResult<GLenum> {
    while ended == GL_TIMEOUT_EXPIRED {
        let left = left(deadline);
        if left == 0 {
            break;
        }
        ended = match again(left)? {
            // It was not when the program began to wait.
            GL_ALREADY_SIGNALED => GL_CONDITION_SATISFIED,
            ended => ended,
        };
    }
    Ok(ended)
}

/// Nanoseconds until the deadline.
fn left(deadline: Option<Instant>) -> GLuint64 {
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    left.map_or(GLuint64::MAX, |left| {
        GLuint64::try_from(left.as_nanos()).unwrap_or(GLuint64::MAX)
    })
}

/// Has the board wait, but not for long; how that ended.
fn ask(
    request: Request,
    current: &Context,
    sync: &Object,
    (flags, timeout): (GLbitfield, GLuint64),
) -> CallResult<GLenum> {
    let args = wire::GlClientWaitSyncArgs {
        current: current.number(),
        sync: sync.number(),
        flags,
        timeout,
    };
    request.forward(&args, |reply| {
        let reply: wire::GlClientWaitSyncReply = reply.decode()?;
        Ok(reply.value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a wait ends whose parts end so.
    fn waited(deadline: Option<Instant>, parts: &[CallResult<GLenum>]) -> CallResult<GLenum> {
        let mut parts = parts.iter().copied();
        until(deadline, GL_TIMEOUT_EXPIRED, |_| {
            parts.next().expect("a part")
        })
    }

    #[test]
    fn a_wait_is_as_long_as_its_timeout_however_short_the_boards_are() {
        let parts = [
            Ok(GL_TIMEOUT_EXPIRED),
            Ok(GL_TIMEOUT_EXPIRED),
            Ok(GL_ALREADY_SIGNALED),
        ];
        assert_eq!(waited(None, &parts), Ok(GL_CONDITION_SATISFIED));
        let soon = Instant::now() + Duration::from_secs(1000);
        assert_eq!(waited(Some(soon), &parts), Ok(GL_CONDITION_SATISFIED));
        assert_eq!(waited(Some(Instant::now()), &[]), Ok(GL_TIMEOUT_EXPIRED));
        assert_eq!(waited(None, &[Ok(GL_WAIT_FAILED)]), Ok(GL_WAIT_FAILED));
        assert_eq!(waited(None, &[Err(7)]), Err(7), "the session is lost");
        let first = until(None, GL_ALREADY_SIGNALED, |_| Err(7));
        assert_eq!(first, Ok(GL_ALREADY_SIGNALED));
    }

    #[test]
    fn a_deadline_that_never_comes_leaves_all_time() {
        assert_eq!(left(None), GLuint64::MAX);
        assert_eq!(left(Some(Instant::now())), 0);
        let later = left(Some(Instant::now() + Duration::from_secs(100)));
        assert!((1..=100_000_000_000).contains(&later));
    }
}
