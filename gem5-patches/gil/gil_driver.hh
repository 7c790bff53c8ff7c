// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef __GIL_DRIVER_HH__
#define __GIL_DRIVER_HH__

#include <memory>
#include <vector>

#include "gil/gil_session.hh"
#include "params/GilEmulDriver.hh"
#include "sim/emul_driver.hh"

namespace gem5
{

class GilBridge;

/** /dev/gil in system-call emulation: the ioctls of gil.h. */
class GilEmulDriver : public EmulatedDriver
{
  public:
    PARAMS(GilEmulDriver);
    GilEmulDriver(const Params &p);

    int open(ThreadContext *tc, int mode, int flags) override;
    int ioctl(ThreadContext *tc, unsigned req, Addr buf) override;
    void serialize(CheckpointOut &cp) const override;

  private:
    void forgetClosed();
    gil::Session *find(const Process &process) const;
    int info(ThreadContext *tc, const gil::Session &session, Addr buf) const;

    GilBridge &bridge;
    gil::Pages pages;
    /** Sessions that are open. */
    std::vector<std::shared_ptr<gil::Session>> sessions;
    /** The last session's number. */
    uint64_t lastNumber = 0;
};

} // namespace gem5

#endif // __GIL_DRIVER_HH__
