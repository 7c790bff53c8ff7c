// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef __GIL_WATCH_HH__
#define __GIL_WATCH_HH__

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/statistics.hh"
#include "gil/gil_entry.hh"
#include "gil/gil_points.hh"
#include "params/GilWatch.hh"
#include "sim/sim_object.hh"

namespace gem5
{

class System;

namespace gil
{

/** The file of a System's kernel, unless one is named. */
std::string kernelOf(const SimObject &object, const System &system,
                     const std::string &named);

} // namespace gil

/** A line for every call of a function, with arguments and simulated time. */
class GilWatch : public SimObject
{
  public:
    PARAMS(GilWatch);
    GilWatch(const Params &p);

    void init() override;
    void startup() override;

    void regStats() override;
    void resetStats() override;
    void preDumpStats() override;

    void serialize(CheckpointOut &cp) const override;
    void unserialize(CheckpointIn &cp) override;

  private:
    std::string configuration() const;
    void followPrograms();
    void reach(const gil_watch_point &point, gil::Entry &entry);
    void say(const std::string &line) const;
    void finish();
    bool function(uint64_t index, uint64_t &calls, std::string &name) const;

    System &system;
    std::unique_ptr<gil::Points> points;
    std::ostream *output = nullptr;

    statistics::Vector calls;
    std::vector<uint64_t> base;
};

} // namespace gem5

#endif // __GIL_WATCH_HH__
