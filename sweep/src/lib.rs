//! Sweeps: runs of one program over a grid.
//!
//! | module | what |
//! |---|---|
//! | [`file`] | the sweep's file: program, options, axes, plot |
//! | [`value`] | values of axes |
//! | [`names`] | the columns that every table has |
//! | [`profile`] | keys that axes set in a board's profile |
//! | [`grid`] | the points, each with its command line and its key |
//! | [`row`] | what is kept of a point that ran |
//! | [`folder`] | a sweep's folder: rows that are whole or not there, the lock |
//! | [`work`] | runs points, each in a process of its own |
//! | [`table`] | all rows as one table: CSV |
//! | [`columns`] | the same as Parquet |
//! | [`plot`] | a column over one or two axes, as SVG |
//! | [`array`] | a script for an array of Slurm's |
//!
//! A point is known by its *key*, a hash of its command line, its profile and its axes'
//! values. The file of its row has the key for its name, so a point cannot have two rows,
//! and a sweep whose file gains values keeps the rows that it has.

#![forbid(unsafe_code)]

pub mod array;
pub mod columns;
mod error;
pub mod file;
pub mod folder;
pub mod grid;
pub mod names;
pub mod plot;
pub mod profile;
pub mod row;
pub mod table;
pub mod value;
pub mod work;

pub use error::SweepError;
