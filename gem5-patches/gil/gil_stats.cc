// SPDX-License-Identifier: MIT OR Apache-2.0
#include "gil/gil_stats.hh"

#include <string>

#include "base/stats/units.hh"
#include "gil.h"
#include "gil/gil_bridge.hh"

namespace gem5
{

namespace gil
{

namespace
{

namespace units = statistics::units;

constexpr double nsPerSecond = 1e9;

/** Buckets of the delays' distribution; they widen as needed. */
constexpr size_t delayBuckets = 20;

double
seconds(uint64_t now_ns, uint64_t base_ns)
{
    return (now_ns - base_ns) / nsPerSecond;
}

/** The names of all entry points, in the host interface's order. */
std::vector<std::string>
entryPoints()
{
    std::vector<std::string> names;
    char name[128];
    while (gil_host_entry_name(names.size(), name, sizeof(name)) ==
           GIL_HOST_OK)
        names.emplace_back(name);
    return names;
}

} // anonymous namespace

Stats::Stats(GilBridge &bridge) :
    statistics::Group(&bridge),
    ADD_STAT(doorbells, units::Count::get(), "Doorbells of all kinds"),
    ADD_STAT(requests, units::Count::get(),
             "Calls to the board's APIs, posts included"),
    ADD_STAT(posts, units::Count::get(), "Calls that needed no answer"),
    ADD_STAT(bytesToBoard, units::Byte::get(),
             "Bytes of guest memory sent to the board"),
    ADD_STAT(bytesFromBoard, units::Byte::get(),
             "Bytes that the board wrote to guest memory"),
    ADD_STAT(lateDeliveries, units::Count::get(),
             "Outputs that reached guest memory over 0.1 ms after their end"),
    ADD_STAT(gpuTime, units::Second::get(),
             "Simulated time that operations took on the GPU"),
    ADD_STAT(boardCpuTime, units::Second::get(),
             "Simulated time of the API's functions on the board's CPU"),
    ADD_STAT(delayTime, units::Second::get(),
             "Simulated time that calls were delayed"),
    ADD_STAT(excessTime, units::Second::get(),
             "Simulated time by which the bridge's own guest instructions "
             "outlasted the calls"),
    ADD_STAT(hostBridgeTime, units::Second::get(),
             "Wall time of the bridge's own work, without the board's"),
    ADD_STAT(hostDoorbellTime, units::Second::get(),
             "Wall time in doorbells, the board's included"),
    ADD_STAT(delays, units::Unspecified::get(),
             "Delays that doorbells were answered with (ns)"),
    ADD_STAT(calls, units::Count::get(), "Calls of each entry point"),
    ADD_STAT(callGpuTime, units::Second::get(),
             "Simulated time on the GPU of each entry point's operations"),
    ADD_STAT(callBoardCpuTime, units::Second::get(),
             "Simulated time of each entry point on the board's CPU"),
    ADD_STAT(callBytesToBoard, units::Byte::get(),
             "Bytes sent to the board by each entry point"),
    ADD_STAT(callBytesFromBoard, units::Byte::get(),
             "Bytes that the board wrote for each entry point"),
    ADD_STAT(hostCallTime, units::Second::get(),
             "Wall time of each entry point's doorbells"),
    bridge(bridge)
{
}

void
Stats::regStats()
{
    statistics::Group::regStats();
    const std::vector<std::string> names = entryPoints();
    entryBase.resize(names.size());
    delays.init(delayBuckets).flags(statistics::nozero);
    for (auto *vector : {&calls, &callGpuTime, &callBoardCpuTime,
                         &callBytesToBoard, &callBytesFromBoard,
                         &hostCallTime}) {
        // Only the entry points that were called get a line.
        vector->init(names.size())
            .flags(statistics::nozero | statistics::total);
        for (size_t i = 0; i < names.size(); i++)
            vector->subname(i, names[i]);
    }
}

gil_host_counters
Stats::counters() const
{
    gil_host_counters counters{};
    counters.size = sizeof(counters);
    if (bridge.host())
        gil_host_count(bridge.host(), &counters);
    return counters;
}

gil_host_entry
Stats::entry(uint32_t index) const
{
    gil_host_entry entry{};
    entry.size = sizeof(entry);
    if (bridge.host())
        gil_host_count_entry(bridge.host(), index, &entry);
    return entry;
}

void
Stats::resetStats()
{
    statistics::Group::resetStats();
    base = counters();
    for (size_t i = 0; i < entryBase.size(); i++)
        entryBase[i] = entry(i);
}

void
Stats::preDumpStats()
{
    statistics::Group::preDumpStats();
    const gil_host_counters now = counters();
    doorbells = now.doorbells - base.doorbells;
    requests = now.calls - base.calls;
    posts = now.posts - base.posts;
    bytesToBoard = now.bytes_to_board - base.bytes_to_board;
    bytesFromBoard = now.bytes_from_board - base.bytes_from_board;
    lateDeliveries = now.late_deliveries - base.late_deliveries;
    gpuTime = seconds(now.gpu_ns, base.gpu_ns);
    boardCpuTime = seconds(now.board_cpu_ns, base.board_cpu_ns);
    delayTime = seconds(now.wait_ns, base.wait_ns);
    excessTime = seconds(now.excess_ns, base.excess_ns);
    hostBridgeTime = seconds(now.bridge_wall_ns, base.bridge_wall_ns);
    hostDoorbellTime = seconds(now.doorbell_wall_ns, base.doorbell_wall_ns);
    for (size_t i = 0; i < entryBase.size(); i++) {
        const gil_host_entry of = entry(i);
        const gil_host_entry &was = entryBase[i];
        calls[i] = of.calls - was.calls;
        callGpuTime[i] = seconds(of.gpu_ns, was.gpu_ns);
        callBoardCpuTime[i] = seconds(of.board_cpu_ns, was.board_cpu_ns);
        callBytesToBoard[i] = of.bytes_to_board - was.bytes_to_board;
        callBytesFromBoard[i] = of.bytes_from_board - was.bytes_from_board;
        hostCallTime[i] = seconds(of.wall_ns, was.wall_ns);
    }
}

void
Stats::answered(const gil_host_answer &answer)
{
    if (answer.wait_kind == GIL_WAIT_SLEEP ||
        answer.wait_kind == GIL_WAIT_OCCUPY) {
        const bool is_later = answer.deadline_ns > answer.now_ns;
        delays.sample(is_later ? answer.deadline_ns - answer.now_ns : 0);
    }
}

} // namespace gil
} // namespace gem5
