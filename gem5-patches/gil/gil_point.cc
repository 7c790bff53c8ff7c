// SPDX-License-Identifier: MIT OR Apache-2.0
#include "gil/gil_point.hh"

#include "cpu/thread_context.hh"
#include "gil/gil_points.hh"
#include "sim/full_system.hh"

namespace gem5
{

namespace gil
{

namespace
{

/** Threads that ended at an entry leave something behind: not more of them. */
constexpr size_t mostBegun = 4096;

/** Lengths of an instruction; T32 has the first too. */
constexpr Addr lengths[] = {2, 4};

} // anonymous namespace

/** The instruction behind the first one. */
class Point::Behind : public PCEvent
{
  public:
    Behind(PCEventScope &scope, Point &point, Addr address) :
        PCEvent(&scope, "gil: behind an entry", address), point(point)
    {
    }

    void process(ThreadContext *tc) override { point.passed(tc); }

  private:
    Point &point;
};

Point::Point(PCEventScope &scope, Points &points,
             const gil_watch_point &point) :
    PCEvent(&scope, "gil: an entry", point.address), points(points),
    _point(point)
{
    for (Addr length : lengths)
        behind.push_back(
            std::make_unique<Behind>(scope, *this, point.address + length));
}

Point::~Point() {}

void
Point::process(ThreadContext *tc)
{
    const Entry entry(tc);
    if (!entry.isPresent()) {
        // A page fault comes next.
        if (!FullSystem)
            absent.insert_or_assign(entry.thread(), entry.registers());
        return;
    }
    if (!absent.empty())
        absent.erase(entry.thread());
    if (!isSameInstruction(tc) && !isReplayed(entry))
        points.reach(*this, entry);
}

bool
Point::isSameInstruction(ThreadContext *tc)
{
    const Tick now = tc->getCurrentInstCount();
    const auto [count, is_first] = counts.emplace(tc->contextId(), now);
    return !is_first && std::exchange(count->second, now) == now;
}

bool
Point::isReplayed(const Entry &entry)
{
    if (!entry.fallsThrough())
        return false;
    if (begun.size() > mostBegun)
        begun.clear();
    auto &calls = begun[entry.thread()];
    const auto frame = entry.frame();
    if (!calls.empty() && calls.back() == frame && entry.mayBeReplayed())
        return true;
    if (calls.size() > mostBegun)
        calls.clear();
    calls.push_back(frame);
    return false;
}

void
Point::passed(ThreadContext *tc)
{
    const GuestThread thread = Entry(tc).thread();
    const auto call = begun.find(thread);
    if (call != begun.end()) {
        call->second.pop_back();
        if (call->second.empty())
            begun.erase(call);
    }
    const auto missed = absent.find(thread);
    if (missed != absent.end()) {
        const Registers before = missed->second;
        absent.erase(missed);
        points.reach(*this, Entry(tc, before));
    }
}

} // namespace gil
} // namespace gem5
