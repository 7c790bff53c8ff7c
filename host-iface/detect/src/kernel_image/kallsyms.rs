//! KALLSYMS: names packed with 256 tokens, and their addresses as offsets.
//!
//! Two orders of the tables, each padded to 4 or 8 bytes:
//!
//! | Linux | order |
//! |---|---|
//! | to 6.3 | offsets, relative base, number, names, markers, (order of names), tokens, token index |
//! | from 6.4 | number, names, markers, tokens, token index, offsets, relative base, … |
//!
//! Markers are the places of every 256th name. Source: `scripts/kallsyms.c`.

use super::{KernelSymbol, u32_at};
use std::ops::Range;

const TOKENS: usize = 256;
/// Longest packed name that is believed: `KSYM_NAME_LEN` is 512.
const MAX_PACKED: usize = 1024;
/// More than names have on average.
const USUAL_PACKED: usize = 128;
/// Longest unpacked name that is believed.
const MAX_NAME: usize = 2048;
/// Names to a marker.
const STRIDE: usize = 256;
/// Fewest markers: even a small kernel has thousands of functions.
const LEAST_MARKERS: usize = 4;
/// Runs of numbers that are tried as markers.
const MOST_RUNS: usize = 64;
/// Tables of tokens that are tried: there is one, and seldom what looks like it.
const MOST_TABLES: usize = 8;

/// The tables of a kernel.
pub struct Tables {
    tokens: Tokens,
    names: Vec<Range<usize>>,
    /// The tables that may hold them: nearly always one.
    pub offsets: Vec<Offsets>,
}

/// Finds the tables in an Image.
pub fn find(bytes: &[u8]) -> Option<Tables> {
    let mut from = 0;
    let mut all = std::iter::from_fn(|| {
        let tokens = Tokens::find(bytes, from)?;
        from = tokens.end;
        Some(tokens)
    });
    all.by_ref()
        .take(MOST_TABLES)
        .find_map(|tokens| find_rest(bytes, tokens))
}

fn find_rest(bytes: &[u8], tokens: Tokens) -> Option<Tables> {
    let (number_at, names) = Names::find(bytes, tokens.table)?;
    let offsets = Offsets::find(bytes, &tokens, number_at, names.len());
    let tables = Tables {
        tokens,
        names,
        offsets,
    };
    (!tables.offsets.is_empty()).then_some(tables)
}

impl Tables {
    /// All symbols whose names can be read.
    pub fn symbols(
        &self,
        bytes: &[u8],
        offsets: &Offsets,
        relative_base: u64,
    ) -> Vec<KernelSymbol> {
        let named = self.names.iter().enumerate().filter_map(|(index, packed)| {
            let name = self.tokens.unpack(bytes, bytes.get(packed.clone())?)?;
            let mut chars = name.chars();
            let kind = chars.next()?;
            let address = offsets.address(bytes, index, relative_base)?;
            let name = chars.as_str().into();
            Some(KernelSymbol {
                address,
                kind,
                name,
            })
        });
        let mut symbols: Vec<_> = named.collect();
        // As they are, but for per-CPU ones.
        symbols.sort_by_key(|symbol| symbol.address);
        symbols
    }
}

/// What each byte of a packed name stands for.
struct Tokens {
    table: usize,
    index: Box<[u16]>,
    end: usize,
}

impl Tokens {
    /// The first ones from `from` on: 256 rising places, behind 256 strings
    /// that they are the places of.
    fn find(bytes: &[u8], from: usize) -> Option<Self> {
        let last = bytes.len().checked_sub(2 * TOKENS)?;
        (from.next_multiple_of(4)..=last)
            .step_by(4)
            .find_map(|at| Self::at(bytes, at))
    }

    fn at(bytes: &[u8], at: usize) -> Option<Self> {
        let place = |i: usize| u16::from_le_bytes([bytes[at + 2 * i], bytes[at + 2 * i + 1]]);
        let rises = |i: usize| (2..=64).contains(&place(i).wrapping_sub(place(i - 1)));
        if place(0) != 0 || !(1..TOKENS).all(rises) {
            return None;
        }
        let index: Box<[u16]> = (0..TOKENS).map(place).collect();
        let last = usize::from(place(TOKENS - 1));
        let nearest = at.checked_sub(last + 2)? & !3;
        let farthest = nearest.saturating_sub(72);
        let table = (farthest..=nearest).rev().step_by(4);
        let table = table
            .into_iter()
            .find(|&table| is_token_table(bytes, table, &index, at))?;
        Some(Self {
            table,
            index,
            end: at + 2 * TOKENS,
        })
    }

