//! A checked description: every name in it is known, every pointer annotated.

use super::annotation::{Direction, ListValue};
use super::expr::Expr;
use super::prototype::{CParam, CType, Signature};
use std::collections::BTreeMap;

/// An API.
#[derive(Clone, Debug)]
pub struct Api {
    /// Its name in paths: `opencl`.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Its number in operation numbers.
    pub number: u16,
    /// The header with its prototypes.
    pub header: String,
    /// Whether the header is the vendor's alone, so that a machine may be without it.
    pub vendors_header: bool,
    /// Whether programs ask for functions by a name and a version.
    pub by_version: bool,
    /// The bits of its programs' pointers, if they are always as many.
    pub pointers: Option<u32>,
    /// The folder of its guest library and its back end, from the root; `None` for
    /// one that is part of gil. Its header is there, too.
    pub home: Option<String>,
    /// The board's module that has this API with others, if it is one of several of a
    /// back end.
    pub back_end: Option<String>,
    /// Lines before that header is included.
    pub prelude: Vec<String>,
    /// How its calls report errors, if they do.
    pub errors: Option<Errors>,
    /// The C type of the object that is current in a thread.
    pub current: Option<String>,
    /// Where each helper of expressions lives.
    pub helpers: BTreeMap<String, HelperSide>,
    /// Traits of their own for calls that the guest's library has by hand, and their calls.
    pub by_hand: BTreeMap<String, Vec<String>>,
    /// Scalar types by C name.
    pub types: BTreeMap<String, Scalar>,
    /// What each typedef stands for, as the file has it.
    pub typedefs: BTreeMap<String, String>,
    /// Handle types by C name.
    pub handles: BTreeMap<String, Handle>,
    /// Structures by C name.
    pub structs: BTreeMap<String, Vec<Field>>,
    /// Tagged unions by name.
    pub unions: BTreeMap<String, BTreeMap<String, FieldType>>,
    /// Constants: name, C type, value.
    pub constants: BTreeMap<String, Constant>,
    /// Tables of size-and-data queries: constant and value's type.
    pub queries: BTreeMap<String, BTreeMap<String, InfoKind>>,
    /// The entry points, by number.
    pub calls: Vec<Call>,
    /// The loader's dispatch table.
    pub dispatch: Option<Dispatch>,
}

/// How an API's calls report errors.
#[derive(Clone, Debug)]
pub struct Errors {
    /// The C type of codes, if calls return or write them.
    pub ctype: Option<String>,
    /// No error.
    pub success: String,
    /// The board's API lacks the function.
    pub missing: String,
    /// A size is out of all bounds.
    pub bounds: String,
    /// A query for a name that is not known.
    pub value: String,
    /// The code that says "none", if calls return only whether they succeeded and
    /// the API keeps their code for a later question.
    pub kept: Option<String>,
    /// A structure's first word says a version that is not known.
    pub version: Option<String>,
}

impl Errors {
    /// The code for success: not always what a call returns.
    pub fn none(&self) -> &str {
        self.kept.as_deref().unwrap_or(&self.success)
    }
}

/// Where a helper lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelperSide {
    /// `gil_wire::helpers`.
    Shared,
    /// The support code of both sides, which know the current object's state.
    State,
    /// The guest's support code only.
    Guest,
    /// A method of the board's session.
    Board,
}

/// A scalar as it is on this side of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
    /// As wide as a pointer, signed.
    Isize,
    /// As wide as a pointer.
    Usize,
}

impl Scalar {
    /// By the name in `[types]`.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "i8" => Self::I8,
            "u8" => Self::U8,
            "i16" => Self::I16,
            "u16" => Self::U16,
            "i32" => Self::I32,
            "u32" => Self::U32,
            "i64" => Self::I64,
            "u64" => Self::U64,
            "f32" => Self::F32,
            "f64" => Self::F64,
            "isize" => Self::Isize,
            "usize" => Self::Usize,
            _ => return None,
        })
    }

    /// The Rust type in C signatures.
    pub fn rust(self) -> &'static str {
        match self {
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I16 => "i16",
            Self::U16 => "u16",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Isize => "isize",
            Self::Usize => "usize",
        }
    }

    /// The Rust type on the wire.
    pub fn wire(self) -> &'static str {
        match self {
            Self::Isize => "i64",
            Self::Usize => "u64",
            other => other.rust(),
        }
    }

    /// Whether it has numbers below 0, of the same width everywhere.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// Whether its width is the pointer's.
    pub fn is_word(self) -> bool {
        matches!(self, Self::Isize | Self::Usize)
    }
}

