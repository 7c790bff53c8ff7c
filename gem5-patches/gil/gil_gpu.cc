// SPDX-License-Identifier: MIT OR Apache-2.0
#include "gil/gil_gpu.hh"

#include <algorithm>

#include "base/logging.hh"
#include "base/trace.hh"
#include "debug/Gil.hh"
#include "dev/arm/base_gic.hh"
#include "gil/gil_bridge.hh"
#include "gil_host.h"
#include "mem/packet.hh"
#include "mem/packet_access.hh"
#include "sim/cur_tick.hh"

namespace gem5
{

namespace
{

constexpr unsigned registerSize = sizeof(uint32_t);

gil_host_gpu
empty()
{
    gil_host_gpu shown{};
    shown.size = sizeof(shown);
    return shown;
}

} // anonymous namespace

GilGpu::GilGpu(const Params &p) :
    BasicPioDevice(p, p.size), bridge(*p.bridge),
    alarm([this] { jobEnds(); }, name() + ".alarm")
{
    bridge.addGpu(*this, p.model);
    for (const ArmInterruptPinGen *generator : p.interrupts)
        interrupts.push_back(
            const_cast<ArmInterruptPinGen *>(generator)->get());
}

/** After a checkpoint: jobs go on, and it is not known yet when they end. */
void
GilGpu::startup()
{
    BasicPioDevice::startup();
    schedule(alarm, curTick());
}

bool
GilGpu::isWhole(PacketPtr packet)
{
    const unsigned size = packet->getSize();
    if (size == registerSize || size == 2 * registerSize)
        return true;
    warn_once("%s: an access of %d bytes at %#x: its registers have 4.",
              name(), size, packet->getAddr() - pioAddr);
    return false;
}

Tick
GilGpu::read(PacketPtr packet)
{
    const uint32_t offset = packet->getAddr() - pioAddr;
    packet->makeAtomicResponse();
    if (!isWhole(packet)) {
        packet->setUintX(0, ByteOrder::little);
        return pioDelay;
    }
    uint64_t value = load(offset);
    if (packet->getSize() > registerSize)
        value |= uint64_t(load(offset + registerSize)) << 32;
    packet->setUintX(value, ByteOrder::little);
    return pioDelay;
}

Tick
GilGpu::write(PacketPtr packet)
{
    const uint32_t offset = packet->getAddr() - pioAddr;
    packet->makeAtomicResponse();
    if (!isWhole(packet))
        return pioDelay;
    const uint64_t value = packet->getUintX(ByteOrder::little);
    store(offset, value);
    if (packet->getSize() > registerSize)
        store(offset + registerSize, value >> 32);
    return pioDelay;
}

uint32_t
GilGpu::load(uint32_t offset)
{
    gil_host_gpu shown = empty();
    if (gil_host_gpu_load(bridge.host(), offset, bridge.guestNs(), &shown))
        return 0;
    show(shown);
    return shown.value;
}

void
GilGpu::tellClock()
{
    if (clockPeriod() == toldPeriod)
        return;
    toldPeriod = clockPeriod();
    DPRINTF(Gil, "its clock has %d Hz\n", frequency());
    gil_host_gpu shown = empty();
    gil_host_gpu_clock(bridge.host(), frequency(), bridge.guestNs(), &shown);
}

void
GilGpu::store(uint32_t offset, uint32_t value)
{
    tellClock();
    gil_host_gpu shown = empty();
    if (gil_host_gpu_store(bridge.host(), offset, value, bridge.guestNs(),
                           &shown))
        return;
    show(shown);
}

void
GilGpu::jobEnds()
{
    gil_host_gpu shown = empty();
    if (gil_host_gpu_tick(bridge.host(), bridge.guestNs(), &shown))
        return;
    show(shown);
}

/** What the host interface says becomes interrupts, and the next alarm. */
void
GilGpu::show(const gil_host_gpu &shown)
{
    for (size_t line = 0; line < interrupts.size(); line++) {
        const bool high = shown.lines >> line & 1;
        if (high == interrupts[line]->active())
            continue;
        DPRINTF(Gil, "interrupt %d is %s\n", line, high ? "high" : "low");
        if (high)
            interrupts[line]->raise();
        else
            interrupts[line]->clear();
    }
    if (shown.attention_ns)
        reschedule(alarm, std::max(bridge.tickAt(shown.attention_ns),
                                   curTick()), true);
    else if (alarm.scheduled())
        deschedule(alarm);
}

} // namespace gem5
