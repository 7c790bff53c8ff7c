//! A model of whichever GPU.

use crate::RegisterModel;
use crate::midgard::Midgard;
use crate::utgard::Utgard;
use serde::{Deserialize, Serialize};
use std::ops::{Deref, DerefMut};

/// A GPU's registers. To be saved in a checkpoint: a restored one behaves as the saved one
/// would have, and [`RegisterModel::take_changes`] then gives all words.
#[derive(Clone, Serialize, Deserialize)]
pub enum Model {
    /// Mali T628.
    MaliT628(Box<Midgard>),
    /// Mali-400.
    Mali400(Box<Utgard>),
}

impl Deref for Model {
    type Target = dyn RegisterModel + Send;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::MaliT628(gpu) => &**gpu,
            Self::Mali400(gpu) => &**gpu,
        }
    }
}

impl DerefMut for Model {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::MaliT628(gpu) => &mut **gpu,
            Self::Mali400(gpu) => &mut **gpu,
        }
    }
}