    fn token<'a>(&self, bytes: &'a [u8], code: u8) -> &'a [u8] {
        let start = self.table + usize::from(self.index[usize::from(code)]);
        let rest = bytes.get(start..).unwrap_or_default();
        let end = rest.iter().take(64).position(|&byte| byte == 0);
        &rest[..end.unwrap_or(0)]
    }

    fn unpack(&self, bytes: &[u8], packed: &[u8]) -> Option<String> {
        let mut name = Vec::new();
        for &code in packed {
            name.extend_from_slice(self.token(bytes, code));
        }
        let is_name = name.len() <= MAX_NAME && name.iter().all(u8::is_ascii_graphic);
        is_name.then(|| String::from_utf8(name).ok()).flatten()
    }
}

/// Whether NULs stand before each place and nowhere else.
fn is_token_table(bytes: &[u8], table: usize, index: &[u16], end: usize) -> bool {
    let Some(table) = bytes.get(table..end) else {
        return false;
    };
    let starts = index.iter().map(|&start| usize::from(start));
    let ends = index[1..].iter().map(|&start| usize::from(start) - 1);
    let last = usize::from(index[TOKENS - 1]);
    let Some(len) = table.iter().skip(last).position(|&byte| byte == 0) else {
        return false;
    };
    let mut ranges = starts.zip(ends.chain([last + len]));
    let is_padding = table[last + len..].iter().all(|&byte| byte == 0);
    is_padding
        && table.len() - (last + len + 1) < 8
        && ranges.all(|(start, end)| {
            table.get(end) == Some(&0) && end > start && !table[start..end].contains(&0)
        })
}

/// Finds the packed names.
struct Names<'a> {
    bytes: &'a [u8],
    /// Names, and places where they may begin, that may still be looked at, so
    /// that no file takes long.
    budget: usize,
}

impl<'a> Names<'a> {
    /// Where the names' number stands, and where each name lies, all before
    /// `end`.
    fn find(bytes: &'a [u8], end: usize) -> Option<(usize, Vec<Range<usize>>)> {
        let bytes = &bytes[..end];
        let mut this = Self {
            bytes,
            budget: bytes.len().max(1 << 20),
        };
        let mut runs = runs(bytes);
        runs.reverse();
        let nearest = runs.iter().take(MOST_RUNS);
        nearest.into_iter().find_map(|run| this.try_run(run))
    }

    /// Numbers behind the markers can look like some more of them.
    fn try_run(&mut self, run: &Run) -> Option<(usize, Vec<Range<usize>>)> {
        let fewest = run.count.saturating_sub(3).max(LEAST_MARKERS);
        (fewest..=run.count)
            .rev()
            .find_map(|count| self.try_markers(run.at, count))
    }

    fn try_markers(&mut self, at: usize, count: usize) -> Option<(usize, Vec<Range<usize>>)> {
        let last = u32_at(self.bytes, at + 4 * (count - 1))? as usize;
        let latest = at.checked_sub(last)? & !3;
        let earliest = latest.saturating_sub(STRIDE * USUAL_PACKED);
        let wanted = STRIDE * (count - 1) + 1..=STRIDE * count;
        self.budget = self.budget.checked_sub((latest - earliest) / 4)?;
        let mut starts = (earliest..=latest).rev().step_by(4);
        starts.find_map(|start| {
            [4, 8].into_iter().find_map(|back| {
                let number_at = start.checked_sub(back)?;
                let number = u32_at(self.bytes, number_at)? as usize;
                let padded = back == 4 || u32_at(self.bytes, number_at + 4) == Some(0);
                let is_likely = padded && wanted.contains(&number);
                let names = is_likely.then(|| self.walk(start, number, at)).flatten()?;
                Some((number_at, names))
            })
        })
    }

