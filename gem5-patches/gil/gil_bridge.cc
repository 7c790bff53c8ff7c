// SPDX-License-Identifier: MIT OR Apache-2.0
#include "gil/gil_bridge.hh"

#include <chrono>
#include <csignal>
#include <cstring>
#include <set>

#include "base/logging.hh"
#include "base/output.hh"
#include "base/trace.hh"
#include "debug/Gil.hh"
#include "gil.h"
#include "mem/physical.hh"
#include "mem/port_proxy.hh"
#include "sim/async.hh"
#include "sim/core.hh"
#include "sim/cur_tick.hh"
#include "sim/sim_exit.hh"
#include "sim/system.hh"

namespace gem5
{

namespace
{

/** Longest sentence of the host interface that is shown. */
constexpr size_t errorLength = 1024;

/** Systems that have a bridge. */
std::set<const System *> bridged;

/** Refuses what the host interface's list of settings cannot hold. */
std::string
setting(const GilBridge &bridge, const char *key, const std::string &value)
{
    if (value.empty())
        return "";
    fatal_if(value.find(',') != std::string::npos,
             "%s: %s cannot hold a comma, and \"%s\" does: give it a name "
             "without one.", bridge.name(), key, value);
    return csprintf("%s=%s,", key, value);
}

/** A file's place; relative ones lie in the output folder. */
std::string
inOutputFolder(const std::string &path)
{
    return path.empty() ? path : simout.resolve(path);
}

} // anonymous namespace

GilBridge::GilBridge(const Params &p) :
    SimObject(p), _system(p.system), stats(*this),
    settled([this] { settle(); }, p.name + ".settled")
{
    fatal_if(!bridged.insert(_system).second,
             "%s: %s has a GilBridge already: give each System one, and let "
             "its drivers share it.", name(), _system->name());
    fatal_if(gil_host_abi_version() != GIL_HOST_ABI_VERSION,
             "%s: libgil_host.a is of version %d, its header of version %d: "
             "run gem5-patches/pack again and rebuild gem5.", name(),
             gil_host_abi_version(), GIL_HOST_ABI_VERSION);
}

GilBridge::~GilBridge()
{
    finish();
    gil_host_free(_host);
}

std::string
GilBridge::configuration() const
{
    const Params &p = params();
    std::string all = setting(*this, "board", p.board);
    all += setting(*this, "key", p.key);
    all += setting(*this, "time", p.time_mode);
    all += setting(*this, "finish", p.finish_mode);
    all += setting(*this, "contention", p.contention);
    all += setting(*this, "costs", p.costs);
    all += setting(*this, "gpu", gpu);
    all += setting(*this, "trace", inOutputFolder(p.trace));
    if (p.trace_compress)
        all += "trace-compress=on,";
    all += setting(*this, "calls", inOutputFolder(p.calls));
    all += setting(*this, "work-times", p.work_times);
    all += setting(*this, "report", inOutputFolder(p.report));
    all += setting(*this, "monitor", p.monitor);
    all += setting(*this, "channel-files", p.channel_files);
    all += setting(*this, "channel-input", p.channel_input);
    if (p.checkpoint_log)
        all += "checkpoint-log=on,";
    if (p.board_timeout > 0)
        all += csprintf("board-timeout=%f,", p.board_timeout);
    return all;
}

void
GilBridge::addGpu(const SimObject &device, const std::string &model)
{
    fatal_if(!gpu.empty(), "%s: the bridge has a GPU already: leave out %s.",
             name(), device.name());
    gpu = model;
}

void
GilBridge::init()
{
    SimObject::init();
    gil_host_setup setup{};
    setup.size = sizeof(setup);
    setup.simulator = "gem5";
    setup.user = this;
    setup.read = readGuest;
    setup.write = writeGuest;
    setup.message = message;
    char error[errorLength] = "";
    const std::string config = configuration();
    if (gil_host_new(config.c_str(), &setup, &_host, error, sizeof(error)))
        fatal("%s: %s.", name(), error);
    addRam();
    if (params().direct_memory)
        mapBacking();
    registerExitCallback([this] { finish(); });
}

void
GilBridge::addRam()
{
    char error[errorLength] = "";
    for (const AddrRange &range : _system->getPhysMem().getConfAddrRanges()) {
        DPRINTF(Gil, "guest memory: %s\n", range.to_string());
        if (gil_host_add_ram(_host, range.start(), range.size(), 0, error,
                             sizeof(error)))
            fatal("%s: guest memory %s: %s.", name(), range.to_string(),
                  error);
    }
}

void
GilBridge::mapBacking()
{
    for (const auto &entry : _system->getPhysMem().getBackingStore()) {
        if (entry.confTableReported && !entry.range.interleaved())
            backings.push_back({entry.range, entry.pmem});
    }
    fatal_if(backings.empty(), "%s: direct_memory: %s has no memory that is "
             "one piece: leave that parameter out.", name(), _system->name());
}

void
GilBridge::startup()
{
    SimObject::startup();
    // At the doorbell it may be too late: gem5's own handler only sets a
    // flag, which nobody looks at while the board is waited for.
    interruptWatcher = std::thread([this] { watchForInterrupt(); });
    char error[errorLength] = "";
    const bool checked = !params().board.empty() && params().check_board;
    if (checked && gil_host_check_board(_host, error, sizeof(error)))
        stop(error);
    else
        restore();
}

/**
 * The connection to the board is the parent's, and so is the thread that
 * watches: a forked simulator has neither.
 */
void
GilBridge::notifyFork()
{
    warn("%s: a forked simulator has no GPU: programs find a lost device.",
         name());
    if (interruptWatcher.joinable())
        interruptWatcher.detach();
    _host = nullptr;
}

void
GilBridge::watchForInterrupt()
{
    // Signals are gem5's main thread's.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    while (!finished) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        if (async_exit) {
            gil_host_cancel(_host);
            return;
        }
    }
}

