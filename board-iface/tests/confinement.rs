//! What a session's process may do: asked by kernels that are code in it, which
//! they are with a CPU as device. Skipped where the device is none, and where
//! the kernel does not confine.
#![cfg(target_arch = "x86_64")]

mod common;

use common::agent::{Agent, on_a_device};
use common::program::{Program, SUCCESS, bytes};
use gil_board::confine::Support;
use gil_wire::call::{Handle, InData};
use gil_wire::generated::opencl::KernelArgument;
use gil_wire::message::CallStatus;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};
use syscalls::Sysno;

const SOURCE: &str = include_str!("kernels/calls.cl");
const TABLE: &str = include_str!("../../docs/SECURITY.md");
const EPERM: i64 = -(libc::EPERM as i64);
const EACCES: i64 = -(libc::EACCES as i64);
const ENOSYS: i64 = -(libc::ENOSYS as i64);
/// Bytes that calls may point to.
const MEMORY: usize = 1 << 16;
/// Most calls at a time.
const CALLS: usize = 1024;

/// An argument of a call.
#[derive(Clone, Copy)]
enum Arg {
    /// Itself.
    Is(i64),
    /// A place in the memory that the kernel has.
    At(i64),
    /// What a call before returned.
    From(i64),
}
use Arg::{At, From, Is};

#[derive(Clone)]
struct Call {
    number: i64,
    args: Vec<Arg>,
}

fn call(number: i64, args: &[Arg]) -> Call {
    let args = args.to_vec();
    Call { number, args }
}

fn agent(args: &[&str]) -> Option<Agent> {
    on_a_device(Agent::start(args))
}

fn confined() -> bool {
    let lack = Support::here().lack();
    if let Some(lack) = lack {
        gil_need::skip("Landlock and seccomp", lack);
    }
    lack.is_none()
}

/// A session whose kernels make system calls.
struct Prober {
    program: Program,
    queue: Handle,
    built: Handle,
    results: Handle,
    memory: Handle,
}

impl Prober {
    fn start(agent: &Agent) -> Self {
        let mut program = Program::start(&agent.address);
        let built = program.program(SOURCE);
        assert_eq!(program.build(built, ""), SUCCESS);
        Self {
            queue: program.queue(0),
            results: program.buffer(CALLS * 8),
            memory: program.buffer(MEMORY),
            built,
            program,
        }
    }

    fn set(&mut self, kernel: Handle, index: u32, buffer: Handle) {
        let set = self
            .program
            .arg(kernel, index, 8, KernelArgument::Handle(buffer));
        assert_eq!(set, SUCCESS);
    }

    fn taken(&mut self, count: usize) -> Vec<i64> {
        let read = self.program.read(self.queue, self.results, count * 8, &[]);
        let (words, _) = read.done.out[0].as_chunks::<8>();
        words.iter().map(|word| i64::from_ne_bytes(*word)).collect()
    }

    /// A kernel that makes these calls, one after the other.
    fn kernel(&mut self, calls: &[Call], memory: &[u8]) -> Handle {
        assert!(calls.len() <= CALLS && memory.len() <= MEMORY);
        let all: Vec<u8> = calls.iter().flat_map(encoded).collect();
        let buffer = self.program.buffer(all.len());
        self.program.write(self.queue, buffer, &all, &[]).ended();
        if !memory.is_empty() {
            self.program
                .write(self.queue, self.memory, memory, &[])
                .ended();
        }
        let kernel = self.program.kernel(self.built, "calls");
        self.set(kernel, 0, buffer);
        let count = bytes(&[i32::try_from(calls.len()).unwrap()]);
        let count = KernelArgument::Bytes(InData::Inline(&count));
        assert_eq!(self.program.arg(kernel, 1, 4, count), SUCCESS);
        self.set(kernel, 2, self.memory);
        self.set(kernel, 3, self.results);
        kernel
    }

