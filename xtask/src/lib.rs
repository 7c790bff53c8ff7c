//! The project's tasks: `gen`, `ci`, `guest`, `dist`, `book`.
//!
//! | module | what |
//! |---|---|
//! | `spec` | descriptions of APIs: TOML, checked, as plain structures |
//! | `emit` | one short emitter an output |
//! | `gen` | writes or compares the generated files |
//! | [`audit`] | whether every test exists that the audit page names |
//! | [`book`] | the pages as a book, for mdBook |
//! | [`ci`] | the table of checks |
//! | [`guest`] | builds what runs in the guest |
//! | [`links`] | whether the links of all pages lead somewhere |
//! | [`mutants`] | what `cargo mutants` left alive, compared with the list |
//! | [`dist`] | builds and packs the command, and the agent for ARM boards |

// Errors end the run; their size does not matter.
#![allow(clippy::result_large_err)]

pub mod audit;
pub mod book;
pub mod ci;
pub mod dist;
mod emit;
pub mod r#gen;
pub mod guest;
pub mod links;
pub mod mutants;
mod spec;
