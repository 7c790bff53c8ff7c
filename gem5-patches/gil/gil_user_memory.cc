// SPDX-License-Identifier: MIT OR Apache-2.0
#include "gil/gil_user_memory.hh"

#include <algorithm>
#include <cerrno>

#include "base/bitfield.hh"
#include "mem/page_table.hh"
#include "sim/process.hh"
#include "sim/se_workload.hh"

namespace gem5
{

namespace gil
{

namespace
{

/** Physical pages left alone, so that the program itself can go on. */
constexpr Addr reserve = 1 << 20;
/** Most bytes that bringIn() looks at. */
constexpr uint64_t bringInMax = 64 << 20;

int
makePage(Process &process, Addr page)
{
    if (process.seWorkload->freeMemSize() < reserve)
        return -ENOMEM;
    return process.fixupFault(page) ? 0 : -EFAULT;
}

int
translate(Process &process, Addr page, bool is_output, Addr &gpa)
{
    EmulationPageTable &table = *process.pTable;
    const auto *entry = table.lookup(page);
    if (!entry) {
        if (int error = makePage(process, page))
            return error;
        entry = table.lookup(page);
    }
    if (!entry)
        return -EFAULT;
    if (is_output && entry->flags & EmulationPageTable::ReadOnly)
        return -EFAULT;
    gpa = entry->paddr;
    return 0;
}

void
append(std::vector<Extent> &extents, Addr gpa, uint64_t len)
{
    if (!extents.empty()) {
        Extent &last = extents.back();
        if (last.gpa + last.len == gpa) {
            last.len += len;
            return;
        }
    }
    extents.push_back({gpa, len});
}

} // anonymous namespace

int
extentsOf(Process &process, Addr start, uint64_t len, bool is_output,
          std::vector<Extent> &out)
{
    EmulationPageTable &table = *process.pTable;
    const Addr page_size = table.pageSize();
    Addr at = start;
    for (uint64_t left = len; left > 0;) {
        const Addr page = table.pageAlign(at);
        const Addr offset = table.pageOffset(at);
        const uint64_t now = std::min<uint64_t>(left, page_size - offset);
        Addr gpa = 0;
        if (int error = translate(process, page, is_output, gpa))
            return error;
        append(out, gpa + offset, now);
        at += now;
        left -= now;
    }
    return 0;
}

void
bringIn(Process &process, Addr start, uint64_t len)
{
    EmulationPageTable &table = *process.pTable;
    const Addr page_size = table.pageSize();
    const uint64_t bound = std::min<uint64_t>(len, bringInMax);
    const Addr end = start + bound;
    for (Addr page = table.pageAlign(start); page < end; page += page_size) {
        if (!table.lookup(page) && makePage(process, page))
            return;
    }
}

Addr
withoutTag(Addr address)
{
    // What bit 55 says is the sign of the other half, which is the kernel's.
    return bits(address, 55) ? address : bits(address, 55, 0);
}

} // namespace gil
} // namespace gem5
