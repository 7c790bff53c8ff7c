//! Who is at the other end of a connection.

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::{Uid, User};
use socket2::Socket;
use std::net::{IpAddr, Ipv6Addr};

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Peer {
    /// A machine and its port.
    At(IpAddr, u16),
    /// A process on this machine, over a Unix socket, and its user. None: the
    /// kernel does not say.
    Local(Option<u32>),
}

/// What connections are counted by: one peer has many ports, and in version 6
/// of the protocol many addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A machine, or a network of version 6.
    Network(IpAddr),
    /// A user of this machine.
    User(Option<u32>),
}

impl Peer {
    /// Of a socket.
    pub fn of(socket: &Socket) -> Self {
        let address = socket.peer_addr().ok();
        if let Some(address) = address.and_then(|address| address.as_socket()) {
            return Self::At(address.ip().to_canonical(), address.port());
        }
        let credentials = getsockopt(socket, PeerCredentials);
        Self::Local(credentials.ok().map(|who| who.uid()))
    }

    /// What its connections are counted by.
    pub fn origin(self) -> Origin {
        match self {
            Self::At(IpAddr::V6(ip), _) => Origin::Network(network(ip).into()),
            Self::At(ip, _) => Origin::Network(ip),
            Self::Local(user) => Origin::User(user),
        }
    }

    /// Why it is not served by an agent of the user `own` that asks for no key;
    /// none if it is. Who it is at a TCP address, nobody can say.
    pub fn refusal(self, own: u32) -> Option<String> {
        match self {
            Self::At(..) => None,
            Self::Local(Some(user)) if user == own || user == 0 => None,
            Self::Local(user) => Some(format!(
                "this agent serves the user {} only, and the peer is {}: run both as one user, or give both a key (--key FILE)",
                name(own),
                user.map_or("nobody whom the system names".into(), |user| format!(
                    "the user {}",
                    name(user)
                ))
            )),
        }
    }
}

/// Somebody's part of version 6's addresses.
fn network(ip: Ipv6Addr) -> Ipv6Addr {
    Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64)
}

/// A user's name and number.
pub fn name(user: u32) -> String {
    match User::from_uid(Uid::from_raw(user)) {
        Ok(Some(found)) => format!("{} ({user})", found.name),
        _ => user.to_string(),
    }
}

impl std::fmt::Display for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::At(ip, port) => std::net::SocketAddr::new(*ip, *port).fmt(f),
            Self::Local(_) => f.write_str("a process of this machine"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use socket2::{Domain, Type};

    #[test]
    fn the_agents_user_and_root_are_served_and_others_are_told_both() {
        let own = 4711;
        for served in [own, 0] {
            assert_eq!(Peer::Local(Some(served)).refusal(own), None);
        }
        let reason = Peer::Local(Some(4712)).refusal(own).unwrap();
        for words in ["user 4711 only", "user 4712", "--key"] {
            assert!(reason.contains(words), "{words}: {reason}");
        }
        assert!(Peer::Local(None).refusal(own).is_some());
    }

    #[test]
    fn the_kernel_names_the_user_behind_a_unix_socket() {
        let (one, _other) = Socket::pair(Domain::UNIX, Type::STREAM, None).unwrap();
        assert_eq!(Peer::of(&one), Peer::Local(Some(Uid::current().as_raw())));
    }

    #[test]
    fn one_machines_addresses_are_one_origin() {
        let of = |ip: &str| Peer::At(ip.parse().unwrap(), 5).origin();
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}
