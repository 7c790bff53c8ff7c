// SPDX-License-Identifier: MIT OR Apache-2.0
#include "gil/gil_syscalls.hh"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "arch/arm/linux/linux.hh"
#include "arch/arm/regs/int.hh"
#include "cpu/thread_context.hh"
#include "gil/gil_parking.hh"
#include "gil/gil_se.hh"
#include "gil/gil_user_memory.hh"
#include "mem/se_translating_port_proxy.hh"
#include "sim/core.hh"
#include "sim/cur_tick.hh"
#include "sim/process.hh"
#include "sim/syscall_emul.hh"
#include "sim/system.hh"

namespace gem5
{

namespace
{

using OS = ArmLinux64;

/** Linux's numbers for AArch64. */
enum Number
{
    nrWrite = 64,
    nrWritev = 66,
    nrPread = 67,
    nrPwrite = 68,
    nrPpoll = 73,
    nrNewfstatat = 79,
    nrFstat = 80,
    nrFsync = 82,
    nrFdatasync = 83,
    nrFutex = 98,
    nrNanosleep = 101,
    nrClockGettime = 113,
    nrClockGetres = 114,
    nrClockNanosleep = 115,
    nrSchedGetaffinity = 123,
    nrSchedYield = 124,
    nrSigaltstack = 132,
    nrSigaction = 134,
    nrSigprocmask = 135,
    nrPrctl = 167,
    /** The first one that gem5's table does not have at all. */
    nrBeyond = 294,
    nrPseudo = 1024
};

/** Calls that gem5 knows by name only: it would end the simulation. */
constexpr std::pair<int, int> absentNumbers[] = {
    {0, 16}, {18, 22}, {24, 24}, {26, 28}, {30, 32}, {36, 37}, {39, 45},
    {50, 52}, {54, 54}, {58, 60}, {65, 65}, {68, 72}, {74, 77}, {81, 81},
    {84, 92}, {95, 95}, {97, 97}, {100, 100}, {102, 112}, {116, 117},
    {128, 128}, {130, 130}, {133, 133}, {136, 137}, {139, 152}, {154, 159},
    {162, 162}, {166, 166}, {170, 171}, {180, 205}, {208, 213}, {217, 219},
    {223, 225}, {227, 232}, {234, 243}, {260, 260}, {262, 277}, {279, 293},
};

/** Linux's struct timespec for 64-bit programs. */
struct Timespec
{
    int64_t seconds;
    int64_t nanoseconds;

    bool
    isTime() const
    {
        return seconds >= 0 && nanoseconds >= 0 && nanoseconds < 1000000000;
    }

