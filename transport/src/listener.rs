//! The agent's listening socket.

use gil_wire::address::Address;
use socket2::{Domain, SockAddr, Socket, TcpKeepalive, Type};
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Connections that the kernel keeps until they are accepted.
const BACKLOG: i32 = 128;

/// Whom an agent serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Who proves that it has the key.
    Key,
    /// The agent's own user and the superuser, on a Unix socket, where the
    /// kernel says who a peer is.
    OwnUser,
    /// Every user of this machine too, through a loopback address.
    AnyLocalUser,
}

/// Why the agent cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The host's name leads nowhere.
    #[error(
        "cannot find the host of {address}: {source}; write an address of this machine, such as tcp://0.0.0.0:7070, or unix:PATH"
    )]
    Resolve {
        /// As given.
        address: Address,
        /// The resolver's answer.
        source: io::Error,
    },
    /// A TCP address, which every user of this machine reaches.
    #[error(
        "refusing to listen on {address} without a key: every user of this machine could use this agent, and what it may do; use unix:PATH, or give --key FILE, which `gil key new FILE` makes, or --allow-any-local-user if that is what you want"
    )]
    NoKey {
        /// As given.
        address: Address,
    },
    /// A TCP address that other machines reach.
    #[error(
        "refusing to listen on {address} without a key ({ip} is no loopback address, so other machines reach it): give --key FILE, which `gil key new FILE` makes, or use unix:PATH"
    )]
    NotLoopback {
        /// As given.
        address: Address,
        /// The IP address of its host.
        ip: IpAddr,
    },
    /// An agent listens there.
    #[error("another process listens on {address}: end it, or choose another address")]
    InUse {
        /// As given.
        address: Address,
    },
    /// The path is taken by a file of another kind.
    #[error("{} exists and is no socket: choose another path", path.display())]
    NotASocket {
        /// The path.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot listen on {address}: {source}; choose another address")]
    System {
        /// As given.
        address: Address,
        /// The operating system's error.
        source: io::Error,
    },
}

/// A listening socket. Its Unix socket file is removed when it is dropped.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    address: Address,
    file: Option<PathBuf>,
}

impl Listener {
    /// Listens, where nobody else is let in than `access` says: on a TCP address
    /// the kernel does not say which user a peer is. Port 0 becomes the port the
    /// system chose.
    ///
    /// # Errors
    /// [`ListenError`], one sentence that says what to do.
    pub fn bind(address: &Address, access: Access) -> Result<Self, ListenError> {
        match address {
            Address::Tcp { host, port } => bind_tcp(address, host, *port, access),
            Address::Unix(path) => bind_unix(address, path),
        }
    }