void
GilBridge::finish()
{
    if (finished.exchange(true) || !_host)
        return;
    if (interruptWatcher.joinable())
        interruptWatcher.join();
    gil_host_finish(_host, nullptr, 0, nullptr);
}

gil_host_answer
GilBridge::ring(Addr mailbox)
{
    gil_host_answer answer{};
    answer.size = sizeof(answer);
    answer.status = GIL_STATUS_UNSEEN;
    if (gil_host_ring(_host, mailbox, GIL_HOST_NOT_COUNTED, &answer) ==
        GIL_HOST_OK)
        stats.answered(answer);
    setGuestTime(answer);
    return answer;
}

void
GilBridge::endWithProgram()
{
    int state = GIL_HOST_PROGRAM_NONE;
    int code = 0;
    gil_host_program(_host, &state, &code);
    if (state == GIL_HOST_PROGRAM_ENDED)
        exitSimLoop("gil: the program ended", code);
}

void
GilBridge::programStarts()
{
    gil_host_program_started(_host, curTick() / sim_clock::as_int::ns);
}

void
GilBridge::programExited(int code)
{
    gil_host_program_exited(_host, curTick() / sim_clock::as_int::ns, code);
}

uint8_t *
GilBridge::backing(Addr gpa, uint64_t len) const
{
    for (const Backing &backing : backings) {
        const AddrRange &range = backing.range;
        if (range.contains(gpa) && len <= range.end() - gpa)
            return backing.memory + (gpa - range.start());
    }
    return nullptr;
}

void
GilBridge::read(Addr gpa, void *to, uint64_t len) const
{
    if (const uint8_t *memory = backing(gpa, len))
        std::memcpy(to, memory, len);
    else
        _system->physProxy.readBlob(gpa, to, len);
}

void
GilBridge::write(Addr gpa, const void *from, uint64_t len) const
{
    if (uint8_t *memory = backing(gpa, len))
        std::memcpy(memory, from, len);
    else
        _system->physProxy.writeBlob(gpa, from, len);
}

int
GilBridge::readGuest(void *bridge, uint64_t gpa, void *to, uint64_t len)
{
    static_cast<GilBridge *>(bridge)->read(gpa, to, len);
    return 1;
}

int
GilBridge::writeGuest(void *bridge, uint64_t gpa, const void *from,
                      uint64_t len)
{
    static_cast<GilBridge *>(bridge)->write(gpa, from, len);
    return 1;
}

void
GilBridge::message(void *bridge, int fatal, const char *text)
{
    auto *self = static_cast<GilBridge *>(bridge);
    if (fatal)
        self->stop(text);
    else
        warn("%s: %s", self->name(), text);
}

void
GilBridge::stop(const std::string &reason)
{
    // Not fatal(): that would leave without statistics, and in the midst of
    // the host interface.
    warn("%s: %s", name(), reason);
    exitSimLoop(csprintf("gil: %s", reason), 125);
}

} // namespace gem5
