// SPDX-License-Identifier: MIT OR Apache-2.0
#include "gil/gil_entry.hh"

#include "arch/arm/mmu.hh"
#include "arch/arm/pcstate.hh"
#include "arch/arm/regs/int.hh"
#include "arch/arm/regs/misc.hh"
#include "arch/arm/utility.hh"
#include "base/bitfield.hh"
#include "cpu/thread_context.hh"
#include "mem/se_translating_port_proxy.hh"
#include "mem/translating_port_proxy.hh"
#include "sim/full_system.hh"
#include "sim/process.hh"

namespace gem5
{

namespace gil
{

namespace
{

namespace int_reg = ArmISA::int_reg;

/** Registers that a function's caller sees. */
constexpr unsigned registers64 = 31;
constexpr unsigned registers32 = 13;

int
readRegister(void *user, unsigned number, int is_32bit, uint64_t *value)
{
    return static_cast<Entry *>(user)->reg(number, is_32bit, *value);
}

int
readMemory(void *user, uint64_t address, void *to, uint64_t len)
{
    return static_cast<Entry *>(user)->read(address, to, len);
}

int
readProcess(void *user, uint32_t *number)
{
    return static_cast<Entry *>(user)->process(*number);
}

/** Branches and returns of A64. */
bool
isBranchA64(uint32_t code)
{
    const bool is_immediate = bits(code, 30, 26) == 0b00101;
    const bool is_conditional = bits(code, 31, 24) == 0x54;
    const bool compares = bits(code, 30, 26) == 0b01101;
    const bool is_register = bits(code, 31, 25) == 0b1101011;
    return is_immediate || is_conditional || compares || is_register;
}

/** Whatever may change the program counter in A32, and some more. */
bool
isBranchA32(uint32_t code)
{
    const bool is_immediate = bits(code, 27, 25) == 0b101;
    const bool is_exchange = (code & 0x0ffffff0) == 0x012fff10;
    const bool loads = bits(code, 27, 25) == 0b100 && bits(code, 20) &&
        bits(code, 15);
    const bool writes_pc = bits(code, 27, 26) != 0b10 &&
        bits(code, 15, 12) == 15;
    return is_immediate || is_exchange || loads || writes_pc;
}

/** The same in T32, by the first half of the instruction. */
bool
isBranchT32(uint16_t code)
{
    // Of 32 bits, only "push" in its long form begins many functions.
    const bool is_long = bits(code, 15, 11) >= 0b11101;
    const bool is_branch = bits(code, 15, 12) >= 0b1101;
    const bool compares = (code & 0xf500) == 0xb100;
    const bool pops_pc = (code & 0xff00) == 0xbd00;
    const bool is_high = (code & 0xfc00) == 0x4400;
    const bool ends = is_long ? code != 0xe92d : is_branch;
    return ends || compares || pops_pc || is_high;
}

} // anonymous namespace

gil_watch_guest
Entry::guest()
{
    gil_watch_guest guest{};
    guest.size = sizeof(guest);
    guest.user = this;
    guest.reg = readRegister;
    guest.read = readMemory;
    guest.process = readProcess;
    return guest;
}

bool
Entry::reg(unsigned number, bool is_32bit, uint64_t &value) const
{
    // What a file is for, and what runs there, differ only in a guest that
    // plays tricks.
    const bool is_there = number == GIL_WATCH_SP ||
        number < (is_32bit ? registers32 : registers64);
    if (!is_there || is_32bit == ArmISA::inAArch64(tc))
        return false;
    value = before ? (*before)[number] : current(number);
    if (is_32bit)
        value = bits(value, 31, 0);
    return true;
}

uint64_t
Entry::current(unsigned number) const
{
    const bool is_64bit = ArmISA::inAArch64(tc);
    if (number == GIL_WATCH_SP)
        return tc->getReg(is_64bit ? int_reg::Spx : int_reg::Sp);
    const auto first = is_64bit ? int_reg::_X0Idx : int_reg::_R0Idx;
    return tc->getReg(ArmISA::intRegClass[first + number]);
}

Registers
Entry::registers() const
{
    const unsigned count =
        ArmISA::inAArch64(tc) ? registers64 : registers32;
    Registers all{};
    for (unsigned number = 0; number < count; number++)
        all[number] = current(number);
    all[GIL_WATCH_SP] = current(GIL_WATCH_SP);
    return all;
}

bool
Entry::read(Addr address, void *to, uint64_t len) const
{
    if (!FullSystem)
        return SETranslatingPortProxy(tc).tryReadBlob(address, to, len);
    // The kernel may read its processes' memory only in ways of its own.
    const bool is_user = !bits(address, 55);
    const Request::Flags flags = is_user ? ArmISA::MMU::UserMode : 0;
    return TranslatingPortProxy(tc, flags).tryReadBlob(address, to, len);
}

bool
Entry::process(uint32_t &number) const
{
    if (FullSystem)
        // With CONFIG_PID_IN_CONTEXTIDR.
        number = ofKernel(ArmISA::MISCREG_CONTEXTIDR_EL1,
                          ArmISA::MISCREG_CONTEXTIDR_EL2);
    else
        number = tc->getProcessPtr()->pid();
    return number != 0;
}

GuestThread
Entry::thread() const
{
    if (!FullSystem)
        return {0, tc->contextId()};
    // Linux has the current task's address there.
    if (isKernel())
        return {0, tc->getReg(int_reg::Sp0)};
    const auto own = ArmISA::inAArch64(tc) ? ArmISA::MISCREG_TPIDR_EL0
                                           : ArmISA::MISCREG_TPIDRRO_EL0;
    const Addr table =
        ofKernel(ArmISA::MISCREG_TTBR0_EL1, ArmISA::MISCREG_TTBR0_EL2);
    return {bits(table, 47, 1), tc->readMiscRegNoEffect(own)};
}

std::pair<Addr, Addr>
Entry::frame() const
{
    const bool is_64bit = ArmISA::inAArch64(tc);
    return {tc->getReg(is_64bit ? int_reg::X30 : int_reg::Lr),
            tc->getReg(is_64bit ? int_reg::Spx : int_reg::Sp)};
}

bool
Entry::mayBeReplayed() const
{
    // System-call emulation handles page faults without a kernel.
    return !FullSystem ||
        ofKernel(ArmISA::MISCREG_ELR_EL1, ArmISA::MISCREG_ELR_EL2) == pc();
}

bool
Entry::isPresent() const
{
    uint8_t first;
    return read(pc(), &first, sizeof(first));
}

bool
Entry::fallsThrough() const
{
    uint32_t code = 0;
    const bool is_thumb = tc->pcState().as<ArmISA::PCState>().thumb();
    if (!read(pc(), &code, is_thumb ? 2 : 4))
        return false;
    if (ArmISA::inAArch64(tc))
        return !isBranchA64(code);
    return is_thumb ? !isBranchT32(code) : !isBranchA32(code);
}

Addr
Entry::pc() const
{
    return tc->pcState().instAddr();
}

RegVal
Entry::ofKernel(int el1, int el2) const
{
    // With FEAT_VHE Linux runs at EL2, and means that level's registers.
    const bool is_host = ArmISA::ELIsInHost(tc, ArmISA::currEL(tc));
    return tc->readMiscRegNoEffect(is_host ? el2 : el1);
}

bool
Entry::isKernel() const
{
    return ArmISA::currEL(tc) != ArmISA::EL0;
}

} // namespace gil
} // namespace gem5
