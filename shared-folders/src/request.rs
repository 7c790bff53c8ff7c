//! A request of the guest's kernel, as `linux/fuse.h` has it. What a guest may not ask
//! is refused here; the rest is brought into the form in which it is executed: by the
//! user who runs this process, with this machine's numbers.

use nix::libc;

/// Bytes in front of what is an operation's own.
pub const HEADER: usize = 40;

/// Numbers of operations.
pub mod op {
    /// Finds a name in a folder.
    pub const LOOKUP: u32 = 1;
    /// One file less is known.
    pub const FORGET: u32 = 2;
    /// Attributes.
    pub const GETATTR: u32 = 3;
    /// Changes them.
    pub const SETATTR: u32 = 4;
    /// A link's target.
    pub const READLINK: u32 = 5;
    /// Makes a link.
    pub const SYMLINK: u32 = 6;
    /// Makes a file of any kind.
    pub const MKNOD: u32 = 8;
    /// Makes a folder.
    pub const MKDIR: u32 = 9;
    /// Removes a file.
    pub const UNLINK: u32 = 10;
    /// Removes a folder.
    pub const RMDIR: u32 = 11;
    /// Moves.
    pub const RENAME: u32 = 12;
    /// Gives a file one more name.
    pub const LINK: u32 = 13;
    /// Opens a file.
    pub const OPEN: u32 = 14;
    /// Reads it.
    pub const READ: u32 = 15;
    /// Writes it.
    pub const WRITE: u32 = 16;
    /// The file system's size.
    pub const STATFS: u32 = 17;
    /// Closes a file.
    pub const RELEASE: u32 = 18;
    /// Has it written to the disk.
    pub const FSYNC: u32 = 20;
    /// Closes one of its numbers.
    pub const FLUSH: u32 = 25;
    /// The first one.
    pub const INIT: u32 = 26;
    /// Opens a folder.
    pub const OPENDIR: u32 = 27;
    /// Reads it.
    pub const READDIR: u32 = 28;
    /// Closes it.
    pub const RELEASEDIR: u32 = 29;
    /// Has it written to the disk.
    pub const FSYNCDIR: u32 = 30;
    /// Makes a file and opens it.
    pub const CREATE: u32 = 35;
    /// An earlier one need not be answered.
    pub const INTERRUPT: u32 = 36;
    /// Several files less are known.
    pub const BATCH_FORGET: u32 = 42;
    /// Reserves space.
    pub const FALLOCATE: u32 = 43;
    /// Moves, by options.
    pub const RENAME2: u32 = 45;
    /// Finds data or holes.
    pub const LSEEK: u32 = 46;
}

/// Places in requests.
mod at {
    use super::HEADER;

    pub const LEN: usize = 0;
    pub const OPCODE: usize = 4;
    pub const UNIQUE: usize = 8;
    pub const UID: usize = 24;
    pub const GID: usize = 28;
    pub const INIT_FLAGS: usize = HEADER + 12;
    /// Of OPEN, OPENDIR and CREATE.
    pub const OPEN_FLAGS: usize = HEADER;
    pub const CREATE_MODE: usize = HEADER + 4;
    /// Of MKNOD and MKDIR.
    pub const MAKE_MODE: usize = HEADER;
    pub const SETATTR_VALID: usize = HEADER;
    pub const SETATTR_MODE: usize = HEADER + 68;
    /// Of READ and WRITE: how the file is open in the guest.
    pub const DATA_FLAGS: usize = HEADER + 32;
    pub const RENAME_FLAGS: usize = HEADER + 8;
}

/// In SETATTR: owner and group are to change.
const SET_OWNER: u32 = 1 << 1 | 1 << 2;
/// Permissions that give whoever starts a file its owner's rights.
const SET_ID: u32 = 0o6000;

/// Kinds of access that the kernel asks for, which are the same on every machine;
/// what else it says is about the guest's own ways (O_DIRECT, O_NOFOLLOW).
const OPEN_KEPT: i32 = libc::O_ACCMODE | libc::O_TRUNC | libc::O_APPEND | libc::O_EXCL;

/// Ways to move: over nothing, and two files to each other's places. RENAME_WHITEOUT
/// would leave a device.
const RENAME_KEPT: u32 = libc::RENAME_NOREPLACE | libc::RENAME_EXCHANGE;

/// What of FUSE is used: several reads at a time, large writes, checks whether a
/// file changed on the host, several lookups at a time, large requests.
pub const FEATURES: u32 = 1 << 0 | 1 << 3 | 1 << 5 | 1 << 12 | 1 << 18 | 1 << 22;

/// What is done with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is executed.
    Execute,
    /// It is answered with this error.
    Refuse(i32),
    /// It is none, or has no answer.
    Drop,
}

/// A request, in its bytes.
#[derive(Debug)]
pub struct Request<'a>(&'a mut [u8]);

