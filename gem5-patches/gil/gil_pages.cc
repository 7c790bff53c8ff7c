// SPDX-License-Identifier: MIT OR Apache-2.0
#include "gil/gil_pages.hh"

#include "sim/se_workload.hh"

namespace gem5
{

namespace gil
{

Addr
Pages::take(SEWorkload &workload, Addr page_size, Addr bytes)
{
    std::vector<Addr> &of_size = idle[bytes];
    if (of_size.empty())
        return workload.allocPhysPages((bytes + page_size - 1) / page_size);
    const Addr start = of_size.back();
    of_size.pop_back();
    return start;
}

void
Pages::giveBack(Addr start, Addr bytes)
{
    idle[bytes].push_back(start);
}

} // namespace gil
} // namespace gem5
