//! Connections that say nothing, or too little, and those beside them.

mod common;

use common::Client;
use common::agent::{ANY_PORT, Agent, command};
use common::driver::{answers, crashing_agent, platforms, register_crash, wait_until};
use gil_transport::secure::{Handshake, KEY_LEN, Key, MESSAGE_LEN};
use gil_wire::address::Address;
use gil_wire::hello::{HELLO_LEN, Hello, SECURE};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

/// More than an agent attends to at a time.
const MANY: usize = 300;
const HOST: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// Another address of this machine.
const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Connects from an address of this machine.
fn connect_from(ip: Ipv4Addr, address: &Address) -> TcpStream {
    let Address::Tcp { port, .. } = address else {
        panic!("{address} is no TCP address");
    };
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((ip, 0)).into()).unwrap();
    socket
        .connect(&SockAddr::from(SocketAddr::from((HOST, *port))))
        .unwrap();
    let limit = Some(Duration::from_secs(60));
    socket.set_read_timeout(limit).unwrap();
    socket.into()
}

/// Connections that say nothing.
fn silent(count: usize, ip: Ipv4Addr, agent: &Agent) -> Vec<TcpStream> {
    let connect = |_| connect_from(ip, &agent.address);
    (0..count).map(connect).collect()
}

/// Whether the agent hung up.
fn is_over(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let over = match stream.read(&mut [0; 1]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    };
    stream.set_nonblocking(false).unwrap();
    over
}

/// A session over this connection that answers.
fn session(mut stream: TcpStream) -> Client {
    let mut hello = [0; HELLO_LEN];
    stream.write_all(&Hello::ours().encode()).unwrap();
    stream.read_exact(&mut hello).unwrap();
    let mut client = Client::new(Box::new(stream));
    client.send_open();
    client.expect_opened();
    client
}

/// The test may have as many files as the system lets it.
fn raise_limit() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most.min(4096), most).unwrap();
}

#[test]
fn silent_connections_keep_nobody_out_and_take_no_process() {
    let vendors = tempfile::tempdir().unwrap();
    let Some(agent) = crashing_agent(vendors.path(), &["--ready-sessions", "1"]) else {
        return;
    };
    wait_until("one waits", || agent.children().len() == 1);
    let mut crowd = silent(MANY, HOST, &agent);
    wait_until("the oldest is gone", || is_over(&mut crowd[0]));
    assert_eq!(agent.children().len(), 1, "no process for a handshake");
    for ip in [HOST, OTHER] {
        platforms(&mut session(connect_from(ip, &agent.address)));
    }
    assert!(!is_over(&mut crowd[MANY - 1]), "the newest is waited for");
}

#[test]
fn a_thousand_connections_of_one_address_leave_another_its_own() {
    raise_limit();
    let vendors = tempfile::tempdir().unwrap();
    let Some(agent) = crashing_agent(vendors.path(), &[]) else {
        return;
    };
    let mut before = silent(20, OTHER, &agent);
    let mut crowd = silent(1000, HOST, &agent);
    wait_until("all but its share are gone", || {
        is_over(&mut crowd[1000 - 97])
    });
    platforms(&mut session(connect_from(OTHER, &agent.address)));
    for (number, stream) in before.iter_mut().enumerate() {
        assert!(!is_over(stream), "number {number} of another address");
    }
    platforms(&mut session(before.swap_remove(0)));
}

#[test]
fn silent_connections_keep_nobody_out_who_has_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let vendors = folder.path().join("vendors");
    std::fs::create_dir(&vendors).unwrap();
    let file = folder.path().join("key");
    let key = Key::from_bytes([7; KEY_LEN]);
    std::fs::write(&file, key.to_text().as_bytes()).unwrap();
    let only_owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file, only_owner).unwrap();
    if !common::driver::register_crash(&vendors, "crash", 2) {
        return;
    }
    let mut command = command(&["--listen", "tcp://127.0.0.1:0", "--key"]);
    command.arg(&file);
    command.env("OCL_ICD_VENDORS", format!("{}/", vendors.display()));
    let agent = Agent::started(command).unwrap();
    let _crowd = silent(MANY, HOST, &agent);
    for ip in [HOST, OTHER] {
        let mut stream = connect_from(ip, &agent.address);
        let ours = Hello::ours().with_capabilities(SECURE).encode();
        stream.write_all(&ours).unwrap();
        let mut theirs = [0; HELLO_LEN];
        stream.read_exact(&mut theirs).unwrap();
        let mut handshake = Handshake::host(&key, ours, theirs).unwrap();
        stream.write_all(&handshake.write().unwrap()).unwrap();
        let mut answer = [0; MESSAGE_LEN];
        stream.read_exact(&mut answer).unwrap();
        handshake.read(&answer).unwrap();
        let mut records = handshake.finish().unwrap();
        records.seal_nothing().unwrap();
        stream.write_all(records.sealed()).unwrap();
        wait_until("it has a session", || agent.children().len() > 1);
    }
}

