// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef __GIL_BRIDGE_HH__
#define __GIL_BRIDGE_HH__

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/addr_range.hh"
#include "base/types.hh"
#include "gil/gil_stats.hh"
#include "gil_host.h"
#include "params/GilBridge.hh"
#include "sim/eventq.hh"
#include "sim/sim_object.hh"

namespace gem5
{

class System;

/**
 * gil's host interface in a gem5: configuration, guest memory, messages,
 * statistics. Drivers ring it; while it works, simulated time stands still.
 */
class GilBridge : public SimObject
{
  public:
    PARAMS(GilBridge);
    GilBridge(const Params &p);
    ~GilBridge();

    void init() override;
    void startup() override;
    DrainState drain() override;
    void serialize(CheckpointOut &cp) const override;
    void unserialize(CheckpointIn &cp) override;
    void notifyFork() override;

    /**
     * The guest rings: its mailbox lies at that guest physical address. The
     * answer is in guest memory on return; what was answered is returned too.
     */
    gil_host_answer ring(Addr mailbox);

    /** Copies from and to guest physical memory that is RAM. */
    void read(Addr gpa, void *to, uint64_t len) const;
    void write(Addr gpa, const void *from, uint64_t len) const;

    System *system() const { return _system; }

    /** NULL before init(), and in a forked simulator. */
    gil_host *host() const { return _host; }

    /**
     * A GPU that the guest's own kernel drives, of the name that `gil run
     * --gpu` takes; before init(). There is room for one.
     */
    void addGpu(const SimObject &device, const std::string &model);

    /** The guest's CLOCK_MONOTONIC in nanoseconds, and the tick of one. */
    uint64_t guestNs() const;
    Tick tickAt(uint64_t guest_ns) const;

    /** Ends the simulation if the program did, as the guest's init says. */
    void endWithProgram();

    /**
     * In system-call emulation, where no init in the guest tells: the program
     * starts now; it exited. For run scripts.
     */
    void programStarts();
    void programExited(int code);

    /** Something that ends the simulation, statistics written. */
    void stop(const std::string &reason);

  private:
    /** Host memory behind a range of guest memory. */
    struct Backing
    {
        AddrRange range;
        uint8_t *memory;
    };

    std::string configuration() const;
    void addRam();
    void mapBacking();
    uint8_t *backing(Addr gpa, uint64_t len) const;
    void watchForInterrupt();
    void finish();
    void setGuestTime(const gil_host_answer &answer);
    void settle();
    void restore();

    static int readGuest(void *bridge, uint64_t gpa, void *to, uint64_t len);
    static int writeGuest(void *bridge, uint64_t gpa, const void *from,
                          uint64_t len);
    static void message(void *bridge, int fatal, const char *text);

    System *const _system;
    gil_host *_host = nullptr;
    /** The GPU that the guest's kernel drives; empty: none. */
    std::string gpu;
    std::vector<Backing> backings;
    gil::Stats stats;

    /**
     * The tick at which the guest's CLOCK_MONOTONIC was 0, as the last doorbell
     * tells; modulo 2^64, it may lie before the first tick.
     */
    Tick guestEpoch = 0;
    /** Rings when all operations have ended, for drain(). */
    EventFunctionWrapper settled;
    /** The sessions' file of the checkpoint that this run goes on from. */
    std::string restoreFrom;

    std::atomic<bool> finished{false};
    std::thread interruptWatcher;
};

} // namespace gem5

#endif // __GIL_BRIDGE_HH__
