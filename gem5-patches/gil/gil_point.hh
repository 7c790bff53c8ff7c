// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef __GIL_POINT_HH__
#define __GIL_POINT_HH__

#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/types.hh"
#include "cpu/pc_event.hh"
#include "gil/gil_entry.hh"
#include "gil_watch.h"

namespace gem5
{

namespace gil
{

class Points;

/**
 * The entry of a function.
 *
 * gem5 serves PC events before the instruction is executed, which may be more
 * than once: Minor does in every cycle in which the instruction waits, and all
 * models do again after a page fault or an interrupt at this very place. The
 * first are recognised by the count of instructions, which has not moved; the
 * others by the instruction behind the first one, which was not reached in
 * between.
 *
 * In system-call emulation gem5 mends page faults itself, after which O3 does
 * not look for PC events again: the instruction behind tells then.
 */
class Point : public PCEvent
{
  public:
    Point(PCEventScope &scope, Points &points, const gil_watch_point &point);
    ~Point();

    void process(ThreadContext *tc) override;

    const gil_watch_point &point() const { return _point; }

  private:
    class Behind;

    bool isSameInstruction(ThreadContext *tc);
    bool isReplayed(const Entry &entry);
    void passed(ThreadContext *tc);

    Points &points;
    const gil_watch_point _point;
    std::vector<std::unique_ptr<Behind>> behind;

    /** Instructions that a CPU had executed when it was here last. */
    std::unordered_map<ContextID, Tick> counts;
    /** Calls of which the first instruction was not executed yet. */
    std::map<GuestThread, std::vector<std::pair<Addr, Addr>>> begun;
    /** Calls whose code was not in memory. */
    std::map<GuestThread, Registers> absent;
};

} // namespace gil
} // namespace gem5

#endif // __GIL_POINT_HH__
