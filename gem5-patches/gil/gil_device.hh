// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef __GIL_DEVICE_HH__
#define __GIL_DEVICE_HH__

#include <set>

#include "base/types.hh"
#include "dev/io_device.hh"
#include "params/GilDevice.hh"
#include "sim/eventq.hh"

namespace gem5
{

class ArmInterruptPin;
class GilBridge;

/**
 * The device that gil.ko rings in full system: a doorbell register, and an
 * alarm in the guest's own time, to the tick. The registers are in gil.h.
 */
class GilDevice : public BasicPioDevice
{
  public:
    PARAMS(GilDevice);
    GilDevice(const Params &p);

    Tick read(PacketPtr packet) override;
    Tick write(PacketPtr packet) override;

    void serialize(CheckpointOut &cp) const override;
    void unserialize(CheckpointIn &cp) override;

  private:
    uint64_t readRegister(Addr offset);
    void writeRegister(Addr offset, uint64_t value);

    void ring(Addr mailbox);
    void wakeAt(uint64_t deadline_ns);
    void scheduleAlarm();
    void alarmRings();
    void acknowledge();

    /** Alarms at a time; a guest that asks for more is woken at once. */
    static constexpr size_t mostAlarms = 4096;

    GilBridge &bridge;
    ArmInterruptPin *const interrupt;

    /**
     * The tick at which the guest's CLOCK_MONOTONIC was 0, as the last doorbell
     * tells; modulo 2^64, it may lie before the first tick.
     */
    Tick guestEpoch = 0;
    bool raised = false;
    bool probed = false;
    std::set<Tick> alarms;
    EventFunctionWrapper alarm;
};

} // namespace gem5

#endif // __GIL_DEVICE_HH__
