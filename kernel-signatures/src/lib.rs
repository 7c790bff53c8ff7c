//! The signatures of kernels, read from their programs.
//!
//! Some drivers do not report which of a kernel's arguments are objects. The
//! program's source does: this crate preprocesses it and parses its declarations,
//! far enough to find every kernel's parameters. All work is bounded, because the
//! source comes from a guest.

mod declaration;
mod expression;
mod layout;
mod macros;
mod options;
mod parser;
mod predefined;
mod preprocess;
mod record;
pub mod spirv;
mod token;

#[cfg(test)]
mod tests;

use declaration::Declared;
use layout::{Shape, Type};
use std::collections::HashMap;

pub use layout::{Access, Qualifiers, Space};

/// Longest source that is read, in bytes.
const MAX_SOURCE: usize = 16 << 20;

/// Kernels' arguments by the kernels' names.
pub type Signatures = HashMap<String, Vec<Argument>>;

/// Why a source says nothing about its kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// Too long, or a macro makes it so.
    #[error("the source is too long once its macros are replaced")]
    TooLong,
    /// Headers, macros or arguments within each other.
    #[error("headers or macros are nested too deeply")]
    TooDeep,
    /// A macro's arguments never end.
    #[error("a macro's arguments have no closing parenthesis")]
    Unclosed,
}

/// The kind of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Bytes.
    Value,
    /// A buffer: a pointer to global or constant memory.
    Buffer,
    /// `__local` memory.
    Local,
    /// An image.
    Image,
    /// A sampler.
    Sampler,
    /// A pipe.
    Pipe,
    /// A queue.
    Queue,
    /// Nothing that a kernel takes, or not known.
    Unknown,
}

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its type, as compilers write it.
    pub type_name: String,
    /// Its kind.
    pub what: What,
    /// Bytes of a value on the device, if they are known.
    pub size: Option<u64>,
    /// The address space that a pointer points to, or an object is in.
    pub space: Space,
    /// What the kernel may do with an image or a pipe.
    pub access: Access,
    /// Qualifiers, of what a pointer points to.
    pub qualifiers: Qualifiers,
}

/// The device that a program is built for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Target {
    /// Bits of an address on it.
    pub address_bits: u32,
    /// `CL_DEVICE_VERSION` as 100 times major plus 10 times minor.
    pub version: u32,
    /// Its extensions' names, with spaces between.
    pub extensions: String,
    /// Whether it has images.
    pub has_images: bool,
}

/// A program as it is built.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// Its source.
    pub source: &'a str,
    /// The build options.
    pub options: &'a str,
    /// Headers by the names under which they are included.
    pub headers: &'a [(&'a str, &'a str)],
    /// The device.
    pub target: &'a Target,
}

impl Program<'_> {
    /// The kernels that the program defines.
    ///
    /// # Errors
    /// [`SignatureError`] if the source is too much to read.
    pub fn signatures(&self) -> Result<Signatures, SignatureError> {
        if self.source.len() > MAX_SOURCE {
            return Err(SignatureError::TooLong);
        }
        let mut preprocessor = preprocess::Preprocessor::new(self.headers);
        let options = options::parse(self.options);
        predefined::define(&mut preprocessor.macros, self.target, &options)?;
        for change in &options.macros {
            match change {
                options::Change::Define(name, body) => {
                    preprocessor.macros.define_as(name, body)?;
                }
                options::Change::Undefine(name) => preprocessor.macros.undefine(name),
            }
        }
        let tokens = preprocessor.run(self.source)?;
        Ok(parser::Parser::new(tokens, self.target.address_bits).run())
    }
}

impl Argument {
    fn of(declared: Declared) -> Self {
        let name = declared.name.as_deref().unwrap_or_default().to_owned();
        let ty = match declared.ty.shape {
            // A parameter that is an array is a pointer.
            Shape::Array(element) => element.pointer(64),
            _ => declared.ty,
        };
        let (what, seen) = match &ty.shape {
            Shape::Pointer(to) => (pointer(to), &**to),
            shape => (plain(shape), &ty),
        };
        let mut qualifiers = seen.qualifiers;
        qualifiers.is_restrict = ty.qualifiers.is_restrict;
        // What is in constant memory is constant without saying so.
        qualifiers.is_const |= seen.space == Space::Constant;
        let is_pointer = matches!(ty.shape, Shape::Pointer(_));
        Self {
            name,
            type_name: match &ty.shape {
                Shape::Pointer(to) => format!("{}*", to.name),
                _ => ty.name.to_string(),
            },
            size: ty
                .layout
                .map(|layout| layout.size)
                .filter(|_| what == What::Value),
            space: match ty.shape {
                Shape::Pointer(_) => seen.space,
                Shape::Image | Shape::Pipe => Space::Global,
                _ => Space::Private,
            },
            access: if is_pointer {
                Access::None
            } else {
                access(&ty)
            },
            qualifiers: if is_pointer {
                qualifiers
            } else {
                Qualifiers::default()
            },
            what,
        }
    }
}

fn pointer(to: &Type) -> What {
    match to.space {
        Space::Global | Space::Constant => What::Buffer,
        Space::Local => What::Local,
        Space::Private => What::Unknown,
    }
}

fn plain(shape: &Shape) -> What {
    match shape {
        Shape::Value => What::Value,
        Shape::Image => What::Image,
        Shape::Sampler => What::Sampler,
        Shape::Pipe => What::Pipe,
        Shape::Queue => What::Queue,
        _ => What::Unknown,
    }
}

/// Images and pipes are read unless the program says something else.
fn access(ty: &Type) -> Access {
    match (&ty.shape, ty.access) {
        (Shape::Image | Shape::Pipe, Access::None) => Access::ReadOnly,
        (Shape::Image | Shape::Pipe, access) => access,
        _ => Access::None,
    }
}
