//! t
use std::path::Path;
/// x
pub struct ModuleCode;
/// e
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// e
    #[error("x")]
    X,
}
impl ModuleCode {
    /// o
    pub fn open(_: &Path, _: &str) -> Result<Self, ModuleError> {
        Err(ModuleError::X)
    }
}
