//! What there is: contexts and what they have.

use super::arrays::{Array, Mipmapped, View};
use super::spaces::Spaces;
use super::{Code, INVALID_CONTEXT, INVALID_HANDLE, INVALID_VALUE, MEMORY, OUT_OF_MEMORY, Object};
use gil_cuda_common::ptx::Kernel;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Objects of a kind, by handles that lead nowhere.
#[derive(Debug)]
pub struct Objects<T>(BTreeMap<usize, T>);

impl<T> Objects<T> {
    const fn new() -> Self {
        Self(BTreeMap::new())
    }

    pub fn add(&mut self, object: T) -> Object {
        let handle = next_handle();
        self.0.insert(handle, object);
        std::ptr::with_exposed_provenance_mut(handle)
    }

    pub fn get(&self, handle: Object) -> Option<&T> {
        self.0.get(&handle.addr())
    }

    pub fn get_mut(&mut self, handle: Object) -> Option<&mut T> {
        self.0.get_mut(&handle.addr())
    }

    pub fn remove(&mut self, handle: Object) -> Option<T> {
        self.0.remove(&handle.addr())
    }

    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.0.values()
    }

    pub fn retain(&mut self, is_kept: impl Fn(&T) -> bool) {
        self.0.retain(|_, object| is_kept(object));
    }
}

fn next_handle() -> usize {
    static NEXT: Mutex<usize> = Mutex::new(0x1000);
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    *next += 0x10;
    *next
}

#[derive(Debug)]
pub struct Context {
    pub limits: [usize; 6],
    pub cache: i32,
    pub banks: i32,
    /// What a kernel did that nobody has asked for.
    pub pending: Code,
    /// What every call says from here on.
    pub lasting: Code,
    /// The default stream's.
    clock_ns: u64,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            limits: [1024, 1 << 20, 8 << 20, 2, 2048, 0],
            cache: 0,
            banks: 0,
            pending: 0,
            lasting: 0,
            clock_ns: 0,
        }
    }
}

#[derive(Debug)]
pub struct Module {
    pub context: usize,
    pub kernels: Vec<Kernel>,
    /// Name, address, bytes.
    pub variables: Vec<(String, u64, usize)>,
}

#[derive(Debug)]
pub struct Function {
    pub context: usize,
    pub module: usize,
    pub kernel: Kernel,
    /// Attributes that the program set, by their numbers.
    pub set: BTreeMap<i32, i32>,
    pub cache: i32,
}

#[derive(Debug)]
pub struct Stream {
    pub context: usize,
    pub clock_ns: u64,
    pub priority: i32,
}

#[derive(Debug)]
pub struct Event {
    pub context: usize,
    pub at_ns: u64,
}

/// Where stream-ordered memory comes from: bytes, and what a program chose.
#[derive(Debug)]
pub struct Pool {
    /// Most bytes; 0 for no limit.
    pub max: u64,
    pub used: u64,
    pub high: u64,
    pub reserved: u64,
    pub threshold: u64,
    pub reuse: [i32; 3],
    pub access: i32,
}

impl Pool {
    pub fn new(max: u64) -> Self {
        Self {
            max,
            used: 0,
            high: 0,
            reserved: 0,
            threshold: 0,
            reuse: [1; 3],
            access: 3,
        }
    }
}

/// What takes time.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// A kernel of so many threads.
    Kernel(u64),
    /// A kernel next to which what it takes to launch it is little.
    Long,
    /// So many bytes are moved.
    Bytes(u64),
    /// The same, from or to the host's pinned memory.
    Pinned(u64),
}

impl Work {
    /// The same in every run.
    fn takes_ns(self) -> u64 {
        match self {
            Self::Kernel(threads) => 5_000 + threads / 16,
            Self::Long => 1_000_000,
            Self::Bytes(bytes) => 2_000 + bytes / 16,
            Self::Pinned(bytes) => 2_000 + bytes / 64,
        }
    }
}

