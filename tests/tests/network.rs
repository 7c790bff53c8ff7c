//! A network for the guest: `gil run --net`.

use gil_tests::{Finished, Run};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A server on loopback that takes one connection; its port.
fn serve<T: Send + 'static>(
    answer: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (u16, JoinHandle<T>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = thread::spawn(move || answer(listener.accept().unwrap().0));
    (port, thread)
}

/// Runs this in the guest's bash.
fn bash(net: &str, script: &str) -> Finished {
    let args = ["--net", net, "--pkg", "bash", "--", "bash", "-c", script];
    Run::new(args).finish()
}

#[test]
fn servers_at_the_named_ports_are_reached_and_no_others() {
    let answer = "0123456789abcdef".repeat(16 << 10);
    let expected = answer.clone();
    let (port, server) = serve(move |mut stream| {
        let mut line = String::new();
        let mut lines = BufReader::new(stream.try_clone().unwrap());
        lines.read_line(&mut line).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
        line
    });
    let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let refused = other.local_addr().unwrap().port();
    let script = format!(
        "exec 3<>/dev/tcp/host/{port} && echo question >&3 && cat <&3
         for at in host 10.0.2.2; do (exec 4<>/dev/tcp/$at/{refused}) 2>/dev/null && echo reached; done
         exit 0"
    );
    let run = bash(&format!("host:{port}"), &script).ok();
    assert!(run.stdout == expected, "{} bytes", run.stdout.len());
    assert_eq!(server.join().unwrap(), "question\n");
    other.set_nonblocking(true).unwrap();
    assert!(other.accept().is_err());
}

#[test]
fn an_idle_guest_waits_as_long_as_the_server_does() {
    let (port, _) = serve(|mut stream| {
        thread::sleep(Duration::from_secs(2));
        let _ = stream.write_all(b"late\n");
    });
    let script = format!("exec 3<>/dev/tcp/host/{port}; read -t 60 -u 3 word; echo $word");
    let run = bash(&format!("host:{port}"), &script).ok();
    assert_eq!(run.stdout, "late\n", "{run:#?}");
}

/// The process that carries a connection ends with the run, though the server never
/// closes it.
#[test]
fn connections_end_with_the_run() {
    let (port, server) = serve(|mut stream| {
        let mut bytes = Vec::new();
        let read = stream.set_read_timeout(Some(Duration::from_secs(60)));
        read.and_then(|()| stream.read_to_end(&mut bytes)).unwrap();
        bytes
    });
    let script = format!("exec 3<>/dev/tcp/host/{port}; echo here >&3; sleep 1");
    bash(&format!("host:{port}"), &script).ok();
    assert_eq!(server.join().unwrap(), b"here\n");
}

#[test]
fn outside_reaches_what_this_machine_does() {
    let (port, _) = serve(|mut stream| stream.write_all(b"here\n"));
    let script = format!("cat </dev/tcp/host/{port}; cat /etc/resolv.conf");
    let run = bash("outside", &script).ok();
    assert_eq!(run.stdout, "here\nnameserver 10.0.2.3\n", "{run:#?}");
}

#[test]
fn without_it_there_is_loopback_alone() {
    let run = Run::new(["--", "ls", "/sys/class/net"]).finish().ok();
    assert_eq!(run.stdout, "lo\n");
}
