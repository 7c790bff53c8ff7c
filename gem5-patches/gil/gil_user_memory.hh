// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef __GIL_USER_MEMORY_HH__
#define __GIL_USER_MEMORY_HH__

#include <vector>

#include "base/types.hh"

namespace gem5
{

class Process;

namespace gil
{

/** Physically contiguous memory. */
struct Extent
{
    Addr gpa;
    uint64_t len;
};

/**
 * Where a range of a program's memory lies, contiguous parts merged. Pages
 * that the program was given and has not touched are made.
 *
 * @return 0, -EFAULT where the program has no such memory, -ENOMEM if the
 *         simulated memory is used up.
 */
int extentsOf(Process &process, Addr start, uint64_t len, bool is_output,
              std::vector<Extent> &out);

/**
 * Makes the pages of a range that the program was given and has not touched.
 * gem5 makes them as the program does: what only a system call reads, such as a
 * string in a library's constants, it would not find.
 */
void bringIn(Process &process, Addr start, uint64_t len);

/** An address without the tag that AArch64 ignores. */
Addr withoutTag(Addr address);

} // namespace gil
} // namespace gem5

#endif // __GIL_USER_MEMORY_HH__