/// A state of the linker: the texts that were added, and where the program wants to be told.
#[derive(Debug, Default)]
pub struct Link {
    pub text: String,
    pub linked: Vec<u8>,
    /// The options' values as they were.
    pub values: Vec<usize>,
    /// How many options, which, and their values, as addresses.
    pub options: (u32, usize, usize),
}

#[derive(Debug)]
pub struct State {
    /// What kernels printed that nobody waited for yet.
    pub printed: String,
    pub is_initialized: bool,
    pub contexts: Objects<Context>,
    pub modules: Objects<Module>,
    pub functions: Objects<Function>,
    pub streams: Objects<Stream>,
    pub events: Objects<Event>,
    pub links: Objects<Link>,
    pub arrays: Objects<Array>,
    pub mipmapped: Objects<Mipmapped>,
    /// Textures and surfaces.
    pub views: BTreeMap<u64, View>,
    /// The primary context and its references.
    pub primary: Option<(usize, u32)>,
    pub pools: Objects<Pool>,
    /// The device's own, once it was asked for, and the one that it has.
    pub default_pool: usize,
    pub current_pool: usize,
    /// Which pool the memory at an address came from.
    pub pooled: BTreeMap<u64, usize>,
    /// By address: the context, and the bytes.
    pub memory: BTreeMap<u64, (usize, Vec<u8>)>,
    /// What is mapped by hand.
    pub spaces: Spaces,
    /// The host's pinned memory.
    pub pinned: BTreeMap<usize, Box<[u8]>>,
    /// Memory that the host registered: how many bytes from an address on.
    pub registered: BTreeMap<usize, usize>,
    /// How many bytes were copied from and to pinned memory, that which is registered included.
    pub pinned_copied: u64,
    /// Of these, from and to what is registered.
    pub registered_copied: u64,
}

static STATE: Mutex<State> = Mutex::new(State {
    printed: String::new(),
    spaces: Spaces::new(),
    is_initialized: false,
    contexts: Objects::new(),
    modules: Objects::new(),
    functions: Objects::new(),
    streams: Objects::new(),
    events: Objects::new(),
    links: Objects::new(),
    arrays: Objects::new(),
    mipmapped: Objects::new(),
    views: BTreeMap::new(),
    primary: None,
    pools: Objects::new(),
    default_pool: 0,
    current_pool: 0,
    pooled: BTreeMap::new(),
    memory: BTreeMap::new(),
    pinned: BTreeMap::new(),
    registered: BTreeMap::new(),
    pinned_copied: 0,
    registered_copied: 0,
});

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

pub fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn set_current(context: Object) {
    CURRENT.set(context.expose_provenance());
}

impl State {
    pub fn current_handle(&mut self) -> Result<usize, Code> {
        self.current()?;
        Ok(CURRENT.get())
    }

    pub fn current(&mut self) -> Result<&mut Context, Code> {
        let context = std::ptr::with_exposed_provenance_mut(CURRENT.get());
        let context = self.contexts.get_mut(context).ok_or(INVALID_CONTEXT)?;
        match context.lasting {
            0 => Ok(context),
            code => Err(code),
        }
    }

    /// A context is gone, and what it had.
    pub fn forget(&mut self, context: Object) {
        let context = context.expose_provenance();
        self.modules.retain(|it| it.context != context);
        self.functions.retain(|it| it.context != context);
        self.streams.retain(|it| it.context != context);
        self.events.retain(|it| it.context != context);
        self.memory.retain(|_, (owner, _)| *owner != context);
        self.arrays.retain(|it| it.context != context);
        self.mipmapped.retain(|it| it.context != context);
        self.views.retain(|_, it| it.context != context);
        if CURRENT.get() == context {
            CURRENT.set(0);
        }
    }

    pub fn used(&self) -> u64 {
        let plain = self.memory.values().map(|(_, it)| it.len());
        let arrays = self.arrays.all().map(|it| it.bytes.len());
        let bytes = plain.chain(arrays).map(|len| len as u64);
        bytes.sum::<u64>() + self.spaces.used()
    }

