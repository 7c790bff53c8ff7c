//! What a guest can ask: requests of FUSE as its kernel sends them, and as a hostile
//! program may.

use gil_shared_folders::request::{FEATURES, op};
use gil_shared_folders::{Access, Folder, ServeError, confine, serve};
use nix::libc;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use tempfile::TempDir;

const ROOT: u64 = 1;

/// Folders of the host: `shared` with what is served, and `outside`.
struct Host {
    work: TempDir,
    connection: UnixStream,
    server: JoinHandle<Result<(), ServeError>>,
}

impl Host {
    fn serving(access: Access) -> Self {
        let work = tempfile::tempdir().unwrap();
        for folder in ["shared/inner", "outside"] {
            fs::create_dir_all(work.path().join(folder)).unwrap();
        }
        fs::write(work.path().join("outside/secret"), "secret").unwrap();
        fs::write(work.path().join("shared/file"), "contents").unwrap();
        let path = work.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let folder = Folder {
            path: work.path().join("shared"),
            access,
        };
        // A thread is confined by itself.
        let server = std::thread::spawn(move || serve(&listener, &[folder]));
        let connection = UnixStream::connect(&path).unwrap();
        let mut host = Self {
            work,
            connection,
            server,
        };
        host.begin();
        host
    }

    fn at(&self, path: &str) -> PathBuf {
        self.work.path().join(path)
    }

    fn begin(&mut self) {
        let own = words(&[7, 36, 131_072, u32::MAX, 0]);
        let reply = self.ask(op::INIT, 0, &own).unwrap();
        let word = |at: usize| u32::from_le_bytes(reply[at..at + 4].try_into().unwrap());
        assert_eq!((word(12), word(20)), (FEATURES, 1 << 20));
    }

    /// A message as it is, and the answer to it.
    fn send(&mut self, message: &[u8]) -> Vec<u8> {
        let len = (message.len() as u32).to_le_bytes();
        self.connection.write_all(&len).unwrap();
        self.connection.write_all(message).unwrap();
        let mut len = [0; 4];
        self.connection.read_exact(&mut len).unwrap();
        let mut answer = vec![0; u32::from_le_bytes(len) as usize];
        self.connection.read_exact(&mut answer).unwrap();
        answer
    }

    /// What the operation's reply has of its own, or its error.
    fn ask(&mut self, opcode: u32, node: u64, own: &[u8]) -> Result<Vec<u8>, i32> {
        let answer = self.send(&[&[0], &request(opcode, node, own)[..]].concat());
        let error = i32::from_le_bytes(answer[4..8].try_into().unwrap());
        match error {
            0 => Ok(answer[16..].to_vec()),
            error => Err(-error),
        }
    }

    /// The node of a name.
    fn find(&mut self, folder: u64, name: &str) -> Result<u64, i32> {
        let found = self.ask(op::LOOKUP, folder, &text(name))?;
        Ok(u64::from_le_bytes(found[..8].try_into().unwrap()))
    }

    fn outside_is_as_it_was(&self) {
        let names = fs::read_dir(self.at("outside")).unwrap();
        assert_eq!(names.count(), 1);
        let secret = self.at("outside/secret");
        assert_eq!(fs::read(&secret).unwrap(), b"secret");
        let mode = fs::metadata(&secret).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0, "none of its permissions");
        assert_eq!(fs::read_dir(self.work.path()).unwrap().count(), 3);
    }
}

