// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef __GIL_DOORBELL_HH__
#define __GIL_DOORBELL_HH__

#include <memory>

#include "gil/gil_entry.hh"
#include "gil/gil_points.hh"
#include "params/GilDoorbell.hh"
#include "sim/sim_object.hh"

namespace gem5
{

class GilBridge;

/**
 * The doorbell of a guest's driver, found by the name of its function as the
 * kernel loads the driver. Its argument is the mailbox.
 */
class GilDoorbell : public SimObject
{
  public:
    PARAMS(GilDoorbell);
    GilDoorbell(const Params &p);

    void init() override;
    void startup() override;
    void serialize(CheckpointOut &cp) const override;
    void unserialize(CheckpointIn &cp) override;

  private:
    void reach(const gil_watch_point &point, gil::Entry &entry);
    void look(const gil_watch_point &point, gil::Entry &entry);
    void ring(const gil::Entry &entry);

    GilBridge &bridge;
    std::unique_ptr<gil::Points> points;
    bool isFound = false;
};

} // namespace gem5

#endif // __GIL_DOORBELL_HH__
