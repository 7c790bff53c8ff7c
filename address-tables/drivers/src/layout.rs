//! Where in an ioctl's argument the fields are that mean something else on another
//! machine: pointers, numbers of buffers, fences, times.

use crate::decode::{BYTES_MAX, ELEMENTS_MAX};
use crate::field::{Count, Element, Field, Pointer, Role, Scalar, Type};
use crate::table::{Ioctl, Struct, Table};

/// A number in an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where it begins, in bytes.
    pub offset: usize,
    /// Its type.
    pub scalar: Scalar,
}

impl Place {
    fn range(self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.scalar.size()
    }

    /// Its value, as [`Value::numbers`](crate::decode::Value::numbers) has it; 0 where
    /// the bytes end before it.
    pub fn read(self, bytes: &[u8]) -> u64 {
        let bytes = bytes.get(self.range()).unwrap_or_default();
        let numbers = crate::decode::numbers(self.scalar, bytes);
        numbers.first().copied().unwrap_or(0)
    }

    /// Sets it, to the lower half of the value if it has 32 bits; nothing where the bytes
    /// end before it.
    pub fn write(self, bytes: &mut [u8], value: u64) {
        let size = self.scalar.size();
        if let Some(bytes) = bytes.get_mut(self.range()) {
            bytes.copy_from_slice(&value.to_le_bytes()[..size]);
        }
    }
}

/// How many elements memory has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// Always as many.
    Fixed(u64),
    /// As the number there says.
    At(Place),
}

/// A pointer, and the memory behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointerAt {
    /// The pointer.
    pub at: Place,
    /// Whether the driver writes the memory; otherwise it reads it.
    pub is_out: bool,
    /// Bytes of an element.
    pub element: usize,
    /// How many there are.
    pub count: Elements,
    /// Where an element has numbers of buffers.
    pub buffers: Vec<Place>,
    /// Where an element says by a flag that these are written.
    flag: Option<(Place, u64)>,
    /// Most elements.
    max: u64,
}

impl PointerAt {
    /// Whether a job may write to an element's buffers: always, if the driver does not say.
    pub fn writes(&self, element: &[u8]) -> bool {
        self.flag
            .is_none_or(|(place, flag)| place.read(element) & flag != 0)
    }

    /// Bytes of the memory; `None` if that is more than any driver takes.
    pub fn len(&self, argument: &[u8]) -> Option<usize> {
        let count = match self.count {
            Elements::Fixed(count) => count,
            Elements::At(place) => place.read(argument),
        };
        let count = usize::try_from(count).ok();
        let count = count.filter(|count| *count as u64 <= self.max)?;
        count.checked_mul(self.element)
    }
}

/// A descriptor of a fence, and its flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FenceAt {
    /// The descriptor.
    pub descriptor: Place,
    /// The flags.
    pub flags: Place,
    /// The flag of one that is waited for.
    pub waits: u64,
    /// The flag of one that comes back.
    pub signals: u64,
}

/// A wait's flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlagsAt {
    /// The flags.
    pub at: Place,
    /// Those of a wait for every job that uses the buffer.
    pub waits: u64,
    /// Those of one that only asks whether there is such a job.
    pub polls: u64,
}

/// An ioctl's argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Its bytes.
    pub size: usize,
    /// Its pointers, in order.
    pub pointers: Vec<PointerAt>,
    /// Numbers of buffers.
    pub buffers: Vec<Place>,
    /// Where the driver puts a new buffer's.
    pub new_buffer: Option<Place>,
    /// A buffer's bytes.
    pub buffer_size: Option<Place>,
    /// Where `mmap` finds a buffer.
    pub mmap_offset: Option<Place>,
    /// A fence.
    pub fence: Option<FenceAt>,
    /// A sync object that a job's end signals.
    pub sync_out: Option<Place>,
    /// Which processor executes a job.
    pub processor: Option<Place>,
    /// Ends of waits.
    pub deadlines: Vec<Place>,
    /// Flags that the driver has all of.
    pub flags: Option<FlagsAt>,
}

