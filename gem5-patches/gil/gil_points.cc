// SPDX-License-Identifier: MIT OR Apache-2.0
#include "gil/gil_points.hh"

#include "base/logging.hh"
#include "base/trace.hh"
#include "debug/Gil.hh"
#include "gil/gil_point.hh"
#include "sim/cur_tick.hh"
#include "sim/system.hh"

namespace gem5
{

namespace gil
{

namespace
{

/** Longest sentence of the host interface that is shown. */
constexpr size_t errorLength = 1024;

} // anonymous namespace

Points::Points(System &system, const std::string &owner,
               const std::string &config, Reached reached) :
    system(system), owner(owner), config(config), reached(reached),
    placing([this] { place(); }, owner + ".placing")
{
    char error[errorLength] = "";
    if (gil_watch_new(config.c_str(), &_watch, error, sizeof(error)))
        fatal("%s: %s", owner, error);
}

Points::~Points()
{
    if (placing.scheduled())
        system.deschedule(placing);
    placed.clear();
    gil_watch_free(_watch);
}

void
Points::startup()
{
    // The guest loaded modules before it was saved.
    if (curTick() > 0)
        fatal_if(gil_watch_resumed(_watch), "%s: the kernel cannot be read "
                 "any more.", owner);
    place();
}

bool
Points::at(uint64_t index, gil_watch_point &point) const
{
    point.size = sizeof(point);
    return gil_watch_point_at(_watch, index, &point) == GIL_HOST_OK;
}

bool
Points::has(uint64_t id) const
{
    gil_watch_point point{};
    for (uint64_t i = 0; at(i, point); i++) {
        if (point.id == id)
            return true;
    }
    return false;
}

/**
 * Not while gem5 looks through its PC events, which is when the guest comes to
 * a point: adding one would move those it looks at.
 */
void
Points::update()
{
    gil_watch_point point{};
    if (at(placed.size(), point) && !placing.scheduled())
        system.schedule(placing, curTick());
}

void
Points::place()
{
    gil_watch_point point{};
    while (at(placed.size(), point)) {
        DPRINTFS(Gil, &system, "%s: point %d at %#x\n", owner, point.id,
                 point.address);
        placed.push_back(std::make_unique<Point>(system, *this, point));
    }
}

void
Points::reach(Point &at, Entry entry)
{
    reached(at.point(), entry);
    update();
}

void
Points::serialize(CheckpointOut &cp) const
{
    std::vector<uint64_t> addresses;
    std::vector<uint64_t> ids;
    gil_watch_point point{};
    for (uint64_t i = 0; at(i, point); i++) {
        addresses.push_back(point.address);
        ids.push_back(point.id);
    }
    SERIALIZE_SCALAR(config);
    SERIALIZE_CONTAINER(addresses);
    SERIALIZE_CONTAINER(ids);
}

void
Points::unserialize(CheckpointIn &cp)
{
    // Other functions have other numbers.
    std::string saved;
    paramIn(cp, "config", saved);
    if (saved != config)
        return;
    std::vector<uint64_t> addresses;
    std::vector<uint64_t> ids;
    UNSERIALIZE_CONTAINER(addresses);
    UNSERIALIZE_CONTAINER(ids);
    gil_watch_point point{};
    point.size = sizeof(point);
    for (size_t i = 0; i < addresses.size() && i < ids.size(); i++) {
        point.address = addresses[i];
        point.id = ids[i];
        gil_watch_restore(_watch, &point);
    }
}

} // namespace gil
} // namespace gem5