    pub fn allocate(&mut self, context: usize, bytes: u64) -> Result<u64, Code> {
        const FIRST: u64 = 0x7_0000_0000;
        if bytes > MEMORY - self.used() {
            return Err(OUT_OF_MEMORY);
        }
        let last = self.memory.last_key_value();
        let end = last.map_or(FIRST, |(at, (_, it))| at + it.len() as u64);
        let address = (end + 1).next_multiple_of(512);
        self.memory
            .insert(address, (context, vec![0; bytes as usize]));
        Ok(address)
    }

    pub fn bytes(&mut self, address: u64, len: usize) -> Result<&mut [u8], Code> {
        if let Some(bytes) = self.spaces.bytes(address, len) {
            return Ok(bytes);
        }
        let range = self.memory.range_mut(..=address).next_back();
        let (base, (_, bytes)) = range.ok_or(INVALID_VALUE)?;
        let from = usize::try_from(address - base).map_err(|_| INVALID_VALUE)?;
        let end = from.checked_add(len).ok_or(INVALID_VALUE)?;
        bytes.get_mut(from..end).ok_or(INVALID_VALUE)
    }

    /// A copy from or to the host's memory.
    pub fn copy(&mut self, host: *const c_void, bytes: usize) -> Work {
        let blocks = self.pinned.iter().map(|(at, it)| (*at, it.len()));
        let has = |(at, len): (usize, usize)| {
            let inside = host.addr().checked_sub(at);
            inside.is_some_and(|inside| inside + bytes <= len)
        };
        let is_pinned = blocks.into_iter().any(has);
        let is_registered = self.registered.iter().any(|(at, len)| has((*at, *len)));
        if is_registered {
            self.registered_copied += bytes as u64;
        }
        match is_pinned || is_registered {
            true => {
                self.pinned_copied += bytes as u64;
                Work::Pinned(bytes as u64)
            }
            false => Work::Bytes(bytes as u64),
        }
    }

    /// Puts bytes into a variable of this name, if there is one.
    pub fn leave(&mut self, module: usize, name: &str, bytes: &[u8]) {
        let module = self
            .modules
            .get(std::ptr::with_exposed_provenance_mut(module));
        let mut variables = module.iter().flat_map(|it| &it.variables);
        let found = variables.find(|(its, ..)| its == name);
        let Some(&(_, address, size)) = found else {
            return;
        };
        let len = size.min(bytes.len());
        if let Ok(variable) = self.bytes(address, len) {
            variable.copy_from_slice(&bytes[..len]);
        }
    }

    pub fn clock(&mut self, stream: Object) -> Result<&mut u64, Code> {
        if stream.is_null() {
            return Ok(&mut self.current()?.clock_ns);
        }
        self.current()?;
        let stream = self.streams.get_mut(stream).ok_or(INVALID_HANDLE)?;
        Ok(&mut stream.clock_ns)
    }

    pub fn work(&mut self, stream: Object, work: Work) -> Result<(), Code> {
        *self.clock(stream)? += work.takes_ns();
        Ok(())
    }

    /// The kernel with an address and a number of words for parameters.
    pub fn more(&mut self, params: &[u8]) -> Result<(), Code> {
        let (address, count) = params.split_at_checked(8).ok_or(INVALID_VALUE)?;
        let (Ok(address), Some(count)) = (address.try_into(), count.first_chunk()) else {
            return Err(INVALID_VALUE);
        };
        let len = u32::from_le_bytes(*count) as usize * 4;
        let (words, _) = self
            .bytes(u64::from_le_bytes(address), len)?
            .as_chunks_mut();
        for word in words {
            *word = u32::from_le_bytes(*word).wrapping_add(1).to_le_bytes();
        }
        Ok(())
    }

    /// What was enqueued in a context has ended: what a kernel did comes out.
    pub fn ended(&mut self, context: usize) -> Result<(), Code> {
        print!("{}", std::mem::take(&mut self.printed));
        let _ = std::io::stdout().flush();
        let context = std::ptr::with_exposed_provenance_mut(context);
        let context = self.contexts.get_mut(context).ok_or(INVALID_CONTEXT)?;
        if context.pending != 0 {
            context.lasting = context.pending;
        }
        match context.lasting {
            0 => Ok(()),
            code => Err(code),
        }
    }
}