impl<'a> Request<'a> {
    /// `None` if it is none.
    pub fn new(bytes: &'a mut [u8]) -> Option<Self> {
        let request = Self(bytes);
        let is_whole =
            request.0.len() >= HEADER && request.word(at::LEN) as usize == request.0.len();
        is_whole.then_some(request)
    }

    /// Its bytes.
    pub fn bytes(&mut self) -> &mut [u8] {
        self.0
    }

    /// The number of its operation.
    pub fn opcode(&self) -> u32 {
        self.word(at::OPCODE)
    }

    /// Its own number.
    pub fn unique(&self) -> [u8; 8] {
        let mut unique = [0; 8];
        unique.copy_from_slice(&self.0[at::UNIQUE..at::UNIQUE + 8]);
        unique
    }

    /// What is done with it; one that is executed has the form for that.
    pub fn judge(&mut self, is_read_only: bool) -> Verdict {
        // As the user who runs this process, whoever asks in the guest.
        self.set_word(at::UID, 0);
        self.set_word(at::GID, 0);
        match self.opcode() {
            op::FORGET | op::BATCH_FORGET => Verdict::Execute,
            op::INTERRUPT => Verdict::Drop,
            op::INIT => self.narrow(at::INIT_FLAGS, FEATURES),
            op::LOOKUP => self.judge_name(),
            op::OPEN | op::OPENDIR => self.judge_open(is_read_only),
            op::READ => self.judge_data(),
            op::GETATTR
            | op::READLINK
            | op::STATFS
            | op::RELEASE
            | op::FSYNC
            | op::FLUSH
            | op::READDIR
            | op::RELEASEDIR
            | op::FSYNCDIR
            | op::LSEEK => Verdict::Execute,
            op::SETATTR
            | op::SYMLINK
            | op::MKNOD
            | op::MKDIR
            | op::UNLINK
            | op::RMDIR
            | op::RENAME
            | op::LINK
            | op::WRITE
            | op::CREATE
            | op::FALLOCATE
            | op::RENAME2
                if is_read_only =>
            {
                Verdict::Refuse(libc::EROFS)
            }
            op::SYMLINK | op::UNLINK | op::RMDIR | op::RENAME | op::LINK | op::FALLOCATE => {
                Verdict::Execute
            }
            op::WRITE => self.judge_data(),
            op::RENAME2 if self.word(at::RENAME_FLAGS) & !RENAME_KEPT != 0 => {
                Verdict::Refuse(libc::EINVAL)
            }
            op::RENAME2 => Verdict::Execute,
            op::SETATTR => self.judge_attributes(),
            op::MKNOD => self.judge_node(),
            op::MKDIR => self.narrow(at::MAKE_MODE, !SET_ID),
            op::CREATE => {
                self.narrow(at::CREATE_MODE, !SET_ID);
                self.judge_open(false)
            }
            _ => Verdict::Refuse(libc::ENOSYS),
        }
    }

    /// No folder's own folder: the guest's kernel never asks for it. A folder may have
    /// moved out of the one that is served. What stands behind the name's end is not
    /// read.
    fn judge_name(&self) -> Verdict {
        match self.0[HEADER..].starts_with(b"..\0") {
            true => Verdict::Refuse(libc::ENOENT),
            false => Verdict::Execute,
        }
    }

    /// How the file is open here stays as it is: `fuse-backend-rs` closes a file whose
    /// flags the system does not change, and goes on to use its number.
    fn judge_data(&mut self) -> Verdict {
        self.narrow(at::DATA_FLAGS, libc::O_APPEND.cast_unsigned())
    }

    fn judge_open(&mut self, is_read_only: bool) -> Verdict {
        let verdict = self.narrow(at::OPEN_FLAGS, OPEN_KEPT.cast_unsigned());
        let flags = self.word(at::OPEN_FLAGS).cast_signed();
        let writes = flags & libc::O_ACCMODE != libc::O_RDONLY || flags & libc::O_TRUNC != 0;
        match is_read_only && writes {
            true => Verdict::Refuse(libc::EROFS),
            false => verdict,
        }
    }

    /// Files stay their owner's, and give nobody the owner's rights.
    fn judge_attributes(&mut self) -> Verdict {
        self.narrow(at::SETATTR_VALID, !SET_OWNER);
        self.narrow(at::SETATTR_MODE, !SET_ID)
    }

    /// Plain files alone.
    fn judge_node(&mut self) -> Verdict {
        match self.word(at::MAKE_MODE) & libc::S_IFMT {
            libc::S_IFREG => self.narrow(at::MAKE_MODE, !SET_ID),
            _ => Verdict::Refuse(libc::EPERM),
        }
    }

    /// Leaves these bits of a word, if there is one.
    fn narrow(&mut self, at: usize, bits: u32) -> Verdict {
        if self.0.len() < at + 4 {
            return Verdict::Refuse(libc::EINVAL);
        }
        self.set_word(at, self.word(at) & bits);
        Verdict::Execute
    }

