//! `--net`, as the user writes it.

use std::net::Ipv4Addr;
use std::num::NonZeroU16;
use std::str::FromStr;

/// Most ports: each is an option of QEMU's.
const PORTS_MAX: usize = 64;

/// Where a guest that reaches nothing else finds this machine's servers, in the
/// network that QEMU makes (10.0.2.0/24): an address that nothing else of QEMU's has.
pub const SERVERS: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 100);

/// What the guest reaches over a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Network {
    /// Servers on this machine's loopback, at these TCP ports, and nothing else.
    Host(Vec<NonZeroU16>),
    /// What this machine reaches, itself included.
    Outside,
}

impl Network {
    /// Where its servers are; none if it leads outside.
    pub fn servers(&self) -> Option<Ipv4Addr> {
        match self {
            Self::Host(_) => Some(SERVERS),
            Self::Outside => None,
        }
    }
}

/// A text that names no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write host:PORT, host:PORT,PORT… (up to {PORTS_MAX} ports) or outside")]
pub struct NetworkError;

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        if text == "outside" {
            return Ok(Self::Outside);
        }
        let ports = text.strip_prefix("host:").ok_or(NetworkError)?;
        let ports: Result<Vec<_>, _> = ports.split(',').map(str::parse).collect();
        let mut ports: Vec<NonZeroU16> = ports.map_err(|_| NetworkError)?;
        ports.sort_unstable();
        ports.dedup();
        match ports.len() {
            1..=PORTS_MAX => Ok(Self::Host(ports)),
            _ => Err(NetworkError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read() {
        let ports = |ports: &[u16]| {
            let ports = ports.iter().map(|&port| port.try_into().unwrap());
            Ok(Network::Host(ports.collect()))
        };
        assert_eq!("outside".parse(), Ok(Network::Outside));
        assert_eq!("host:80".parse(), ports(&[80]));
        assert_eq!("host:9000,80,9000".parse(), ports(&[80, 9000]));
        for wrong in [
            "",
            "host",
            "host:",
            "host:0",
            "host:1,",
            "host:65536",
            "all",
        ] {
            assert_eq!(wrong.parse::<Network>(), Err(NetworkError), "{wrong}");
        }
    }
}
