//! What a run needs on its machine.
//!
//! | module | what |
//! |---|---|
//! | [`cache`] | downloads and builds, stored for later runs |
//! | [`checkout`] | the sources that this binary was built from |
//! | [`folder`] | a run's own folder, and the names of the files in it |
//! | [`settings`] | what is wrong in a file of settings, with its line |
//! | [`text`] | short texts that a user names, also in a pipe |
//! | [`tool`] | other programs, called for their result |
//! | [`process`] | child processes that do not outlive their parent |
//! | [`progress`] | the progress line on a terminal |

pub mod cache;
pub mod checkout;
pub mod folder;
pub mod process;
pub mod progress;
pub mod settings;
pub mod text;
pub mod tool;
