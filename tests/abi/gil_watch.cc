// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A simulator in C++ that stops at addresses, as gem5 does, around a program
// of its own: watches a function of this very file, loaded where it is.
//
//   gil_watch_cc ITSELF
#include "gil_sim.h"
#include "gil_watch.h"

#include <cstdio>
#include <cstring>
#include <string>

extern "C" int
watchedFunction(int value)
{
    return value + 1;
}

namespace
{

struct Cpu
{
    unsigned registers = 0;
    bool isDamaged = false;
};

int
readRegister(void *user, unsigned number, int is32bit, uint64_t *value)
{
    CHECK(!is32bit);
    ++static_cast<Cpu *>(user)->registers;
    *value = 0x100 + number;
    return number < 31;
}

int
readMemory(void *user, uint64_t address, void *to, uint64_t len)
{
    std::memcpy(to, reinterpret_cast<const void *>(address), len);
    if (static_cast<Cpu *>(user)->isDamaged)
        static_cast<char *>(to)[0] ^= 1;
    return 1;
}

int
readProcess(void *, uint32_t *number)
{
    *number = 7;
    return 1;
}

// What /proc/self/maps says of the mapping that holds an address.
void
tellMapping(gil_watch *watch, uint64_t address)
{
    std::FILE *maps = std::fopen("/proc/self/maps", "r");
    char line[512];
    bool told = false;
    while (std::fgets(line, sizeof line, maps)) {
        unsigned long start, end, offset;
        CHECK(std::sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3);
        if (start <= address && address < end) {
            CHECK(gil_watch_mapped(watch, start, end, offset) == GIL_HOST_OK);
            told = true;
        }
    }
    std::fclose(maps);
    CHECK(told);
}

// Another simulation, that goes on where this one is.
void
restore(const std::string &config, const gil_watch_point &known)
{
    char text[512];
    gil_watch *watch = nullptr;
    CHECK(gil_watch_new(config.c_str(), &watch, text, sizeof text) == GIL_HOST_OK);
    CHECK(gil_watch_resumed(watch) == GIL_HOST_OK);
    gil_watch_point point = known;
    CHECK(gil_watch_point_at(watch, 0, &point) == GIL_HOST_BAD_ARGUMENT);
    CHECK(gil_watch_restore(watch, &known) == GIL_HOST_OK);
    point.address = point.id = 0;
    CHECK(gil_watch_point_at(watch, 0, &point) == GIL_HOST_OK);
    CHECK(point.address == known.address && point.id == known.id);
    point.id++;
    CHECK(gil_watch_restore(watch, &point) == GIL_HOST_BAD_ARGUMENT);
    // Where a simulator's own loader put the program.
    CHECK(gil_watch_loaded(watch, 0) == GIL_HOST_OK);
    CHECK(gil_watch_point_at(watch, 1, &point) == GIL_HOST_OK);
    const uint64_t linked = point.address;
    CHECK(gil_watch_loaded(watch, known.address - linked) == GIL_HOST_OK);
    CHECK(gil_watch_point_at(watch, 2, &point) == GIL_HOST_BAD_ARGUMENT);
    gil_watch_free(watch);
}

// The values of a call, whether it is shown or not.
void
checkArgument(const gil_watch *watch, const gil_watch_point &point, gil_watch_guest guest)
{
    char name[16];
    gil_watch_argument argument{};
    auto at = [&](uint64_t index) {
        return gil_watch_argument_at(watch, &point, &guest, index, &argument, name, sizeof name);
    };
    CHECK(at(0) == GIL_HOST_BAD_ARGUMENT);
    argument.size = sizeof argument;
    CHECK(at(0) == GIL_HOST_OK);
    CHECK(!std::strcmp(name, "value") && argument.kind == GIL_WATCH_SIGNED);
    CHECK(argument.bytes == sizeof(int) && argument.count == 2);
    CHECK(argument.words[0] == 0x100 && argument.words[1] == 0);
    CHECK(at(1) == GIL_HOST_BAD_ARGUMENT);
    // A negative number, and a register that cannot be read.
    guest.reg = [](void *, unsigned, int, uint64_t *value) {
        *value = 0xfffffffe;
        return 1;
    };
    CHECK(at(0) == GIL_HOST_OK && argument.count == 2);
    CHECK(argument.words[0] == -UINT64_C(2) && argument.words[1] == UINT64_MAX);
    guest.reg = [](void *, unsigned, int, uint64_t *) { return 0; };
    CHECK(at(0) == GIL_HOST_OK && argument.count == 0 && argument.words[0] == 0);
    static_cast<Cpu *>(guest.user)->isDamaged = true;
    CHECK(at(0) == GIL_HOST_BAD_ARGUMENT);
    static_cast<Cpu *>(guest.user)->isDamaged = false;
}

} // namespace

