//! The APIs that this build knows, and which of them a board serves.

use crate::Op;
use crate::call::CallInfo;
use crate::description::Hash;
use crate::driver;
use crate::generated::APIS;
use crate::gpu;
use crate::state::Effect;
use crate::subject::Subject;

pub use crate::description::{Api, Described, Kind};

/// Why calls of an API do not go to a board.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// The board has no back end for it.
    #[error(
        "the board does not serve {title}: use an agent of the same gil release that has a back end for it"
    )]
    NotServed {
        /// The API.
        title: String,
    },
    /// Both sides were generated from other descriptions.
    #[error(
        "the board serves {title} by another description (theirs {theirs}, ours {ours}): use the same gil release on both sides, and replay a recording with the release that made it"
    )]
    Differs {
        /// The API.
        title: String,
        /// First bytes of this side's hash, in hexadecimal.
        ours: String,
        /// First bytes of the board's.
        theirs: String,
    },
}

/// The API of this number.
pub fn api(number: u16) -> Option<&'static Api> {
    APIS.iter().find(|api| api.number == number)
}

/// The API of this name.
pub fn named(name: &str) -> Option<&'static Api> {
    APIS.iter().find(|api| api.name == name)
}

/// Those of these numbers, as they are sent to the other side.
pub fn described(numbers: &[u16]) -> Vec<Described> {
    let known = APIS.iter().filter(|api| numbers.contains(&api.number));
    known.map(Api::described).collect()
}

/// Whether calls of this API may go to a board that has `theirs`.
///
/// # Errors
/// [`ApiError`] says why not.
pub fn check(number: u16, theirs: &[Described]) -> Result<(), ApiError> {
    let ours = api(number);
    let title = || ours.map_or_else(|| format!("API {number}"), |api| api.title.into());
    let theirs = theirs.iter().find(|api| api.number == number);
    match (ours, theirs) {
        (Some(ours), Some(theirs)) if ours.hash == theirs.hash => Ok(()),
        (Some(ours), Some(theirs)) => Err(ApiError::Differs {
            title: title(),
            ours: around_difference(&ours.hash, &theirs.hash),
            theirs: around_difference(&theirs.hash, &ours.hash),
        }),
        _ => Err(ApiError::NotServed { title: title() }),
    }
}

/// What is known of an operation.
pub fn info(op: Op) -> Option<&'static CallInfo> {
    let calls = api(op.api())?.calls;
    let at = calls.binary_search_by_key(&op.entry(), |call| call.entry);
    Some(&calls[at.ok()?])
}

/// Whether a call of this operation ends a frame.
pub fn ends_frame(op: Op) -> bool {
    api(op.api()).is_some_and(|api| api.frames.contains(&op.entry()))
}

/// Whether a call's operation brings, as its output, what it changed in its regions, as
/// [differences](crate::differences): the other bytes stay as the guest has them.
pub fn makes_differences(op: Op) -> bool {
    api(op.api()).is_some_and(|api| api.differences.contains(&op.entry()))
}

/// Whether a call's output is differences from copies: what the board has in buffers, or in
/// windows of a GPU's memory.
pub fn is_fetch(op: Op) -> bool {
    is_of_a_driver(op) && matches!(op.entry(), driver::FETCH | gpu::FETCH)
}

/// Whether this is a call of a kernel driver. Its regions with copies travel between host
/// and board as differences.
pub fn is_of_a_driver(op: Op) -> bool {
    api(op.api()).is_some_and(|api| api.back_end == driver::BACK_END)
}

/// What a call leaves behind in its session, by its arguments and its result,
/// if it was answered; `None` if nothing.
pub fn effect(op: Op, args: &[u8], result: Option<&[u8]>) -> Option<Effect> {
    (api(op.api())?.effect)(op, args, result)
}

/// The queue on which a call puts its operation, by its arguments; `None` if they do not
/// say so.
pub fn queue(op: Op, args: &[u8]) -> Option<u64> {
    (api(op.api())?.queue)(op, args)
}

/// What a call says of names, by its arguments; `None` if nothing.
pub fn subject(op: Op, args: &[u8]) -> Option<Subject<'_>> {
    (api(op.api())?.subject)(op, args)
}

/// The bytes of a hash up to the first that differs from the other's, six at
/// least, in hexadecimal.
fn around_difference(hash: &Hash, other: &Hash) -> String {
    let same = hash.iter().zip(other).take_while(|(a, b)| a == b).count();
    let shown = hash.iter().take((same + 1).max(6));
    shown.map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apis_have_numbers_of_their_own_in_order() {
        assert!(APIS.is_sorted_by(|a, b| a.number < b.number));
        assert!(APIS.iter().all(|api| api.number != 0), "0 is gil's own");
    }

    #[test]
    fn a_frame_ends_where_the_description_says_so() {
        use crate::generated::{egl, gles, opencl};
        assert!(ends_frame(egl::EGL_SWAP_BUFFERS));
        let others = [egl::EGL_WAIT_CLIENT, gles::GL_FINISH, opencl::CL_FINISH];
        assert!(!others.into_iter().any(ends_frame));
        assert!(!ends_frame(Op::new(9, 31)), "of an API that nobody knows");
    }

    #[test]
    fn an_api_is_used_where_both_sides_have_its_description() {
        let mut theirs = described(&[1]);
        assert_eq!(check(1, &theirs), Ok(()));
        assert_eq!(
            check(9, &theirs),
            Err(ApiError::NotServed {
                title: "API 9".into()
            })
        );
        let hash = theirs[0].hash;
        for (at, digits) in [(0, 12), (31, 64)] {
            theirs[0].hash = hash;
            theirs[0].hash[at] ^= 0xff;
            let message = check(1, &theirs).unwrap_err().to_string();
            let shown = |hash: Hash| {
                let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
                hex[..digits].to_owned()
            };
            let both = format!("theirs {}, ours {})", shown(theirs[0].hash), shown(hash));
            assert!(message.contains(&both), "{message}");
        }
        let none = check(1, &[]).unwrap_err().to_string();
        assert!(none.contains("does not serve OpenCL"), "{none}");
    }
}
