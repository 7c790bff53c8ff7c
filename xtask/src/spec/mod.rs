//! Descriptions of APIs: from TOML to plain structures whose every name is
//! known.

pub mod annotation;
mod check;
pub mod error;
pub mod expr;
pub mod lexer;
pub mod model;
pub mod prototype;
mod raw;

pub use error::{Place, Problem, SpecError};
pub use model::Api;
use std::path::Path;

/// Reads a description.
///
/// # Errors
/// [`SpecError`] names the file, the call and the parameter.
pub fn parse(file: &Path, text: &str) -> Result<Api, SpecError> {
    toml::from_str(text)
        .map_err(|error| Place::table("file").error(Problem::Toml(error.to_string())))
        .and_then(check::api)
        .map_err(|error| SpecError {
            file: file.into(),
            ..error
        })
}