int
main(int argc, char **argv)
{
    CHECK(argc == 2);
    char text[512];
    gil_watch *watch = nullptr;
    std::string config = std::string("watch-limit=1,watch=prog:watchedFunction@") + argv[1];
    CHECK(gil_watch_new("watch=do_exit", &watch, text, sizeof text) == GIL_HOST_BAD_CONFIG);
    CHECK(!watch && std::strstr(text, "kernel=PATH"));
    CHECK(gil_watch_new(nullptr, &watch, text, sizeof text) == GIL_HOST_BAD_ARGUMENT);
    CHECK(gil_watch_new(config.c_str(), &watch, text, sizeof text) == GIL_HOST_OK);

    gil_watch_point point{};
    point.size = sizeof point;
    CHECK(gil_watch_point_at(watch, 0, &point) == GIL_HOST_BAD_ARGUMENT);
    auto address = reinterpret_cast<uint64_t>(&watchedFunction);
    tellMapping(watch, address);
    CHECK(gil_watch_point_at(watch, 0, &point) == GIL_HOST_OK);
    CHECK(point.address == address);
    CHECK(gil_watch_point_at(watch, 1, &point) == GIL_HOST_BAD_ARGUMENT);

    Cpu cpu;
    gil_watch_guest guest{};
    guest.size = sizeof guest;
    guest.user = &cpu;
    guest.reg = readRegister;
    guest.read = readMemory;
    guest.process = readProcess;
    // Other code at the same address, in another process.
    cpu.isDamaged = true;
    CHECK(gil_watch_reach(watch, &point, &guest, 1, text, sizeof text) == GIL_HOST_OK);
    CHECK(!text[0]);
    cpu.isDamaged = false;
    CHECK(gil_watch_reach(watch, &point, &guest, 2000000001, text, sizeof text) == GIL_HOST_OK);
    // Compiled with debug information.
    CHECK(!std::strcmp(text, "2.000000001 s, pid 7: prog:watchedFunction(value=256)"));
    CHECK(cpu.registers == 1);
    CHECK(gil_watch_reach(watch, &point, &guest, 3, text, sizeof text) == GIL_HOST_OK);
    CHECK(!text[0]);
    checkArgument(watch, point, guest);
    gil_watch_function function{};
    CHECK(gil_watch_function_at(watch, 0, &function, text, sizeof text) == GIL_HOST_BAD_ARGUMENT);
    function.size = sizeof function;
    CHECK(gil_watch_function_at(watch, point.id - GIL_WATCH_FIRST, &function, text,
                                sizeof text) == GIL_HOST_OK);
    CHECK(function.calls == 2 && !std::strcmp(text, "prog:watchedFunction"));
    CHECK(gil_watch_function_at(watch, 1, &function, text, sizeof text) == GIL_HOST_BAD_ARGUMENT);
    restore(config, point);
    guest.size = 1;
    CHECK(gil_watch_reach(watch, &point, &guest, 3, text, 9) == GIL_HOST_BAD_ARGUMENT);

    CHECK(gil_watch_summary(watch, 0, text, sizeof text) == GIL_HOST_OK);
    CHECK(!std::strcmp(text, "prog:watchedFunction was called 2 times, "
                             "the last 1 are not shown"));
    CHECK(gil_watch_summary(watch, 1, text, sizeof text) == GIL_HOST_BAD_ARGUMENT);
    gil_watch_free(watch);
    gil_watch_free(nullptr);
    return watchedFunction(-1);
}
