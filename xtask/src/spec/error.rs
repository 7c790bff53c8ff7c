//! What can be wrong with a description, as one sentence that names the file,
//! the call and the parameter.

use std::fmt;
use std::path::PathBuf;

/// A place in a description.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The table, such as `call.clCreateBuffer`.
    pub table: String,
    /// The parameter or key.
    pub key: Option<String>,
}

impl Place {
    /// A table.
    pub fn table(table: impl Into<String>) -> Self {
        Self {
            table: table.into(),
            key: None,
        }
    }

    /// A call.
    pub fn call(name: &str) -> Self {
        Self::table(format!("call.{name}"))
    }

    /// A parameter or key in this table.
    pub fn key(&self, key: &str) -> Self {
        Self {
            table: self.table.clone(),
            key: Some(key.into()),
        }
    }

    /// What is wrong here.
    pub fn error(&self, problem: Problem) -> SpecError {
        SpecError {
            file: PathBuf::new(),
            place: self.clone(),
            problem,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.key, self.table.strip_prefix("call.")) {
            (Some(key), Some(call)) => write!(f, "{call}, {key}"),
            (None, Some(call)) => f.write_str(call),
            (Some(key), None) => write!(f, "[{}] {key}", self.table),
            (None, None) => write!(f, "[{}]", self.table),
        }
    }
}

/// A description that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {place}: {problem}", file.display())]
pub struct SpecError {
    /// The file.
    pub file: PathBuf,
    /// Where in it.
    pub place: Place,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file is no TOML, or has keys that the vocabulary lacks.
    #[error("{0}")]
    Toml(String),
    /// A limit of another width.
    #[error("the type \"{0}\" has no limits: they are of pointer width, or of 64 bits")]
    Limit(String),
    /// A type that nobody described.
    #[error("the type \"{0}\" is not described: add it to [types], [handles] or [structs]")]
    UnknownType(String),
    /// A structure with addresses, as a parameter that is forwarded.
    #[error("the structure \"{0}\" has addresses: a call with it is written by hand in the guest")]
    Addresses(String),
    /// A constant that nobody described.
    #[error("the constant \"{0}\" is not described: add it to a [constants] table")]
    UnknownConstant(String),
    /// An expression names neither a parameter, a constant nor a helper.
    #[error("\"{0}\" in an expression is neither a parameter, a constant nor a helper")]
    UnknownName(String),
    /// A helper that nobody described.
    #[error("the helper \"{0}\" is not described: add it to [helpers]")]
    UnknownHelper(String),
    /// A parameter that the prototype lacks.
    #[error("the prototype has no parameter \"{0}\"")]
    UnknownParameter(String),
    /// Another table, union or call that is not there.
    #[error("there is no {what} \"{name}\"")]
    Missing {
        /// Of which kind.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A number given twice.
    #[error("the number {number} is also that of {other}: numbers are never reused")]
    DuplicateNumber {
        /// The number.
        number: u16,
        /// The call that has it already.
        other: String,
    },
    /// A pointer without annotation.
    #[error("the pointer \"{0}\" needs an annotation: say which way its bytes go and how many")]
    NoAnnotation(String),
    /// A call without class.
    #[error("the call has no class: one of query, sync, post, enqueue, wait, poll")]
    NoClass,
    /// A word outside the vocabulary.
    #[error("\"{found}\" is no {what}: {expected}")]
    Word {
        /// Of what.
        what: &'static str,
        /// The word.
        found: String,
        /// The values that are allowed here.
        expected: &'static str,
    },
    /// An annotation that does not parse.
    #[error("the annotation \"{text}\" does not parse at \"{rest}\": {expected}")]
    Annotation {
        /// All of it.
        text: String,
        /// From where.
        rest: String,
        /// The expected text.
        expected: &'static str,
    },
    /// An expression that does not parse.
    #[error("the expression \"{text}\" does not parse at \"{rest}\": {expected}")]
    Expression {
        /// All of it.
        text: String,
        /// From where.
        rest: String,
        /// The expected text.
        expected: &'static str,
    },
    /// A C declaration that does not parse.
    #[error("the C declaration does not parse at \"{rest}\": {expected}")]
    Declaration {
        /// From where.
        rest: String,
        /// The expected text.
        expected: &'static str,
    },
    /// Two parts that contradict each other.
    #[error("{0}")]
    Contradiction(&'static str),
    /// A type that does not fit its annotation.
    #[error("the C type \"{found}\" does not fit the annotation: {expected}")]
    Mismatch {
        /// As the prototype has it.
        found: String,
        /// What would fit in its place.
        expected: &'static str,
    },
}
