//! What a log of calls (`gil run --calls`) says. Each form takes the rows one after the
//! other, so that a log of any length is read in bounded memory.
//!
//! | module | what |
//! |---|---|
//! | [`log`] | the log, read row by row |
//! | [`summary`] | calls and times by entry point, thread, process, queue, kernel or source line |
//! | [`symbols`] | source lines of addresses |
//! | [`times`] | sum, mean, percentiles and maximum of times |
//! | [`table`] | summaries for people |
//! | [`tabular`] | summaries and rows as CSV |
//! | [`perfetto`] | a time line for Perfetto's viewer |
//! | [`html`] | a page with tables and a time line |
//! | [`flame`] | flame graphs, and their stacks |
//! | [`difference`] | what changed from one run to another |

#![forbid(unsafe_code)]

pub mod difference;
pub mod flame;
pub mod html;
pub mod log;
pub mod perfetto;
pub mod summary;
pub mod symbols;
pub mod table;
pub mod tabular;
pub mod times;
