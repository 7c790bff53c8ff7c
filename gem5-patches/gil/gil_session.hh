// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef __GIL_SESSION_HH__
#define __GIL_SESSION_HH__

#include <memory>
#include <string>
#include <vector>

#include "base/types.hh"
#include "gil.h"
#include "gil/gil_pages.hh"
#include "gil/gil_parking.hh"
#include "gil/gil_user_memory.hh"
#include "sim/eventq.hh"

namespace gem5
{

class EmulationPageTable;
class GilBridge;
class Process;
class SEWorkload;
class ThreadContext;

namespace gil
{

/**
 * What gil.ko keeps for one address space that has /dev/gil open: its mailbox
 * in guest memory, its numbers, and who sleeps until it makes progress.
 *
 * Sleeping happens outside of doorbells, so one mailbox serves all threads.
 * Nothing is pinned: gem5 never moves a program's pages nor gives them to
 * somebody else.
 */
class Session : public std::enable_shared_from_this<Session>
{
  public:
    /**
     * @param pages where its guest memory comes from, and goes to at the end
     * @param owner a process of the address space
     * @param most_bytes most bytes that the regions of one call may have
     */
    Session(GilBridge &bridge, Pages &pages, Process &owner, uint64_t number,
            uint64_t most_bytes);
    ~Session();

    /** Announces it to the host: 0, or an errno negated. */
    int open(ThreadContext *tc);

    /** GIL_IOC_SUBMIT, GIL_IOC_WAIT: 0, or an errno negated. */
    int submit(ThreadContext *tc, Addr user);
    int wait(ThreadContext *tc, Addr user);

    /** Ends it: the host forgets all its memory. Idempotent. */
    void close();

    uint64_t number() const { return _number; }
    bool isClosed() const { return closed; }

    /** Whether a process shares the address space. */
    bool isOf(const Process &process) const;

  private:
    /** Offsets in the block of guest memory, whose size is a whole page's. */
    static constexpr Addr regionsAt = 512;
    static constexpr Addr requestAt = 4096;
    static constexpr Addr replyAt = requestAt + GIL_REQUEST_MAX;
    static constexpr Addr blockSize = replyAt + GIL_REPLY_MAX;

    int checkBounds(const gil_submit &arg) const;
    int copyRequest(ThreadContext *tc, const gil_submit &arg);
    int describeRegions(ThreadContext *tc, const gil_submit &arg);
    int describeRegion(Process &process, const gil_region &region,
                       gil_mbox_region &out);
    Addr writeChain(const std::vector<Extent> &extents);
    Addr extentPage();
    int returnAnswer(ThreadContext *tc, Addr user, gil_submit &arg,
                     const gil_mailbox &mailbox);

    void fill(gil_mailbox &mailbox, uint32_t kind, ThreadContext *tc);
    int ring(gil_mailbox &mailbox);
    void collect();
    void collectRest(gil_mailbox mailbox);
    void attend();
    void setAttention(uint64_t at_ns);
    void makeProgress();
    int awaitProgress(ThreadContext *tc, uint64_t seen);

    GilBridge &bridge;
    Pages &pages;
    SEWorkload &workload;
    EmulationPageTable *const table;
    const uint64_t _number;
    const uint64_t mostBytes;

    Addr block;
    /** Pages for extents, used again by each submission. */
    std::vector<Addr> extentPages;
    size_t extentPagesUsed = 0;

    /** What does not change from one mailbox to the next. */
    gil_mailbox header{};
    uint64_t seq = 0;
    uint64_t progress = 0;
    bool closed = false;
    std::vector<ParkedThread> progressWaiters;
    EventFunctionWrapper attention;
};

} // namespace gil
} // namespace gem5

#endif // __GIL_SESSION_HH__