#[test]
fn a_hello_that_comes_byte_by_byte_ends_with_the_handshakes_time() {
    let vendors = tempfile::tempdir().unwrap();
    let Some(agent) = crashing_agent(vendors.path(), &[]) else {
        return;
    };
    let mut slow = connect_from(HOST, &agent.address);
    let hello = Hello::ours().encode();
    // All of it would take 19 s, of which 10 are granted.
    let mut sent = 0;
    while !is_over(&mut slow) {
        assert!(sent < HELLO_LEN - 1, "it was waited for");
        let _ = slow.write_all(&hello[sent..=sent]);
        sent += 1;
        std::thread::sleep(Duration::from_millis(300));
    }
    agent.says("did not shake hands within 10 s");
}

#[test]
fn who_leaves_in_the_handshake_leaves_nothing() {
    let vendors = tempfile::tempdir().unwrap();
    let Some(agent) = crashing_agent(vendors.path(), &[]) else {
        return;
    };
    for len in [0, 1, HELLO_LEN - 1] {
        let mut stream = connect_from(HOST, &agent.address);
        let half = Hello::ours().encode();
        stream.write_all(&half[..len]).unwrap();
        // It sends nothing more, but could still read.
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
    }
    platforms(&mut session(connect_from(HOST, &agent.address)));
}

#[test]
fn an_agent_without_files_left_says_so_and_goes_on() {
    let vendors = tempfile::tempdir().unwrap();
    let Some(with_all) = crashing_agent(vendors.path(), &[]) else {
        return;
    };
    drop(with_all);
    let bare = command(&ANY_PORT);
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "ulimit -n 48; exec \"$0\" \"$@\""])
        .arg(bare.get_program())
        .args(bare.get_args())
        .env("OCL_ICD_VENDORS", format!("{}/", vendors.path().display()));
    common::agent::piped(&mut limited);
    let agent = Agent::started(limited).unwrap();
    // Those who only wait do not take all.
    let _crowd = silent(90, HOST, &agent);
    let mut open = session(connect_from(OTHER, &agent.address));
    platforms(&mut open);
    let mut greeted = Vec::new();
    while !agent.said().contains("Too many open files") {
        assert!(greeted.len() < 200, "{}", agent.said());
        let mut stream = connect_from(OTHER, &agent.address);
        stream.write_all(&Hello::ours().encode()).unwrap();
        greeted.push(stream);
        std::thread::sleep(Duration::from_millis(5));
    }
    platforms(&mut open);
    drop(greeted);
    wait_until("there is a place again", || answers(&agent));
    let said = agent.said();
    assert!(said.matches("cannot accept").count() < 20, "{said}");
}

#[test]
fn an_agent_whose_log_cannot_be_written_goes_on() {
    let vendors = tempfile::tempdir().unwrap();
    let mut options = ANY_PORT.to_vec();
    options.push("--no-confinement");
    let mut command = command(&options);
    if !register_crash(vendors.path(), "crash", 2) {
        return;
    }
    command.env("OCL_ICD_VENDORS", format!("{}/", vendors.path().display()));
    let mut process = command.spawn().unwrap();
    let mut line = String::new();
    let stdout = process.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    // Its log goes nowhere from here on.
    drop(process.stderr.take());
    let address = line.trim().strip_prefix("listening on ").unwrap();
    let address: Address = address.parse().unwrap();
    // The thread that lets everybody in logs this one.
    let mut stranger = connect_from(HOST, &address);
    stranger.write_all(&[b'x'; HELLO_LEN]).unwrap();
    let _ = stranger.read(&mut [0; 1]);
    session(connect_from(HOST, &address));
    assert!(process.try_wait().unwrap().is_none());
    process.kill().unwrap();
    process.wait().unwrap();
}
