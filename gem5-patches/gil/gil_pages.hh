// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef __GIL_PAGES_HH__
#define __GIL_PAGES_HH__

#include <map>
#include <vector>

#include "base/types.hh"

namespace gem5
{

class SEWorkload;

namespace gil
{

/**
 * Guest physical memory that belongs to no program, for what a driver writes.
 * gem5 takes none back, so what is given back here is used again.
 */
class Pages
{
  public:
    /** Contiguous memory of at least that many bytes. */
    Addr take(SEWorkload &workload, Addr page_size, Addr bytes);
    void giveBack(Addr start, Addr bytes);

  private:
    /** By size in bytes, as they were asked for. */
    std::map<Addr, std::vector<Addr>> idle;
};

} // namespace gil
} // namespace gem5

#endif // __GIL_PAGES_HH__