    /// Where it listens, with the real port.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Takes the next connection.
    ///
    /// # Errors
    /// The system's, such as too many open files.
    pub fn accept(&self) -> io::Result<Socket> {
        let (socket, _) = self.socket.accept()?;
        socket.set_nonblocking(false)?;
        if matches!(self.address, Address::Tcp { .. }) {
            socket.set_tcp_nodelay(true)?;
            // A simulator's machine that vanishes without a word ends its session.
            let probes = TcpKeepalive::new()
                .with_time(Duration::from_secs(60))
                .with_interval(Duration::from_secs(15));
            socket.set_tcp_keepalive(&probes)?;
        }
        Ok(socket)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(path) = &self.file {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn system(address: &Address) -> impl Fn(io::Error) -> ListenError {
    let address = address.clone();
    move |source| match source.kind() {
        io::ErrorKind::AddrInUse => ListenError::InUse {
            address: address.clone(),
        },
        _ => ListenError::System {
            address: address.clone(),
            source,
        },
    }
}

fn bind_tcp(
    address: &Address,
    host: &str,
    port: u16,
    access: Access,
) -> Result<Listener, ListenError> {
    if access == Access::OwnUser {
        let address = address.clone();
        return Err(ListenError::NoKey { address });
    }
    let ip = resolve(address, host, port, access)?;
    let listen = || -> io::Result<(Socket, u16)> {
        let domain = Domain::for_address(ip);
        let socket = Socket::new(domain, Type::STREAM, None)?;
        // A port in TIME_WAIT may be listened on again at once.
        socket.set_reuse_address(true)?;
        socket.bind(&ip.into())?;
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        let bound = socket.local_addr()?.as_socket().map(|a| a.port());
        Ok((socket, bound.unwrap_or(port)))
    };
    let (socket, port) = listen().map_err(system(address))?;
    let host = host.to_owned();
    Ok(Listener {
        socket,
        address: Address::Tcp { host, port },
        file: None,
    })
}

/// The first of the host's addresses, if all are loopback addresses or may be
/// others.
fn resolve(
    address: &Address,
    host: &str,
    port: u16,
    access: Access,
) -> Result<SocketAddr, ListenError> {
    let resolve = |source| ListenError::Resolve {
        address: address.clone(),
        source,
    };
    let found: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(resolve)?.collect();
    if let Some(open) = found.iter().find(|a| !a.ip().is_loopback())
        && access != Access::Key
    {
        return Err(ListenError::NotLoopback {
            address: address.clone(),
            ip: open.ip(),
        });
    }
    let none = || resolve(io::ErrorKind::NotFound.into());
    found.first().copied().ok_or_else(none)
}

fn bind_unix(address: &Address, path: &Path) -> Result<Listener, ListenError> {
    let fail = system(address);
    let name = SockAddr::unix(path).map_err(&fail)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None).map_err(&fail)?;
    remove_stale(address, path, &name)?;
    socket.bind(&name).map_err(&fail)?;
    let listener = Listener {
        socket,
        address: address.clone(),
        file: Some(path.into()),
    };
    // Before listen(): nobody else connects in between.
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(path, private).map_err(&fail)?;
    listener.socket.listen(BACKLOG).map_err(&fail)?;
    listener.socket.set_nonblocking(true).map_err(&fail)?;
    Ok(listener)
}

/// Removes the socket file of an agent that ended without removing it.
fn remove_stale(address: &Address, path: &Path, name: &SockAddr) -> Result<(), ListenError> {
    let Ok(there) = std::fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !there.file_type().is_socket() {
        return Err(ListenError::NotASocket { path: path.into() });
    }
    let fail = system(address);
    let probe = Socket::new(Domain::UNIX, Type::STREAM, None).map_err(&fail)?;
    match probe.connect(name) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).map_err(&fail)
        }
        _ => Err(ListenError::InUse {
            address: address.clone(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind(text: &str) -> Result<Listener, ListenError> {
        Listener::bind(&text.parse().unwrap(), Access::AnyLocalUser)
    }

    #[test]
    fn port_0_becomes_the_real_port() {
        let listener = bind("tcp://127.0.0.1:0").unwrap();
        let text = listener.address().to_string();
        assert!(text.starts_with("tcp://127.0.0.1:") && !text.ends_with(":0"));
        assert!(matches!(bind(&text), Err(ListenError::InUse { .. })));
    }

    #[test]
    fn other_machines_are_kept_out() {
        for text in ["tcp://0.0.0.0:0", "tcp://[::]:0", "tcp://192.0.2.1:0"] {
            let message = bind(text).unwrap_err().to_string();
            assert!(message.contains("no loopback address"), "{message}");
            assert!(message.contains("--key"), "{message}");
        }
        Listener::bind(&"tcp://0.0.0.0:0".parse().unwrap(), Access::Key).unwrap();
    }

    #[test]
    fn other_users_are_kept_out_unless_they_are_wanted() {
        for text in ["tcp://127.0.0.1:0", "tcp://[::1]:0", "tcp://localhost:0"] {
            let refused = Listener::bind(&text.parse().unwrap(), Access::OwnUser);
            let message = refused.unwrap_err().to_string();
            for words in [
                text,
                "every user",
                "unix:PATH",
                "--key",
                "--allow-any-local-user",
            ] {
                assert!(message.contains(words), "{words}: {message}");
            }
        }
    }

    #[test]
    fn there_are_no_sockets_without_a_file() {
        let folder = tempfile::tempdir().unwrap();
        // Abstract ones, which have no mode, begin with a NUL, as some write @.
        assert!("unix:\0name".parse::<Address>().is_err());
        let path = folder.path().join("@name");
        let address = Address::Unix(path.clone());
        let _listener = Listener::bind(&address, Access::OwnUser).unwrap();
        assert!(path.exists());
    }

    #[test]
    fn stale_socket_files_are_replaced_and_live_ones_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let text = format!("unix:{}", path.display());
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "std leaves its socket file behind");
        let listener = bind(&text).unwrap();
        assert!(matches!(bind(&text), Err(ListenError::InUse { .. })));
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(listener);
        assert!(!path.exists());
        std::fs::write(&path, "precious").unwrap();
        assert!(matches!(bind(&text), Err(ListenError::NotASocket { .. })));
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    }

    #[test]
    fn a_path_that_is_too_long_is_one_sentence() {
        let text = format!("unix:/tmp/{}", "x".repeat(200));
        let message = bind(&text).unwrap_err().to_string();
        assert!(message.starts_with("cannot listen on unix:"), "{message}");
    }
}
