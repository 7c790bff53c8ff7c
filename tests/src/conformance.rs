//! The Khronos conformance tests of OpenCL, natively and in the guest, on the same
//! device, compared subtest by subtest; in [`deqp`] those of OpenGL ES and EGL.
//!
//! The tests are the user's: two folders of programs, one for this machine and
//! one for the guest. Nothing of them is part of this repository.
//!
//! | module | what |
//! |---|---|
//! | [`suite`] | which programs a folder holds |
//! | [`results`] | what a program said of its subtests |
//! | [`native`] | a program's run on this machine |
//! | [`guest`] | a program's run in the guest |
//! | [`known`] | the committed list of differences, each with its reason |
//! | [`table`] | both side by side |
//! | [`deqp`] | the tests of OpenGL ES and EGL |

pub mod deqp;
pub mod guest;
pub mod known;
pub mod native;
pub mod results;
pub mod suite;
pub mod table;

use std::path::PathBuf;
use std::time::Duration;

/// The program's variable that names the file for its results.
const RESULTS_VARIABLE: &str = "CL_CONFORMANCE_RESULTS_FILENAME";

/// How programs are run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Longest run of a whole program, and of a subtest that runs alone.
    pub timeout: Duration,
    /// Options of `gil run`, such as `--board` and its address.
    pub run: Vec<String>,
    /// Where each run's output is written.
    pub logs: PathBuf,
    /// Width and height of the surface that dEQP's cases draw to, in pixels.
    pub surface: u32,
}
