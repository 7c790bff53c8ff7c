// SPDX-License-Identifier: MIT OR Apache-2.0
#include "gil/gil_session.hh"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "arch/arm/utility.hh"
#include "base/trace.hh"
#include "cpu/thread_context.hh"
#include "debug/Gil.hh"
#include "gil/gil_bridge.hh"
#include "gil/gil_isa.hh"
#include "mem/page_table.hh"
#include "mem/se_translating_port_proxy.hh"
#include "sim/cur_tick.hh"
#include "sim/process.hh"
#include "sim/se_workload.hh"

namespace gem5
{

namespace gil
{

static_assert(sizeof(gil_mailbox) == 264 && sizeof(gil_extent_page) == 4096);

Session::Session(GilBridge &bridge, Pages &pages, Process &owner,
                 uint64_t number, uint64_t most_bytes) :
    bridge(bridge), pages(pages), workload(*owner.seWorkload),
    table(owner.pTable), _number(number), mostBytes(most_bytes),
    block(pages.take(workload, table->pageSize(), blockSize)),
    attention([this] { attend(); }, bridge.name() + ".attention")
{
    static_assert(regionsAt >= sizeof(gil_mailbox));
    static_assert(requestAt - regionsAt >=
                  GIL_REGIONS_MAX * sizeof(gil_mbox_region));
}

Session::~Session()
{
    if (attention.scheduled())
        bridge.deschedule(attention);
    pages.giveBack(block, blockSize);
    for (Addr page : extentPages)
        pages.giveBack(page, sizeof(gil_extent_page));
}

bool
Session::isOf(const Process &process) const
{
    return process.pTable == table;
}

int
Session::open(ThreadContext *tc)
{
    gil_mailbox mailbox{};
    fill(mailbox, GIL_MBOX_OPEN, tc);
    header = mailbox;
    if (const int error = ring(mailbox))
        return error;
    return mailbox.status == GIL_STATUS_OK ? 0 : -EPROTO;
}

void
Session::close()
{
    if (std::exchange(closed, true))
        return;
    if (attention.scheduled())
        bridge.deschedule(attention);
    gil_mailbox mailbox = header;
    mailbox.kind = GIL_MBOX_CLOSE;
    ring(mailbox);
    makeProgress();
}

/** All that the caller and the session say. */
void
Session::fill(gil_mailbox &mailbox, uint32_t kind, ThreadContext *tc)
{
    auto *isa = dynamic_cast<GilISA *>(tc->getIsaPtr());
    fatal_if(!isa, "%s: gil needs GilISA in system-call emulation: give each "
             "CPU isa=[GilISA()] before createThreads().", bridge.name());
    const Process &process = *tc->getProcessPtr();
    mailbox.magic = GIL_MAILBOX_MAGIC;
    mailbox.version = GIL_ABI_VERSION;
    mailbox.session = _number;
    mailbox.kind = kind;
    mailbox.pointer_bits = ArmISA::inAArch64(tc) ? 64 : 32;
    mailbox.process = const_cast<Process &>(process).tgid();
    mailbox.thread = const_cast<Process &>(process).pid();
    mailbox.counter_hz = isa->frequency();
}

/**
 * Rings the doorbell; the answer is in `mailbox` then. Sets the timer and wakes
 * sleepers as the answer says. -ENODEV if nobody answered.
 */
int
Session::ring(gil_mailbox &mailbox)
{
    const Tick second = sim_clock::Frequency;
    const Tick now = curTick();
    const uint64_t hz = mailbox.counter_hz;
    mailbox.now_ns = nowNs();
    mailbox.now_counter = now / second * hz + now % second * hz / second;
    // The timer's doorbells have no number, as gil.ko's.
    if (mailbox.kind != GIL_MBOX_ATTEND)
        mailbox.seq = ++seq;
    mailbox.status = GIL_STATUS_UNSEEN;
    bridge.write(block, &mailbox, sizeof(mailbox));
    bridge.ring(block);
    bridge.read(block, &mailbox, sizeof(mailbox));
    DPRINTFS(Gil, (&bridge), "session %d: doorbell %d of kind %d: status %d, "
             "wait %d until %d ns\n", _number, seq, mailbox.kind,
             mailbox.status, mailbox.wait_kind, mailbox.deadline_ns);
    if (mailbox.status == GIL_STATUS_UNSEEN)
        return -ENODEV;
    if (mailbox.status == GIL_STATUS_BAD_MAILBOX)
        return 0;
    setAttention(mailbox.attention_ns);
    if (mailbox.flags & GIL_FLAG_PROGRESS)
        makeProgress();
    return 0;
}

void
Session::setAttention(uint64_t at_ns)
{
    if (closed || !at_ns) {
        if (attention.scheduled())
            bridge.deschedule(attention);
        return;
    }
    const Tick at = std::max(tickOf(at_ns), curTick());
    if (at != MaxTick)
        bridge.reschedule(attention, at, true);
}

/** The session's timer: somebody has to ask the host again by now. */
void
Session::attend()
{
    gil_mailbox mailbox = header;
    mailbox.kind = GIL_MBOX_ATTEND;
    ring(mailbox);
}

void
Session::makeProgress()
{
    progress++;
    for (const ParkedThread &thread : std::exchange(progressWaiters, {}))
        thread.wake();
}

int
Session::checkBounds(const gil_submit &arg) const
{
    if (arg.reserved)
        return -EINVAL;
    if (!arg.request_len || arg.request_len > GIL_REQUEST_MAX)
        return -EINVAL;
    if (arg.reply_cap > GIL_REPLY_MAX || arg.region_count > GIL_REGIONS_MAX)
        return -EINVAL;
    return 0;
}

int
Session::copyRequest(ThreadContext *tc, const gil_submit &arg)
{
    uint8_t request[GIL_REQUEST_MAX];
    SETranslatingPortProxy memory(tc);
    if (!memory.tryReadBlob(arg.request, request, arg.request_len))
        return -EFAULT;
    bridge.write(block + requestAt, request, arg.request_len);
    return 0;
}

/** A page for extents that this submission does not use yet. */
Addr
Session::extentPage()
{
    if (extentPagesUsed == extentPages.size())
        extentPages.push_back(pages.take(workload, table->pageSize(),
                                         sizeof(gil_extent_page)));
    return extentPages[extentPagesUsed++];
}

/** Writes extents as a chain of pages, from the last to the first. */
Addr
Session::writeChain(const std::vector<Extent> &extents)
{
    Addr next = 0;
    size_t end = extents.size();
    while (end > 0) {
        const size_t begin = (end - 1) / GIL_EXTENTS_PER_PAGE *
            GIL_EXTENTS_PER_PAGE;
        gil_extent_page page{};
        page.next = next;
        page.count = end - begin;
        for (size_t i = begin; i < end; i++)
            page.extent[i - begin] = {extents[i].gpa, extents[i].len};
        next = extentPage();
        bridge.write(next, &page, sizeof(page));
        end = begin;
    }
    return next;
}

int
Session::describeRegion(Process &process, const gil_region &region,
                        gil_mbox_region &out)
{
    if (!region.len || region.import || region.dir < GIL_DIR_IN ||
        region.dir > GIL_DIR_INOUT)
        return -EINVAL;
    std::vector<Extent> extents;
    const bool is_output = region.dir & GIL_DIR_OUT;
    const int error = extentsOf(process, withoutTag(region.addr), region.len,
                                is_output, extents);
    if (error)
        return error;
    out.len = region.len;
    out.skip = 0;
    out.dir = region.dir;
    out.reserved = 0;
    out.extents = writeChain(extents);
    return 0;
}

int
Session::describeRegions(ThreadContext *tc, const gil_submit &arg)
{
    gil_region regions[GIL_REGIONS_MAX];
    gil_mbox_region entries[GIL_REGIONS_MAX];
    const size_t count = arg.region_count;
    SETranslatingPortProxy memory(tc);
    if (!memory.tryReadBlob(arg.regions, regions, count * sizeof(*regions)))
        return -EFAULT;
    extentPagesUsed = 0;
    uint64_t left = mostBytes;
    for (size_t i = 0; i < count; i++) {
        if (regions[i].len > left)
            return -ENOMEM;
        left -= regions[i].len;
        Process &process = *tc->getProcessPtr();
        if (int error = describeRegion(process, regions[i], entries[i]))
            return error;
    }
    bridge.write(block + regionsAt, entries, count * sizeof(*entries));
    return 0;
}

int
Session::submit(ThreadContext *tc, Addr user)
{
    gil_submit arg;
    SETranslatingPortProxy memory(tc);
    if (!memory.tryReadBlob(user, &arg, sizeof(arg)))
        return -EFAULT;
    int error = checkBounds(arg);
    if (!error)
        error = copyRequest(tc, arg);
    if (!error && arg.region_count)
        error = describeRegions(tc, arg);
    if (error)
        return error;
    if (closed)
        return -EBADF;
    gil_mailbox mailbox{};
    fill(mailbox, GIL_MBOX_SUBMIT, tc);
    mailbox.region_count = arg.region_count;
    mailbox.regions = arg.region_count ? block + regionsAt : 0;
    mailbox.request = block + requestAt;
    mailbox.request_len = arg.request_len;
    mailbox.reply = block + replyAt;
    mailbox.reply_cap = arg.reply_cap;
    arg.progress = progress;
    error = ring(mailbox);
    return error ? error : returnAnswer(tc, user, arg, mailbox);
}

int
Session::returnAnswer(ThreadContext *tc, Addr user, gil_submit &arg,
                      const gil_mailbox &mailbox)
{
    uint8_t reply[GIL_REPLY_MAX];
    SETranslatingPortProxy memory(tc);
    arg.status = mailbox.status;
    arg.reply_len = std::min(mailbox.reply_len, arg.reply_cap);
    arg.deadline_ns = mailbox.deadline_ns;
    arg.now_ns = mailbox.now_ns;
    arg.wait_kind = mailbox.wait_kind;
    arg.flags = mailbox.flags & (GIL_FLAG_COLLECT | GIL_FLAG_PENDING);
    bridge.read(block + replyAt, reply, arg.reply_len);
    collectRest(mailbox);
    if (!memory.tryWriteBlob(arg.reply, reply, arg.reply_len))
        return -EFAULT;
    const size_t from = offsetof(gil_submit, status);
    const auto *bytes = reinterpret_cast<const uint8_t *>(&arg);
    const bool written =
        memory.tryWriteBlob(user + from, bytes + from, sizeof(arg) - from);
    return written ? 0 : -EFAULT;
}

/**
 * Collects while the host has more numbers to release than fit. Every round
 * must release something.
 */
void
Session::collectRest(gil_mailbox mailbox)
{
    while (mailbox.flags & GIL_FLAG_MORE && mailbox.released_count) {
        mailbox = header;
        mailbox.kind = GIL_MBOX_COLLECT;
        if (ring(mailbox))
            return;
    }
}

/** Makes the host deliver output that is ready. */
void
Session::collect()
{
    if (closed)
        return;
    gil_mailbox mailbox = header;
    mailbox.kind = GIL_MBOX_COLLECT;
    if (!ring(mailbox))
        collectRest(mailbox);
}

int
Session::awaitProgress(ThreadContext *tc, uint64_t seen)
{
    if (closed)
        return -EBADF;
    if (progress <= seen)
        progressWaiters.emplace_back(tc);
    return 0;
}

int
Session::wait(ThreadContext *tc, Addr user)
{
    gil_wait arg;
    SETranslatingPortProxy memory(tc);
    if (!memory.tryReadBlob(user, &arg, sizeof(arg)))
        return -EFAULT;
    if (arg.flags & ~GIL_WAIT_COLLECT)
        return -EINVAL;
    const bool collects = arg.flags & GIL_WAIT_COLLECT;
    switch (arg.kind) {
      case GIL_WAIT_NONE:
        if (collects)
            collect();
        return 0;
      // A thread that waits has its CPU to itself either way.
      case GIL_WAIT_SLEEP:
      case GIL_WAIT_OCCUPY:
        parkUntil(tc, tickOf(arg.deadline_ns),
                  [self = shared_from_this(), collects] {
                      if (collects)
                          self->collect();
                  });
        return 0;
      case GIL_WAIT_PROGRESS:
        return collects ? -EINVAL : awaitProgress(tc, arg.progress);
      default:
        return -EINVAL;
    }
}

} // namespace gil
} // namespace gem5
