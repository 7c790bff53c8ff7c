// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef __GIL_POINTS_HH__
#define __GIL_POINTS_HH__

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gil_watch.h"
#include "sim/eventq.hh"
#include "sim/serialize.hh"

namespace gem5
{

class System;

namespace gil
{

class Entry;
class Point;

/**
 * gem5's PC events at the points of a gil_watch: new ones are placed as they
 * become known, and each call is reported once, however often the CPU model comes
 * to the function's first instruction before it executes it.
 */
class Points : public Serializable
{
  public:
    using Reached = std::function<void(const gil_watch_point &, Entry &)>;

    /**
     * Makes the watch, or ends gem5 with a sentence.
     *
     * @param owner Who sentences are from.
     * @param config As gil_watch_new() has it.
     */
    Points(System &system, const std::string &owner,
           const std::string &config, Reached reached);
    ~Points();

    /**
     * Places what is known so far. From startup() on: a simulation that is
     * restored goes on with the points that it had.
     */
    void startup();

    /** More may be known: it is placed before the next instruction. */
    void update();

    /** Whether any point of that number is known. */
    bool has(uint64_t id) const;

    gil_watch *watch() const { return _watch; }

    void serialize(CheckpointOut &cp) const override;
    void unserialize(CheckpointIn &cp) override;

  private:
    friend class Point;

    bool at(uint64_t index, gil_watch_point &point) const;
    void place();
    void reach(Point &at, Entry entry);

    System &system;
    const std::string owner;
    const std::string config;
    const Reached reached;
    gil_watch *_watch = nullptr;
    std::vector<std::unique_ptr<Point>> placed;
    EventFunctionWrapper placing;
};

} // namespace gil
} // namespace gem5

#endif // __GIL_POINTS_HH__
