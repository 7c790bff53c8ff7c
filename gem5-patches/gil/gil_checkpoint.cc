// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Checkpoints of the bridge: what the board holds for the guest's programs goes
// in a file beside gem5's own, and comes back from there.

#include "base/logging.hh"
#include "base/trace.hh"
#include "debug/Gil.hh"
#include "gil/gil_bridge.hh"
#include "gil/gil_parking.hh"
#include "sim/core.hh"
#include "sim/cur_tick.hh"

namespace gem5
{

namespace
{

/** Longest sentence of the host interface that is shown. */
constexpr size_t errorLength = 1024;

} // anonymous namespace

/** What a doorbell says of the guest's clock. */
void
GilBridge::setGuestTime(const gil_host_answer &answer)
{
    // What is no mailbox says nothing.
    if (answer.kind)
        guestEpoch = curTick() - gil::tickOf(answer.now_ns);
}

uint64_t
GilBridge::guestNs() const
{
    return (curTick() - guestEpoch) / sim_clock::as_int::ns;
}

/** What is so far away that the sum has no meaning never comes. */
Tick
GilBridge::tickAt(uint64_t guest_ns) const
{
    const Tick since = gil::tickOf(guest_ns);
    const Tick at = guestEpoch + since;
    return since == MaxTick || at > MaxTick / 2 ? MaxTick - 1 : at;
}

/**
 * Operations under way end, and so does what the guest waits for: simulated time
 * passes until then, with its CPUs standing still.
 */
DrainState
GilBridge::drain()
{
    if (!_host)
        return DrainState::Drained;
    uint64_t end_ns = 0;
    gil_host_settle(_host, guestNs(), &end_ns);
    const Tick end = guestEpoch + gil::tickOf(end_ns);
    if (!end_ns || end <= curTick() || end > MaxTick / 2)
        return DrainState::Drained;
    DPRINTF(Gil, "drains until tick %d\n", end);
    reschedule(settled, end, true);
    return DrainState::Draining;
}

void
GilBridge::settle()
{
    gil_host_settle(_host, guestNs(), nullptr);
    signalDrainDone();
}

void
GilBridge::serialize(CheckpointOut &cp) const
{
    SimObject::serialize(cp);
    SERIALIZE_SCALAR(guestEpoch);
    const std::string state = csprintf("%s.state", name());
    SERIALIZE_SCALAR(state);
    const std::string path = csprintf("%s/%s", CheckpointIn::dir(), state);
    char error[errorLength] = "";
    if (gil_host_checkpoint(_host, path.c_str(), guestNs(), error,
                            sizeof(error)))
        fatal("%s: %s.", name(), error);
}

void
GilBridge::unserialize(CheckpointIn &cp)
{
    SimObject::unserialize(cp);
    std::string state;
    // Checkpoints of a system without a bridge have neither.
    UNSERIALIZE_OPT_SCALAR(guestEpoch);
    UNSERIALIZE_OPT_SCALAR(state);
    if (!state.empty())
        restoreFrom = csprintf("%s/%s", cp.getCptDir(), state);
}

void
GilBridge::restore()
{
    if (restoreFrom.empty())
        return;
    char error[errorLength] = "";
    if (gil_host_restore(_host, restoreFrom.c_str(), error, sizeof(error)))
        stop(error);
}

} // namespace gem5
