// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef __GIL_PARKING_HH__
#define __GIL_PARKING_HH__

#include <functional>

#include "base/types.hh"

namespace gem5
{

class ThreadContext;

namespace gil
{

/**
 * A suspended thread of a program in system-call emulation.
 *
 * It waits on a futex of its own, which no program can name: so nothing but
 * wake() ends its sleep, in particular none of the events that end a WFE.
 */
class ParkedThread
{
  public:
    /** Suspends the thread. */
    explicit ParkedThread(ThreadContext *tc);

    /** Whether it still sleeps; not if the program ended meanwhile. */
    bool isParked() const;

    /** Lets it go on, if it still sleeps. */
    void wake() const;

    ThreadContext *context() const { return tc; }

  private:
    ThreadContext *tc;
    uint64_t tgid;
    Addr futex;
};

/** Lets a thread that waits on a futex go on with that result. */
void wakeWith(ThreadContext *tc, int64_t result);

/**
 * Suspends the thread until that tick, or not at all if it has passed. At the
 * tick, `then` is called before the thread goes on, if it still sleeps.
 */
void parkUntil(ThreadContext *tc, Tick when,
               std::function<void()> then = {});

/** The tick of a moment in guest nanoseconds, MaxTick if none is so late. */
Tick tickOf(uint64_t ns);

/** Guest nanoseconds of the monotonic clock, now. */
uint64_t nowNs();

} // namespace gil
} // namespace gem5

#endif // __GIL_PARKING_HH__