    /** In ticks; MaxTick if it does not fit. */
    Tick
    ticks() const
    {
        const uint64_t most = MaxTick / sim_clock::Frequency - 1;
        if (uint64_t(seconds) >= most)
            return MaxTick;
        return seconds * sim_clock::Frequency +
            gil::tickOf(uint64_t(nanoseconds));
    }
};

Tick
later(Tick ticks)
{
    return ticks > MaxTick - curTick() ? MaxTick : curTick() + ticks;
}

template <class T>
bool
load(ThreadContext *tc, Addr from, T &to)
{
    return SETranslatingPortProxy(tc).tryReadBlob(from, &to, sizeof(to));
}

template <class T>
bool
store(ThreadContext *tc, Addr to, const T &from)
{
    return SETranslatingPortProxy(tc).tryWriteBlob(to, &from, sizeof(from));
}

/** Linux's numbers of clocks. */
constexpr int clockRealtime = 0;
constexpr int clockRealtimeCoarse = 5;
constexpr int clockTai = 11;

bool
hasEpoch(int clock)
{
    return clock == clockRealtime || clock == clockRealtimeCoarse ||
        clock == clockTai;
}

/** The tick of an absolute time of that clock. */
Tick
tickOf(int clock, Timespec time)
{
    if (hasEpoch(clock))
        time.seconds -= seconds_since_epoch;
    return time.seconds < 0 ? 0 : time.ticks();
}

SyscallReturn
clockGettime(SyscallDesc *, ThreadContext *tc, int clock, VPtr<> to)
{
    const Tick now = curTick();
    Timespec time;
    time.seconds = now / sim_clock::Frequency;
    time.nanoseconds = now % sim_clock::Frequency / sim_clock::as_int::ns;
    if (hasEpoch(clock))
        time.seconds += seconds_since_epoch;
    return store(tc, to, time) ? 0 : -EFAULT;
}

SyscallReturn
clockGetres(SyscallDesc *, ThreadContext *tc, int clock, VPtr<> to)
{
    const Timespec nanosecond = {0, 1};
    return !to || store(tc, to, nanosecond) ? 0 : -EFAULT;
}

SyscallReturn
nanosleep(SyscallDesc *, ThreadContext *tc, VPtr<> request)
{
    Timespec time;
    if (!load(tc, request, time))
        return -EFAULT;
    if (!time.isTime())
        return -EINVAL;
    gil::parkUntil(tc, later(time.ticks()));
    return 0;
}

SyscallReturn
clockNanosleep(SyscallDesc *desc, ThreadContext *tc, int clock, int flags,
               VPtr<> request)
{
    constexpr int absolute = 1;
    if (flags != absolute)
        return flags ? SyscallReturn(-EINVAL) : nanosleep(desc, tc, request);
    Timespec time;
    if (!load(tc, request, time))
        return -EFAULT;
    if (!time.isTime())
        return -EINVAL;
    gil::parkUntil(tc, tickOf(clock, time));
    return 0;
}

/** gem5's own knows no timeout. */
SyscallReturn
futex(SyscallDesc *desc, ThreadContext *tc, VPtr<> address, int op, int value,
      VPtr<> timeout, VPtr<> address2, int value3)
{
    const int command = op & ~(OS::TGT_FUTEX_PRIVATE_FLAG |
                               OS::TGT_FUTEX_CLOCK_REALTIME_FLAG);
    const bool is_absolute = command == OS::TGT_FUTEX_WAIT_BITSET;
    const bool waits = is_absolute || command == OS::TGT_FUTEX_WAIT;
    // For other commands this is a number, not an address.
    const int number = waits ? 0 : int(timeout.addr());
    Tick until = MaxTick;
    if (waits && timeout) {
        Timespec time;
        if (!load(tc, timeout, time))
            return -EFAULT;
        if (!time.isTime())
            return -EINVAL;
        const bool real = op & OS::TGT_FUTEX_CLOCK_REALTIME_FLAG;
        until = is_absolute ? tickOf(real ? clockRealtime : 1, time) :
            later(time.ticks());
    }
    const SyscallReturn result = futexFunc<OS>(
        desc, tc, address, op, value, number, address2, value3);
    System *system = tc->getSystemPtr();
    if (waits && system->futexMap.is_waiting(tc))
        static_cast<GilEmuLinux *>(system->workload)->waitsOnFutex(tc, until);
    return result;
}

std::shared_ptr<HBFDEntry>
hostFile(ThreadContext *tc, int fd)
{
    auto &files = *tc->getProcessPtr()->fds;
    // gem5 asserts that a descriptor is in bounds; programs give any.
    if (fd < 0 || fd >= files.getSize())
        return nullptr;
    auto entry = files[fd];
    return std::dynamic_pointer_cast<HBFDEntry>(entry);
}

SyscallReturn
pread(SyscallDesc *, ThreadContext *tc, int fd, VPtr<> to, uint64_t count,
      int64_t offset)
{
    auto file = hostFile(tc, fd);
    if (!file)
        return -EBADF;
    std::vector<uint8_t> bytes(std::min<uint64_t>(count, 1 << 20));
    SETranslatingPortProxy memory(tc);
    uint64_t done = 0;
    while (done < count) {
        const size_t wanted = std::min<uint64_t>(bytes.size(), count - done);
        const ssize_t got =
            ::pread(file->getSimFD(), bytes.data(), wanted, offset + done);
        if (got < 0)
            return done ? SyscallReturn(done) : SyscallReturn(-errno);
        if (!memory.tryWriteBlob(to + done, bytes.data(), got))
            return -EFAULT;
        done += got;
        if (size_t(got) < wanted)
            break;
    }
    return done;
}

SyscallReturn
fstat(SyscallDesc *, ThreadContext *tc, int fd, VPtr<OS::tgt_stat64> to)
{
    auto file = hostFile(tc, fd);
    if (!file)
        return -EBADF;
    struct stat64 found;
    if (::fstat64(file->getSimFD(), &found) < 0)
        return -errno;
    copyOutStat64Buf<OS>(to, &found);
    return 0;
}

/** Takes no simulated time, as other calls about files. */
SyscallReturn
fsync(SyscallDesc *, ThreadContext *tc, int fd)
{
    auto file = hostFile(tc, fd);
    if (!file)
        return -EBADF;
    return ::fsync(file->getSimFD()) < 0 ? -errno : 0;
}

/** gem5's own leaves out the flags: an empty path names the descriptor. */
SyscallReturn
newfstatat(SyscallDesc *desc, ThreadContext *tc, int fd, VPtr<> path,
           VPtr<OS::tgt_stat64> to, int flags)
{
    constexpr int emptyPath = 0x1000;
    char first = 0;
    if (flags & emptyPath && load(tc, path, first) && !first)
        return fstat(desc, tc, fd, to);
    return fstatat64Func<OS>(desc, tc, fd, path, to);
}

/** What is ready now; nothing changes while simulated time stands still. */
int
pollNow(ThreadContext *tc, std::vector<pollfd> &fds)
{
    std::vector<pollfd> here = fds;
    for (auto &entry : here) {
        auto file = entry.fd < 0 ? nullptr : hostFile(tc, entry.fd);
        entry.fd = file ? file->getSimFD() : -1;
    }
    const int ready = ::poll(here.data(), here.size(), 0);
    for (size_t i = 0; i < fds.size(); i++)
        fds[i].revents = here[i].revents;
    return ready < 0 ? -errno : ready;
}

SyscallReturn
ppoll(SyscallDesc *, ThreadContext *tc, VPtr<> address, uint64_t count,
      VPtr<> timeout)
{
    if (count > 1024)
        return -EINVAL;
    std::vector<pollfd> fds(count);
    SETranslatingPortProxy memory(tc);
    const size_t size = count * sizeof(pollfd);
    if (!memory.tryReadBlob(address, fds.data(), size))
        return -EFAULT;
    Timespec time;
    if (timeout && !load(tc, timeout, time))
        return -EFAULT;
    const int ready = pollNow(tc, fds);
    if (!memory.tryWriteBlob(address, fds.data(), size))
        return -EFAULT;
    if (ready)
        return ready;
    if (!timeout)
        return SyscallReturn::retry();
    if (!time.isTime())
        return -EINVAL;
    gil::parkUntil(tc, later(time.ticks()));
    return 0;
}

SyscallReturn
schedGetaffinity(SyscallDesc *, ThreadContext *tc, int pid, uint64_t size,
                 VPtr<> to)
{
    const size_t cpus = tc->getSystemPtr()->threads.size();
    const uint64_t mask = cpus < 64 ? (1ull << cpus) - 1 : ~0ull;
    if (size < sizeof(mask))
        return -EINVAL;
    if (!store(tc, to, mask))
        return -EFAULT;
    return int(sizeof(mask));
}

/** There are no signals: what was set before is "nothing". */
SyscallReturn
sigaction(SyscallDesc *, ThreadContext *tc, int number, VPtr<> action,
          VPtr<> before)
{
    const uint64_t nothing[4] = {};
    return !before || store(tc, before, nothing) ? 0 : -EFAULT;
}

SyscallReturn
sigprocmask(SyscallDesc *, ThreadContext *tc, int how, VPtr<> set,
            VPtr<> before)
{
    const uint64_t nothing = 0;
    return !before || store(tc, before, nothing) ? 0 : -EFAULT;
}

SyscallReturn
prctl(SyscallDesc *, ThreadContext *tc, int option)
{
    // Names are seen by nobody, and no timer has slack.
    constexpr int setName = 15;
    constexpr int setTimerSlack = 29;
    return option == setName || option == setTimerSlack ? 0 : -EINVAL;
}

SyscallReturn
nothingToDo(SyscallDesc *, ThreadContext *tc)
{
    return 0;
}

/** Linux's struct iovec for 64-bit programs. */
struct Iovec
{
    uint64_t base;
    uint64_t len;
};

using Table = SyscallDescTable<ArmISA::EmuLinux::SyscallABI64>;

Table &
table()
{
    static Table descs({
        {nrPpoll, "ppoll", ppoll},
        {nrPread, "pread64", pread},
        {nrNewfstatat, "newfstatat", newfstatat},
        {nrFstat, "fstat", fstat},
        {nrFsync, "fsync", fsync},
        {nrFdatasync, "fdatasync", fsync},
        {nrFutex, "futex", futex},
        {nrNanosleep, "nanosleep", nanosleep},
        {nrClockGettime, "clock_gettime", clockGettime},
        {nrClockGetres, "clock_getres", clockGetres},
        {nrClockNanosleep, "clock_nanosleep", clockNanosleep},
        {nrSchedGetaffinity, "sched_getaffinity", schedGetaffinity},
        {nrSchedYield, "sched_yield", nothingToDo},
        {nrSigaltstack, "sigaltstack", nothingToDo},
        {nrSigaction, "rt_sigaction", sigaction},
        {nrSigprocmask, "rt_sigprocmask", sigprocmask},
        {nrPrctl, "prctl", prctl},
    });
    return descs;
}

} // anonymous namespace

namespace gil
{

SyscallDesc *
ownSyscall(int number)
{
    return table().get(number, false);
}

void
bringInArguments(ThreadContext *tc, int number)
{
    constexpr uint64_t arguments = 6;
    /** A path, or a structure of any call. */
    constexpr uint64_t most = 4096;
    constexpr uint64_t iovecsMax = 1024;
    Process &process = *tc->getProcessPtr();
    uint64_t args[arguments];
    for (uint64_t i = 0; i < arguments; i++) {
        args[i] = tc->getReg(ArmISA::int_reg::x(i));
        bringIn(process, args[i], most);
    }
    if (number == nrWrite || number == nrPwrite)
        bringIn(process, args[1], args[2]);
    if (number != nrWritev)
        return;
    for (uint64_t i = 0; i < std::min(args[2], iovecsMax); i++) {
        Iovec piece;
        bringIn(process, args[1] + i * sizeof(piece), sizeof(piece));
        if (!load(tc, args[1] + i * sizeof(piece), piece))
            return;
        bringIn(process, piece.base, piece.len);
    }
}

bool
isAbsent(int number)
{
    if (number >= nrBeyond)
        return number < nrPseudo;
    for (const auto &[first, last] : absentNumbers) {
        if (number >= first && number <= last)
            return true;
    }
    return false;
}

} // namespace gil
} // namespace gem5
