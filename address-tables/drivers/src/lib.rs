//! Kernel drivers of GPUs, as data: a table a driver (`tables/NAME.toml`) has the version
//! that it reports, each of its ioctls with number and layout, and what the fields of
//! their arguments mean. Nothing here knows what a driver's calls do.
//!
//! - [`Table`]: a driver's table, checked: every name that it uses is there.
//! - [`layout`]: where an argument has what means something else on another machine.
//! - [`decode`]: a call's argument, field by field, with the memory that it names.
//!
//! Layouts are those of the kernel's user headers, which are the same for 32- and 64-bit
//! programs; `tests/abi.rs` compares both with a C compiler.

#![forbid(unsafe_code)]

pub mod decode;
mod error;
mod field;
pub mod layout;
mod raw;
mod start;
mod table;

pub use error::TableError;
pub use field::{Count, Counts, Element, Fence, Field, Pointer, Refused, Role, Scalar, Type};
pub use start::{Member, Place, Start};
pub use table::{Access, Addresses, Argument, Device, Does, Ioctl, Struct, Table};

/// The drivers that have a table: names, and the tables' texts.
const TABLES: [(&str, &str); 4] = [
    ("lima", include_str!("../tables/lima.toml")),
    ("panfrost", include_str!("../tables/panfrost.toml")),
    (FOR_TESTS, include_str!("../tables/sample_gpu.toml")),
    ("virtio_gpu", include_str!("../tables/virtio_gpu.toml")),
];

/// A driver that no kernel has: a sample, which shows what its table's form is good for.
pub const FOR_TESTS: &str = "sample_gpu";

/// The names of the drivers that have a table.
pub fn names() -> impl Iterator<Item = &'static str> {
    let names = TABLES.iter().map(|(name, _)| *name);
    names.filter(|name| *name != FOR_TESTS)
}

/// A driver's table.
///
/// # Errors
/// [`TableError::Unknown`] if it has none.
pub fn table(driver: &str) -> Result<Table, TableError> {
    let found = TABLES.iter().find(|(name, _)| *name == driver);
    let (_, text) = found.ok_or_else(|| TableError::Unknown {
        driver: driver.into(),
        known: names().collect::<Vec<_>>().join(", "),
    })?;
    Table::parse(text)
}