    /// Makes these calls; what each returned.
    fn make(&mut self, calls: &[Call], memory: &[u8]) -> Vec<i64> {
        let kernel = self.kernel(calls, memory);
        self.program.run(self.queue, kernel, 1, &[]).ended();
        self.taken(calls.len())
    }

    fn one(&mut self, number: i64, args: &[Arg], memory: &[u8]) -> i64 {
        self.make(&[call(number, args)], memory)[0]
    }

    fn open(&mut self, file: &Path, flags: i64) -> i64 {
        self.one(OPEN, &[At(0), Is(flags), Is(0o600)], &path(file))
    }

    /// Runs another of the kernels, with these buffers.
    fn run(&mut self, name: &str, buffers: &[Handle]) {
        let kernel = self.program.kernel(self.built, name);
        for (index, buffer) in (0..).zip(buffers) {
            self.set(kernel, index, *buffer);
        }
        self.program.run(self.queue, kernel, 1, &[]);
    }
}

fn encoded(call: &Call) -> Vec<u8> {
    let mut words = vec![call.number];
    let mut mask = 0;
    for index in 0..6 {
        match call.args.get(index).copied().unwrap_or(Is(0)) {
            Is(value) => words.push(value),
            At(place) => {
                words.push(place);
                mask |= 1 << index;
            }
            From(result) => {
                words.push(result);
                mask |= 0x100 << index;
            }
        }
    }
    words.push(mask);
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn path(path: &Path) -> Vec<u8> {
    [path.as_os_str().as_encoded_bytes(), b"\0"].concat()
}

const OPEN: i64 = libc::SYS_open;
const READ: i64 = libc::O_RDONLY as i64;
const WRITE: i64 = (libc::O_WRONLY | libc::O_CREAT) as i64;

#[test]
fn a_guests_kernel_neither_reads_nor_writes_the_hosts_files() {
    if !confined() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    let new = folder.path().join("new");
    let Some(agent) = agent(&[]) else { return };
    let mut prober = Prober::start(&agent);
    let mut open = |file: &Path, flags| prober.open(file, flags);
    assert_eq!(open(&secret, READ), EACCES);
    assert_eq!(open(&secret, WRITE), EACCES);
    assert_eq!(open(&new, WRITE), EACCES);
    let program = std::env::current_exe().unwrap();
    assert_eq!(open(&program, READ), EACCES);
    for file in [
        "/",
        "/etc/passwd",
        "/root",
        "/home",
        "/tmp",
        "/proc/1/status",
        "/dev/sda",
    ] {
        let result = open(Path::new(file), READ);
        let is_denied = result == EACCES || result == -i64::from(libc::ENOENT);
        assert!(is_denied, "{file}: {result}");
    }
    // What may be read may not be emptied, nor changed by its owner.
    let list = Path::new("/etc/ld.so.cache");
    assert!(open(list, READ) > 0);
    assert_eq!(open(list, READ | i64::from(libc::O_TRUNC)), EPERM);
    let calls = [
        call(OPEN, &[At(0), Is(READ)]),
        call(libc::SYS_fchmod, &[From(0), Is(0o644)]),
        call(libc::SYS_fchown, &[From(0), Is(0), Is(0)]),
        call(libc::SYS_chmod, &[At(0), Is(0o644)]),
    ];
    assert_eq!(prober.make(&calls, &path(list))[1..], [EPERM; 3]);
    assert!(!new.exists());
    // It is confinement that denies it.
    let free = self::agent(&["--no-confinement"]).unwrap();
    let mut prober = Prober::start(&free);
    assert!(prober.open(&secret, READ) > 0);
    assert!(prober.open(&new, WRITE) > 0 && new.exists());
}

#[test]
fn a_session_has_a_folder_of_its_own_that_goes_with_it() {
    if !confined() {
        return;
    }
    let Some(agent) = agent(&[]) else { return };
    let mut one = Prober::start(&agent);
    let calls = [
        call(OPEN, &[At(0), Is(WRITE), Is(0o600)]),
        call(libc::SYS_write, &[From(0), At(0), Is(4)]),
        call(libc::SYS_getcwd, &[At(16), Is(4096)]),
    ];
    let made = one.make(&calls, &path(Path::new("file")));
    assert!(made[0] > 0 && made[1] == 4 && made[2] > 0, "{made:?}");
    let len = usize::try_from(made[2]).unwrap() + 16;
    let read = one.program.read(one.queue, one.memory, len, &[]);
    let folder = String::from_utf8(read.done.out[0][16..len - 1].to_vec()).unwrap();
    let file = Path::new(&folder).join("file");
    assert_eq!(std::fs::read(&file).unwrap(), b"file");
    let mode = std::fs::metadata(&folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    // Not another session's: a compiled kernel there would be run.
    let mut other = Prober::start(&agent);
    assert_eq!(other.one(OPEN, &[At(0), Is(READ)], &path(&file)), EACCES);
    assert_eq!(other.one(OPEN, &[At(0), Is(WRITE)], &path(&file)), EACCES);
    drop(one);
    wait_until(|| !Path::new(&folder).exists());
}

fn wait_until(is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < until, "it never was so");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_guests_kernel_reaches_no_other_process_no_network_and_no_terminal() {
    if !confined() {
        return;
    }
    let Some(agent) = agent(&[]) else { return };
    let mut prober = Prober::start(&agent);
    let board = i64::from(agent.pid());
    let me = i64::from(std::process::id());
    let (user, signal) = (i64::from(libc::CLONE_NEWUSER), 17);
    let denied = [
        call(libc::SYS_kill, &[Is(board), Is(0)]),
        call(libc::SYS_kill, &[Is(me), Is(0)]),
        call(libc::SYS_kill, &[Is(0), Is(0)]),
        call(libc::SYS_kill, &[Is(-1), Is(0)]),
        call(libc::SYS_tgkill, &[Is(board), Is(board), Is(0)]),
        call(libc::SYS_tkill, &[Is(board), Is(0)]),
        call(libc::SYS_ptrace, &[Is(16), Is(board)]),
        call(libc::SYS_pidfd_open, &[Is(board), Is(0)]),
        call(libc::SYS_prlimit64, &[Is(board), Is(7), Is(0), At(0)]),
        call(libc::SYS_sched_setaffinity, &[Is(board), Is(8), At(0)]),
        call(libc::SYS_clone, &[Is(user | signal)]),
        // A child of the agent's, which would not wait for it.
        call(
            libc::SYS_clone,
            &[Is(i64::from(libc::CLONE_PARENT) | signal)],
        ),
        call(libc::SYS_socket, &[Is(1), Is(1), Is(0)]),
        call(libc::SYS_socket, &[Is(2), Is(1), Is(0)]),
        call(libc::SYS_socketpair, &[Is(1), Is(2), Is(0), At(0)]),
        call(libc::SYS_connect, &[Is(-1), At(0), Is(16)]),
        call(libc::SYS_accept4, &[Is(-1), Is(0), Is(0), Is(0)]),
        // Typing for who sits at the agent's terminal.
        call(libc::SYS_ioctl, &[Is(2), Is(0x5412), At(0)]),
        // A signal to who is named when something can be read.
        call(libc::SYS_ioctl, &[Is(2), Is(0x8901), At(0)]),
        call(libc::SYS_fcntl, &[Is(2), Is(8), Is(board)]),
        // What a driver does for itself must not become more.
        call(libc::SYS_prctl, &[Is(38), Is(0)]),
        call(libc::SYS_capset, &[At(0), At(0)]),
        call(libc::SYS_setsid, &[]),
        call(libc::SYS_setpgid, &[Is(0), Is(0)]),
        // The calls of the x32 ABI: open, kill.
        call(0x4000_0000 | OPEN, &[At(0), Is(READ)]),
        call(0x4000_0000 | libc::SYS_kill, &[Is(board), Is(0)]),
    ];
    let results = prober.make(&denied, b"/etc/passwd\0");
    let names = denied.iter().map(|call| (call.number, call.args.len()));
    for (name, result) in names.zip(&results) {
        assert_eq!(*result, EPERM, "call {name:?}");
    }
    // The system's programs are not started, not even through its loader.
    let shell = [&b"/bin/sh\0"[..], &[0; 8]].concat();
    let started = prober.one(libc::SYS_execve, &[At(0), At(8), At(8)], &shell);
    assert_eq!(started, EACCES);
}

#[test]
fn files_that_were_open_before_the_agent_are_closed_in_sessions() {
    if !confined() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    let file = std::fs::File::open(&secret).unwrap();
    let inherited = nix::unistd::dup(&file).unwrap();
    let number = i64::from(inherited.as_raw_fd());
    let read = |agent: &Agent| {
        let args = [Is(number), At(0), Is(6), Is(0)];
        Prober::start(agent).one(libc::SYS_pread64, &args, &[])
    };
    let Some(agent) = agent(&[]) else { return };
    let free = self::agent(&["--no-confinement"]).unwrap();
    drop(inherited);
    // The driver may have a file of its own by that number.
    assert_ne!(read(&agent), 6);
    assert_eq!(read(&free), 6);
}

#[test]
fn what_a_guests_kernel_starts_ends_with_its_session() {
    let Some(agent) = agent(&[]) else { return };
    let mut prober = Prober::start(&agent);
    let (memory, results) = (prober.memory, prober.results);
    prober.run("leave_a_process", &[memory, results]);
    let child = prober.taken(1)[0];
    let folder = format!("/proc/{child}/task");
    assert!(child > 0 && Path::new(&folder).exists());
    drop(prober);
    wait_until(|| !Path::new(&folder).exists());
}

#[test]
fn calls_of_another_architecture_end_the_process_and_other_sessions_go_on() {
    if !confined() {
        return;
    }
    let Some(agent) = agent(&[]) else { return };
    let mut other = Prober::start(&agent);
    let mut prober = Prober::start(&agent);
    let results = prober.results;
    let kernel = prober.program.kernel(prober.built, "foreign");
    prober.set(kernel, 0, results);
    let queue = prober.queue;
    let lost = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        prober.program.run(queue, kernel, 1, &[]);
    }));
    assert!(lost.is_err(), "the process is gone");
    agent.says("SIGSYS");
    assert!(other.one(libc::SYS_getpid, &[], &[]) > 0);
}

