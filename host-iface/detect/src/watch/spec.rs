//! A watch as the user writes it: `function`, or `object:function`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A function to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The module, program or library; none for the kernel itself.
    pub object: Option<String>,
    /// The function.
    pub function: String,
    /// The ELF file of a program or library.
    pub file: Option<PathBuf>,
    /// The file of a module, with the module's own types.
    pub types: Option<PathBuf>,
    /// The kernel driver of whose ioctls it is one: its argument is decoded by the
    /// driver's table.
    pub driver: Option<String>,
    /// Bytes shown of memory that such an argument points to.
    pub bytes: usize,
}

/// Usual [`Spec::bytes`].
pub const BYTES: usize = 16;

/// What stands before the file of a module.
const TYPES: &str = "types:";

/// Text that names no function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} names no function: write FUNCTION of the kernel, MODULE:FUNCTION, PROGRAM:FUNCTION or LIBRARY:FUNCTION"
)]
pub struct SpecError(pub(super) String);

impl FromStr for Spec {
    type Err = SpecError;

    /// `FUNCTION`, `OBJECT:FUNCTION`, each with `@FILE` behind it where the ELF
    /// file of the object is known (`@types:FILE` of a module), or with `#DRIVER` if it is an ioctl of that driver;
    /// `#DRIVER+BYTES` shows other than the usual bytes.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (name, file) = match text.split_once('@') {
            Some((name, file)) => (name, Some(file)),
            None => (text, None),
        };
        let (name, driver) = match name.split_once('#') {
            Some((name, driver)) => (name, Some(driver)),
            None => (name, None),
        };
        let (driver, bytes) = match driver.and_then(|it| it.split_once('+')) {
            Some((driver, bytes)) => (Some(driver), bytes.parse().ok()),
            None => (driver, Some(BYTES)),
        };
        let (object, function) = match name.split_once(':') {
            Some((object, function)) => (Some(object), function),
            None => (None, name),
        };
        let types = file.and_then(|file| file.strip_prefix(TYPES));
        let file = file.filter(|_| types.is_none());
        let is_name = |part: &str| {
            let is_plain = |c: char| !c.is_control() && c != ',';
            !part.is_empty() && part.chars().all(is_plain)
        };
        let is_word = |part: &str| is_name(part) && !part.contains(char::is_whitespace);
        let has_words =
            is_word(function) && object.is_none_or(is_word) && driver.is_none_or(is_word);
        // Folders may have spaces in their names.
        let has_files = file.is_none_or(is_name) && types.is_none_or(is_name);
        match bytes.filter(|_| has_words && has_files) {
            Some(bytes) => Ok(Self {
                object: object.map(Into::into),
                function: function.into(),
                file: file.map(Into::into),
                types: types.map(Into::into),
                driver: driver.map(Into::into),
                bytes,
            }),
            None => Err(SpecError(text.into())),
        }
    }
}

impl Spec {
    /// As [`Spec::from_str`] takes it, with its files.
    pub fn with_files(&self) -> String {
        let file = self.file.iter().map(|it| format!("@{}", it.display()));
        let types = self
            .types
            .iter()
            .map(|it| format!("@{TYPES}{}", it.display()));
        self.to_string() + &file.chain(types).collect::<String>()
    }

    /// As lines name it: without folders.
    pub fn label(&self) -> String {
        let object = self.object.as_deref().map(|object| {
            let name = object.rsplit('/').next().unwrap_or(object);
            format!("{name}:")
        });
        object.unwrap_or_default() + &self.function
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.object {
            Some(object) => write!(f, "{object}:{}", self.function)?,
            None => f.write_str(&self.function)?,
        }
        match &self.driver {
            Some(driver) if self.bytes == BYTES => write!(f, "#{driver}"),
            Some(driver) => write!(f, "#{driver}+{}", self.bytes),
            None => Ok(()),
        }
    }
}
