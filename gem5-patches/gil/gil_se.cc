// SPDX-License-Identifier: MIT OR Apache-2.0
#include "gil/gil_se.hh"

#include <algorithm>
#include <cerrno>

#include "arch/arm/regs/int.hh"
#include "arch/arm/utility.hh"
#include "base/logging.hh"
#include "cpu/thread_context.hh"
#include "gil/gil_parking.hh"
#include "gil/gil_syscalls.hh"
#include "sim/cur_tick.hh"
#include "sim/eventq.hh"
#include "sim/process.hh"
#include "sim/system.hh"

namespace gem5
{

namespace
{

/** Linux's number of clone() for AArch64. */
constexpr int nrClone = 220;

} // anonymous namespace

void
GilEmuLinux::syscall(ThreadContext *tc)
{
    if (followers.empty()) {
        dispatch(tc);
        return;
    }
    const auto asked = gil::askedToMap(tc);
    dispatch(tc);
    if (const auto mapping = asked ? gil::wasMapped(tc, *asked) : asked) {
        for (const gil::Mapped &mapped : followers)
            mapped(*mapping);
    }
}

void
GilEmuLinux::dispatch(ThreadContext *tc)
{
    if (!ArmISA::inAArch64(tc)) {
        ArmISA::EmuLinux::syscall(tc);
        return;
    }
    const int number = tc->getReg(ArmISA::int_reg::X8);
    Process *process = tc->getProcessPtr();
    gil::bringInArguments(tc, number);
    if (SyscallDesc *desc = gil::ownSyscall(number)) {
        process->Process::syscall(tc);
        desc->doSyscall(tc);
    } else if (gil::isAbsent(number)) {
        process->Process::syscall(tc);
        tc->setReg(ArmISA::ReturnValueReg, absent(number).encodedValue());
    } else {
        ArmISA::EmuLinux::syscall(tc);
        if (number == nrClone)
            shareDrivers(tc);
    }
}

SyscallReturn
GilEmuLinux::absent(int number)
{
    if (told.insert(number).second)
        inform("%s: programs find system call %d not implemented.", name(),
               number);
    return -ENOSYS;
}

/** gem5 gives a new thread no drivers; in Linux the device is everybody's. */
void
GilEmuLinux::shareDrivers(ThreadContext *parent) const
{
    const Process *from = parent->getProcessPtr();
    for (ThreadContext *tc : system->threads) {
        Process *process = tc->getProcessPtr();
        if (process && process->drivers.empty())
            process->drivers = from->drivers;
    }
}

void
GilEmuLinux::waitsOnFutex(ThreadContext *tc, Tick until)
{
    const uint64_t wait = ++waits[tc];
    if (until != MaxTick)
        timeOut(tc, std::max(until, curTick()), wait);
}

void
GilEmuLinux::timeOut(ThreadContext *tc, Tick when, uint64_t wait)
{
    auto end = [this, tc, wait] {
        const bool still = waits[tc] == wait &&
            tc->status() == ThreadContext::Suspended &&
            system->futexMap.is_waiting(tc);
        if (still)
            gil::wakeWith(tc, -ETIMEDOUT);
    };
    auto *event = new EventFunctionWrapper(end, name() + ".timeout", true);
    system->schedule(event, when);
}

} // namespace gem5
