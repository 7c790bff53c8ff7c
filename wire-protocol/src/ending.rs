//! How an operation ended, for any API.

use serde::{Deserialize, Serialize};

/// How an operation ended. What a code says, only its API knows: some have
/// negative ones, some positive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// It did what it was to do.
    #[default]
    Done,
    /// It failed, with the API's own code.
    Failed(i32),
}

impl Ending {
    /// Whether it failed.
    #[inline]
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Failed(_))
    }

    /// The API's own code, if it failed.
    #[inline]
    pub const fn failure(self) -> Option<i32> {
        match self {
            Self::Done => None,
            Self::Failed(code) => Some(code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_ended_well_takes_a_byte() {
        assert_eq!(postcard::to_stdvec(&Ending::Done).unwrap(), [0]);
        assert_eq!(postcard::to_stdvec(&Ending::Failed(-5)).unwrap(), [1, 9]);
    }

    proptest! {
        #[test]
        fn any_code_is_a_failure(code: i32) {
            let ending = Ending::Failed(code);
            prop_assert!(ending.is_failure() && !Ending::Done.is_failure());
            prop_assert_eq!((ending.failure(), Ending::Done.failure()), (Some(code), None));
            let bytes = postcard::to_stdvec(&ending).unwrap();
            prop_assert_eq!(postcard::from_bytes(&bytes), Ok(ending));
        }
    }
}
