//! A field of a structure: "TYPE NAME[: ROLE]".

use crate::TableError;

/// A number's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// `__u32`.
    U32,
    /// `__s32`.
    I32,
    /// `__u64`.
    U64,
    /// `__s64`.
    I64,
}

impl Scalar {
    /// Bytes, which its addresses are multiples of.
    pub fn size(self) -> usize {
        match self {
            Self::U32 | Self::I32 => 4,
            Self::U64 | Self::I64 => 8,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "u32" => Self::U32,
            "i32" => Self::I32,
            "u64" => Self::U64,
            "i64" => Self::I64,
            _ => return None,
        })
    }
}

/// A field's type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// So many numbers: one, or an array.
    Numbers(Scalar, usize),
    /// A structure of the table's.
    Struct(String),
}

/// How many elements memory has that a field points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Count {
    /// Always as many.
    Fixed(u64),
    /// As a field of the same structure says.
    Field(String),
}

/// What memory has that a field points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// Bytes.
    Byte,
    /// Numbers of buffers, each a `__u32`.
    Buffer,
    /// Numbers of sync objects, each a `__u32`.
    Sync,
    /// Structures.
    Struct(String),
}

/// Memory of the program's that a field points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// Whether the driver writes it; otherwise it reads it.
    pub is_out: bool,
    /// What is there.
    pub element: Element,
    /// And how many.
    pub count: Count,
}

/// A descriptor of a fence, which is in use if a field has flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The field that has the flags.
    pub flags: String,
    /// The flag of one that is waited for.
    pub waits: u64,
    /// The flag of one that comes back.
    pub signals: u64,
}

/// An error number with which a driver refuses a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// `ENOENT`.
    NoEntry,
    /// `EINVAL`.
    Invalid,
    /// `ENODEV`.
    NoDevice,
}

impl Refused {
    /// Its name in C.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoEntry => "ENOENT",
            Self::Invalid => "EINVAL",
            Self::NoDevice => "ENODEV",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let all = [Self::NoEntry, Self::Invalid, Self::NoDevice];
        all.into_iter().find(|it| it.name() == text)
    }
}

/// Which numbers of elements a driver takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Any.
    Any,
    /// Any but 0.
    NotZero,
    /// For each processor, by its number in a field, one of these.
    Of(String, Vec<Vec<u64>>),
}

/// What a field is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// A number that the GPU's own driver understands.
    Value,
    /// One that the kernel's driver writes.
    Out,
    /// 0, or the driver refuses the call.
    Zero,
    /// These flags, or the driver refuses the call.
    Flags(u64),
    /// Such flags, of which one says that a wait only asks.
    Polls {
        /// All that the driver knows.
        known: u64,
        /// The one.
        polls: u64,
    },
    /// Such flags, of which one makes a heap: a buffer that grows as the GPU needs it, and
    /// that programs cannot map.
    Heap {
        /// All that the driver knows.
        known: u64,
        /// The one.
        heap: u64,
        /// Those that have to be set with it.
        with: u64,
    },
    /// Flags of a buffer in a job's list; a job only reads one without this flag.
    Writes(u64),
    /// A parameter's number, of which those are not offered whose bits are set: the call is
    /// refused as of a driver that does not know them.
    Hidden(u64),
    /// Always this, whatever the driver would say.
    Is(u64),
    /// Which of the GPU's processors executes a job: a number, or flags with this mask.
    Processor(Option<u64>),
    /// The bytes of a buffer.
    Size,
    /// Of the part of a picture that a transfer moves: pixels in a row.
    Width,
    /// Rows.
    Height,
    /// Layers.
    Depth,
    /// How many elements another field's memory has.
    Count(Counts),
    /// A buffer of the open file's (a GEM handle).
    Buffer,
    /// One that the driver makes.
    NewBuffer,
    /// The number that the board's driver gives a buffer, which command streams have.
    NewResource,
    /// An address of the GPU's.
    Address,
    /// One that the driver chose for a buffer.
    NewAddress,
    /// Where `mmap` finds a buffer.
    MmapOffset,
    /// A context of the driver's, and how the driver refuses another number.
    Context(Refused),
    /// One that it makes.
    NewContext,
    /// A sync object of the open file's that is waited for; 0: none.
    Sync,
    /// One that a job's end signals, and how the driver refuses another number; 0: none.
    SyncOut(Refused),
    /// The descriptor of a fence.
    Fence(Fence),
    /// The end of a wait: nanoseconds of `CLOCK_MONOTONIC`.
    Deadline,
    /// Memory of the program's.
    Pointer(Pointer),
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name in the kernel's header.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// What it is.
    pub role: Role,
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// "ELEMENT[COUNT]".
fn pointer(text: &str) -> Option<Pointer> {
    let (is_out, text) = match text.strip_prefix("out ") {
        Some(text) => (true, text),
        None => (false, text),
    };
    let (element, count) = text.strip_suffix(']')?.split_once('[')?;
    let element = match element {
        "bytes" => Element::Byte,
        "buffer" => Element::Buffer,
        "sync" => Element::Sync,
        name => Element::Struct(name.into()),
    };
    let count = number(count).map_or_else(|| Count::Field(count.into()), Count::Fixed);
    Some(Pointer {
        is_out,
        element,
        count,
    })
}