#[test]
fn without_confinement_threads_take_the_agent_itself_and_have_to_be_asked_for() {
    let refused = Agent::start(&["--sessions", "threads"]).err().unwrap();
    assert!(refused.contains("--no-confinement"), "{refused}");
}

/// Which calls the kernel of this test makes with other arguments than -1, so
/// that they are what a driver would do, and harm nobody.
fn harmless() -> BTreeMap<i64, Vec<Arg>> {
    let (own, group) = (From(0), 0);
    BTreeMap::from([
        (libc::SYS_futex, vec![At(0), Is(1), Is(1)]),
        (libc::SYS_umask, vec![Is(0o077)]),
        (libc::SYS_prctl, vec![Is(16), At(0)]),
        (libc::SYS_fcntl, vec![Is(-1), Is(1)]),
        (libc::SYS_prlimit64, vec![Is(0), Is(-1)]),
        (libc::SYS_sched_setaffinity, vec![Is(0), Is(8), Is(-1)]),
        (libc::SYS_setsockopt, vec![Is(-1), Is(1), Is(20)]),
        // As CUDA's driver does: SOCK_SEQPACKET and SOCK_CLOEXEC. Without that driver it is denied.
        (libc::SYS_socket, vec![Is(1), Is(0x80005), Is(0)]),
        (libc::SYS_kill, vec![own, Is(group)]),
        (libc::SYS_tgkill, vec![own, Is(-1), Is(0)]),
        // The handlers without the memory, which is an error.
        (libc::SYS_clone, vec![Is(0x800)]),
    ])
}

