// SPDX-License-Identifier: MIT OR Apache-2.0
#include "gil/gil_device.hh"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/trace.hh"
#include "debug/Gil.hh"
#include "dev/arm/base_gic.hh"
#include "gil.h"
#include "gil/gil_bridge.hh"
#include "gil/gil_parking.hh"
#include "mem/packet.hh"
#include "mem/packet_access.hh"
#include "sim/cur_tick.hh"
#include "sim/sim_exit.hh"

namespace gem5
{

GilDevice::GilDevice(const Params &p) :
    BasicPioDevice(p, GIL_DEV_SIZE), bridge(*p.bridge),
    interrupt(p.interrupt->get()),
    alarm([this] { alarmRings(); }, name() + ".alarm")
{
}

Tick
GilDevice::read(PacketPtr packet)
{
    const Addr offset = packet->getAddr() - pioAddr;
    if (packet->getSize() == sizeof(uint64_t)) {
        packet->setLE<uint64_t>(readRegister(offset));
    } else {
        warn_once("%s: a read of %d bytes at %#x: its registers have 8.",
                  name(), packet->getSize(), offset);
        packet->setUintX(0, ByteOrder::little);
    }
    packet->makeAtomicResponse();
    return pioDelay;
}

Tick
GilDevice::write(PacketPtr packet)
{
    const Addr offset = packet->getAddr() - pioAddr;
    if (packet->getSize() == sizeof(uint64_t))
        writeRegister(offset, packet->getLE<uint64_t>());
    else
        warn_once("%s: a write of %d bytes at %#x: its registers have 8.",
                  name(), packet->getSize(), offset);
    packet->makeAtomicResponse();
    return pioDelay;
}

uint64_t
GilDevice::readRegister(Addr offset)
{
    switch (offset) {
      case GIL_DEV_ID:
        if (params().exit_at_probe && !std::exchange(probed, true))
            exitSimLoop("gil: the guest's driver starts");
        return GIL_DEV_ID_VALUE;
      case GIL_DEV_FEATURES:
        return params().wake_by_interrupt ? GIL_DEV_FEATURE_WAKE : 0;
      default:
        warn_once("%s: nothing to read at %#x.", name(), offset);
        return 0;
    }
}

void
GilDevice::writeRegister(Addr offset, uint64_t value)
{
    switch (offset) {
      case GIL_DEV_DOORBELL:
        ring(value);
        break;
      case GIL_DEV_WAKE:
        wakeAt(value);
        break;
      case GIL_DEV_ACK:
        acknowledge();
        break;
      default:
        warn_once("%s: nothing to write at %#x.", name(), offset);
    }
}

void
GilDevice::ring(Addr mailbox)
{
    const gil_host_answer answer = bridge.ring(mailbox);
    DPRINTF(Gil, "doorbell at %#x of kind %d: status %d, wait %d for %d ns\n",
            mailbox, answer.kind, answer.status, answer.wait_kind,
            answer.deadline_ns - answer.now_ns);
    // What is no mailbox says nothing about the time.
    if (answer.kind)
        guestEpoch = curTick() - gil::tickOf(answer.now_ns);
    if (params().exit_with_program)
        bridge.endWithProgram();
}

void
GilDevice::wakeAt(uint64_t deadline_ns)
{
    const Tick since = gil::tickOf(deadline_ns);
    // A guest may write anything: what has passed, or is so far away that the
    // sum has no meaning, is now.
    Tick at = since + guestEpoch;
    if (since == MaxTick || at < curTick() || at > MaxTick / 2 ||
        alarms.size() >= mostAlarms)
        at = curTick();
    alarms.insert(at);
    scheduleAlarm();
}

void
GilDevice::scheduleAlarm()
{
    if (raised || alarms.empty())
        return;
    reschedule(alarm, std::max(*alarms.begin(), curTick()), true);
}

void
GilDevice::alarmRings()
{
    DPRINTF(Gil, "wakes the guest\n");
    alarms.erase(alarms.begin(), alarms.upper_bound(curTick()));
    raised = true;
    interrupt->raise();
}

void
GilDevice::acknowledge()
{
    if (!raised)
        return;
    raised = false;
    interrupt->clear();
    scheduleAlarm();
}

void
GilDevice::serialize(CheckpointOut &cp) const
{
    SERIALIZE_SCALAR(guestEpoch);
    SERIALIZE_SCALAR(raised);
    SERIALIZE_SCALAR(probed);
    SERIALIZE_CONTAINER(alarms);
}

void
GilDevice::unserialize(CheckpointIn &cp)
{
    UNSERIALIZE_SCALAR(guestEpoch);
    UNSERIALIZE_SCALAR(raised);
    UNSERIALIZE_SCALAR(probed);
    std::vector<Tick> saved;
    arrayParamIn(cp, "alarms", saved);
    alarms = std::set<Tick>(saved.begin(), saved.end());
    scheduleAlarm();
}

} // namespace gem5