/// "fence in FLAG out FLAG of FIELD".
fn fence(text: &str) -> Option<Fence> {
    let (waits, text) = text.strip_prefix("fence in ")?.split_once(" out ")?;
    let (signals, flags) = text.split_once(" of ")?;
    Some(Fence {
        flags: flags.into(),
        waits: number(waits)?,
        signals: number(signals)?,
    })
}

/// "flags KNOWN polls FLAG".
fn polls(text: &str) -> Option<Role> {
    let (known, polls) = text.strip_prefix("flags ")?.split_once(" polls ")?;
    Some(Role::Polls {
        known: number(known)?,
        polls: number(polls)?,
    })
}

/// "flags KNOWN processor".
fn processor(text: &str) -> Option<Role> {
    let known = text.strip_prefix("flags ")?.strip_suffix(" processor")?;
    Some(Role::Processor(Some(number(known)?)))
}

/// "flags KNOWN heap FLAG", or the same and "with FLAGS".
fn heap(text: &str) -> Option<Role> {
    let (known, heap) = text.strip_prefix("flags ")?.split_once(" heap ")?;
    let (heap, with) = heap.split_once(" with ").unwrap_or((heap, "0"));
    Some(Role::Heap {
        known: number(known)?,
        heap: number(heap)?,
        with: number(with)?,
    })
}

/// "count", "count not 0", or "count SIZE or SIZE, … by FIELD": a part for each processor.
fn count(text: &str) -> Option<Role> {
    let counts = match text.strip_prefix("count")? {
        "" => Counts::Any,
        " not 0" => Counts::NotZero,
        text => {
            let (sizes, field) = text.strip_prefix(' ')?.split_once(" by ")?;
            let of_one = |text: &str| text.split(" or ").map(number).collect();
            let sizes: Option<_> = sizes.split(", ").map(of_one).collect();
            Counts::Of(field.into(), sizes?)
        }
    };
    Some(Role::Count(counts))
}

/// "NAME", or "NAME else ERROR".
fn refused(text: &str, name: &str) -> Option<Refused> {
    match text.strip_prefix(name)? {
        "" => Some(Refused::NoEntry),
        text => Refused::parse(text.strip_prefix(" else ")?),
    }
}

fn role(text: &str) -> Option<Role> {
    Some(match text {
        "out" => Role::Out,
        "zero" => Role::Zero,
        "size" => Role::Size,
        "width" => Role::Width,
        "height" => Role::Height,
        "depth" => Role::Depth,
        "processor" => Role::Processor(None),
        "buffer" => Role::Buffer,
        "new buffer" => Role::NewBuffer,
        "new resource" => Role::NewResource,
        "address" => Role::Address,
        "new address" => Role::NewAddress,
        "mmap offset" => Role::MmapOffset,
        "new context" => Role::NewContext,
        "sync" => Role::Sync,
        "deadline" => Role::Deadline,
        text => {
            let flags = text.strip_prefix("flags ").and_then(number);
            return flags
                .map(Role::Flags)
                .or_else(|| {
                    text.strip_prefix("hidden ")
                        .and_then(number)
                        .map(Role::Hidden)
                })
                .or_else(|| text.strip_prefix("is ").and_then(number).map(Role::Is))
                .or_else(|| count(text))
                .or_else(|| refused(text, "context").map(Role::Context))
                .or_else(|| refused(text, "out sync").map(Role::SyncOut))
                .or_else(|| {
                    let flag = text.strip_prefix("writes ");
                    flag.and_then(number).map(Role::Writes)
                })
                .or_else(|| heap(text))
                .or_else(|| polls(text))
                .or_else(|| processor(text))
                .or_else(|| fence(text).map(Role::Fence))
                .or_else(|| pointer(text).map(Role::Pointer));
        }
    })
}

fn ty(text: &str) -> Option<Type> {
    if let Some((scalar, count)) = text.strip_suffix(']').and_then(|it| it.split_once('[')) {
        let count = number(count).and_then(|it| usize::try_from(it).ok())?;
        return Some(Type::Numbers(Scalar::parse(scalar)?, count));
    }
    Some(match Scalar::parse(text) {
        Some(scalar) => Type::Numbers(scalar, 1),
        None => Type::Struct(text.into()),
    })
}

impl Field {
    /// Parses a field of a structure.
    ///
    /// # Errors
    /// [`TableError::Field`].
    pub fn parse(place: &str, text: &str) -> Result<Self, TableError> {
        let refuse = |why| TableError::Field {
            place: place.into(),
            text: text.into(),
            why,
        };
        let (declared, role_text) = match text.split_once(": ") {
            Some((declared, role)) => (declared, Some(role)),
            None => (text, None),
        };
        let (kind, name) = declared.split_once(' ').ok_or(refuse("it has no name"))?;
        let role = role_text.map_or(Some(Role::Value), role);
        Ok(Self {
            name: name.into(),
            ty: ty(kind).ok_or(refuse("no such type"))?,
            role: role.ok_or(refuse("no such role"))?,
        })
    }
}
