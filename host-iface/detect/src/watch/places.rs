//! Addresses of points, for simulators that compare addresses: those known so far,
//! and those added later.

use super::mapping::{self, Mapping, Mappings};
use super::process::ProcessCode;
use super::{Point, Target, Watch, WatchError, Watches, open};
use crate::btf::Btf;
use gil_uapi::VirtualAddress;
use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

/// Addresses that may become known.
const MOST: usize = 4096;

/// The kernel's functions that take a module which is in use, as their first
/// argument.
const USERS: [&str; 2] = ["try_module_get", "module_put"];

impl Watches {
    /// Watches how the kernel maps files, so that functions of programs and
    /// libraries become known by their addresses.
    ///
    /// # Errors
    /// [`WatchError`] says what the kernel lacks.
    pub fn follow_mappings(&mut self, kernel: &Path) -> Result<(), WatchError> {
        let is_process = |watch: &&Watch| matches!(watch.target, Target::Process(_));
        let Some(first) = self.watches.iter().find(is_process) else {
            return Ok(());
        };
        let spec = first.spec.clone();
        let image = open(&spec, kernel)?;
        let mappings = Btf::find(image.bytes()).and_then(|types| Mappings::new(&types));
        let mappings = mappings.ok_or_else(|| WatchError::NoTypes(spec.to_string()))?;
        self.mappings = Some(mappings);
        self.place(&spec, &image, mapping::TOLD_BY, Point::Mapped)
    }

    /// The simulation goes on where an earlier one was saved: modules may be
    /// loaded already, and are found when something uses them.
    ///
    /// # Errors
    /// [`WatchError`] if the kernel cannot be read any more.
    pub fn resume(&mut self, kernel: &Path) -> Result<(), WatchError> {
        let is_module = |watch: &&Watch| matches!(watch.target, Target::Module);
        let Some(first) = self.watches.iter().find(is_module) else {
            return Ok(());
        };
        let image = open(&first.spec.clone(), kernel)?;
        // A kernel may have one of them only: the other is inlined.
        let entries = USERS.iter().filter_map(|name| image.function(name).ok());
        entries
            .flatten()
            .map(VirtualAddress)
            .for_each(|at| self.found(at, Point::Loaded));
        Ok(())
    }

    /// A file, whichever, was mapped to be executed: functions that may lie in
    /// it become known. Whether they do is looked at when one is reached.
    pub fn mapped(&self, mapping: &Mapping) {
        self.may_be_at(|process| mapping.address(process.offset));
    }

    /// The simulator itself loaded a program or library, whichever, with `bias`
    /// added to the addresses that it was linked for.
    pub fn loaded_at(&self, bias: u64) {
        let can_be = |process: &ProcessCode| bias == 0 || !process.is_fixed;
        self.may_be_at(|process| {
            can_be(process).then(|| VirtualAddress(process.entry).checked_add(bias))?
        });
    }

    fn may_be_at(&self, address: impl Fn(&ProcessCode) -> Option<VirtualAddress>) {
        for (number, watch) in self.watches.iter().enumerate() {
            if let Target::Process(process) = &watch.target
                && let Some(address) = address(process)
            {
                self.found(address, Point::Watched(number));
            }
        }
    }

    /// An address becomes known, unless too many are.
    pub(super) fn found(&self, address: VirtualAddress, point: Point) {
        let mut places = self.places.write().unwrap_or_else(PoisonError::into_inner);
        if !places.contains(&(address, point)) && places.len() < MOST {
            places.push((address, point));
        }
    }

    /// An earlier run of the same simulation, with the same watches, knew this
    /// point. Whether there is such a watch.
    pub fn restore(&self, (address, point): (VirtualAddress, Point)) -> bool {
        let is_there = match point {
            Point::Watched(number) => self.watches.get(number).is_some_and(|watch| {
                watch.places.fetch_max(1, Relaxed);
                true
            }),
            Point::Loaded => self.loader.is_some(),
            Point::Mapped => self.mappings.is_some(),
        };
        if is_there {
            self.found(address, point);
        }
        is_there
    }

    /// The known point with that number.
    pub fn known_at(&self, index: usize) -> Option<(VirtualAddress, Point)> {
        let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
        places.get(index).copied()
    }

    /// Whether there is a known point at that address.
    pub(super) fn is_known(&self, address: VirtualAddress) -> bool {
        let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
        places.iter().any(|(known, _)| *known == address)
    }

    /// Points that are known so far, with their addresses.
    pub fn known(&self) -> Vec<(VirtualAddress, Point)> {
        let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
        places.clone()
    }
}
