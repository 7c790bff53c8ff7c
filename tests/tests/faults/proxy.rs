//! A proxy between the host interface and an agent. It knows where messages
//! begin, and does one thing wrong at one of them.

use gil_wire::address::Address;
use gil_wire::frame::{PREFIX_LEN, Prefix};
use gil_wire::hello::HELLO_LEN;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    ToBoard,
    ToHost,
}

/// Which of a message's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    First,
    Middle,
    Last,
}

/// What is done instead of passing a message on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The connection ends before it.
    Cut,
    /// Its first half arrives, then the connection ends.
    Half,
    /// It arrives in many pieces.
    Pieces,
    /// It arrives late.
    Delay,
    /// It arrives twice.
    Repeat,
    /// Bits of one byte are changed.
    Corrupt(At),
    /// It never arrives; what follows does.
    Swallow,
    /// The agent is killed before it.
    Kill,
}

/// One fault: in the first connection that has such a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub way: Way,
    /// Messages before it in that direction; 0 is the hello.
    pub message: usize,
    pub wrong: Wrong,
}

/// Kills the agent; where the next one is.
type Kill = Box<dyn FnOnce() -> Address + Send>;

struct Shared {
    target: Mutex<Address>,
    fault: Mutex<Option<Fault>>,
    kill: Mutex<Option<Kill>>,
    /// Messages that were passed on: to the board, to the host.
    passed: Mutex<[usize; 2]>,
}

/// The proxy; its threads end with the connections they serve, and with the
/// test's process.
pub struct Proxy {
    pub address: Address,
    shared: Arc<Shared>,
}

impl Proxy {
    pub fn start(target: &Address, fault: Option<Fault>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared {
            target: Mutex::new(target.clone()),
            fault: Mutex::new(fault),
            kill: Mutex::default(),
            passed: Mutex::default(),
        });
        let own = shared.clone();
        std::thread::spawn(move || {
            for host in listener.incoming().flatten() {
                // An agent that is gone: the host sees the end.
                if let Ok(board) = connect(&own.target.lock().unwrap()) {
                    pump_both(host, board, &own);
                }
            }
        });
        let host = "127.0.0.1".into();
        let address = Address::Tcp { host, port };
        Self { address, shared }
    }

    /// What [`Wrong::Kill`] does. New connections go to the address it gives.
    pub fn kill_with(&self, kill: impl FnOnce() -> Address + Send + 'static) {
        *self.shared.kill.lock().unwrap() = Some(Box::new(kill));
    }

    /// Whether there was a message to do the fault to.
    pub fn has_faulted(&self) -> bool {
        self.shared.fault.lock().unwrap().is_none()
    }

    /// Messages that were passed on so far.
    pub fn passed(&self, way: Way) -> usize {
        self.shared.passed.lock().unwrap()[way as usize]
    }
}

fn connect(target: &Address) -> io::Result<TcpStream> {
    match target {
        Address::Tcp { host, port } => TcpStream::connect((host.as_str(), *port)),
        Address::Unix(_) => panic!("the agent listens on TCP in these tests"),
    }
}

fn pump_both(host: TcpStream, board: TcpStream, shared: &Arc<Shared>) {
    let twice = |stream: &TcpStream| stream.try_clone().expect("a second handle");
    let up = Pump {
        from: twice(&host),
        to: twice(&board),
        way: Way::ToBoard,
        shared: shared.clone(),
    };
    let down = Pump {
        from: board,
        to: host,
        way: Way::ToHost,
        shared: shared.clone(),
    };
    for pump in [up, down] {
        pump.to.set_nodelay(true).expect("a TCP socket");
        std::thread::spawn(move || pump.run());
    }
}

struct Pump {
    from: TcpStream,
    to: TcpStream,
    way: Way,
    shared: Arc<Shared>,
}

impl Pump {
    fn run(mut self) {
        let mut number = 0;
        while let Ok(message) = self.read(number) {
            let wrong = self.wrong(number);
            let passed = match wrong {
                None => self.to.write_all(&message).is_ok(),
                Some(wrong) => self.pass_wrongly(wrong, message).is_ok(),
            };
            if !passed {
                return self.end();
            }
            self.shared.passed.lock().unwrap()[self.way as usize] += 1;
            number += 1;
        }
        let _ = self.to.shutdown(Shutdown::Write);
    }

    /// The next message, whole.
    fn read(&mut self, number: usize) -> io::Result<Vec<u8>> {
        if number == 0 {
            let mut hello = vec![0; HELLO_LEN];
            return self.from.read_exact(&mut hello).map(|()| hello);
        }
        let mut prefix = [0; PREFIX_LEN];
        self.from.read_exact(&mut prefix)?;
        let lens = Prefix::decode(&prefix).expect("both sides send frames");
        let rest = lens.header_len as usize + lens.payload_len as usize;
        let mut message = prefix.to_vec();
        message.resize(PREFIX_LEN + rest, 0);
        self.from.read_exact(&mut message[PREFIX_LEN..])?;
        Ok(message)
    }

    /// What to do wrong now, once.
    fn wrong(&self, message: usize) -> Option<Wrong> {
        let mut armed = self.shared.fault.lock().unwrap();
        let is_here = |fault: &mut Fault| fault.way == self.way && fault.message == message;
        armed.take_if(is_here).map(|fault| fault.wrong)
    }

    fn pass_wrongly(&mut self, wrong: Wrong, mut message: Vec<u8>) -> io::Result<()> {
        match wrong {
            Wrong::Cut => return Err(io::ErrorKind::ConnectionAborted.into()),
            Wrong::Half => {
                self.to.write_all(&message[..message.len() / 2])?;
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            Wrong::Pieces => return self.pass_in_pieces(&message),
            Wrong::Delay => std::thread::sleep(Duration::from_millis(20)),
            Wrong::Repeat => self.to.write_all(&message)?,
            Wrong::Corrupt(at) => {
                let last = message.len() - 1;
                message[match at {
                    At::First => 0,
                    At::Middle => last / 2,
                    At::Last => last,
                }] ^= 0x15;
            }
            Wrong::Swallow => return Ok(()),
            Wrong::Kill => {
                let kill = self.shared.kill.lock().unwrap().take();
                // The host sees the agent's end before this thread does, and
                // must not be sent to the dead one again.
                let mut target = self.shared.target.lock().unwrap();
                *target = kill.expect("something to kill")();
            }
        }
        self.to.write_all(&message)
    }

    fn pass_in_pieces(&mut self, message: &[u8]) -> io::Result<()> {
        let (begin, rest) = message.split_at(message.len().min(PREFIX_LEN + 4));
        let long = rest.len().div_ceil(6).max(1);
        for piece in begin.chunks(3).chain(rest.chunks(long)) {
            self.to.write_all(piece)?;
            // A segment of its own.
            std::thread::sleep(Duration::from_micros(500));
        }
        Ok(())
    }

    /// Ends the connection on both sides.
    fn end(self) {
        let _ = self.from.shutdown(Shutdown::Both);
        let _ = self.to.shutdown(Shutdown::Both);
    }
}
