// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef __GIL_ENTRY_HH__
#define __GIL_ENTRY_HH__

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/types.hh"
#include "gil_watch.h"

namespace gem5
{

class ThreadContext;

namespace gil
{

/** A thread of the guest: its address space, and itself in there. */
using GuestThread = std::pair<uint64_t, uint64_t>;

/** x0 to x30 and the stack pointer, as GIL_WATCH_SP and below number them. */
using Registers = std::array<uint64_t, GIL_WATCH_SP + 1>;

/** A CPU that is about to execute the first instruction of a function. */
class Entry
{
  public:
    explicit Entry(ThreadContext *tc) : tc(tc) {}

    /** One that has just executed it, and had these registers before. */
    Entry(ThreadContext *tc, const Registers &before) :
        tc(tc), before(before)
    {
    }

    /** The registers, to be kept. */
    Registers registers() const;

    /** For gil_watch_reach(); it refers to this object. */
    gil_watch_guest guest();

    /** x0 to x30, r0 to r12, GIL_WATCH_SP. */
    bool reg(unsigned number, bool is_32bit, uint64_t &value) const;

    /**
     * Copies from virtual addresses of the running process or the kernel, by
     * its page tables; false if not all of it is there.
     */
    bool read(Addr address, void *to, uint64_t len) const;

    /** The running thread's number, as its kernel counts. */
    bool process(uint32_t &number) const;

    /** Which thread of the guest runs. */
    GuestThread thread() const;

    /** Where it returns to, and its stack. */
    std::pair<Addr, Addr> frame() const;

    /** Whether an exception returned to this very instruction last. */
    bool mayBeReplayed() const;

    /** The instruction is there to be executed. */
    bool isPresent() const;

    /** Nothing but the next instruction follows this one. */
    bool fallsThrough() const;

  private:
    Addr pc() const;
    /** A register of the kernel's level: EL1, or EL2 with FEAT_VHE. */
    RegVal ofKernel(int el1, int el2) const;
    bool isKernel() const;
    uint64_t current(unsigned number) const;

    ThreadContext *const tc;
    const std::optional<Registers> before;
};

} // namespace gil
} // namespace gem5

#endif // __GIL_ENTRY_HH__