impl Table {
    /// Where an ioctl's argument has what another machine has to change.
    pub fn layout(&self, ioctl: &Ioctl) -> Layout {
        let mut layout = Layout {
            size: 0,
            pointers: Vec::new(),
            buffers: Vec::new(),
            new_buffer: None,
            buffer_size: None,
            mmap_offset: None,
            fence: None,
            sync_out: None,
            processor: None,
            deadlines: Vec::new(),
            flags: None,
        };
        if let Some(structure) = self.structure(&ioctl.argument) {
            layout.size = structure.size;
            self.lay(structure, 0, &mut layout);
        }
        layout
    }

    /// Adds a structure's fields, which begins there.
    fn lay(&self, structure: &Struct, base: usize, layout: &mut Layout) {
        for (offset, field) in &structure.fields {
            match &field.ty {
                Type::Struct(inner) => {
                    if let Some(inner) = self.structure(inner) {
                        self.lay(inner, base + offset, layout);
                    }
                }
                Type::Numbers(scalar, count) => {
                    let place = |n| Place {
                        offset: base + offset + n * scalar.size(),
                        scalar: *scalar,
                    };
                    for place in (0..*count).map(place) {
                        self.add_field(structure, base, field, place, layout);
                    }
                }
            }
        }
    }

    fn add_field(
        &self,
        structure: &Struct,
        base: usize,
        field: &Field,
        at: Place,
        layout: &mut Layout,
    ) {
        match &field.role {
            Role::Buffer => layout.buffers.push(at),
            Role::NewBuffer => layout.new_buffer = Some(at),
            Role::Size => layout.buffer_size = Some(at),
            Role::MmapOffset => layout.mmap_offset = Some(at),
            Role::SyncOut(_) => layout.sync_out = Some(at),
            Role::Processor(_) => layout.processor = Some(at),
            Role::Deadline => layout.deadlines.push(at),
            Role::Flags(known) => layout.flags = Some(flags_at(at, *known, 0)),
            Role::Polls { known, polls } => layout.flags = Some(flags_at(at, *known, *polls)),
            Role::Fence(fence) => {
                layout.fence = sibling(structure, base, &fence.flags).map(|flags| FenceAt {
                    descriptor: at,
                    flags,
                    waits: fence.waits,
                    signals: fence.signals,
                });
            }
            Role::Pointer(pointer) => {
                let pointer = self.pointer_at(structure, base, pointer, at);
                layout.pointers.extend(pointer);
            }
            _ => {}
        }
    }

    fn pointer_at(
        &self,
        structure: &Struct,
        base: usize,
        pointer: &Pointer,
        at: Place,
    ) -> Option<PointerAt> {
        let number = Place {
            offset: 0,
            scalar: Scalar::U32,
        };
        let (element, max, buffers) = match &pointer.element {
            Element::Byte => (1, BYTES_MAX, Vec::new()),
            Element::Buffer => (4, ELEMENTS_MAX, vec![number]),
            Element::Sync => (4, ELEMENTS_MAX, Vec::new()),
            Element::Struct(name) => {
                let structure = self.structure(name)?;
                (structure.size, ELEMENTS_MAX, buffers_of(structure))
            }
        };
        let flag = match &pointer.element {
            Element::Struct(name) => self.structure(name).and_then(written_flag),
            _ => None,
        };
        let count = match &pointer.count {
            Count::Fixed(count) => Elements::Fixed(*count),
            Count::Field(name) => Elements::At(sibling(structure, base, name)?),
        };
        Some(PointerAt {
            at,
            is_out: pointer.is_out,
            element,
            count,
            buffers,
            flag,
            max,
        })
    }
}

fn flags_at(at: Place, known: u64, polls: u64) -> FlagsAt {
    FlagsAt {
        at,
        waits: known & !polls,
        polls: known,
    }
}

/// Another field of a structure's that begins there.
fn sibling(structure: &Struct, base: usize, name: &str) -> Option<Place> {
    let mut fields = structure.fields.iter();
    let (offset, field) = fields.find(|(_, field)| field.name == name)?;
    match field.ty {
        Type::Numbers(scalar, _) => Some(Place {
            offset: base + offset,
            scalar,
        }),
        Type::Struct(_) => None,
    }
}

