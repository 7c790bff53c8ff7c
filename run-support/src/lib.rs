//! What a run needs of the machine it is on.
//!
//! | module | what |
//! |---|---|
//! | [`cache`] | what was downloaded and built, kept |
//! | [`folder`] | a run's own folder, and the names of the files in it |
//! | [`tool`] | programs that are called for their result |
//! | [`process`] | child processes that do not outlive their parent |
//! | [`progress`] | what is being done, on a terminal |

pub mod cache;
pub mod folder;
pub mod process;
pub mod progress;
pub mod tool;
