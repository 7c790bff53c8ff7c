// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef __GIL_ISA_HH__
#define __GIL_ISA_HH__

#include "arch/arm/isa.hh"
#include "params/GilISA.hh"

namespace gem5
{

/**
 * The Arm ISA with the generic timer's counter in system-call emulation.
 *
 * gem5 has a timer in full-system mode only. Linux lets programs read the
 * counter at EL0, and gil's guest library does at the entry of each call, so
 * that the bridge's own instructions can be deducted from the call's time.
 */
class GilISA : public ArmISA::ISA
{
  public:
    PARAMS(GilISA);
    GilISA(const Params &p);

    RegVal readMiscReg(RegIndex idx) override;

    /** The virtual counter, now. */
    uint64_t counter() const;

    /** The counter's frequency in hertz. */
    uint32_t frequency() const { return _frequency; }

  private:
    const uint32_t _frequency;
};

} // namespace gem5

#endif // __GIL_ISA_HH__
