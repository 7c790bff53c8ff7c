//! The APIs whose costs and programs `gil calibrate` measures.

use crate::{gles, opencl};
use clap::ValueEnum;

/// One of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CalibratedApi {
    /// OpenCL.
    #[default]
    Opencl,
    /// EGL and OpenGL ES.
    Gles,
}

/// What is measured of an API. Its programs are in C and write the same lines for each API.
#[derive(Debug)]
pub(crate) struct Calibrated {
    /// The API's name in a profile.
    pub name: &'static str,
    /// The source of the program that launches kernels, or draws.
    pub launches: &'static str,
    /// The source of the program that has small programs in it.
    pub programs: &'static str,
    /// What both are linked with.
    pub libraries: &'static [&'static str],
    /// Over which small programs scale and offset are fitted: of each kind one, of which others
    /// are left out.
    pub fitted: &'static [&'static str],
    /// The words for what the device is given: one, and several.
    pub launch: [&'static str; 2],
}

impl CalibratedApi {
    pub(crate) fn measured(self) -> &'static Calibrated {
        match self {
            Self::Opencl => &opencl::CALIBRATED,
            Self::Gles => &gles::CALIBRATED,
        }
    }
}

impl Calibrated {
    /// The file's name of a source.
    pub fn file(source: &str) -> &str {
        source.rsplit('/').next().unwrap_or(source)
    }
}
