// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef __GIL_MAPPING_HH__
#define __GIL_MAPPING_HH__

#include <cstdint>
#include <functional>
#include <optional>

#include "base/types.hh"

namespace gem5
{

class ThreadContext;

namespace gil
{

/** A part of a file in a program's memory. */
struct Mapping
{
    Addr start;
    uint64_t len;
    /** Where in the file it begins, in bytes. */
    uint64_t offset;
};

using Mapped = std::function<void(const Mapping &)>;

/**
 * What the system call that a program of 64 or 32 bits is about to make maps of
 * a file, to be executed; where is not known yet.
 */
std::optional<Mapping> askedToMap(ThreadContext *tc);

/** Where that was, after the call; nothing if the call failed. */
std::optional<Mapping> wasMapped(ThreadContext *tc, Mapping asked);

} // namespace gil
} // namespace gem5

#endif // __GIL_MAPPING_HH__