/// A handle type.
#[derive(Clone, Debug)]
pub struct Handle {
    /// The `Kind` of its objects.
    pub kind: String,
    /// The opaque structure it points to.
    pub target: String,
    /// Whether that is constant: another handle of the kind is the kind's own.
    pub constant: bool,
    /// The error for a handle that is none.
    pub invalid: String,
    /// The call that retains.
    pub retain: Option<String>,
    /// The call that releases.
    pub release: Option<String>,
}

/// A structure's field.
#[derive(Clone, Debug)]
pub struct Field {
    /// Name and C type.
    pub c: CParam,
    /// The number of elements, for an array.
    pub count: Option<usize>,
    /// Whether the header has a union there, of which the type has the size alone.
    pub is_union: bool,
}

/// A constant.
#[derive(Clone, Debug)]
pub struct Constant {
    /// Its C type.
    pub ctype: String,
    /// Its value.
    pub value: i64,
}

/// How a query's value crosses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InfoKind {
    /// The same bytes on both sides.
    Bytes,
    /// Of pointer width.
    Sizes,
    /// The same, and the guest cuts what is too wide for it.
    Limits,
    /// Of 64 bits, and cut alike.
    WideLimits,
    /// Objects of this kind.
    Handles(String),
    /// The extension string of an object of this kind.
    Extensions(String),
    /// The same with versions.
    ExtensionVersions(String),
    /// The guest knows.
    Local,
    /// The guest's support code does all of it.
    Manual,
}

/// A field of hand-written wire types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldType {
    Nothing,
    Bool,
    Scalar(Scalar),
    Handle,
    Handles,
    /// A list of numbers.
    Words,
    In,
    Out,
    Event,
    Union(String),
}

/// A call's behaviour in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Query,
    Sync,
    Post,
    Enqueue,
    Wait,
    Poll,
}

impl Class {
    /// The name of the variant.
    pub fn rust(self) -> &'static str {
        match self {
            Self::Query => "Query",
            Self::Sync => "Sync",
            Self::Post => "Post",
            Self::Enqueue => "Enqueue",
            Self::Wait => "Wait",
            Self::Poll => "Poll",
        }
    }
}

/// How a call is implemented on each side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Generated on both sides.
    Auto,
    /// Answered in the guest: one more reference.
    Retain,
    /// Answered in the guest; the last reference is a post.
    Release,
    /// Another name of this call.
    SameAs(String),
    /// Bodies by hand.
    Manual {
        /// In the guest.
        guest: bool,
        /// On the board.
        board: bool,
    },
    /// The guest's stub by hand, the wire types and the board's side generated.
    Stub,
    /// Exported; fails as the API documents.
    Unsupported,
}

impl Mode {
    /// Whether something is made from the parameters' annotations.
    pub fn is_generated(&self) -> bool {
        match self {
            Self::Auto | Self::Stub | Self::Retain | Self::Release => true,
            Self::Manual { guest, .. } => !guest,
            Self::SameAs(_) | Self::Unsupported => false,
        }
    }
}

/// Where a call's error goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It is the result.
    Returned,
    /// To a parameter.
    Written,
    /// The API keeps it for a later question.
    Noted,
    /// There is none.
    None,
}

/// A call's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Returns {
    /// Its error, or nothing.
    Status,
    /// A new object of this handle type with these parents.
    New(String, Vec<String>),
    /// A value.
    Value(Scalar),
    /// A pointer, in calls that are not generated.
    Pointer,
}

/// A helper's name and its arguments, which are parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Helper {
    /// Its name.
    pub name: String,
    /// Parameters.
    pub args: Vec<String>,
}

/// How many bytes an output has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The parameter that gets how many.
    pub counter: String,
    /// Whether a 0 follows them, which is not counted.
    pub is_text: bool,
}

