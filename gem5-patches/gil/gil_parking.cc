// SPDX-License-Identifier: MIT OR Apache-2.0
#include "gil/gil_parking.hh"

#include "arch/arm/regs/int.hh"
#include "cpu/thread_context.hh"
#include "sim/core.hh"
#include "sim/cur_tick.hh"
#include "sim/eventq.hh"
#include "sim/futex_map.hh"
#include "sim/process.hh"
#include "sim/system.hh"

namespace gem5
{

namespace gil
{

namespace
{

/** No program has memory there. */
Addr nextFutex = Addr(1) << 63;

/** Takes the thread off whatever futex it waits on. */
void
forgetWaiter(FutexMap &futexes, ThreadContext *tc)
{
    for (auto it = futexes.begin(); it != futexes.end();) {
        it->second.remove_if(
            [tc](const WaiterState &waiter) { return waiter.tc == tc; });
        it = it->second.empty() ? futexes.erase(it) : std::next(it);
    }
}

} // anonymous namespace

ParkedThread::ParkedThread(ThreadContext *tc) :
    tc(tc), tgid(tc->getProcessPtr()->tgid()), futex(nextFutex++)
{
    tc->getSystemPtr()->futexMap.suspend(futex, tgid, tc);
}

bool
ParkedThread::isParked() const
{
    const FutexMap &futexes = tc->getSystemPtr()->futexMap;
    return tc->status() == ThreadContext::Suspended &&
        futexes.find(FutexKey(futex, tgid)) != futexes.end();
}

void
ParkedThread::wake() const
{
    if (isParked())
        tc->getSystemPtr()->futexMap.wakeup(futex, tgid, 1);
}

void
wakeWith(ThreadContext *tc, int64_t result)
{
    forgetWaiter(tc->getSystemPtr()->futexMap, tc);
    ParkedThread(tc).wake();
    tc->setReg(ArmISA::ReturnValueReg, RegVal(result));
}

void
parkUntil(ThreadContext *tc, Tick when, std::function<void()> then)
{
    if (when <= curTick()) {
        if (then)
            then();
        return;
    }
    ParkedThread parked(tc);
    auto wake = [parked, then] {
        if (!parked.isParked())
            return;
        if (then)
            then();
        parked.wake();
    };
    if (when != MaxTick) {
        auto *event = new EventFunctionWrapper(wake, "gil.wake", true);
        curEventQueue()->schedule(event, when);
    }
}

Tick
tickOf(uint64_t ns)
{
    const Tick per_ns = sim_clock::as_int::ns;
    return ns < MaxTick / per_ns ? ns * per_ns : MaxTick;
}

uint64_t
nowNs()
{
    return curTick() / sim_clock::as_int::ns;
}

} // namespace gil
} // namespace gem5
