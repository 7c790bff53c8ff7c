//! Serves a guest folders of the host over a channel (`gil_wire::control::Channel`):
//! the guest's kernel sends requests of its FUSE file system. They are executed by the
//! crate `fuse-backend-rs`, in a process of their own that can reach nothing outside
//! the folders.
//!
//! | module | what |
//! |---|---|
//! | [`confine`] | holds this process in the folders, by Landlock |
//! | [`request`] | what a guest may ask, and in which form it is executed |
//! | [`reply`] | what the guest sees of the host's files |
//! | [`folder`] | one folder, and who executes requests in it |

pub mod confine;
pub mod folder;
pub mod reply;
pub mod request;

pub use folder::{Access, Folder};

use confine::ConfineError;
use folder::Served;
use gil_wire::control::MESSAGE_MAX;
use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

/// Why folders are not served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// One cannot be opened.
    #[error("the folder {} cannot be shared: {error}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// This process can reach other files.
    #[error(transparent)]
    Confine(#[from] ConfineError),
    /// The guest's messages do not come.
    #[error("the connection with the guest: {0}")]
    Connection(#[from] io::Error),
}

/// Serves these folders, by their order, to the one who connects, until it hangs up.
/// From here on, this process reaches no other file, unless the kernel cannot
/// confine it.
///
/// # Errors
/// [`ServeError`].
pub fn serve(listener: &UnixListener, folders: &[Folder]) -> Result<(), ServeError> {
    keep_many_open();
    let mut served = Vec::new();
    for folder in folders {
        let open = Served::open(folder).map_err(|error| ServeError::Folder {
            path: folder.path.clone(),
            error,
        });
        served.push(open?);
    }
    confine::enter(folders)?;
    let (mut connection, _) = listener.accept()?;
    let (mut message, mut is_said) = (Vec::new(), false);
    while receive(&mut connection, &mut message)? {
        let answer = match message.split_first_mut() {
            Some((number, request)) => match served.get_mut(usize::from(*number)) {
                Some(folder) => folder.execute(request)?,
                None => &[],
            },
            None => &[],
        };
        if !is_said && reply::is_error(answer, Errno::EMFILE) {
            is_said = true;
            say_too_many();
        }
        connection.write_all(&(answer.len() as u32).to_le_bytes())?;
        connection.write_all(answer)?;
    }
    Ok(())
}

/// Once a run: the guest's programs get the error.
fn say_too_many() {
    let most = getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(most, _)| most);
    // Nobody may be reading.
    let _ = writeln!(
        io::stderr(),
        "gil: the guest knows more files of the shared folders than this process may have open ({most}): raise the limit (`ulimit -Hn`), or share a folder with fewer files"
    );
}

/// Every file that the guest knows is open here.
fn keep_many_open() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

/// The next message; `false` if there is none.
fn receive(from: &mut impl Read, message: &mut Vec<u8>) -> io::Result<bool> {
    let mut len = [0; 4];
    match from.read_exact(&mut len) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
        other => other?,
    }
    let len = u32::from_le_bytes(len) as usize;
    if len > MESSAGE_MAX {
        return Err(ErrorKind::InvalidData.into());
    }
    message.resize(len, 0);
    from.read_exact(message)?;
    Ok(true)
}