fn request(opcode: u32, node: u64, own: &[u8]) -> Vec<u8> {
    let len = 40 + own.len() as u32;
    let mut bytes = words(&[len, opcode, 5, 0]);
    bytes.extend(node.to_le_bytes());
    // A user, a group and a process of the guest's.
    bytes.extend(words(&[1000, 1000, 77, 0]));
    bytes.extend(own);
    bytes
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn text(name: &str) -> Vec<u8> {
    [name.as_bytes(), &[0]].concat()
}

const PATHS: [&str; 4] = [
    "../outside/secret",
    "../outside/new",
    "/etc/passwd",
    "inner/../x",
];

#[test]
fn no_name_leads_outside() {
    let mut host = Host::serving(Access::ReadWrite);
    let inner = host.find(ROOT, "inner").unwrap();
    let file = host.find(ROOT, "file").unwrap();
    for folder in [ROOT, inner] {
        assert_eq!(host.find(folder, ".."), Err(libc::ENOENT));
        for path in PATHS {
            assert!(host.find(folder, path).is_err(), "{path}");
        }
        for path in PATHS.into_iter().chain(["..", "."]) {
            let name = text(path);
            let named = |own: &[u32]| [words(own), name.clone()].concat();
            let to = [words(&[ROOT as u32, 0]), text("file"), name.clone()].concat();
            let from = [words(&[ROOT as u32, 0]), name.clone(), text("taken")].concat();
            for (opcode, own) in [
                (op::MKDIR, named(&[0o755, 0])),
                (op::MKNOD, named(&[libc::S_IFREG | 0o644, 0, 0, 0])),
                (
                    op::CREATE,
                    named(&[libc::O_RDWR.cast_unsigned(), 0o644, 0, 0]),
                ),
                (op::UNLINK, name.clone()),
                (op::RMDIR, name.clone()),
                (op::LINK, named(&[file as u32, 0])),
                (op::SYMLINK, [name.clone(), text("target")].concat()),
                (op::RENAME, to),
                (op::RENAME, from),
            ] {
                let done = host.ask(opcode, folder, &own);
                assert!(done.is_err(), "operation {opcode} with {path}");
            }
        }
    }
    host.outside_is_as_it_was();
}

/// Where two folders of a run overlap, a guest moves what one of them serves to where
/// the other one does not reach.
#[test]
fn a_folder_that_was_moved_leads_nowhere() {
    let mut host = Host::serving(Access::ReadWrite);
    let inner = host.find(ROOT, "inner").unwrap();
    fs::rename(host.at("shared/inner"), host.at("outside/inner")).unwrap();
    for above in [&b"..\0"[..], b"..\0\0", b"..\0x\0"] {
        assert!(host.ask(op::LOOKUP, inner, above).is_err());
    }
    fs::remove_dir(host.at("outside/inner")).unwrap();
    fs::rename(host.at("shared"), host.at("moved")).unwrap();
    symlink("outside", host.at("shared")).unwrap();
    host.begin();
    assert!(host.find(ROOT, "file").is_ok());
    assert_eq!(host.find(ROOT, "secret"), Err(libc::ENOENT));
}

#[test]
fn a_move_leaves_no_device() {
    let mut host = Host::serving(Access::ReadWrite);
    let to = |flags| {
        let own = words(&[ROOT as u32, 0, flags, 0]);
        [own, text("file"), text("moved")].concat()
    };
    let whiteout = host.ask(op::RENAME2, ROOT, &to(libc::RENAME_WHITEOUT));
    assert_eq!(whiteout, Err(libc::EINVAL));
    assert_eq!(host.find(ROOT, "moved"), Err(libc::ENOENT));
    assert!(
        host.ask(op::RENAME2, ROOT, &to(libc::RENAME_NOREPLACE))
            .is_ok()
    );
}

#[test]
fn no_link_is_followed() {
    let mut host = Host::serving(Access::ReadWrite);
    symlink("../outside/secret", host.at("shared/there")).unwrap();
    symlink(host.at("outside"), host.at("shared/folder")).unwrap();
    let made = [text("made"), text("../outside/secret")].concat();
    host.ask(op::SYMLINK, ROOT, &made).unwrap();
    for name in ["there", "made", "folder"] {
        let link = host.find(ROOT, name).unwrap();
        for flags in [libc::O_RDONLY, libc::O_RDWR, libc::O_TRUNC] {
            let flags = flags.cast_unsigned();
            assert!(host.ask(op::OPEN, link, &words(&[flags, 0])).is_err());
            assert!(host.ask(op::OPENDIR, link, &words(&[flags, 0])).is_err());
        }
        assert_eq!(host.find(link, "secret"), Err(libc::ENOTDIR));
        let mut own = vec![0; 88];
        own[0] = 1;
        own[68..72].copy_from_slice(&0o777_u32.to_le_bytes());
        // Of the link, if at all.
        let _ = host.ask(op::SETATTR, link, &own);
    }
    let create = [
        words(&[libc::O_RDWR.cast_unsigned(), 0o644, 0, 0]),
        text("there"),
    ]
    .concat();
    assert!(host.ask(op::CREATE, ROOT, &create).is_err());
    host.outside_is_as_it_was();
}

#[test]
fn what_the_guest_does_not_know_is_nobodys() {
    let mut host = Host::serving(Access::ReadWrite);
    for node in [0, 2, 77, u64::MAX] {
        assert!(host.find(node, "file").is_err(), "{node}");
        assert!(host.ask(op::OPEN, node, &[0; 8]).is_err(), "{node}");
        assert!(host.ask(op::READ, node, &[0; 40]).is_err(), "{node}");
    }
    let other = [&[1], &request(op::GETATTR, ROOT, &[0; 16])[..]].concat();
    assert_eq!(host.send(&other), [], "a folder that is not served");
    for odd in [&[][..], &[0], &[0; 20], &[0xff; 60]] {
        assert_eq!(host.send(odd), []);
    }
    assert!(host.find(ROOT, "file").is_ok());
}

#[test]
fn a_message_without_end_ends_the_connection() {
    let mut host = Host::serving(Access::ReadWrite);
    host.connection.write_all(&u32::MAX.to_le_bytes()).unwrap();
    assert!(host.server.join().unwrap().is_err());
}

/// Requests of every operation with bytes that mean nothing: none stops the server
/// or reaches outside.
#[test]
fn nonsense_is_answered() {
    let mut host = Host::serving(Access::ReadWrite);
    let mut state = 1_u64;
    let mut random = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as u32
    };
    for _ in 0..5000 {
        let opcode = match random() % 60 {
            op::INIT => op::GETATTR,
            opcode => opcode,
        };
        let own: Vec<u8> = (0..random() % 120).map(|_| random() as u8 % 50).collect();
        let node = u64::from(random() % 4);
        host.send(&[&[0], &request(opcode, node, &own)[..]].concat());
    }
    assert!(host.ask(op::GETATTR, ROOT, &[0; 16]).is_ok());
    host.outside_is_as_it_was();
}

