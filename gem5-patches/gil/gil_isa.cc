// SPDX-License-Identifier: MIT OR Apache-2.0
#include "gil/gil_isa.hh"

#include "arch/arm/regs/misc.hh"
#include "arch/arm/regs/misc_types.hh"
#include "base/logging.hh"
#include "sim/core.hh"
#include "sim/cur_tick.hh"
#include "sim/full_system.hh"

namespace gem5
{

namespace
{

/** Ticks of one period at that frequency. */
uint64_t
hertz(Tick period)
{
    return (sim_clock::Frequency + period / 2) / period;
}

} // anonymous namespace

GilISA::GilISA(const Params &p) :
    ArmISA::ISA(p), _frequency(hertz(p.counter_frequency))
{
    fatal_if(FullSystem, "%s: GilISA is for system-call emulation; in full "
             "system the platform's GenericTimer is the counter.", name());
}

uint64_t
GilISA::counter() const
{
    // In two parts, so that nothing overflows.
    const Tick second = sim_clock::Frequency;
    const Tick now = curTick();
    return now / second * _frequency + now % second * _frequency / second;
}

RegVal
GilISA::readMiscReg(RegIndex idx)
{
    switch (idx) {
      case ArmISA::MISCREG_CNTFRQ:
      case ArmISA::MISCREG_CNTFRQ_EL0:
        return _frequency;
      case ArmISA::MISCREG_CNTPCT:
      case ArmISA::MISCREG_CNTPCT_EL0:
      case ArmISA::MISCREG_CNTVCT:
      case ArmISA::MISCREG_CNTVCT_EL0:
        return counter();
      case ArmISA::MISCREG_CNTKCTL:
      case ArmISA::MISCREG_CNTKCTL_EL1: {
        // As Linux sets it: programs may read the counter.
        ArmISA::CNTKCTL control = 0;
        control.el0pcten = 1;
        control.el0vcten = 1;
        return control;
      }
      case ArmISA::MISCREG_CNTHCTL:
      case ArmISA::MISCREG_CNTHCTL_EL2:
        // Asked with every read of the counter. No hypervisor traps it.
        return 0;
      default:
        return ArmISA::ISA::readMiscReg(idx);
    }
}

} // namespace gem5
