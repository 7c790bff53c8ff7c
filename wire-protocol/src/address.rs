//! The address of a board agent, as users write it: `tcp://HOST:PORT` or
//! `unix:PATH`. Parsing only; callers resolve names and connect.

use std::path::PathBuf;
use std::str::FromStr;

/// An agent's address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// `tcp://HOST:PORT`; an IPv6 address stands in brackets.
    Tcp {
        /// A name or an address, without brackets.
        host: String,
        /// 0 when listening: any free port.
        port: u16,
    },
    /// `unix:PATH`.
    Unix(PathBuf),
}

/// An invalid address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Neither of the two forms.
    #[error("\"{0}\" is no address: write tcp://HOST:PORT or unix:PATH")]
    Scheme(String),
    /// No port behind the host.
    #[error("\"{0}\" has no port: write tcp://HOST:PORT")]
    NoPort(String),
    /// The port is no number below 65536.
    #[error("\"{port}\" in \"{text}\" is no port: it is a number from 0 to 65535")]
    Port {
        /// The whole text.
        text: String,
        /// What stands where the port should.
        port: String,
    },
    /// An empty host, or an IPv6 address without its brackets.
    #[error("\"{0}\" has no host: write tcp://HOST:PORT, an IPv6 address in brackets")]
    Host(String),
    /// An empty path, or one with a NUL.
    #[error("\"{0}\" has no path: write unix:PATH")]
    Path(String),
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if let Some(path) = text.strip_prefix("unix:") {
            return unix(text, path);
        }
        match text.strip_prefix("tcp://") {
            Some(rest) => tcp(text, rest),
            None => Err(AddressError::Scheme(text.into())),
        }
    }
}

fn unix(text: &str, path: &str) -> Result<Address, AddressError> {
    if path.is_empty() || path.contains('\0') {
        return Err(AddressError::Path(text.into()));
    }
    Ok(Address::Unix(path.into()))
}

fn tcp(text: &str, rest: &str) -> Result<Address, AddressError> {
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (host, port) = rest
        .rsplit_once(':')
        .filter(|(_, port)| !port.ends_with(']'))
        .ok_or_else(|| AddressError::NoPort(text.into()))?;
    let port = port.parse().map_err(|_| AddressError::Port {
        text: text.into(),
        port: port.into(),
    })?;
    let inner = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    let host = inner.unwrap_or(host);
    let is_bare = inner.is_none() && host.contains(':');
    if host.is_empty() || is_bare || host.contains(['[', ']', '/']) {
        return Err(AddressError::Host(text.into()));
    }
    Ok(Address::Tcp {
        host: host.into(),
        port,
    })
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "tcp://[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "tcp://{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_forms_round_trip() {
        for text in [
            "tcp://127.0.0.1:0",
            "tcp://board.local:65535",
            "tcp://[::1]:7",
            "unix:/run/gil.sock",
            "unix:relative",
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        type E = AddressError;
        let error = |text: &str| text.parse::<Address>().unwrap_err();
        assert!(matches!(error("localhost:1"), E::Scheme(_)));
        assert!(matches!(error("tcp://localhost"), E::NoPort(_)));
        assert!(matches!(error("tcp://[::1]"), E::NoPort(_)));
        assert!(matches!(error("tcp://host:70000"), E::Port { .. }));
        assert!(matches!(error("tcp://:1"), E::Host(_)));
        assert!(matches!(error("tcp://::1:1"), E::Host(_)));
        assert!(matches!(error("tcp://[0/[2]:7"), E::Host(_)));
        assert!(matches!(error("unix:"), E::Path(_)));
    }

    proptest! {
        #[test]
        fn any_text_parses_or_fails(text: String) {
            if let Ok(address) = text.parse::<Address>() {
                prop_assert_eq!(address.to_string().parse::<Address>(), Ok(address));
            }
        }
    }
}