/// A parameter's role.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// A number, sent; another one if a helper says so.
    Scalar {
        scalar: Scalar,
        send: Option<Helper>,
    },
    /// Made again on the board from another parameter.
    Derived,
    /// Whether an enqueue returns only when its operation is complete.
    Blocking,
    /// An object.
    Handle { ctype: String, optional: bool },
    /// Objects.
    Handles { ctype: String, len: Expr },
    /// Events.
    Waits { count: String, required: bool },
    /// The new event.
    Signals,
    /// Memory.
    Bytes {
        direction: Direction,
        len: Expr,
        counter: Option<Counted>,
    },
    /// A structure whose first word is one of these constants: its version, and its size in
    /// the lower 24 bits.
    Versioned(Vec<String>),
    /// Numbers.
    Array { scalar: Scalar, len: Expr },
    /// Room for numbers.
    OutArray {
        scalar: Scalar,
        room: Expr,
        counter: Option<String>,
    },
    /// Room for structures.
    OutStructs {
        name: String,
        room: Expr,
        counter: Option<String>,
    },
    /// Room for objects.
    OutHandles {
        ctype: String,
        room: Expr,
        counter: Option<String>,
        parents: Option<Vec<String>>,
    },
    /// One new object, written.
    OutNew { ctype: String, parents: Vec<String> },
    /// Receives the number that there are.
    Counter(Scalar),
    /// One structure.
    Struct(String),
    /// A string; completed by a helper of the board's, if there is one.
    CStr(Option<Helper>),
    /// Strings or byte blocks.
    Packed {
        strings: bool,
        count: String,
        lengths: Option<String>,
    },
    /// Pointers to pieces whose sizes the helper knows.
    Pieces(Helper),
    /// A key-value list.
    List {
        scalar: Scalar,
        keys: Vec<(String, ListValue)>,
        end: Option<String>,
    },
    /// One value.
    Out(Scalar),
    /// A query's value.
    Info {
        name: String,
        size: String,
        size_ret: String,
        table: String,
    },
    /// A function of the program's.
    Callback {
        user_data: String,
        once: Option<Vec<String>>,
        signature: Signature,
    },
    /// The callback's user data.
    UserData,
    /// A tagged union.
    Union(String, Helper),
    /// Where the error is written.
    Error,
    /// Ignored.
    Unused,
}

/// What a synchronous call leaves behind on the board, for checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// What its prototype says: new objects, or something about its first one.
    Derived,
    /// Nothing.
    None,
    /// What a later call with the same values of these parameters replaces.
    Set {
        /// The parameters.
        key: Vec<String>,
        /// Whether a call that fails replaces it too.
        even_failed: bool,
    },
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its name in C.
    pub name: String,
    /// Its type in C.
    pub ctype: CType,
    /// Its role.
    pub role: Role,
}

