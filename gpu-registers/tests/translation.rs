//! Walks of page tables against a map of pages, and against tables of any bytes.

#[path = "support/mod.rs"]
mod support;

use gil_gpu_registers::{
    Access, Fault, FaultKind, GuestMemory, Mapping, NotMemory, Rights, Tables,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::BTreeMap;
use support::Ram;

const ROOT: u64 = 0x4000_0000;
const ACCESSES: [Access; 3] = [Access::Read, Access::Write, Access::Execute];

/// A page as the driver maps it.
#[derive(Clone, Copy, Debug)]
struct Page {
    /// Guest physical address; its low bits are ignored.
    to: u64,
    read: bool,
    write: bool,
    execute: bool,
}

impl Page {
    fn rights(&self) -> Rights {
        Rights {
            read: self.read,
            write: self.write,
            execute: self.read && self.execute,
        }
    }

    fn allows(&self, access: Access) -> bool {
        match access {
            Access::Read => self.read,
            Access::Write => self.write,
            Access::Execute => self.read && self.execute,
        }
    }
}

fn page() -> impl Strategy<Value = Page> {
    any::<(u64, bool, bool, bool)>().prop_map(|(to, read, write, execute)| Page {
        to,
        read,
        write,
        execute,
    })
}

/// Tables under construction: where the next one goes.
struct Builder {
    ram: Ram,
    free: u64,
}

impl Builder {
    fn new() -> Self {
        let mut ram = Ram::default();
        ram.page(ROOT);
        let free = ROOT + 0x1000;
        Self { ram, free }
    }

    fn entry(&self, at: u64, bytes: usize) -> u64 {
        let mut entry = [0; 8];
        self.ram.read(at, &mut entry[..bytes]).expect("a table");
        u64::from_le_bytes(entry)
    }

    fn table(&mut self) -> u64 {
        let table = self.free;
        self.ram.page(table);
        self.free += 0x1000;
        table
    }

    /// Maps `size` bytes (4 KiB, 2 MiB, 1 GiB) as `io-pgtable-arm.c` would. What is mapped
    /// already stays.
    fn map_lpae(&mut self, address: u64, size: u64, page: Page) -> bool {
        let mut table = ROOT;
        for shift in [39, 30, 21, 12] {
            let at = table + (address >> shift & 511) * 8;
            let entry = self.entry(at, 8);
            if size == 1 << shift {
                let bits = u64::from(page.read) << 6 | u64::from(page.write) << 7 | 1;
                let never = if page.execute { 0 } else { 3 << 53 };
                let to = page.to & ((1 << 48) - size);
                if entry == 0 {
                    self.ram.put_u64(at, to | bits | never);
                }
                return entry == 0;
            }
            match entry & 3 {
                3 => table = entry & 0xffff_ffff_f000,
                0 => {
                    table = self.table();
                    self.ram.put_u64(at, table | 3);
                }
                _ => return false,
            }
        }
        false
    }

    /// Maps 4 KiB as `lima_vm.c` would.
    fn map_directory(&mut self, address: u32, page: Page) {
        let at = ROOT + u64::from(address >> 22) * 4;
        let mut table = self.entry(at, 4);
        if table == 0 {
            table = self.table() | 1;
            self.ram.put_u32(at, table as u32);
        }
        let at = (table & !1) + u64::from(address >> 12 & 0x3ff) * 4;
        let bits = u32::from(page.read) << 1 | u32::from(page.write) << 2 | 1;
        self.ram.put_u32(at, page.to as u32 & !0xfff | bits);
    }
}

/// Addresses that share tables often.
fn address() -> impl Strategy<Value = u64> {
    (0_u64..2, 0_u64..3, 0_u64..4, 0_u64..4)
        .prop_map(|(a, b, c, d)| a << 39 | b << 30 | c << 21 | d << 12)
}

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![4 => Just(1_u64 << 12), 2 => Just(1 << 21), 1 => Just(1 << 30)]
}

/// The list of what was mapped, as the model gives it.
fn joined(pages: impl Iterator<Item = Mapping>) -> Vec<Mapping> {
    let mut list: Vec<Mapping> = Vec::new();
    for page in pages {
        match list.last_mut() {
            Some(last)
                if last.address + last.bytes == page.address
                    && last.guest + last.bytes == page.guest
                    && last.rights == page.rights =>
            {
                last.bytes += page.bytes;
            }
            _ => list.push(page),
        }
    }
    list
}

