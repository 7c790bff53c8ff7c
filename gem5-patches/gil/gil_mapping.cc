// SPDX-License-Identifier: MIT OR Apache-2.0
#include "gil/gil_mapping.hh"

#include "arch/arm/regs/int.hh"
#include "arch/arm/utility.hh"
#include "base/bitfield.hh"
#include "cpu/thread_context.hh"

namespace gem5
{

namespace gil
{

namespace
{

namespace int_reg = ArmISA::int_reg;

/** Linux's mmap() for AArch64, and mmap2() for AArch32. */
constexpr RegVal nrMmap64 = 222;
constexpr RegVal nrMmap32 = 192;
/** What mmap2() counts offsets in. */
constexpr uint64_t mmap2Unit = 4096;
/** The same in both. */
constexpr RegVal protExec = 4;
constexpr RegVal mapAnonymous = 0x20;
/** Return values from here on are errors. */
constexpr Addr firstError = -4095;

} // anonymous namespace

std::optional<Mapping>
askedToMap(ThreadContext *tc)
{
    const bool is_64bit = ArmISA::inAArch64(tc);
    const RegVal number = tc->getReg(is_64bit ? int_reg::X8 : int_reg::R7);
    if (number != (is_64bit ? nrMmap64 : nrMmap32))
        return {};
    const RegVal prot = tc->getReg(int_reg::X2);
    const RegVal flags = tc->getReg(int_reg::X3);
    if (!(prot & protExec) || flags & mapAnonymous)
        return {};
    const uint64_t offset = tc->getReg(int_reg::X5);
    return Mapping{0, tc->getReg(int_reg::X1),
                   is_64bit ? offset : offset * mmap2Unit};
}

std::optional<Mapping>
wasMapped(ThreadContext *tc, Mapping asked)
{
    const RegVal result = tc->getReg(int_reg::X0);
    asked.start =
        ArmISA::inAArch64(tc) ? result : sext<32>(bits(result, 31, 0));
    if (asked.start >= firstError)
        return {};
    if (!ArmISA::inAArch64(tc))
        asked.start = bits(asked.start, 31, 0);
    return asked;
}

} // namespace gil
} // namespace gem5
