//! How doorbells are found in a guest that runs.

pub mod marker;
pub mod module_code;
