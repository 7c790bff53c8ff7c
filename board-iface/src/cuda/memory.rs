//! The device's memory that a session has: calls of the guest reach no other, since an
//! address of the session's own process may be one for the driver, too.

use gil_wire::call::Handle;
use std::collections::BTreeMap;

/// Whose a range is, and how it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// It was allocated in this context, and is freed by its address.
    Context(Handle),
    /// It was allocated in this context, and the program [shares](super::shared) it.
    Shared(Handle),
    /// It was allocated in the order of a stream of this context, and is freed by its address.
    Stream(Handle),
    /// Its addresses are reserved; what is there is mapped by hand. No context has it.
    Reserved,
    /// It is a variable of this module of this context.
    Module {
        /// The module.
        module: Handle,
        /// Its context.
        context: Handle,
    },
}

impl Owner {
    /// The context; null if it has none.
    pub fn context(self) -> Handle {
        match self {
            Self::Context(context)
            | Self::Shared(context)
            | Self::Stream(context)
            | Self::Module { context, .. } => context,
            Self::Reserved => Handle::NULL,
        }
    }
}

/// Most ranges of a session.
const MAX: usize = 1 << 20;

/// The ranges, by address.
#[derive(Debug, Default)]
pub struct Ranges(BTreeMap<u64, (u64, Owner)>);

impl Ranges {
    /// Whether one more finds room.
    pub fn has_room(&self) -> bool {
        self.0.len() < MAX
    }

    /// A range is the session's.
    pub fn add(&mut self, address: u64, len: u64, owner: Owner) {
        self.0.insert(address, (len, owner));
    }

    /// Whether so many bytes from an address on are.
    pub fn has(&self, address: u64, len: u64) -> bool {
        let range = self.0.range(..=address).next_back();
        range.is_some_and(|(base, (size, _))| {
            let before = address - base;
            before <= *size && len <= size - before
        })
    }

    /// Takes out what was allocated at an address; its context.
    pub fn take(&mut self, address: u64) -> Option<Handle> {
        match self.0.get(&address)? {
            (_, Owner::Context(context) | Owner::Stream(context)) => {
                let context = *context;
                self.0.remove(&address);
                Some(context)
            }
            _ => None,
        }
    }

    /// Takes out what is shared from an address on.
    pub fn take_shared(&mut self, address: u64) {
        if matches!(self.0.get(&address), Some((_, Owner::Shared(_)))) {
            self.0.remove(&address);
        }
    }

    /// Takes out what is reserved from an address on.
    pub fn take_reserved(&mut self, address: u64) {
        if matches!(self.0.get(&address), Some((_, Owner::Reserved))) {
            self.0.remove(&address);
        }
    }

    /// Whether memory was allocated at an address, to be freed there.
    pub fn is_allocated(&self, address: u64) -> bool {
        let known = self.0.get(&address);
        known.is_some_and(|(_, owner)| matches!(owner, Owner::Context(_) | Owner::Stream(_)))
    }

    /// The addresses of what was allocated in the order of a context's streams.
    pub fn of_streams(&self, context: Handle) -> Vec<u64> {
        let is_its = |(address, (_, owner)): (&u64, &(u64, Owner))| {
            (*owner == Owner::Stream(context)).then_some(*address)
        };
        self.0.iter().filter_map(is_its).collect()
    }

    /// A context or module is gone, and what it had.
    pub fn forget(&mut self, is_gone: impl Fn(Owner) -> bool) {
        self.0.retain(|_, (_, owner)| !is_gone(*owner));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_given_is_there() {
        let mut ranges = Ranges::default();
        let (one, other) = (Owner::Context(Handle(1)), Handle(2));
        ranges.add(100, 10, one);
        let of_module = Owner::Module {
            module: other,
            context: Handle(1),
        };
        ranges.add(200, 4, of_module);
        assert!(ranges.has(100, 10) && ranges.has(109, 1) && ranges.has(110, 0));
        assert!(!ranges.has(100, 11) && !ranges.has(99, 1) && !ranges.has(111, 0));
        assert!(!ranges.has(105, u64::MAX) && !ranges.has(u64::MAX, 1));
        assert_eq!(ranges.take(101), None);
        assert_eq!(ranges.take(200), None, "a variable is not freed");
        assert!(ranges.is_allocated(100) && !ranges.is_allocated(200) && !ranges.is_allocated(101));
        ranges.add(300, 8, Owner::Stream(other));
        assert_eq!(ranges.of_streams(other), [300]);
        assert_eq!(
            (ranges.of_streams(Handle(1)), ranges.take(300)),
            (vec![], Some(other))
        );
        ranges.add(400, 8, Owner::Shared(other));
        assert!(ranges.has(404, 4) && !ranges.is_allocated(400));
        assert_eq!(ranges.take(400), None, "what is shared is not freed so");
        ranges.take_shared(100);
        ranges.take_shared(400);
        assert!(ranges.has(100, 1) && !ranges.has(400, 1));
        ranges.forget(|owner| owner == of_module);
        assert!(!ranges.has(200, 1) && ranges.has(100, 1));
        assert_eq!(ranges.take(100), Some(Handle(1)));
        assert_eq!(ranges.take(100), None);
    }
}
