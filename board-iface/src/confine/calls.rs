//! System calls, by seccomp: calls that are not listed here are denied (EPERM).

use super::ConfineError;
use libc::{c_int, c_long};
use nix::unistd::getpid;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};
use std::collections::BTreeMap;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Error = seccompiler::BackendError;

/// Allowed whatever their arguments are.
const ALLOWED: &[c_long] = &[
    // Files that are open, or that Landlock lets it open.
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_openat,
    libc::SYS_getdents64,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fadvise64,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_flock,
    libc::SYS_copy_file_range,
    libc::SYS_sendfile,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_umask,
    // What is known of files.
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getcwd,
    // Waiting.
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_restart_syscall,
    // Its own memory.
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_msync,
    libc::SYS_mincore,
    libc::SYS_mlock,
    libc::SYS_munlock,
    libc::SYS_brk,
    libc::SYS_mbind,
    libc::SYS_get_mempolicy,
    libc::SYS_set_mempolicy,
    libc::SYS_membarrier,
    // Its own threads and signals.
    libc::SYS_clone3,
    libc::SYS_set_tid_address,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sigaltstack,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // The linker: Landlock names it.
    libc::SYS_execve,
    libc::SYS_wait4,
    libc::SYS_waitid,
    // What it is told.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_times,
    libc::SYS_getrusage,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getppid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getcpu,
    libc::SYS_sched_getaffinity,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_getrandom,
    // Connections that it has.
    libc::SYS_recvmsg,
    libc::SYS_recvfrom,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_shutdown,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
];

/// What CUDA's driver does with a socket of its own.
const OF_OWN_SOCKET: &[c_long] = &[libc::SYS_bind, libc::SYS_listen];

/// The same in the spelling of before, which only this machine has.
#[cfg(target_arch = "x86_64")]
const OLDER: &[c_long] = &[
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_unlink,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_rename,
    libc::SYS_getdents,
    libc::SYS_dup2,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_eventfd,
    libc::SYS_arch_prctl,
    libc::SYS_getpgrp,
    libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[c_long] = &[];

/// Allowed if their argument of this number is one of these.
const ALLOWED_FOR: &[(c_long, u8, &[c_int])] = &[
    (
        libc::SYS_prctl,
        0,
        &[libc::PR_SET_NAME, libc::PR_GET_NAME, PR_SET_VMA],
    ),
    (
        libc::SYS_fcntl,
        1,
        &[
            libc::F_DUPFD,
            libc::F_DUPFD_CLOEXEC,
            libc::F_GETFD,
            libc::F_SETFD,
            libc::F_GETFL,
            libc::F_SETFL,
            libc::F_GETLK,
            libc::F_SETLK,
            libc::F_SETLKW,
            libc::F_GET_SEALS,
        ],
    ),
    // Of itself, not of another process.
    (libc::SYS_prlimit64, 0, &[0]),
    (libc::SYS_sched_setaffinity, 0, &[0]),
];

/// Names memory, for who looks at the process.
const PR_SET_VMA: c_int = 0x5356_4d41;

/// How long a call on the session's socket may take.
const SOCKET_OPTIONS: [c_int; 2] = [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO];

/// Bits of `clone` that make namespaces, or a child of the agent's, which would
/// stay as a zombie: the agent waits for processes that it started.
const KINDS: c_int = libc::CLONE_PARENT
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// Controls of terminals that reach who sits there, whatever the file; but not
/// those that programs ask of every file.
const TERMINALS: &[u64] = &[
    0x5402, // TCSETS
    0x5403, // TCSETSW
    0x5404, // TCSETSF
    0x5406, // TCSETA
    0x5407, // TCSETAW
    0x5408, // TCSETAF
    0x5409, // TCSBRK
    0x540a, // TCXONC
    0x540b, // TCFLSH
    0x540c, // TIOCEXCL
    0x540d, // TIOCNXCL
    0x540e, // TIOCSCTTY
    0x5410, // TIOCSPGRP
    0x5412, // TIOCSTI
    0x5414, // TIOCSWINSZ
    0x541c, // TIOCLINUX
    0x541d, // TIOCCONS
    0x5422, // TIOCNOTTY
    0x5423, // TIOCSETD
    0x5437, // TIOCVHANGUP
    0x5452, // FIOASYNC
];
/// Controls of sockets: who is signalled, and the network's interfaces.
const SOCKETS: u64 = 0x8900;
/// The bits of a control's number that have its kind.
const KIND: u64 = 0xffff_ff00;

/// Confines this thread and those that it starts; with CUDA's driver, so that that starts.
pub fn confine(has_cuda: bool) -> Result<(), ConfineError> {
    let all = programs(has_cuda).map_err(|error| ConfineError::Calls(error.to_string()))?;
    let apply = |program: &BpfProgram| apply_filter(program);
    let applied = all.iter().try_for_each(apply);
    applied.map_err(|error| ConfineError::Calls(error.to_string()))
}

/// In the order in which they are applied: the last one denies what sets
/// filters. Of all answers to a call the strictest counts.
fn programs(has_cuda: bool) -> Result<[BpfProgram; 3], Error> {
    let deny = |error: c_int| SeccompAction::Errno(error.cast_unsigned());
    Ok([
        // C's library then uses clone(), whose flags can be looked at.
        compile(unknown(), SeccompAction::Allow, deny(libc::ENOSYS))?,
        compile(denied()?, SeccompAction::Allow, deny(libc::EPERM))?,
        compile(allowed(has_cuda)?, deny(libc::EPERM), SeccompAction::Allow)?,
    ])
}

fn compile(rules: Rules, other: SeccompAction, these: SeccompAction) -> Result<BpfProgram, Error> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, other, these, arch)?.try_into()
}