fn is_permission(fault: Fault) -> bool {
    matches!(fault.kind, FaultKind::Permission(2..=4))
}

fn is_missing(fault: Fault) -> bool {
    matches!(fault.kind, FaultKind::Translation(1..=4))
}

proptest! {
    #[test]
    fn lpae_tables_give_what_was_mapped(
        maps in vec((address(), size(), page()), 0..12),
        probes in vec((address(), 0_u64..4096), 1..20),
    ) {
        let mut builder = Builder::new();
        let mut mapped: BTreeMap<u64, (u64, Page)> = BTreeMap::new();
        for (address, size, page) in maps {
            let start = address & !(size - 1);
            if builder.map_lpae(start, size, page) {
                mapped.insert(start, (size, page));
            }
        }
        let tables = Tables::Lpae { root: ROOT };
        let pages = mapped.iter().map(|(address, (size, page))| Mapping {
            address: *address,
            guest: page.to & ((1 << 48) - size),
            bytes: *size,
            rights: page.rights(),
        });
        let all = tables.mappings(1000, &builder.ram);
        prop_assert!(all.complete);
        prop_assert_eq!(all.list, joined(pages));
        for (address, inside) in probes {
            let at = address | inside;
            let found = mapped.range(..=at).next_back();
            let found = found.filter(|(start, (size, _))| at - **start < *size);
            for access in ACCESSES {
                let got = tables.translate(at, access, &builder.ram);
                match found {
                    Some((start, (size, page))) if page.allows(access) => {
                        let got = got.expect("mapped");
                        let to = page.to & ((1 << 48) - size);
                        prop_assert_eq!(got.address, to + (at - start));
                        prop_assert_eq!(got.bytes, size - (at - start));
                    }
                    Some(_) => prop_assert!(is_permission(got.expect_err("forbidden"))),
                    None => prop_assert!(is_missing(got.expect_err("not mapped"))),
                }
            }
        }
    }

    #[test]
    fn directories_give_what_was_mapped(
        pages in btree_map((0_u32..3, 0_u32..5), page(), 0..10),
        probes in vec((0_u32..3, 0_u32..5, 0_u32..4096), 1..20),
    ) {
        let mut builder = Builder::new();
        for ((high, low), page) in &pages {
            builder.map_directory(high << 22 | low << 12, *page);
        }
        let tables = Tables::Directory { root: ROOT as u32 };
        let mapped = pages.iter().map(|((high, low), page)| Mapping {
            address: u64::from(high << 22 | low << 12),
            guest: u64::from(page.to as u32 & !0xfff),
            bytes: 4096,
            rights: Rights { execute: page.read, ..page.rights() },
        });
        let all = tables.mappings(1000, &builder.ram);
        prop_assert!(all.complete);
        prop_assert_eq!(all.list, joined(mapped));
        for (high, low, inside) in probes {
            let at = u64::from(high << 22 | low << 12 | inside);
            for access in ACCESSES {
                let got = tables.translate(at, access, &builder.ram);
                let allowed = pages.get(&(high, low)).map(|page| match access {
                    Access::Write => page.write,
                    _ => page.read,
                });
                match (allowed, got) {
                    (Some(true), Ok(got)) => {
                        let to = pages[&(high, low)].to as u32 & !0xfff | inside;
                        prop_assert_eq!(got.address, u64::from(to));
                        prop_assert_eq!(got.bytes, u64::from(4096 - inside));
                    }
                    (Some(false), Err(fault)) => {
                        prop_assert_eq!(fault.kind, FaultKind::Permission(2));
                    }
                    (None, Err(fault)) => {
                        prop_assert!(matches!(fault.kind, FaultKind::Translation(1 | 2)));
                    }
                    (allowed, got) => prop_assert!(false, "{:?} {:?}", allowed, got),
                }
            }
        }
    }

    #[test]
    fn any_tables_are_read_four_times_at_most(
        root: u64,
        address: u64,
        seed: u64,
        lpae: bool,
    ) {
        let memory = Noise { seed, reads: Cell::new(0) };
        let tables = if lpae {
            Tables::Lpae { root }
        } else {
            Tables::Directory { root: root as u32 }
        };
        for access in ACCESSES {
            memory.reads.set(0);
            if let Ok(got) = tables.translate(address, access, &memory) {
                prop_assert!(got.bytes > 0 && got.bytes <= 1 << 30);
                prop_assert!(got.address < 1 << 48);
                prop_assert_eq!(got.address & 0xfff, address & 0xfff);
            }
            prop_assert!(memory.reads.get() <= 4);
        }
    }
}

