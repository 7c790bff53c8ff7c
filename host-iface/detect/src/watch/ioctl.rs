//! Ioctls of a kernel driver, seen at the function that executes them, whichever driver
//! that is: the real one, or `gil_mirror.ko` in its place. The driver's table says what
//! their arguments are.

use super::arguments::Convention;
use super::{Guest, Spec, SpecError};
use gil_drivers::decode::{DecodeError, Memory, Value};
use gil_drivers::{Table, TableError};
use gil_uapi::VirtualAddress;
use std::fmt;

/// Where `gil_mirror.ko` has the ioctls that it takes (`synthetic-driver/mirror_ioctl.c`):
/// the number and a copy of the argument.
const MIRROR: (&str, &str) = ("gil_mirror", "gil_mirror_called");
/// The register that has the copy of the argument, there and in drivers.
const ARGUMENT: u8 = 1;
/// Elements shown of a list.
const SHOWN: usize = 256;

/// The functions of a driver's ioctls, in its module; so many bytes are shown of what their
/// arguments point to.
///
/// # Errors
/// [`TableError`] if no table has the driver.
pub fn in_driver(driver: &str, bytes: usize) -> Result<Vec<Spec>, TableError> {
    let table = gil_drivers::table(driver)?;
    let functions = table.ioctls().map(|it| table.function(it));
    Ok(functions
        .map(|it| spec(driver, driver, it, bytes))
        .collect())
}

/// Where the mirror of a driver takes its ioctls.
pub fn in_mirror(driver: &str, bytes: usize) -> Spec {
    spec(driver, MIRROR.0, MIRROR.1.into(), bytes)
}

fn spec(driver: &str, object: &str, function: String, bytes: usize) -> Spec {
    Spec {
        object: Some(object.into()),
        function,
        file: None,
        types: None,
        driver: Some(driver.into()),
        bytes,
    }
}

/// A driver's ioctls at one function.
#[derive(Debug)]
pub(super) struct Ioctls {
    table: Table,
    /// Which one; none where a register says it.
    number: Option<u32>,
    /// Bytes shown of memory.
    shown: usize,
}

/// An ioctl that was seen. Prints as its name and its decoded argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ioctl {
    /// Its name: what the kernel's header has behind `DRM_IOCTL_`.
    pub name: String,
    /// Its argument's fields, as far as they could be read.
    pub values: Result<Vec<Value>, Unread>,
    /// Bytes shown of memory.
    pub shown: usize,
}

/// Why an ioctl has no fields.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// The simulator does not show the argument.
    #[error("its argument cannot be read")]
    Argument,
    /// It has no meaning: the driver refuses it.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

impl Ioctls {
    /// Those of the driver that a watch names.
    pub(super) fn of(spec: &Spec) -> Result<Option<Self>, SpecError> {
        let Some(driver) = &spec.driver else {
            return Ok(None);
        };
        let unknown = || SpecError(spec.to_string());
        let table = gil_drivers::table(driver).map_err(|_| unknown())?;
        let is_it = |it: &&gil_drivers::Ioctl| table.function(it) == spec.function;
        let number = table.ioctls().find(is_it).map(|it| it.number);
        let is_mirror = spec.object.as_deref() == Some(MIRROR.0) && spec.function == MIRROR.1;
        match number.is_some() || is_mirror {
            true => Ok(Some(Self {
                table,
                number,
                shown: spec.bytes,
            })),
            false => Err(unknown()),
        }
    }

    /// The driver's name.
    pub(super) fn driver(&self) -> &str {
        &self.table.driver
    }

    /// The one at whose function the guest is.
    pub(super) fn read(&self, guest: &dyn Guest) -> Ioctl {
        let register = |number| guest.register(number, Convention::Aarch64);
        let number = self.number.or_else(|| u32::try_from(register(0)?).ok());
        let known = number.and_then(|number| self.table.ioctl(number));
        let name = match (known, number) {
            (Some(ioctl), _) => self.table.shown(ioctl),
            (None, Some(number)) => format!("{} ioctl {number:#x}", self.driver()),
            (None, None) => format!("{} ioctl", self.driver()),
        };
        let size = known.and_then(|it| self.table.structure(&it.argument));
        let argument = size.and_then(|it| bytes(guest, register(ARGUMENT)?, it.size));
        let values = match (number, argument) {
            (Some(number), Some(argument)) => {
                let mut program = |address, len| bytes(guest, address, len);
                let call = self.table.decode(number, &argument, &mut program);
                call.map(|call| call.values).map_err(Unread::from)
            }
            _ => Err(Unread::Argument),
        };
        let shown = self.shown;
        Ioctl {
            name,
            values,
            shown,
        }
    }
}

fn bytes(guest: &dyn Guest, address: u64, len: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; len];
    let is_there = guest.read(VirtualAddress(address), &mut bytes);
    is_there.then_some(bytes)
}