/// As if the kernel did not have them.
fn unknown() -> Rules {
    BTreeMap::from([(libc::SYS_clone3, Vec::new())])
}

fn allowed(has_cuda: bool) -> Result<Rules, Error> {
    let of_own_socket = if has_cuda { OF_OWN_SOCKET } else { &[] };
    let always = ALLOWED.iter().chain(OLDER).chain(of_own_socket);
    let mut rules: Rules = always.map(|call| (*call, Vec::new())).collect();
    for (call, argument, values) in ALLOWED_FOR {
        rules.insert(*call, any_of(*argument, values)?);
    }
    let me = [getpid().as_raw()];
    rules.insert(libc::SYS_kill, any_of(0, &me)?);
    rules.insert(libc::SYS_tgkill, any_of(0, &me)?);
    let kinds = u64::from(KINDS.cast_unsigned());
    let plain = argument(0, SeccompCmpOp::MaskedEq(kinds), 0)?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![plain])?]);
    rules.insert(libc::SYS_setsockopt, timeouts()?);
    if has_cuda {
        rules.insert(libc::SYS_socket, own_socket()?);
    }
    // Each device has its own; `denied` has what none may do.
    rules.insert(libc::SYS_ioctl, Vec::new());
    Ok(rules)
}

/// What is denied of the calls that are allowed.
fn denied() -> Result<Rules, Error> {
    let mut controls = vec![one(1, SeccompCmpOp::MaskedEq(KIND), SOCKETS)?];
    for control in TERMINALS {
        controls.push(one(1, SeccompCmpOp::Eq, *control)?);
    }
    Ok(BTreeMap::from([
        (libc::SYS_ioctl, controls),
        (libc::SYS_openat, emptied(2)?),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, emptied(1)?),
    ]))
}

/// Emptying a file that is opened to be read: Landlock before Linux 6.2 does
/// not look at it.
fn emptied(flags: u8) -> Result<Vec<SeccompRule>, Error> {
    let bits = |bits: c_int| u64::from(bits.cast_unsigned());
    let mask = SeccompCmpOp::MaskedEq(bits(libc::O_TRUNC | libc::O_ACCMODE));
    let neither = libc::O_TRUNC | libc::O_ACCMODE;
    Ok(vec![
        one(flags, mask.clone(), bits(libc::O_TRUNC))?,
        one(flags, mask, bits(neither))?,
    ])
}

fn timeouts() -> Result<Vec<SeccompRule>, Error> {
    let level = || argument(1, SeccompCmpOp::Eq, libc::SOL_SOCKET.cast_unsigned().into());
    let option = |name: c_int| {
        let name = argument(2, SeccompCmpOp::Eq, name.cast_unsigned().into())?;
        SeccompRule::new(vec![level()?, name])
    };
    SOCKET_OPTIONS.into_iter().map(option).collect()
}

/// CUDA's driver does not start without a local socket of its own, which it connects to nothing: no
/// call that does is allowed.
fn own_socket() -> Result<Vec<SeccompRule>, Error> {
    let family = argument(0, SeccompCmpOp::Eq, libc::AF_UNIX.cast_unsigned().into())?;
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    let kind = argument(1, SeccompCmpOp::Eq, kind.cast_unsigned().into())?;
    Ok(vec![SeccompRule::new(vec![family, kind])?])
}

fn any_of(index: u8, values: &[c_int]) -> Result<Vec<SeccompRule>, Error> {
    let rule = |value: &c_int| one(index, SeccompCmpOp::Eq, value.cast_unsigned().into());
    values.iter().map(rule).collect()
}

fn one(index: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, Error> {
    SeccompRule::new(vec![argument(index, operator, value)?])
}

/// The lower half, which is all that the kernel reads of these.
fn argument(index: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, Error> {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value)
}
