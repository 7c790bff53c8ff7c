// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef __GIL_GPU_HH__
#define __GIL_GPU_HH__

#include <cstdint>
#include <vector>

#include "base/types.hh"
#include "dev/io_device.hh"
#include "params/GilGpu.hh"
#include "sim/eventq.hh"

struct gil_host_gpu;

namespace gem5
{

class ArmInterruptPin;
class GilBridge;

/**
 * A GPU that the guest's own kernel drives: its registers are the host
 * interface's, which has the board execute what they start. This is their
 * place on the bus, their interrupts and their time.
 */
class GilGpu : public BasicPioDevice
{
  public:
    PARAMS(GilGpu);
    GilGpu(const Params &p);

    void startup() override;

    Tick read(PacketPtr packet) override;
    Tick write(PacketPtr packet) override;

  private:
    /** Tells the clock's rate, where the driver may have set it. */
    void tellClock();
    /** A packet is of whole registers: four bytes each. */
    bool isWhole(PacketPtr packet);
    uint32_t load(uint32_t offset);
    void store(uint32_t offset, uint32_t value);
    void jobEnds();
    void show(const gil_host_gpu &shown);

    GilBridge &bridge;
    std::vector<ArmInterruptPin *> interrupts;
    /** Of the clock, as it was told last. */
    Tick toldPeriod = 0;
    /** Rings when the next job ends. */
    EventFunctionWrapper alarm;
};

} // namespace gem5

#endif // __GIL_GPU_HH__
