//! A session's data about its objects, besides the driver's.

use super::driver::Driver;
use super::files::ProgramFiles;
use super::generated::types::*;
use super::kernel_args::KernelArgs;
use super::programs::MadeOf;
use super::queue::Made;
use super::session::Session;
use crate::back_end::notices::Listener;
use crate::back_end::{self, Pointer};
use gil_wire::call::Handle;
use gil_wire::generated::opencl::Kind;
use std::ffi::CString;

/// The session's data about an object.
#[derive(Debug)]
pub enum Data {
    /// Nothing.
    None,
    /// Of a context that the guest made.
    Context {
        /// Listens to what is said of it.
        _listener: Option<Listener>,
    },
    /// Of a queue that the guest made.
    Queue(Made),
    /// Of a program.
    Program(Box<Program>),
    /// Of a kernel.
    Kernel(Box<Kernel>),
    /// Of an event: its command, where the driver knows it as another.
    Event(Option<cl_command_type>),
}

impl From<Kind> for Data {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Program => Self::Program(Box::default()),
            Kind::Kernel => Self::Kernel(Box::default()),
            Kind::Event => Self::Event(None),
            _ => Self::None,
        }
    }
}

/// The session's data about a program.
#[derive(Debug, Default)]
pub struct Program {
    /// The texts of its last build.
    pub made_of: MadeOf,
    /// Files of the guest that it includes.
    pub files: ProgramFiles,
    /// The options that the guest gave, if the driver was given others.
    pub options: Option<CString>,
    /// Whether it keeps argument information for the session only.
    pub hides_arg_info: bool,
    /// Whether it is built again at once, without.
    pub without_arg_info: bool,
}

/// The session's data about a kernel.
#[derive(Debug, Default)]
pub struct Kernel {
    /// Its arguments, once somebody asked.
    pub args: Option<KernelArgs>,
    /// Whether it may print, once somebody asked.
    pub prints: Option<bool>,
    /// The sizes of work-groups that it was launched with; three zeros where the driver chose.
    pub launched: Vec<[u64; 3]>,
}

/// A reference to an object of the driver's.
pub type Reference = back_end::Reference<Driver>;

impl Session {
    /// The session's data about a program.
    pub(super) fn program(&self, program: Handle) -> Option<&Program> {
        match self.table.data(program) {
            Some(Data::Program(data)) => Some(data),
            _ => None,
        }
    }

    /// The same, to change it.
    pub(super) fn program_mut(&mut self, program: Handle) -> Option<&mut Program> {
        match self.table.data_mut(program) {
            Some(Data::Program(data)) => Some(data),
            _ => None,
        }
    }

    /// What is kept of the program that a kernel is of, say; nothing once the
    /// guest has released it.
    pub(super) fn program_at(&self, program: Pointer) -> Option<&Program> {
        self.program(self.table.number(Kind::Program, program)?)
    }

    /// The session's data about a kernel.
    pub(super) fn kernel(&self, kernel: Handle) -> Option<&Kernel> {
        match self.table.data(kernel) {
            Some(Data::Kernel(data)) => Some(data),
            _ => None,
        }
    }

    /// The same, to change it.
    pub(super) fn kernel_mut(&mut self, kernel: Handle) -> Option<&mut Kernel> {
        match self.table.data_mut(kernel) {
            Some(Data::Kernel(data)) => Some(data),
            _ => None,
        }
    }

    /// What is kept of a queue that the guest made.
    pub(super) fn queue(&self, queue: Handle) -> Option<&Made> {
        match self.table.data(queue) {
            Some(Data::Queue(made)) => Some(made),
            _ => None,
        }
    }

    /// The command of an event, where the driver knows it as another.
    pub(super) fn command(&self, event: Handle) -> Option<cl_command_type> {
        match self.table.data(event) {
            Some(Data::Event(command)) => *command,
            _ => None,
        }
    }
}
