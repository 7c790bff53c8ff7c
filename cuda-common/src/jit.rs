//! Options of the compiler in the driver: `CUjit_option` of CUDA's driver API.

use crate::{image, names};

/// Options whose values are numbers, in the order of their own numbers: from the most registers (0) to the kind
/// of cache (14). The values of others are addresses of the caller's, or are told to it.
const NUMBERS: [u64; 10] = [0, 1, 7, 8, 9, 10, 11, 12, 13, 14];

/// Whether the value of this option is a number. Only those go from a guest to a board: the driver
/// writes to the addresses that others are.
pub fn is_number(option: u64) -> bool {
    NUMBERS.contains(&option)
}

/// Most options.
pub const OPTIONS_MAX: usize = 64;

/// Options from pairs of words; `None` if one is no number, or if there are too many.
pub fn numbers(words: &[u64]) -> Option<Vec<(u32, u64)>> {
    let (pairs, rest) = words.as_chunks::<2>();
    let number = |[name, value]: &[u64; 2]| {
        let name = u32::try_from(*name).ok().filter(|_| is_number(*name))?;
        Some((name, *value))
    };
    let is_whole = rest.is_empty() && pairs.len() <= OPTIONS_MAX;
    is_whole.then(|| pairs.iter().map(number).collect())?
}

/// What is linked, as `CUjitInputType` of CUDA's driver API says: an ELF file for a GPU.
pub const CUBIN: i32 = 0;
/// A text.
pub const PTX: i32 = 1;
/// Several of both.
pub const FAT: i32 = 2;
/// An ELF file for the host that has a fat binary.
pub const OBJECT: i32 = 3;
/// An archive of such files.
pub const LIBRARY: i32 = 4;

/// What the linker may read of these bytes, which are no archive.
///
/// # Errors
/// Whether it is no image of that kind, as far as its own lengths say, or a kind that is not looked
/// into: others' code.
pub fn check_input(input: i32, bytes: &[u8]) -> Result<(), NoInput> {
    let is_whole = match input {
        // The driver looks for the end of a text.
        PTX => bytes.last() == Some(&0) && image::is_whole(bytes),
        CUBIN | FAT | OBJECT => image::is_whole(bytes),
        _ => return Err(NoInput::Kind),
    };
    match is_whole {
        true => Ok(()),
        false => Err(NoInput::Image),
    }
}

/// Why something is not linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoInput {
    /// It is no such image.
    Image,
    /// Its kind is not looked into.
    Kind,
}

/// Options that only tell something: a time, and the bytes of two texts with the space for them.
pub const TIME: u32 = 2;
/// Where the text is that informs.
pub const INFO_TEXT: u32 = 3;
/// Its bytes.
pub const INFO_BYTES: u32 = 4;
/// Where the text is that says what is wrong.
pub const ERROR_TEXT: u32 = 5;
/// Its bytes.
pub const ERROR_BYTES: u32 = 6;
/// Most bytes of a text that travel. A program that has space for more gets these: both find room in an
/// answer, whose words take up to ten bytes.
pub const LOG_MAX: u64 = 3 << 10;

/// What the compiler told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The bits of a float: the milliseconds that it took.
    pub time: u32,
    /// What informs.
    pub info: Vec<u8>,
    /// What is wrong.
    pub error: Vec<u8>,
}

impl Told {
    /// Its words.
    pub fn words(&self) -> Vec<u64> {
        let time = std::iter::once(self.time.into());
        let texts = names::words(&self.info).chain(names::words(&self.error));
        time.chain(texts).collect()
    }

    /// What words say; `None` if they are not such.
    pub fn read(words: &[u64]) -> Option<Self> {
        let (time, texts) = words.split_first()?;
        let [info, error] = <[Vec<u8>; 2]>::try_from(names::read(texts)?).ok()?;
        Some(Self {
            time: u32::try_from(*time).ok()?,
            info,
            error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_travels_in_words() {
        let told = Told {
            time: 1.5f32.to_bits(),
            info: b"2 kernels".into(),
            error: Vec::new(),
        };
        assert_eq!(Told::read(&told.words()), Some(told.clone()));
        assert_eq!(Told::read(&[]), None);
        assert_eq!(Told::read(&[1]), None);
        assert_eq!(Told::read(&[u64::MAX, 0, 0]), None);
        assert_eq!(Told::read(&[&told.words()[..], &[0]].concat()), None);
    }

    #[test]
    fn only_whole_images_are_linked() {
        // A fat binary that says that it is longer.
        let mut fat = image::FAT.to_le_bytes().to_vec();
        fat.extend([1, 0, 16, 0]);
        fat.extend(0x3fff_ffffu64.to_le_bytes());
        for input in [CUBIN, PTX, FAT, OBJECT] {
            assert_eq!(check_input(input, &fat), Err(NoInput::Image));
        }
        fat[8..].fill(0);
        assert_eq!(check_input(FAT, &fat), Ok(()));
        let mut elf = vec![0u8; 64];
        elf[..4].copy_from_slice(b"\x7fELF");
        elf[40..48].fill(0x7f);
        elf[60..62].fill(0xff);
        for input in [CUBIN, OBJECT] {
            assert_eq!(check_input(input, &elf), Err(NoInput::Image));
        }
        let text = b".version 8.0\n.target sm_70\n\0";
        assert_eq!(check_input(PTX, text), Ok(()));
        assert_eq!(
            check_input(PTX, &text[..text.len() - 1]),
            Err(NoInput::Image)
        );
        for input in [4, 5, -1] {
            assert_eq!(check_input(input, text), Err(NoInput::Kind));
        }
        for input in [CUBIN, PTX, FAT, OBJECT] {
            assert_eq!(check_input(input, b""), Err(NoInput::Image));
        }
    }

    #[test]
    fn both_texts_find_room_in_an_answer() {
        let text = vec![0xff; LOG_MAX as usize];
        let told = Told {
            time: u32::MAX,
            info: text.clone(),
            error: text,
        };
        // Ten bytes a word, as far as postcard's numbers go.
        assert!(told.words().len() * 10 < 8000);
    }

    #[test]
    fn options_are_pairs_of_numbers() {
        assert_eq!(numbers(&[0, 32, 12, 1]), Some(vec![(0, 32), (12, 1)]));
        assert_eq!(numbers(&[]), Some(Vec::new()));
        for refused in [&[0][..], &[3, 1], &[1 << 32, 1], &[0; 2 * OPTIONS_MAX + 2]] {
            assert_eq!(numbers(refused), None);
        }
    }

    #[test]
    fn no_address_is_a_number() {
        // Texts of the compiler's log, names of symbols and their addresses.
        let addresses = [3, 5, 17, 18, 25, 27];
        assert!(!addresses.into_iter().any(is_number));
        // A number that is an option's only in its lower half.
        assert!(!is_number(1 << 32) && is_number(0) && is_number(7));
    }
}