/// Memory of any contents, part of it missing.
struct Noise {
    seed: u64,
    reads: Cell<u32>,
}

impl GuestMemory for Noise {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), NotMemory> {
        self.reads.set(self.reads.get() + 1);
        let mixed = (address ^ self.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if mixed >> 60 == 0 {
            let bytes = into.len();
            return Err(NotMemory { address, bytes });
        }
        let bytes = (mixed ^ mixed >> 29).to_le_bytes();
        into.copy_from_slice(&bytes[..into.len()]);
        Ok(())
    }
}

#[test]
fn tables_that_point_to_themselves_end() {
    let mut ram = Ram::default();
    for index in 0..512 {
        ram.put_u64(ROOT + index * 8, ROOT | 3);
    }
    let tables = Tables::Lpae { root: ROOT };
    let fault = tables.translate(0x1000, Access::Read, &ram);
    assert_eq!(fault.expect_err("a loop").kind, FaultKind::Translation(4));
}

#[test]
fn a_list_of_tables_that_point_to_themselves_ends() {
    let mut ram = Ram::default();
    for index in 0..512 {
        ram.put_u64(ROOT + index * 8, ROOT | 3);
    }
    let all = Tables::Lpae { root: ROOT }.mappings(100, &ram);
    assert_eq!((all.list, all.complete), (vec![], false));
}

#[test]
fn neighbours_are_listed_as_one() {
    let mut builder = Builder::new();
    let page = |to| Page {
        to,
        read: true,
        write: true,
        execute: false,
    };
    for (address, to) in [(0x1000, 0x8000), (0x2000, 0x9000), (0x3000, 0x1_0000)] {
        assert!(builder.map_lpae(address, 0x1000, page(to)));
    }
    let all = Tables::Lpae { root: ROOT }.mappings(4, &builder.ram);
    let spans: Vec<_> = all
        .list
        .iter()
        .map(|map| (map.address, map.guest, map.bytes))
        .collect();
    assert_eq!(
        spans,
        [(0x1000, 0x8000, 0x2000), (0x3000, 0x1_0000, 0x1000)]
    );
    assert!(all.complete);
    let short = Tables::Lpae { root: ROOT }.mappings(3, &builder.ram);
    assert!(short.list.is_empty() && !short.complete);
}

#[test]
fn levels_are_counted_from_one() {
    let mut builder = Builder::new();
    let page = Page {
        to: 0x8000_0000,
        read: true,
        write: false,
        execute: false,
    };
    assert!(builder.map_lpae(0x1000, 0x1000, page));
    let tables = Tables::Lpae { root: ROOT };
    let fault = |address, access| {
        let got = tables.translate(address, access, &builder.ram);
        got.expect_err("a fault").kind
    };
    assert_eq!(fault(1 << 48, Access::Read), FaultKind::Translation(1));
    assert_eq!(fault(1 << 39, Access::Read), FaultKind::Translation(1));
    assert_eq!(fault(1 << 30, Access::Read), FaultKind::Translation(2));
    assert_eq!(fault(1 << 21, Access::Read), FaultKind::Translation(3));
    assert_eq!(fault(0x2000, Access::Read), FaultKind::Translation(4));
    assert_eq!(fault(0x1000, Access::Write), FaultKind::Permission(4));
    assert_eq!(fault(0x1000, Access::Execute), FaultKind::Permission(4));
}

#[test]
fn without_tables_nothing_or_everything_is_mapped() {
    let ram = Ram::default();
    let got = Tables::Unmapped.translate(0x1234, Access::Read, &ram);
    assert_eq!(got.expect_err("a fault").kind, FaultKind::Unmapped);
    let got = Tables::Identity.translate(0x1234, Access::Write, &ram);
    let got = got.expect("memory");
    assert_eq!((got.address, got.bytes), (0x1234, 0x1000 - 0x234));
}