#[test]
fn a_read_only_folder_stays_as_it_is() {
    let mut host = Host::serving(Access::ReadOnly);
    let file = host.find(ROOT, "file").unwrap();
    let opened = host.ask(op::OPEN, file, &words(&[0, 0])).unwrap();
    let read = [&opened[..8], &[0; 8], &words(&[100, 0, 0, 0, 0, 0])[..]].concat();
    assert_eq!(host.ask(op::READ, file, &read).unwrap(), b"contents");
    let write = words(&[libc::O_RDWR.cast_unsigned(), 0]);
    assert_eq!(host.ask(op::OPEN, file, &write), Err(libc::EROFS));
    assert_eq!(host.ask(op::UNLINK, ROOT, &text("file")), Err(libc::EROFS));
    assert_eq!(fs::read(host.at("shared/file")).unwrap(), b"contents");
}

/// Whatever the checks of requests let through: the kernel holds the process.
#[test]
fn the_process_reaches_nothing_outside() {
    if !confine::is_possible() {
        eprintln!("no Landlock here: nothing to test");
        return;
    }
    let host = Host::serving(Access::ReadWrite);
    let folder = |name, access| Folder {
        path: host.at(name),
        access,
    };
    fs::create_dir(host.at("read")).unwrap();
    fs::write(host.at("read/file"), "r").unwrap();
    let folders = [
        folder("shared", Access::ReadWrite),
        folder("read", Access::ReadOnly),
    ];
    let (shared, read, outside) = (host.at("shared"), host.at("read"), host.at("outside"));
    let confined = move || {
        confine::enter(&folders).unwrap();
        let opens = |path: &Path| File::open(path).is_ok();
        let makes = |path: &Path| File::create(path).is_ok();
        let above = shared.join("../outside/secret");
        let hidden = fs::rename(shared.join("file"), outside.join("file")).is_ok();
        (
            (opens(&shared.join("file")), makes(&shared.join("new"))),
            (opens(&read.join("file")), makes(&read.join("new"))),
            (opens(&outside.join("secret")), makes(&outside.join("new"))),
            (opens(&above), hidden),
        )
    };
    let found = std::thread::spawn(confined).join().unwrap();
    let (no, yes) = (false, true);
    assert_eq!(found, ((yes, yes), (yes, no), (no, no), (no, no)));
}
