// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef __GIL_SE_HH__
#define __GIL_SE_HH__

#include <set>
#include <unordered_map>
#include <vector>

#include "arch/arm/linux/se_workload.hh"
#include "gil/gil_mapping.hh"
#include "params/GilEmuLinux.hh"

namespace gem5
{

/**
 * gem5's Linux for Arm programs in system-call emulation, with what programs
 * of a present glibc need besides. Calls of 32-bit programs are gem5's own.
 */
class GilEmuLinux : public ArmISA::EmuLinux
{
  public:
    PARAMS(GilEmuLinux);
    GilEmuLinux(const Params &p) : ArmISA::EmuLinux(p) {}

    void syscall(ThreadContext *tc) override;

    /**
     * The thread waits on a futex since now. At the tick `until` that ends with
     * -ETIMEDOUT, unless it waits no longer, or for something else, by then.
     */
    void waitsOnFutex(ThreadContext *tc, Tick until);

    /** From now on `mapped` is called for files that programs map to execute. */
    void
    followMappings(const gil::Mapped &mapped)
    {
        followers.push_back(mapped);
    }

    /** Says once for each number that a call is not there. */
    SyscallReturn absent(int number);

  private:
    void dispatch(ThreadContext *tc);
    void shareDrivers(ThreadContext *parent) const;

    void timeOut(ThreadContext *tc, Tick when, uint64_t wait);

    /** How often each thread waited on a futex. */
    std::unordered_map<ThreadContext *, uint64_t> waits;
    std::set<int> told;
    std::vector<gil::Mapped> followers;
};

} // namespace gem5

#endif // __GIL_SE_HH__
