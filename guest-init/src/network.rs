//! The guest's network: one Ethernet device of the simulator's, with the addresses that
//! QEMU's user network gives ("Network emulation" in QEMU's manual).

use crate::config::Network;
use crate::{Error, system};
use nix::errno::Errno;
use std::fs;
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

/// The device.
const NAME: &[u8] = b"eth0";
/// Its address.
const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 15);
const MASK: Ipv4Addr = Ipv4Addr::new(255, 255, 255, 0);
/// Where all that is outside is reached, and the host itself.
const ROUTER: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);
/// Where names are asked for.
const NAMES: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 3);

/// Loads the device's modules, and gives it its addresses.
///
/// # Errors
/// [`Error::Network`], or that of a module.
pub fn begin(network: &Network) -> Result<(), Error> {
    for module in &network.modules {
        system::load_module(Path::new(module))?;
    }
    configure(network.servers).map_err(Error::Network)?;
    write_names(network.servers).map_err(|error| {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        Error::Network(Errno::from_raw(errno))
    })
}

fn configure(servers: Option<Ipv4Addr>) -> Result<(), Errno> {
    // SAFETY: takes plain numbers; the result is checked.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    // SAFETY: `socket` was just opened and has no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(Errno::result(socket)?) };
    let mut request = request();
    for (what, value) in [(libc::SIOCSIFADDR, OWN), (libc::SIOCSIFNETMASK, MASK)] {
        request.ifr_ifru.ifru_addr = address(value);
        ask(&socket, what, &request)?;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    ask(&socket, libc::SIOCSIFFLAGS, &request)?;
    if servers.is_none() {
        ask(&socket, libc::SIOCADDRT, &default_route())?;
    }
    Ok(())
}

fn request() -> libc::ifreq {
    // SAFETY: all zeroes are a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(NAME) {
        *to = *from as libc::c_char;
    }
    request
}

fn default_route() -> libc::rtentry {
    // SAFETY: all zeroes are a valid `rtentry`.
    let mut route: libc::rtentry = unsafe { std::mem::zeroed() };
    route.rt_dst = address(Ipv4Addr::UNSPECIFIED);
    route.rt_genmask = address(Ipv4Addr::UNSPECIFIED);
    route.rt_gateway = address(ROUTER);
    route.rt_flags = libc::RTF_UP | libc::RTF_GATEWAY;
    route
}

fn address(address: Ipv4Addr) -> libc::sockaddr {
    let mut bytes = [0; 14];
    // Behind the port.
    bytes[2..6].copy_from_slice(&address.octets());
    libc::sockaddr {
        sa_family: libc::AF_INET as libc::sa_family_t,
        sa_data: bytes.map(|byte| byte as libc::c_char),
    }
}

fn ask<T>(socket: &OwnedFd, what: libc::c_ulong, request: &T) -> Result<(), Errno> {
    // SAFETY: `request` is of the type that this request of the kernel's reads.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), what as _, request) };
    Errno::result(result).map(drop)
}

/// `host` is the host; other names are asked for where that leads anywhere.
fn write_names(servers: Option<Ipv4Addr>) -> std::io::Result<()> {
    let host = servers.unwrap_or(ROUTER);
    let hosts = fs::File::options().append(true).open("/etc/hosts");
    writeln!(hosts?, "{host} host")?;
    if servers.is_none() {
        fs::write("/etc/resolv.conf", format!("nameserver {NAMES}\n"))?;
        let switch = "passwd: files\ngroup: files\nhosts: files dns\n";
        fs::write("/etc/nsswitch.conf", switch)?;
    }
    Ok(())
}
