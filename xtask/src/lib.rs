//! The project's tasks: `gen`, `ci`, `guest`.

mod emit;
pub mod r#gen;
mod spec;
