//! Values of axes.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A value of an axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Yes or no: of an option without a value, whether it is given.
    Flag(bool),
    /// A whole number.
    Whole(i64),
    /// A number, which is finite.
    Number(f64),
    /// A text without NUL.
    Text(String),
}

/// What is no value of an axis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// A list, a table, a date.
    #[error("has a value that is {0}: write numbers, texts, true or false")]
    Kind(&'static str),
    /// NaN, infinity.
    #[error("has the value {0}: numbers are finite")]
    Infinite(String),
    /// A text that no command line takes.
    #[error("has a text with a NUL in it")]
    Nul,
}

impl TryFrom<toml::Value> for Value {
    type Error = ValueError;

    fn try_from(value: toml::Value) -> Result<Self, ValueError> {
        match value {
            toml::Value::Boolean(value) => Ok(Self::Flag(value)),
            toml::Value::Integer(value) => Ok(Self::Whole(value)),
            toml::Value::Float(value) if value.is_finite() => Ok(Self::Number(value)),
            toml::Value::Float(value) => Err(ValueError::Infinite(value.to_string())),
            toml::Value::String(text) if text.contains('\0') => Err(ValueError::Nul),
            toml::Value::String(text) => Ok(Self::Text(text)),
            toml::Value::Datetime(_) => Err(ValueError::Kind("a date")),
            toml::Value::Array(_) => Err(ValueError::Kind("a list")),
            toml::Value::Table(_) => Err(ValueError::Kind("a table")),
        }
    }
}

impl From<Value> for toml::Value {
    fn from(value: Value) -> Self {
        match value {
            Value::Flag(value) => Self::Boolean(value),
            Value::Whole(value) => Self::Integer(value),
            Value::Number(value) => Self::Float(value),
            Value::Text(text) => Self::String(text),
        }
    }
}

impl Value {
    /// As a number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Whole(value) => Some(*value as f64),
            Self::Number(value) => Some(*value),
            Self::Flag(_) | Self::Text(_) => None,
        }
    }
}

/// As it is in a command line.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(value) => write!(f, "{value}"),
            Self::Whole(value) => write!(f, "{value}"),
            // 1.0 stays 1.0.
            Self::Number(value) => write!(f, "{value:?}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Whole(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}