/// Calls that end the session's process or take its thread's state away: each
/// is tried in a session of its own.
const ENDING: [i64; 3] = [
    libc::SYS_exit_group,
    libc::SYS_rt_sigreturn,
    libc::SYS_set_tid_address,
];

/// The kernel lets them past every filter, where it has them.
const PAST_FILTERS: &[&str] = &["uprobe", "uretprobe"];

/// Every thread makes it as it ends. One that does in the middle of a kernel
/// leaves its session waiting for the kernel, so it is not tried.
const NOT_TRIED: i64 = libc::SYS_exit;

#[test]
fn every_system_call_is_denied_or_in_the_table() {
    if !confined() {
        return;
    }
    let Some(agent) = agent(&[]) else { return };
    let mut let_through = BTreeSet::from([name(NOT_TRIED)]);
    let mut denied = 0;
    let mut prober = Prober::start(&agent);
    let harmless = harmless();
    let is_plain = |number: &i64| !ENDING.contains(number) && *number != NOT_TRIED;
    let numbers: Vec<i64> = (0..600).filter(is_plain).collect();
    let args = |number: &i64| harmless.get(number).cloned();
    let with = |number: &i64| call(*number, &args(number).unwrap_or(vec![Is(-1); 6]));
    let first = call(libc::SYS_getpid, &[]);
    let calls: Vec<Call> = [first]
        .into_iter()
        .chain(numbers.iter().map(with))
        .collect();
    let results = prober.make(&calls, &[]);
    for (number, result) in numbers.iter().zip(&results[1..]) {
        match *result {
            EPERM | ENOSYS => denied += 1,
            _ => drop(let_through.insert(name(*number))),
        }
    }
    for call in PAST_FILTERS {
        let_through.remove(*call);
    }
    for number in ENDING {
        if is_let_through(&agent, number) {
            let_through.insert(name(number));
        }
    }
    println!("{denied} denied, let through: {let_through:?}");
    let mut table = table();
    if std::path::Path::new("/dev/nvidiactl").exists() {
        let own_socket = [libc::SYS_socket, libc::SYS_bind, libc::SYS_listen];
        table.extend(own_socket.map(name));
    }
    let missing: Vec<_> = let_through.difference(&table).collect();
    let gone: Vec<_> = table.difference(&let_through).collect();
    assert!(missing.is_empty(), "not in docs/SECURITY.md: {missing:?}");
    assert!(gone.is_empty(), "in docs/SECURITY.md, but denied: {gone:?}");
}