    fn word(&self, at: usize) -> u32 {
        let bytes = self.0.get(at..at + 4).and_then(|word| word.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes)
    }

    fn set_word(&mut self, at: usize, value: u32) {
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(opcode: u32, own: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        bytes[at::OPCODE..at::OPCODE + 4].copy_from_slice(&opcode.to_le_bytes());
        bytes[at::UID..at::UID + 8].copy_from_slice(&[7; 8]);
        bytes.extend_from_slice(own);
        let len = (bytes.len() as u32).to_le_bytes();
        bytes[..4].copy_from_slice(&len);
        bytes
    }

    fn judge(bytes: &mut [u8], is_read_only: bool) -> Verdict {
        Request::new(bytes).unwrap().judge(is_read_only)
    }

    #[test]
    fn bytes_that_are_no_request_are_known() {
        let mut bytes = request(op::GETATTR, &[0; 16]);
        assert!(Request::new(&mut bytes).is_some());
        assert!(Request::new(&mut bytes[..50]).is_none());
        assert!(Request::new(&mut []).is_none());
    }

    #[test]
    fn a_read_only_folder_refuses_every_change() {
        let changes = [
            op::SETATTR,
            op::SYMLINK,
            op::MKNOD,
            op::MKDIR,
            op::UNLINK,
            op::RMDIR,
            op::RENAME,
            op::LINK,
            op::WRITE,
            op::CREATE,
            op::FALLOCATE,
            op::RENAME2,
        ];
        for change in changes {
            let verdict = judge(&mut request(change, &[0; 200]), true);
            assert_eq!(verdict, Verdict::Refuse(libc::EROFS), "{change}");
        }
        for flags in [libc::O_WRONLY, libc::O_RDWR, libc::O_TRUNC] {
            let own = [flags.to_le_bytes(), [0; 4]].concat();
            let verdict = judge(&mut request(op::OPEN, &own), true);
            assert_eq!(verdict, Verdict::Refuse(libc::EROFS), "{flags:o}");
            assert_eq!(judge(&mut request(op::OPEN, &own), false), Verdict::Execute);
        }
        assert_eq!(
            judge(&mut request(op::OPEN, &[0; 8]), true),
            Verdict::Execute
        );
    }

    #[test]
    fn what_is_not_served_is_refused() {
        // SETXATTR, GETLK, BMAP, IOCTL, POLL, COPY_FILE_RANGE, and what is to come.
        for opcode in [0, 21, 31, 37, 39, 40, 47, 99, u32::MAX] {
            let verdict = judge(&mut request(opcode, &[0; 100]), false);
            assert_eq!(verdict, Verdict::Refuse(libc::ENOSYS), "{opcode}");
        }
        for above in [&b"..\0"[..], b"..\0\0", b"..\0name\0"] {
            let verdict = judge(&mut request(op::LOOKUP, above), false);
            assert_eq!(verdict, Verdict::Refuse(libc::ENOENT));
        }
        assert_eq!(
            judge(&mut request(op::LOOKUP, b"..a\0"), false),
            Verdict::Execute
        );
        for kind in [libc::S_IFCHR, libc::S_IFBLK, libc::S_IFIFO, libc::S_IFSOCK] {
            let own = (kind | 0o644).to_le_bytes();
            let verdict = judge(&mut request(op::MKNOD, &own), false);
            assert_eq!(verdict, Verdict::Refuse(libc::EPERM), "{kind:o}");
        }
    }

    #[test]
    fn a_file_stays_open_as_it_was_opened() {
        for opcode in [op::READ, op::WRITE] {
            let mut bytes = request(opcode, &[0xff; 40]);
            assert_eq!(judge(&mut bytes, false), Verdict::Execute);
            let flags = &bytes[at::DATA_FLAGS..at::DATA_FLAGS + 4];
            assert_eq!(flags, libc::O_APPEND.to_le_bytes());
        }
    }

    #[test]
    fn nobody_gets_rights_by_a_file() {
        let mode = |opcode, at: usize| {
            let mut own = [0; 200];
            own[at..at + 4].copy_from_slice(&(libc::S_IFREG | 0o6755).to_le_bytes());
            let mut bytes = request(opcode, &own);
            assert_eq!(judge(&mut bytes, false), Verdict::Execute);
            let at = HEADER + at;
            u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) & 0o7777
        };
        let made = [
            (op::MKNOD, 0),
            (op::MKDIR, 0),
            (op::CREATE, 4),
            (op::SETATTR, 68),
        ];
        assert_eq!(made.map(|(opcode, at)| mode(opcode, at)), [0o755; 4]);
    }

    #[test]
    fn files_stay_their_owners_whoever_asks() {
        let mut bytes = request(op::SETATTR, &[0xff; 88]);
        assert_eq!(judge(&mut bytes, false), Verdict::Execute);
        assert_eq!(bytes[HEADER] & 0b111, 0b001);
        assert_eq!(bytes[at::UID..at::UID + 8], [0; 8]);
    }
}