    /// The names from `start` on, if they are as the markers say and fill the
    /// space before them.
    fn walk(&mut self, start: usize, number: usize, markers: usize) -> Option<Vec<Range<usize>>> {
        let mut names = Vec::with_capacity(number.min(1 << 16));
        let mut at = start;
        for index in 0..number {
            self.budget = self.budget.checked_sub(1)?;
            if index % STRIDE == 0 {
                let marker = u32_at(self.bytes, markers + 4 * (index / STRIDE))?;
                (at - start == marker as usize).then_some(())?;
            }
            let name = packed_name(self.bytes, at)?;
            at = name.end;
            (at <= markers).then_some(())?;
            names.push(name);
        }
        let padding = &self.bytes[at..markers];
        (padding.len() < 8 && padding.iter().all(|&byte| byte == 0)).then_some(names)
    }
}

/// A length of one byte, or of two where the first has its high bit, and the
/// name.
fn packed_name(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let first = usize::from(*bytes.get(at)?);
    let (len, start) = match first & 0x80 {
        0 => (first, at + 1),
        _ => (
            (first & 0x7f) | usize::from(*bytes.get(at + 1)?) << 7,
            at + 2,
        ),
    };
    let is_likely = (1..=MAX_PACKED).contains(&len);
    is_likely.then(|| start..start + len)
}

/// Rising numbers that may be markers.
struct Run {
    at: usize,
    count: usize,
}

fn runs(bytes: &[u8]) -> Vec<Run> {
    let steps = (2 * STRIDE as u32)..=(STRIDE * MAX_PACKED) as u32;
    let is_next = |at: usize, before: u32| {
        u32_at(bytes, at).filter(|&next| steps.contains(&next.wrapping_sub(before)))
    };
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = u32_at(bytes, at) {
        let mut count = 1;
        let mut last = first;
        while first == 0
            && let Some(next) = is_next(at + 4 * count, last)
        {
            last = next;
            count += 1;
        }
        if count >= LEAST_MARKERS {
            found.push(Run { at, count });
        }
        at += 4 * count;
    }
    found
}

/// Addresses, as offsets.
pub struct Offsets {
    at: usize,
    form: Form,
    /// Where the address stands that they count from.
    pub base_at: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// From the relative base.
    Relative,
    /// `CONFIG_KALLSYMS_ABSOLUTE_PERCPU`: not negative, absolute; negative,
    /// `base - 1 - offset`.
    AbsolutePercpu,
}

impl Offsets {
    fn find(bytes: &[u8], tokens: &Tokens, number_at: usize, count: usize) -> Vec<Self> {
        let behind = [4, 8].map(|align: usize| {
            let at = tokens.end.next_multiple_of(align);
            (at, (at + 4 * count).next_multiple_of(8))
        });
        let before = [8, 4].map(|align: usize| {
            let base_at = (number_at & !(align - 1)).wrapping_sub(8);
            let size = (4 * count).next_multiple_of(align);
            (base_at.wrapping_sub(size), base_at)
        });
        let places = before.into_iter().chain(behind);
        let likely = places.filter_map(|(at, base_at)| {
            let form = Self::form(bytes, at, count)?;
            Some(Self { at, form, base_at })
        });
        likely.collect()
    }

    fn form(bytes: &[u8], at: usize, count: usize) -> Option<Form> {
        let table = bytes.get(at..at.checked_add(4 * count)?)?;
        let all = || {
            table
                .chunks_exact(4)
                .map(|word| u32_at(word, 0).unwrap_or(0))
        };
        let spread = all().next() != all().next_back();
        let relative = all().is_sorted() && all().next_back() <= Some(i32::MAX as u32);
        let absolute = || {
            let negative = || all().skip_while(|&word| word <= i32::MAX as u32);
            negative().is_sorted_by(|a, b| a >= b)
                && negative().all(|word| word > i32::MAX as u32)
                && 2 * negative().count() > count
        };
        match (spread && relative, spread && absolute()) {
            (true, _) => Some(Form::Relative),
            (_, true) => Some(Form::AbsolutePercpu),
            _ => None,
        }
    }

    fn address(&self, bytes: &[u8], index: usize, base: u64) -> Option<u64> {
        let offset = u32_at(bytes, self.at + 4 * index)?;
        Some(match (self.form, offset as i32) {
            (Form::AbsolutePercpu, signed @ 0..) => signed as u64,
            (Form::AbsolutePercpu, signed) => {
                base.wrapping_sub(1).wrapping_sub(i64::from(signed) as u64)
            }
            (Form::Relative, _) => base.wrapping_add(offset.into()),
        })
    }
}
