//! Whom an agent without a key serves.

mod common;

use common::Client;
use common::agent::{Agent, command};
use gil_files::recording::FILE;
use gil_transport::window::CAPABILITY;
use gil_wire::address::Address;
use gil_wire::frame::PREFIX_LEN;
use gil_wire::hello::{HELLO_LEN, Hello};
use gil_wire::message::Reply;
use nix::unistd::Uid;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A user without any rights.
const NOBODY: u32 = 65534;
/// Connects to a Unix socket, says what it reads, and writes what it hears.
/// Perl is on every Debian system, and may be run by anybody.
const RELAY: &str = "use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0); \
    connect($s, sockaddr_un($ARGV[0])) or die qq(no connection: $!\\n); \
    local $/; syswrite($s, <STDIN>); \
    while (sysread($s, my $b, 4096)) { syswrite(STDOUT, $b) }";

/// A recording, so that no driver is needed.
fn recording(folder: &Path) -> PathBuf {
    let path = folder.join("trace");
    std::fs::write(&path, FILE.header()).unwrap();
    path
}

/// What another user hears who says this, and what it complains of.
fn as_nobody(path: &Path, said: &[u8]) -> (Vec<u8>, String) {
    let mut relay = Command::new("perl");
    relay.arg("-e").arg(RELAY).arg(path).uid(NOBODY).gid(NOBODY);
    relay.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut relay = relay.stderr(Stdio::piped()).spawn().unwrap();
    relay.stdin.take().unwrap().write_all(said).unwrap();
    let output = relay.wait_with_output().unwrap();
    (
        output.stdout,
        String::from_utf8_lossy(&output.stderr).into(),
    )
}

#[test]
fn tcp_takes_a_key_or_the_option_that_says_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let recording = recording(folder.path());
    let replay = ["--replay", recording.to_str().unwrap()];
    let tcp = ["--listen", "tcp://127.0.0.1:0"];
    let output = command(&[&tcp[..], &replay].concat()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    for words in [
        "every user of this machine",
        "unix:PATH",
        "--key",
        "--allow-any-local-user",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let agent = Agent::start(&replay).unwrap();
    Client::connect(&agent.address).ping(1).unwrap();
    agent.says("for every user of this machine");
    let both = [&tcp[..], &replay, &["--allow-any-local-user", "--key", "k"]];
    let output = command(&both.concat()).output().unwrap();
    assert!(!output.status.success(), "with a key nobody else is let in");
}

#[test]
fn a_unix_socket_serves_its_own_user_and_tells_others_both() {
    let folder = tempfile::tempdir().unwrap();
    let recording = recording(folder.path());
    let address = format!("unix:{}", folder.path().join("agent").display());
    let replay = ["--replay", recording.to_str().unwrap()];
    let agent = Agent::listening(&address, &replay).unwrap();
    let Address::Unix(path) = &agent.address else {
        panic!("{}", agent.address);
    };
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path), 0o600);
    Client::connect(&agent.address).ping(1).unwrap();
    if !Uid::effective().is_root() {
        gil_need::skip("root", "only root can be another user");
        return;
    }
    let hello = Hello::ours().with_capabilities(CAPABILITY);
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let (heard, said) = as_nobody(path, &hello.encode());
    assert!(heard.is_empty() && said.contains("no connection"), "{said}");
    // Somebody opened the socket's file to others: the kernel still says who it is.
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o666)).unwrap();
    let (heard, said) = as_nobody(path, &hello.encode());
    assert_eq!(said, "");
    let (theirs, refusal) = heard.split_first_chunk::<HELLO_LEN>().unwrap();
    let theirs = Hello::decode(theirs).unwrap();
    assert_eq!(theirs.capabilities, 0, "no window is asked for");
    let reply = postcard::from_bytes(&refusal[PREFIX_LEN..]).unwrap();
    let Reply::Refused { reason } = reply else {
        panic!("{reply:?}");
    };
    for words in ["root (0) only", "(65534)", "--key"] {
        assert!(reason.contains(words), "{words}: {reason}");
    }
    agent.says("(65534)");
    Client::connect(&agent.address).ping(1).unwrap();
}
