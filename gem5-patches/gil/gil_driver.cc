// SPDX-License-Identifier: MIT OR Apache-2.0
#include "gil/gil_driver.hh"

#include <algorithm>
#include <cerrno>

#include "base/logging.hh"
#include "cpu/thread_context.hh"
#include "gil/gil_bridge.hh"
#include "gil/gil_se.hh"
#include "mem/se_translating_port_proxy.hh"
#include "sim/fd_array.hh"
#include "sim/fd_entry.hh"
#include "sim/process.hh"
#include "sim/system.hh"

namespace gem5
{

namespace
{

/** An open /dev/gil. Its session ends when the last descriptor is closed. */
class GilFile : public DeviceFDEntry
{
  public:
    GilFile(EmulatedDriver *driver, std::shared_ptr<gil::Session> session) :
        DeviceFDEntry(driver, GIL_DEVICE_NAME), session(session)
    {
    }

    ~GilFile()
    {
        if (session)
            session->close();
    }

    /** A forked child's descriptor keeps nothing open. */
    std::shared_ptr<FDEntry>
    clone() const override
    {
        return std::make_shared<GilFile>(getDriver(), nullptr);
    }

  private:
    const std::shared_ptr<gil::Session> session;
};

} // anonymous namespace

GilEmulDriver::GilEmulDriver(const Params &p) :
    EmulatedDriver(p), bridge(*p.bridge)
{
}

/** Who still sleeps in one keeps it. */
void
GilEmulDriver::forgetClosed()
{
    auto is_closed = [](const auto &session) { return session->isClosed(); };
    sessions.erase(
        std::remove_if(sessions.begin(), sessions.end(), is_closed),
        sessions.end());
}

gil::Session *
GilEmulDriver::find(const Process &process) const
{
    for (const auto &session : sessions) {
        if (session->isOf(process) && !session->isClosed())
            return session.get();
    }
    return nullptr;
}

int
GilEmulDriver::open(ThreadContext *tc, int mode, int flags)
{
    System *system = tc->getSystemPtr();
    fatal_if(!dynamic_cast<GilEmuLinux *>(system->workload),
             "%s: the driver needs GilEmuLinux as %s.workload.", name(),
             system->name());
    Process &process = *tc->getProcessPtr();
    // gem5 does not say which descriptor an ioctl is for.
    if (find(process))
        return -EBUSY;
    forgetClosed();
    auto session = std::make_shared<gil::Session>(
        bridge, pages, process, ++lastNumber, params().max_region_bytes);
    if (int error = session->open(tc))
        return error;
    sessions.push_back(session);
    return process.fds->allocFD(std::make_shared<GilFile>(this, session));
}

int
GilEmulDriver::info(ThreadContext *tc, const gil::Session &session,
                    Addr buf) const
{
    const gil_info info = {GIL_ABI_VERSION, 0, session.number()};
    SETranslatingPortProxy memory(tc);
    return memory.tryWriteBlob(buf, &info, sizeof(info)) ? 0 : -EFAULT;
}

int
GilEmulDriver::ioctl(ThreadContext *tc, unsigned req, Addr buf)
{
    gil::Session *session = find(*tc->getProcessPtr());
    // A forked child has the descriptor, and an address space of its own.
    if (!session)
        return -EPERM;
    switch (req) {
      case GIL_IOC_INFO:
        return info(tc, *session, buf);
      case GIL_IOC_SUBMIT:
        return session->submit(tc, buf);
      case GIL_IOC_WAIT:
        return session->wait(tc, buf);
      default:
        return -ENOTTY;
    }
}

/** gem5 itself keeps no open device in a checkpoint of an emulated process. */
void
GilEmulDriver::serialize(CheckpointOut &cp) const
{
    for (const auto &session : sessions)
        fatal_if(!session->isClosed(), "%s: a program has /dev/%s open, which "
                 "gem5 does not keep in checkpoints of system-call emulation: "
                 "take it before the first call, or use full system.", name(),
                 params().filename);
    EmulatedDriver::serialize(cp);
}

} // namespace gem5
