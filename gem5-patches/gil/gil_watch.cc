// SPDX-License-Identifier: MIT OR Apache-2.0
#include "gil/gil_watch.hh"

#include <iostream>

#include "base/loader/object_file.hh"
#include "base/logging.hh"
#include "base/output.hh"
#include "base/stats/units.hh"
#include "cpu/thread_context.hh"
#include "gil/gil_mapping.hh"
#include "gil/gil_se.hh"
#include "sim/core.hh"
#include "sim/cur_tick.hh"
#include "sim/full_system.hh"
#include "sim/kernel_workload.hh"
#include "sim/process.hh"
#include "sim/system.hh"

namespace gem5
{

namespace
{

/** Longest line; arguments are cut long before. */
constexpr size_t lineLength = 4096;

/** What the host interface's list of settings cannot hold. */
void
refuseComma(const SimObject &object, const std::string &value)
{
    fatal_if(value.find(',') != std::string::npos,
             "%s: no comma can be in \"%s\".", object.name(), value);
}

} // anonymous namespace

std::string
gil::kernelOf(const SimObject &object, const System &system,
              const std::string &named)
{
    if (!FullSystem)
        return "";
    const auto *kernel = dynamic_cast<KernelWorkload *>(system.workload);
    const std::string file =
        named.empty() && kernel ? kernel->params().object_file : named;
    fatal_if(file.empty(), "%s: which file is the guest's kernel? Give it as "
             "the parameter kernel.", object.name());
    refuseComma(object, file);
    return file;
}

GilWatch::GilWatch(const Params &p) :
    SimObject(p), system(*p.system),
    ADD_STAT(calls, statistics::units::Count::get(),
             "Calls of each watched function"),
    base(p.functions.size())
{
    fatal_if(p.functions.empty(), "%s: functions: it watches none.", name());
}

std::string
GilWatch::configuration() const
{
    const Params &p = params();
    std::string all = csprintf("watch-limit=%d", p.limit);
    const std::string kernel = gil::kernelOf(*this, system, p.kernel);
    if (!kernel.empty())
        all += ",kernel=" + kernel;
    for (const std::string &function : p.functions) {
        refuseComma(*this, function);
        if (!FullSystem && function.find('@') == std::string::npos)
            fatal("%s: system-call emulation has no kernel, in which %s could "
                  "be: write NAME:FUNCTION@FILE.", name(), function);
        all += ",watch=" + function;
    }
    return all;
}

void
GilWatch::init()
{
    SimObject::init();
    auto reached = [this](const gil_watch_point &point, gil::Entry &entry) {
        reach(point, entry);
    };
    points = std::make_unique<gil::Points>(system, name(), configuration(),
                                           reached);
    const std::string &file = params().output;
    output = file.empty() ? &std::cerr : simout.create(file)->stream();
    registerExitCallback([this] { finish(); });
}

void
GilWatch::startup()
{
    SimObject::startup();
    if (!FullSystem)
        followPrograms();
    points->startup();
}

/** In system-call emulation gem5 is who loads and maps. */
void
GilWatch::followPrograms()
{
    for (ThreadContext *tc : system.threads) {
        Process *process = tc->getProcessPtr();
        if (!process)
            continue;
        gil_watch_loaded(points->watch(), process->objFile->bias());
        if (process->getInterpreter())
            gil_watch_loaded(points->watch(), process->getBias());
    }
    auto *linux = dynamic_cast<GilEmuLinux *>(system.workload);
    fatal_if(!linux, "%s: to see libraries, it needs GilEmuLinux as "
             "%s.workload.", name(), system.name());
    linux->followMappings([this](const gil::Mapping &mapping) {
        gil_watch_mapped(points->watch(), mapping.start,
                         mapping.start + mapping.len, mapping.offset);
        points->update();
    });
}

void
GilWatch::reach(const gil_watch_point &point, gil::Entry &entry)
{
    const gil_watch_guest guest = entry.guest();
    const uint64_t now_ns = curTick() / sim_clock::as_int::ns;
    char line[lineLength] = "";
    gil_watch_reach(points->watch(), &point, &guest, now_ns, line,
                    sizeof(line));
    if (line[0])
        say(line);
}

void
GilWatch::say(const std::string &line) const
{
    // In the words of `gil run`, except where the file says what it is.
    if (output == &std::cerr)
        *output << "gil: watch: ";
    *output << line << std::endl;
}

void
GilWatch::finish()
{
    char line[lineLength];
    for (uint64_t i = 0; gil_watch_summary(points->watch(), i, line,
                                           sizeof(line)) == GIL_HOST_OK; i++)
        say(line);
}

bool
GilWatch::function(uint64_t index, uint64_t &calls, std::string &name) const
{
    gil_watch_function function{};
    function.size = sizeof(function);
    char label[256] = "";
    if (!points || gil_watch_function_at(points->watch(), index, &function,
                                         label, sizeof(label)) != GIL_HOST_OK)
        return false;
    calls = function.calls;
    name = label;
    return true;
}

void
GilWatch::regStats()
{
    SimObject::regStats();
    calls.init(base.size());
    for (size_t i = 0; i < base.size(); i++) {
        uint64_t count;
        std::string label;
        if (function(i, count, label))
            calls.subname(i, label);
    }
}

void
GilWatch::resetStats()
{
    SimObject::resetStats();
    std::string label;
    for (size_t i = 0; i < base.size(); i++)
        function(i, base[i], label);
}

void
GilWatch::preDumpStats()
{
    SimObject::preDumpStats();
    for (size_t i = 0; i < base.size(); i++) {
        uint64_t count = base[i];
        std::string label;
        function(i, count, label);
        calls[i] = count - base[i];
    }
}

void
GilWatch::serialize(CheckpointOut &cp) const
{
    SimObject::serialize(cp);
    points->serializeSection(cp, "points");
}

void
GilWatch::unserialize(CheckpointIn &cp)
{
    SimObject::unserialize(cp);
    points->unserializeSection(cp, "points");
}

} // namespace gem5