/// The flag of an element of a list that says whether its buffers are written.
fn written_flag(structure: &Struct) -> Option<(Place, u64)> {
    structure.fields.iter().find_map(|(offset, field)| {
        let Type::Numbers(scalar, _) = field.ty else {
            return None;
        };
        let place = Place {
            offset: *offset,
            scalar,
        };
        match field.role {
            Role::Writes(flag) => Some((place, flag)),
            _ => None,
        }
    })
}

/// The numbers of buffers in an element of a list.
fn buffers_of(structure: &Struct) -> Vec<Place> {
    let place = |(offset, field): &(usize, Field)| match (&field.role, &field.ty) {
        (Role::Buffer, Type::Numbers(scalar, _)) => Some(Place {
            offset: *offset,
            scalar: *scalar,
        }),
        _ => None,
    };
    structure.fields.iter().filter_map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(driver: &str, name: &str) -> Layout {
        let table = crate::table(driver).unwrap();
        let ioctl = table.ioctls().find(|it| it.name == name).unwrap();
        table.layout(ioctl)
    }

    fn word(offset: usize) -> Place {
        Place {
            offset,
            scalar: Scalar::U32,
        }
    }

    #[test]
    fn a_job_of_virtio_has_two_pointers_and_a_fence() {
        let job = layout("virtio_gpu", "EXECBUFFER");
        let [command, buffers] = &job.pointers[..] else {
            panic!("{job:?}")
        };
        assert_eq!((command.at.offset, buffers.at.offset), (8, 16));
        assert_eq!((command.element, buffers.element), (1, 4));
        assert_eq!(command.count, Elements::At(word(4)));
        assert_eq!(
            (&command.buffers, &buffers.buffers),
            (&vec![], &vec![word(0)])
        );
        let fence = job.fence.unwrap();
        assert_eq!((fence.flags, fence.waits, fence.signals), (word(0), 1, 2));
        assert_eq!(fence.descriptor.offset, 28);
        let mut argument = vec![0; job.size];
        word(24).write(&mut argument, 3);
        assert_eq!(buffers.len(&argument), Some(12));
        word(24).write(&mut argument, u64::from(u32::MAX));
        assert_eq!(buffers.len(&argument), None);
    }

    #[test]
    fn buffers_are_found_in_lists_of_structures() {
        let job = layout("lima", "GEM_SUBMIT");
        let bos = &job.pointers[0];
        assert_eq!((bos.element, &bos.buffers), (8, &vec![word(0)]));
        let written = [1_u8, 2, 3].map(|flags| bos.writes(&[9, 0, 0, 0, flags, 0, 0, 0]));
        assert_eq!(written, [false, true, true]);
        assert_eq!(job.processor, Some(word(4)));
        assert_eq!(job.sync_out.map(|it| it.offset), Some(36));
        let wait = layout("lima", "GEM_WAIT");
        assert_eq!(wait.buffers, [word(0)]);
        assert_eq!(wait.deadlines[0].scalar, Scalar::I64);
    }

    #[test]
    fn what_makes_and_maps_buffers_says_where() {
        let made = layout("virtio_gpu", "RESOURCE_CREATE_BLOB");
        assert_eq!(made.new_buffer, Some(word(8)));
        assert_eq!(made.buffer_size.map(|it| it.offset), Some(16));
        let map = layout("panfrost", "MMAP_BO");
        assert_eq!(map.mmap_offset.map(|it| it.offset), Some(8));
        let asked = layout("virtio_gpu", "GETPARAM");
        assert!(asked.pointers[0].is_out);
        assert_eq!(asked.pointers[0].len(&[]), Some(4));
    }

    #[test]
    fn places_beyond_the_end_are_nothing() {
        let mut bytes = [1, 2, 3];
        word(0).write(&mut bytes, 7);
        assert_eq!((bytes, word(0).read(&bytes)), ([1, 2, 3], 0));
        let signed = Place {
            offset: 0,
            scalar: Scalar::I32,
        };
        let mut bytes = [0; 4];
        signed.write(&mut bytes, u64::MAX);
        assert_eq!(signed.read(&bytes), u64::MAX);
    }
}
