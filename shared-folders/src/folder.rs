//! One folder, and who executes requests in it.

use crate::reply;
use crate::request::{Request, Verdict};
use fuse_backend_rs::api::server::Server;
use fuse_backend_rs::passthrough::{CachePolicy, Config, PassthroughFs};
use fuse_backend_rs::transport::{FuseBuf, FuseDevWriter, Reader};
use gil_wire::control::MESSAGE_MAX;
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::Duration;

/// What a guest may do in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read.
    ReadOnly,
    /// Also make, change and remove files.
    ReadWrite,
}

/// A folder to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Its path.
    pub path: PathBuf,
    /// What a guest may do there.
    pub access: Access,
}

/// For how long, in simulated time, the guest need not ask again for what was
/// reported of a file.
const VALID: Duration = Duration::from_secs(1);

/// A folder that is served.
pub(crate) struct Served {
    server: Server<PassthroughFs>,
    is_read_only: bool,
    /// The folder: INIT opens it again, by this file and not by its path, which may
    /// lead elsewhere once a guest has moved a folder that it shares, too.
    _root: File,
    /// Where the server writes replies.
    replies: File,
    buffer: Vec<u8>,
    reply: Vec<u8>,
}

impl Served {
    /// Opens it.
    pub fn open(folder: &Folder) -> io::Result<Self> {
        let root = File::open(&folder.path)?;
        let files = PassthroughFs::new(Config {
            // No link is followed at the path's end.
            root_dir: format!("/proc/self/fd/{}/.", root.as_raw_fd()),
            // INIT opens it.
            do_import: true,
            cache_policy: CachePolicy::Auto,
            entry_timeout: VALID,
            attr_timeout: VALID,
            ..Config::default()
        })?;
        Ok(Self {
            server: Server::new(files),
            is_read_only: folder.access == Access::ReadOnly,
            _root: root,
            replies: memfd_create(c"gil-replies", MFdFlags::MFD_CLOEXEC)?.into(),
            buffer: vec![0; MESSAGE_MAX],
            reply: Vec::new(),
        })
    }

    /// Executes a request of the guest's kernel; the reply, empty if it has none.
    pub fn execute(&mut self, request: &mut [u8]) -> io::Result<&[u8]> {
        self.reply.clear();
        let Some(mut request) = Request::new(request) else {
            return Ok(&[]);
        };
        match request.judge(self.is_read_only) {
            Verdict::Drop => {}
            Verdict::Refuse(errno) => self.reply.extend(reply::error(request.unique(), errno)),
            Verdict::Execute => {
                let opcode = request.opcode();
                self.have_executed(&mut request)?;
                reply::adapt(opcode, &mut self.reply);
            }
        }
        Ok(&self.reply)
    }

    fn have_executed(&mut self, request: &mut Request<'_>) -> io::Result<()> {
        let unusable = |error| io::Error::other(format!("{error}"));
        let reader = Reader::<()>::from_fuse_buffer(FuseBuf::new(request.bytes()));
        let writer = FuseDevWriter::<()>::new(self.replies.as_raw_fd(), &mut self.buffer);
        let (reader, writer) = (reader.map_err(unusable)?, writer.map_err(unusable)?);
        // An error says that there is no reply, or which one there is.
        let _ = self
            .server
            .handle_message(reader, writer.into(), None, None);
        self.replies.rewind()?;
        self.replies.read_to_end(&mut self.reply)?;
        self.replies.set_len(0)?;
        self.replies.rewind()
    }
}
