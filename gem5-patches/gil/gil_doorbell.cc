// SPDX-License-Identifier: MIT OR Apache-2.0
#include "gil/gil_doorbell.hh"

#include "base/logging.hh"
#include "base/trace.hh"
#include "debug/Gil.hh"
#include "gil.h"
#include "gil/gil_bridge.hh"
#include "gil/gil_watch.hh"
#include "sim/full_system.hh"
#include "sim/sim_exit.hh"

namespace gem5
{

GilDoorbell::GilDoorbell(const Params &p) :
    SimObject(p), bridge(*p.bridge)
{
    fatal_if(!FullSystem, "%s: system-call emulation has no kernel modules: "
             "use GilEmulDriver.", name());
}

void
GilDoorbell::init()
{
    SimObject::init();
    System &system = *bridge.system();
    const std::string kernel =
        gil::kernelOf(*this, system, params().kernel);
    auto reached = [this](const gil_watch_point &point, gil::Entry &entry) {
        reach(point, entry);
    };
    points = std::make_unique<gil::Points>(
        system, name(),
        csprintf("kernel=%s,watch-limit=0,watch=%s", kernel,
                 params().function),
        reached);
}

void
GilDoorbell::startup()
{
    SimObject::startup();
    points->startup();
}

void
GilDoorbell::reach(const gil_watch_point &point, gil::Entry &entry)
{
    if (point.id < GIL_WATCH_FIRST)
        look(point, entry);
    else
        ring(entry);
}

/** The kernel loads a module, or a restored guest uses one. */
void
GilDoorbell::look(const gil_watch_point &point, gil::Entry &entry)
{
    const gil_watch_guest guest = entry.guest();
    char reason[256] = "";
    gil_watch_reach(points->watch(), &point, &guest, GIL_WATCH_NO_TIME,
                    reason, sizeof(reason));
    if (reason[0])
        warn("%s: %s.", name(), reason);
    if (!isFound && points->has(GIL_WATCH_FIRST)) {
        isFound = true;
        DPRINTF(Gil, "the driver is loaded\n");
        if (params().exit_at_load)
            exitSimLoop("gil: the guest's driver starts");
    }
}

void
GilDoorbell::ring(const gil::Entry &entry)
{
    // The function begins and ends with barriers: what the guest stored is in
    // memory, and it loads nothing of the answer before it is there.
    Addr mailbox = 0;
    if (!entry.reg(0, false, mailbox))
        return;
    const gil_host_answer answer = bridge.ring(mailbox);
    DPRINTF(Gil, "doorbell at %#x of kind %d: status %d, wait %d for %d ns\n",
            mailbox, answer.kind, answer.status, answer.wait_kind,
            answer.deadline_ns - answer.now_ns);
    if (params().exit_with_program)
        bridge.endWithProgram();
}

void
GilDoorbell::serialize(CheckpointOut &cp) const
{
    SERIALIZE_SCALAR(isFound);
    points->serializeSection(cp, "points");
}

void
GilDoorbell::unserialize(CheckpointIn &cp)
{
    UNSERIALIZE_SCALAR(isFound);
    points->unserializeSection(cp, "points");
}

} // namespace gem5
