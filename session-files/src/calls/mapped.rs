//! What processes mapped to execute.

use super::Mapped;
use gil_wire::control::Module;
use std::collections::BTreeMap;

/// Most mappings that are kept: a file may list any number.
const MAPPINGS_MAX: usize = 1 << 16;

/// A place in a file of the guest's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place<'a> {
    /// The file's path in the guest.
    pub path: &'a str,
    /// The offset in the file.
    pub offset: u64,
}

/// All mappings, by process and first address.
#[derive(Debug, Default)]
pub(super) struct MappedFiles(BTreeMap<(u32, u64), Module>);

impl MappedFiles {
    /// Adds some; what is there now replaces what was.
    pub(super) fn add(&mut self, Mapped { process, modules }: Mapped) {
        for module in modules {
            let key = (process, module.from);
            if self.0.len() < MAPPINGS_MAX || self.0.contains_key(&key) {
                self.0.insert(key, module);
            }
        }
    }

    pub(super) fn place(&self, process: u32, at: u64) -> Option<Place<'_>> {
        let (_, module) = self.0.range((process, 0)..=(process, at)).next_back()?;
        let since = at.checked_sub(module.from).filter(|_| at < module.to)?;
        Some(Place {
            path: &module.path,
            offset: module.offset.checked_add(since)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_the_mapping_of_its_process() {
        let mut mapped = MappedFiles::default();
        let module = |from, to, offset, path: &str| Module {
            from,
            to,
            offset,
            path: path.into(),
        };
        let modules = vec![
            module(0x1000, 0x2000, 0x400, "/a"),
            module(0x8000, 0x9000, 0, "/b"),
        ];
        mapped.add(Mapped {
            process: 7,
            modules,
        });
        let place = |process, at| mapped.place(process, at).map(|it| (it.path, it.offset));
        assert_eq!(place(7, 0x1010), Some(("/a", 0x410)));
        assert_eq!(place(7, 0x8000), Some(("/b", 0)));
        assert_eq!([place(7, 0x2000), place(7, 0), place(8, 0x1010)], [None; 3]);
        let odd = Mapped {
            process: 9,
            modules: vec![module(1, u64::MAX, u64::MAX, "")],
        };
        mapped.add(odd);
        assert_eq!(mapped.place(9, 5), None);
    }
}