/// The numbers of a version, such as `3.2`; none of another text.
pub fn version(text: &str) -> Option<(u16, u16)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// An entry point.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its name in C.
    pub name: String,
    /// Its number, never used again.
    pub number: u16,
    /// The API's version that has it.
    pub since: String,
    /// The last version that has it, if later ones do not.
    pub until: Option<String>,
    /// The last version in which it is not deprecated.
    pub deprecated: Option<String>,
    /// Another header than the API's.
    pub header: Option<String>,
    /// Its declaration in C; none for calls of our own.
    pub declaration: Option<String>,
    /// Its C return type.
    pub ret: CType,
    /// Its class, if it is ever forwarded.
    pub class: Option<Class>,
    /// The class when the expression is 0.
    pub otherwise: Option<(Expr, Class)>,
    /// How a call is implemented on each side.
    pub mode: Mode,
    /// Its parameters, in order.
    pub params: Vec<Param>,
    /// Its result.
    pub returns: Returns,
    /// Where its error goes.
    pub way: Way,
    /// Whether it is a query whose every value the guest knows.
    pub is_local: bool,
    /// Whether it works on the thread's current object.
    pub current: bool,
    /// Whether the board has something by hand around what is generated.
    pub around: bool,
    /// Whether it ends a frame.
    pub frame: bool,
    /// Whether its output is what differs in its regions.
    pub differences: bool,
    /// The queue it works on: a parameter, or [`CURRENT`].
    pub queue: Option<String>,
    /// The engine of its operation, and how that is ordered with others.
    pub engine: Option<(&'static str, &'static str)>,
    /// The parameter that makes it blocking.
    pub blocking: Option<String>,
    /// The event that it signals at its end.
    pub signals: Option<String>,
    /// Whether the board's function may make an object and fail.
    pub leaves: bool,
    /// What the guest remembers of a new object.
    pub details: Option<Helper>,
    /// The guest's helper that finds an error of its own.
    pub check: Option<Helper>,
    /// A guest helper that may do all of the call.
    pub instead: Option<Helper>,
    /// A guest helper that says whether an enqueue needs no answer.
    pub posts_if: Option<Helper>,
    /// What a synchronous call leaves behind on the board.
    pub state: State,
    /// The parameter with what a new object holds at first.
    pub contents: Option<String>,
    /// The parameter that names its new object for reports: text, or an object of that name.
    pub label: Option<String>,
    /// The parameter with the number of what its current object runs from now on.
    pub selects: Option<String>,
    /// The parameter with what its operation runs, or [`CURRENT`]: what that selected.
    pub runs: Option<String>,
    /// The documented error of an unsupported call.
    pub fails: Option<String>,
    /// Wire arguments by hand.
    pub wire: Option<Vec<(String, FieldType)>>,
    /// Wire reply by hand.
    pub reply: Option<Vec<(String, FieldType)>>,
}

/// A loader's dispatch table.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// Its C type.
    pub ctype: String,
    /// The header that declares it.
    pub header: String,
    /// The functions in order; calls that are not described are null.
    pub slots: Vec<String>,
}

impl Api {
    /// The call of this name.
    pub fn call(&self, name: &str) -> Option<&Call> {
        self.calls.iter().find(|call| call.name == name)
    }

    /// Whether any call goes to the board.
    pub fn is_forwarded(&self) -> bool {
        self.calls.iter().any(Call::is_forwarded)
    }

    /// Whether a call asks, and fails without saying so: what it leaves alone then, its
    /// answer leaves out.
    pub fn leaves_alone(&self, call: &Call) -> bool {
        let errors = self.errors.as_ref();
        let is_silent = errors.is_some_and(|it| it.ctype.is_none() && it.kept.is_none());
        let returns_nothing = call.way == Way::None && call.returns == Returns::Status;
        is_silent && returns_nothing && call.class == Some(Class::Query)
    }
}

/// What a call's queue is called that is the current object itself.
pub const CURRENT: &str = "current";

impl Call {
    /// Whether this version of the API has it.
    pub fn is_in(&self, wanted: &str) -> bool {
        let wanted = version(wanted);
        let is_last = |last: &String| wanted <= version(last);
        version(&self.since) <= wanted && self.until.as_ref().is_none_or(is_last)
    }

    /// Whether its queue is the current object.
    pub fn is_on_current(&self) -> bool {
        self.current && self.queue.as_deref() == Some(CURRENT)
    }

    /// Whether C programs can call it.
    pub fn is_exported(&self) -> bool {
        self.declaration.is_some()
    }

    /// Whether the guest's library has its body by hand.
    pub fn is_by_hand(&self) -> bool {
        let is_manual = matches!(self.mode, Mode::Stub | Mode::Manual { guest: true, .. });
        is_manual && self.is_exported()
    }

    /// Whether the board ever sees it.
    pub fn is_forwarded(&self) -> bool {
        let waits = matches!(self.class, Some(Class::Wait | Class::Poll)) || self.is_local;
        match &self.mode {
            Mode::Auto | Mode::Stub | Mode::Release => !waits,
            Mode::Manual { board, .. } => *board && !waits,
            Mode::Retain | Mode::SameAs(_) | Mode::Unsupported => false,
        }
    }

    /// Whether its own wire types exist.
    pub fn has_wire(&self) -> bool {
        self.is_forwarded()
    }

    /// The parameter of this name.
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.params.iter().find(|param| param.name == name)
    }
}
