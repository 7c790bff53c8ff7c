// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A tiny simulator in C++ whose RAM is reached through its own functions, as
// gem5's is with caches.
//
//   gil_sim_cc BOARD-ADDRESS
#include "gil_sim.h"

#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

static_assert(std::is_same_v<decltype(&gil_host_doorbell),
                             gil_host_result (*)(gil_host *, uint64_t, uint64_t)>);
static_assert(std::is_standard_layout_v<gil_host_setup>);
static_assert(offsetof(gil_mailbox, status) == 96 && sizeof(gil_mailbox) == 264);

namespace
{

struct Simulator
{
    std::vector<uint64_t> ram = std::vector<uint64_t>(RAM_SIZE / 8);
    std::string console;
    std::vector<std::string> messages;
    unsigned accesses = 0;

    uint8_t *
    bytes(uint64_t gpa, uint64_t len)
    {
        CHECK(gpa >= RAM_BASE && len <= RAM_SIZE && gpa - RAM_BASE <= RAM_SIZE - len);
        ++accesses;
        return reinterpret_cast<uint8_t *>(ram.data()) + (gpa - RAM_BASE);
    }
};

int
readGuest(void *user, uint64_t gpa, void *to, uint64_t len)
{
    std::memcpy(to, static_cast<Simulator *>(user)->bytes(gpa, len), len);
    return 1;
}

int
writeGuest(void *user, uint64_t gpa, const void *from, uint64_t len)
{
    std::memcpy(static_cast<Simulator *>(user)->bytes(gpa, len), from, len);
    return 1;
}

void
console(void *user, int stream, const void *bytes, uint64_t len)
{
    CHECK(stream == 1);
    static_cast<Simulator *>(user)->console.append(static_cast<const char *>(bytes), len);
}

void
message(void *user, int fatal, const char *text)
{
    CHECK(fatal == 0);
    static_cast<Simulator *>(user)->messages.emplace_back(text);
}

gil_host *
make(Simulator &simulator, const std::string &config)
{
    gil_host_setup setup{};
    setup.size = sizeof(setup);
    setup.simulator = "a tiny simulator in C++";
    setup.user = &simulator;
    setup.read = readGuest;
    setup.write = writeGuest;
    setup.console = console;
    setup.message = message;
    gil_host *host = nullptr;
    char error[200] = "";
    CHECK(gil_host_new(config.c_str(), &setup, &host, error, sizeof(error)) == GIL_HOST_OK);
    CHECK(gil_host_add_ram(host, RAM_BASE, RAM_SIZE, 0, error, sizeof(error)) == GIL_HOST_OK);
    return host;
}

// The doorbell's caller gets the answer that is in the mailbox.
void
answers(sim &sim)
{
    gil_host_answer answer{};
    CHECK(gil_host_ring(sim.host, MAILBOX, GIL_HOST_NOT_COUNTED, &answer) ==
          GIL_HOST_BAD_ARGUMENT); // and nothing rang
    CHECK(gil_host_ring(sim.host, MAILBOX, GIL_HOST_NOT_COUNTED, nullptr) ==
          GIL_HOST_BAD_ARGUMENT);
    answer.size = sizeof(answer);
    const gil_mailbox *box = prepare(&sim, GIL_MBOX_COLLECT);
    CHECK(gil_host_ring(sim.host, MAILBOX, GIL_HOST_NOT_COUNTED, &answer) == GIL_HOST_OK);
    CHECK(answer.kind == GIL_MBOX_COLLECT && answer.status == GIL_STATUS_OK);
    CHECK(answer.session == box->session && answer.seq == box->seq);
    CHECK(answer.wait_kind == box->wait_kind && answer.flags == box->flags);
    CHECK(answer.now_ns == box->now_ns && answer.deadline_ns == box->deadline_ns);
    CHECK(answer.attention_ns == box->attention_ns);
    prepare(&sim, 99);
    CHECK(gil_host_ring(sim.host, MAILBOX, GIL_HOST_NOT_COUNTED, &answer) == GIL_HOST_OK);
    CHECK(answer.kind == 0 && answer.status == GIL_STATUS_BAD_MAILBOX);
    CHECK(gil_host_ring(sim.host, 8, GIL_HOST_NOT_COUNTED, &answer) == GIL_HOST_OK);
    CHECK(answer.kind == 0 && answer.status == GIL_STATUS_UNSEEN);
}

void
withBoard(const std::string &board)
{
    Simulator simulator;
    sim sim{};
    sim.ram = reinterpret_cast<uint8_t *>(simulator.ram.data());
    sim.session = 9;
    sim.now_ns = 2000000;
    sim.host = make(simulator, "board=" + board);
    CHECK(open_session(&sim) == GIL_STATUS_OK);
    bad_mailboxes(&sim);
    CHECK(!simulator.messages.empty());
    CHECK(say_hello(&sim) == GIL_STATUS_OK);
    CHECK(simulator.console == "hello");
    // Doorbells may ring on any thread.
    std::thread([&] { CHECK(call_board(&sim) == GIL_STATUS_OK); }).join();
    CHECK(std::memcmp(at(&sim, DATA + 0x1000), "87654321", 8) == 0);
    CHECK(mailbox(&sim)->deadline_ns == sim.now_ns + 5000);
    CHECK(simulator.accesses > 10);
    answers(sim);
    gil_host_free(sim.host);
}

void
cancelled()
{
    Simulator simulator;
    sim sim{};
    sim.ram = reinterpret_cast<uint8_t *>(simulator.ram.data());
    sim.session = 9;
    sim.host = make(simulator, "");
    char error[200] = "";
    CHECK(gil_host_check_board(sim.host, error, sizeof(error)) == GIL_HOST_NO_BOARD);
    CHECK(std::strstr(error, "board=ADDR") != nullptr);
    CHECK(open_session(&sim) == GIL_STATUS_OK);
    CHECK(call_board(&sim) == GIL_STATUS_LOST); // no board was given
    CHECK(simulator.messages.back().find("board=ADDR") != std::string::npos);
    CHECK(gil_host_cancel(sim.host) == GIL_HOST_OK);
    gil_host_free(sim.host);
}

} // namespace

int
main(int argc, char **argv)
{
    CHECK(argc == 2);
    withBoard(argv[1]);
    cancelled();
    return 0;
}