impl fmt::Display for Ioctl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name)?;
        match &self.values {
            Ok(values) => fields(f, values, self.shown)?,
            Err(unread) => write!(f, "{unread}")?,
        }
        f.write_str(")")
    }
}

fn fields(f: &mut fmt::Formatter<'_>, values: &[Value], shown: usize) -> fmt::Result {
    for (n, value) in values.iter().enumerate() {
        let comma = if n == 0 { "" } else { ", " };
        // Of an element of a list, the list's name is there already.
        let name = value.name.rsplit_once("].").map_or(&*value.name, |it| it.1);
        write!(f, "{comma}{name}=")?;
        match (&value.memory, &value.numbers[..]) {
            (Memory::Nothing, [number]) => write!(f, "{number:#x}")?,
            (Memory::Nothing, numbers) => list(f, numbers.iter(), SHOWN)?,
            (Memory::Bytes(bytes), _) => {
                write!(f, "{} bytes", bytes.len())?;
                list(f, bytes.iter(), shown)?;
            }
            (Memory::Numbers(numbers), _) => list(f, numbers.iter(), SHOWN)?,
            (Memory::Structs(structs), _) => {
                f.write_str("[")?;
                for (n, inner) in structs.iter().take(SHOWN).enumerate() {
                    f.write_str(if n == 0 { "{" } else { ", {" })?;
                    fields(f, inner, shown)?;
                    f.write_str("}")?;
                }
                f.write_str(if structs.len() > SHOWN { ", …]" } else { "]" })?;
            }
            (Memory::Out(len), _) => write!(f, "{len} bytes to write")?,
        }
    }
    Ok(())
}

fn list<T: fmt::LowerHex>(
    f: &mut fmt::Formatter<'_>,
    numbers: impl ExactSizeIterator<Item = T>,
    shown: usize,
) -> fmt::Result {
    let count = numbers.len();
    f.write_str("[")?;
    for (n, number) in numbers.take(shown).enumerate() {
        let comma = if n == 0 { "" } else { ", " };
        write!(f, "{comma}{number:#x}")?;
    }
    f.write_str(if count > shown { ", …]" } else { "]" })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A guest that executes `VIRTGPU_EXECBUFFER` with two buffers.
    struct Executing;

    const AT: u64 = 0xffff_8000_0000_1000;
    const PROGRAM: u64 = 0x1000;

    impl Guest for Executing {
        fn register(&self, number: u8, _: Convention) -> Option<u64> {
            [2, AT].get(usize::from(number)).copied()
        }

        fn stack(&self, _: Convention) -> Option<VirtualAddress> {
            None
        }

        fn process(&self) -> Option<u32> {
            Some(7)
        }

        fn read(&self, address: VirtualAddress, out: &mut [u8]) -> bool {
            let mut memory = Vec::new();
            match address.0 {
                AT => {
                    for word in [
                        2u32,
                        4,
                        PROGRAM as u32,
                        0,
                        PROGRAM as u32 + 4,
                        0,
                        2,
                        0,
                        0,
                        0,
                    ] {
                        memory.extend(word.to_le_bytes());
                    }
                }
                PROGRAM => memory.extend([1, 2, 3, 4]),
                _ => memory.extend([5, 0, 0, 0, 6, 0, 0, 0]),
            }
            let is_there = memory.len() >= out.len();
            if is_there {
                out.copy_from_slice(&memory[..out.len()]);
            }
            is_there
        }
    }

    fn seen(spec: &Spec) -> String {
        let ioctls = Ioctls::of(spec).unwrap().unwrap();
        ioctls.read(&Executing).to_string()
    }

    #[test]
    fn an_ioctl_is_the_same_in_the_driver_and_in_the_mirror() {
        let specs = in_driver("virtio_gpu", 3).unwrap();
        let is_it = |it: &&Spec| it.function == "virtio_gpu_execbuffer_ioctl";
        let there = seen(specs.iter().find(is_it).unwrap());
        let mirror = in_mirror("virtio_gpu", 3);
        let line = "VIRTGPU_EXECBUFFER(flags=0x2, size=0x4, command=4 bytes[0x1, 0x2, 0x3, …], \
                    bo_handles=[0x5, 0x6], num_bo_handles=0x2, fence_fd=0x0, ring_idx=0x0, pad=0x0)";
        assert_eq!(there, line);
        assert_eq!(seen(&mirror), line);
        assert_eq!(mirror.to_string().parse(), Ok(mirror));
    }

    #[test]
    fn what_is_no_ioctl_is_refused() {
        for text in [
            "virtio_gpu:f#virtio_gpu",
            "gil_mirror:gil_mirror_called#none",
            "virtio_gpu:f#virtio_gpu+1",
        ] {
            let spec: Spec = text.parse().unwrap();
            assert!(Ioctls::of(&spec).is_err(), "{text}");
        }
        assert!(in_driver("none", 1).is_err());
        assert!("m:f#".parse::<Spec>().is_err());
        assert!("m:f#d+".parse::<Spec>().is_err());
    }
}