/// A call that does not come back was made; one that is denied is an error.
fn is_let_through(agent: &Agent, number: i64) -> bool {
    let mut prober = Prober::start(agent);
    let kernel = prober.kernel(&[call(number, &[Is(0); 6])], &[]);
    let queue = prober.queue;
    let results = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let done = prober.program.run(queue, kernel, 1, &[]).done;
        assert_eq!(done.status, CallStatus::Ran);
        prober.taken(1)[0]
    }));
    results.map_or(true, |result| result != EPERM && result != ENOSYS)
}

fn name(number: i64) -> String {
    let number = usize::try_from(number).unwrap();
    Sysno::new(number).map_or_else(|| number.to_string(), |call| call.name().to_owned())
}

/// The calls in the table's first column.
fn table() -> BTreeSet<String> {
    let (_, rest) = TABLE.split_once("| system calls | why |").unwrap();
    let rows = rest
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let names = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    names.map(str::to_owned).collect()
}

#[test]
fn drivers_that_are_registered_elsewhere_are_found_when_confined() {
    if !confined() {
        return;
    }
    let vendors = tempfile::tempdir().unwrap();
    let all = std::fs::read_dir("/etc/OpenCL/vendors")
        .into_iter()
        .flatten();
    for icd in all.flatten() {
        std::fs::copy(icd.path(), vendors.path().join(icd.file_name())).unwrap();
    }
    let Some(agent) = on_a_device(Agent::with_vendors(vendors.path(), &[])) else {
        return;
    };
    assert!(Prober::start(&agent).one(libc::SYS_getpid, &[], &[]) > 0);
    assert!(!agent.said().contains("is not found"), "{}", agent.said());
}
