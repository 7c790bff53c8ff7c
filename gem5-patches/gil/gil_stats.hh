// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef __GIL_STATS_HH__
#define __GIL_STATS_HH__

#include <vector>

#include "base/statistics.hh"
#include "base/stats/group.hh"
#include "gil_host.h"

namespace gem5
{

class GilBridge;

namespace gil
{

/**
 * The bridge's part of stats.txt. The host interface counts; what is shown is
 * its count less what it was at the last reset. Times that depend on this
 * machine begin with "host", as gem5's own do.
 */
struct Stats : public statistics::Group
{
    explicit Stats(GilBridge &bridge);

    void regStats() override;
    void resetStats() override;
    void preDumpStats() override;

    /** A doorbell was answered. */
    void answered(const gil_host_answer &answer);

    statistics::Scalar doorbells;
    statistics::Scalar requests;
    statistics::Scalar posts;
    statistics::Scalar bytesToBoard;
    statistics::Scalar bytesFromBoard;
    statistics::Scalar lateDeliveries;
    statistics::Scalar gpuTime;
    statistics::Scalar boardCpuTime;
    statistics::Scalar delayTime;
    statistics::Scalar excessTime;
    statistics::Scalar hostBridgeTime;
    statistics::Scalar hostDoorbellTime;
    statistics::Histogram delays;
    statistics::Vector calls;
    statistics::Vector callGpuTime;
    statistics::Vector callBoardCpuTime;
    statistics::Vector callBytesToBoard;
    statistics::Vector callBytesFromBoard;
    statistics::Vector hostCallTime;

  private:
    gil_host_counters counters() const;
    gil_host_entry entry(uint32_t index) const;

    GilBridge &bridge;
    gil_host_counters base{};
    std::vector<gil_host_entry> entryBase;
};

} // namespace gil
} // namespace gem5

#endif // __GIL_STATS_HH__
