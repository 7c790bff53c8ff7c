//! What can be wrong with a table.

/// Why a table is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// There is no table of this driver.
    #[error("no table describes the driver {driver}: there are {known}")]
    Unknown {
        /// The driver's name.
        driver: String,
        /// The names of those that have one.
        known: String,
    },
    /// The text is no TOML, or has other keys.
    #[error("the table does not parse: {0}")]
    Syntax(String),
    /// A field's text is not "TYPE NAME[: ROLE]".
    #[error("{place}: {text:?} is no field: {why}")]
    Field {
        /// The structure.
        place: String,
        /// The field's text.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A name that the table has not.
    #[error("{place} names {name}, which the table has not")]
    Name {
        /// Where it is named.
        place: String,
        /// The name.
        name: String,
    },
    /// A character device without the letter of its ioctls, or the other way round.
    #[error("a driver that is no DRM driver has a `device` and a `letter`, an ASCII character")]
    Device,
    /// More processors than a device has engines for.
    #[error("{0} processors are listed, and a GPU has at most 8")]
    Processors(usize),
    /// Two ioctls of one number, or one beyond a driver's numbers.
    #[error("{ioctl} has the number {number:#x}, which is another's or above 0x5f")]
    Number {
        /// The ioctl.
        ioctl: String,
        /// Its number.
        number: u32,
    },
}
