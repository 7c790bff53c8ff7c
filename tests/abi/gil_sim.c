/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A tiny simulator in C whose RAM is a shared file.
 *
 *   gil_sim RAM-FILE BOARD-ADDRESS
 *
 * The board answers a call with its input reversed, after 5000 ns of its CPU.
 */
#include "gil_sim.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

/* Every function of the header, as C sees it. */
_Static_assert(_Generic(&gil_host_abi_version, uint32_t(*)(void): 1, default: 0), "");
_Static_assert(_Generic(&gil_host_new,
			gil_host_result(*)(const char *, const gil_host_setup *, gil_host **,
					   char *, size_t): 1, default: 0), "");
_Static_assert(_Generic(&gil_host_add_ram,
			gil_host_result(*)(gil_host *, uint64_t, uint64_t, uint64_t, char *,
					   size_t): 1, default: 0), "");
_Static_assert(_Generic(&gil_host_check_board,
			gil_host_result(*)(gil_host *, char *, size_t): 1, default: 0), "");
_Static_assert(_Generic(&gil_host_doorbell,
			gil_host_result(*)(gil_host *, uint64_t, uint64_t): 1, default: 0), "");
_Static_assert(_Generic(&gil_host_ring,
			gil_host_result(*)(gil_host *, uint64_t, uint64_t, gil_host_answer *): 1,
			default: 0), "");
_Static_assert(_Generic(&gil_host_count,
			gil_host_result(*)(gil_host *, gil_host_counters *): 1, default: 0), "");
_Static_assert(_Generic(&gil_host_entry_name, gil_host_result(*)(uint32_t, char *, size_t): 1,
			default: 0), "");
_Static_assert(_Generic(&gil_host_count_entry,
			gil_host_result(*)(gil_host *, uint32_t, gil_host_entry *): 1,
			default: 0), "");
_Static_assert(_Generic(&gil_host_program, gil_host_result(*)(gil_host *, int *, int *): 1,
			default: 0), "");
_Static_assert(_Generic(&gil_host_program_started, gil_host_result(*)(gil_host *, uint64_t): 1,
			default: 0), "");
_Static_assert(_Generic(&gil_host_program_exited,
			gil_host_result(*)(gil_host *, uint64_t, int): 1, default: 0), "");
_Static_assert(_Generic(&gil_host_idle, gil_host_result(*)(gil_host *, uint64_t): 1,
			default: 0), "");
_Static_assert(_Generic(&gil_host_cancel, gil_host_result(*)(gil_host *): 1, default: 0), "");
_Static_assert(_Generic(&gil_host_finish,
			gil_host_result(*)(gil_host *, char *, size_t, size_t *): 1,
			default: 0), "");
_Static_assert(_Generic(&gil_host_free, void(*)(gil_host *): 1, default: 0), "");
_Static_assert(sizeof(gil_host_result) == 4, "");
_Static_assert(offsetof(gil_host_setup, message) + sizeof(void *) == sizeof(gil_host_setup), "");

static void *map(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	void *ram;

	CHECK(fd >= 0 && ftruncate(fd, RAM_SIZE) == 0);
	ram = mmap(NULL, RAM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(ram != MAP_FAILED);
	close(fd);
	return ram;
}

static void refusals(const gil_host_setup *setup)
{
	gil_host_setup older = *setup;
	gil_host *host = NULL;
	char error[200] = "";
	char small[8];

	CHECK(gil_host_new("bord=x", setup, &host, error, sizeof(error)) == GIL_HOST_BAD_CONFIG);
	CHECK(host == NULL && strstr(error, "\"bord\" is no key") != NULL);
	CHECK(gil_host_new("board=x", setup, &host, small, sizeof(small)) == GIL_HOST_BAD_CONFIG);
	CHECK(strlen(small) == sizeof(small) - 1);
	older.size -= 8;
	CHECK(gil_host_new("", &older, &host, error, sizeof(error)) == GIL_HOST_BAD_ARGUMENT);
	CHECK(strstr(error, "gil_host.h") != NULL);
	CHECK(gil_host_new("", setup, &host, error, sizeof(error)) == GIL_HOST_BAD_ARGUMENT);
	CHECK(strstr(error, "ram=PATH") != NULL);
	CHECK(gil_host_new(NULL, setup, &host, NULL, 0) == GIL_HOST_BAD_ARGUMENT);
	CHECK(gil_host_new("", NULL, &host, NULL, 0) == GIL_HOST_BAD_ARGUMENT);
	CHECK(gil_host_new("ram=/r,monitor=/nowhere/m", setup, &host, error, sizeof(error)) ==
	      GIL_HOST_BAD_FILE);
	CHECK(gil_host_doorbell(NULL, 0, 0) == GIL_HOST_BAD_ARGUMENT);
	gil_host_free(NULL);
}

/* The first entry point of the list is the one that call_board() calls. */
static void counters(struct sim *sim)
{
	gil_host_counters counters = { .size = sizeof(counters) };
	gil_host_entry entry = { .size = sizeof(entry) };
	char name[40], small[5];
	uint32_t known = 0;

	CHECK(gil_host_count(sim->host, &counters) == GIL_HOST_OK);
	CHECK(counters.calls == 1 && counters.posts == 0 && counters.sessions == 1);
	CHECK(counters.bytes_to_board == 8 && counters.bytes_from_board == 8);
	CHECK(counters.board_cpu_ns == 5000 && counters.wait_ns == 5000 && counters.gpu_ns == 0);
	CHECK(counters.doorbells > counters.calls && counters.late_deliveries == 0);
	CHECK(counters.bridge_wall_ns > 0 && counters.doorbell_wall_ns >= counters.bridge_wall_ns);
	CHECK(gil_host_count_entry(sim->host, 0, &entry) == GIL_HOST_OK);
	CHECK(entry.calls == 1 && entry.board_cpu_ns == 5000 && entry.bytes_to_board == 8);
	CHECK(gil_host_count_entry(sim->host, 1, &entry) == GIL_HOST_OK && entry.calls == 0);
	while (gil_host_entry_name(known, name, sizeof(name)) == GIL_HOST_OK)
		known++;
	CHECK(known > 100);
	CHECK(gil_host_entry_name(0, small, sizeof(small)) == GIL_HOST_OK);
	CHECK(strncmp(small, "cl", 2) == 0 && strlen(small) == 4);
	CHECK(gil_host_count_entry(sim->host, known, &entry) == GIL_HOST_BAD_ARGUMENT);
	entry.size--;
	CHECK(gil_host_count_entry(sim->host, 0, &entry) == GIL_HOST_BAD_ARGUMENT);
	counters.size--;
	CHECK(gil_host_count(sim->host, &counters) == GIL_HOST_BAD_ARGUMENT);
	CHECK(gil_host_count(sim->host, NULL) == GIL_HOST_BAD_ARGUMENT);
}

/* A control call of the guest's init. */
static void init_says(struct sim *sim, uint32_t op, const char *args, uint32_t len)
{
	struct gil_mailbox *box = prepare(sim, GIL_MBOX_SUBMIT);

	box->request_len = put_envelope(sim, op, 1, sim->now_ns, 0, args, len);
	CHECK(ring(sim) == GIL_STATUS_OK);
}

static void program(struct sim *sim)
{
	int state = -1, code = -1;

	CHECK(gil_host_program(sim->host, &state, &code) == GIL_HOST_OK);
	CHECK(state == GIL_HOST_PROGRAM_NONE && code == 0);
	init_says(sim, 2, "\x64", 1); /* started as process 100 */
	CHECK(gil_host_program(sim->host, &state, NULL) == GIL_HOST_OK);
	CHECK(state == GIL_HOST_PROGRAM_RUNS);
	init_says(sim, 3, "\0\1\x12", 3); /* ended by signal 9 */
	CHECK(gil_host_program(sim->host, &state, &code) == GIL_HOST_OK);
	CHECK(state == GIL_HOST_PROGRAM_ENDED && code == 128 + 9);
}

/* A simulator that executes programs itself tells what init would. */
static void own_program(const char *config, const gil_host_setup *setup)
{
	int state = -1, code = -1;
	char json[8192];
	gil_host *host;

	CHECK(gil_host_new(config, setup, &host, NULL, 0) == GIL_HOST_OK);
	CHECK(gil_host_program_started(host, 1000) == GIL_HOST_OK);
	CHECK(gil_host_program(host, &state, NULL) == GIL_HOST_OK);
	CHECK(state == GIL_HOST_PROGRAM_RUNS);
	CHECK(gil_host_program_exited(host, 5000, 7) == GIL_HOST_OK);
	CHECK(gil_host_program(host, &state, &code) == GIL_HOST_OK);
	CHECK(state == GIL_HOST_PROGRAM_ENDED && code == 7);
	CHECK(gil_host_finish(host, json, sizeof(json), NULL) == GIL_HOST_OK);
	CHECK(strstr(json, "\"program_ns\": 4000") && strstr(json, "\"exit_code\": 7"));
	CHECK(gil_host_program_started(NULL, 0) == GIL_HOST_BAD_ARGUMENT);
	CHECK(gil_host_program_exited(NULL, 0, 0) == GIL_HOST_BAD_ARGUMENT);
	gil_host_free(host);
}

/* Another simulator on the same RAM, with the sessions of this one. */
static struct sim restored(const struct sim *sim, const char *config,
			   const gil_host_setup *setup, const char *state)
{
	gil_host_counters counters = { .size = sizeof(counters) };
	struct sim other = *sim;
	char error[200] = "";

	CHECK(gil_host_new(config, setup, &other.host, NULL, 0) == GIL_HOST_OK);
	CHECK(gil_host_restore(other.host, "/nowhere", error, sizeof(error)) ==
	      GIL_HOST_NO_CHECKPOINT);
	CHECK(strstr(error, "/nowhere") != NULL);
	CHECK(gil_host_restore(other.host, state, NULL, 0) == GIL_HOST_OK);
	CHECK(gil_host_count(other.host, &counters) == GIL_HOST_OK && counters.sessions == 1);
	CHECK(gil_host_restore(other.host, state, error, sizeof(error)) ==
	      GIL_HOST_NO_CHECKPOINT);
	CHECK(strstr(error, "already") != NULL);
	return other;
}

/* Before the first call to the board, and with a program that uses it. */
static void checkpoints(struct sim *sim, const char *config, const gil_host_setup *setup,
			const char *ram)
{
	char error[200] = "", state[300];
	struct sim other;
	uint64_t end_ns = 1;

	snprintf(state, sizeof(state), "%s.state", ram);
	CHECK(gil_host_settle(sim->host, sim->now_ns, &end_ns) == GIL_HOST_OK && end_ns == 0);
	CHECK(gil_host_checkpoint(sim->host, "/nowhere/state", 0, error, sizeof(error)) ==
	      GIL_HOST_NO_CHECKPOINT);
	CHECK(gil_host_checkpoint(sim->host, NULL, 0, NULL, 0) == GIL_HOST_BAD_ARGUMENT);
	CHECK(gil_host_checkpoint(sim->host, state, sim->now_ns, NULL, 0) == GIL_HOST_OK);
	other = restored(sim, config, setup, state);
	CHECK(call_board(&other) == GIL_STATUS_OK);
	CHECK(gil_host_settle(other.host, other.now_ns, NULL) == GIL_HOST_OK);
	CHECK(gil_host_checkpoint(other.host, state, other.now_ns, error, sizeof(error)) ==
	      GIL_HOST_NO_CHECKPOINT);
	CHECK(strstr(error, "checkpoint-log") != NULL);
	gil_host_free(other.host);
	CHECK(gil_host_settle(NULL, 0, NULL) == GIL_HOST_BAD_ARGUMENT);
	CHECK(gil_host_restore(NULL, state, NULL, 0) == GIL_HOST_BAD_ARGUMENT);
}

/* A GPU is a device of the simulator's: it says what it is, and resets. */
static void registers(const char *config, const gil_host_setup *setup, const char *ram)
{
	gil_host_gpu gpu = { .size = sizeof(gpu) };
	char with_gpu[600], state[300], error[200] = "";
	gil_host *host, *bare;

	snprintf(with_gpu, sizeof(with_gpu), "%s,gpu=mali-t628", config);
	snprintf(state, sizeof(state), "%s.gpu", ram);
	CHECK(gil_host_new(config, setup, &bare, NULL, 0) == GIL_HOST_OK);
	CHECK(gil_host_gpu_load(bare, 0, 0, &gpu) == GIL_HOST_BAD_ARGUMENT);
	CHECK(gil_host_new(with_gpu, setup, &host, NULL, 0) == GIL_HOST_OK);
	CHECK(gil_host_gpu_load(host, 0, 1000, &gpu) == GIL_HOST_OK);
	CHECK(gpu.value >> 16 == 0x620 && gpu.lines == 0 && gpu.attention_ns == 0);
	/* GPU_INT_MASK, GPU_COMMAND: a reset that ends is told on the third line. */
	CHECK(gil_host_gpu_store(host, 0x28, 0x100, 2000, &gpu) == GIL_HOST_OK);
	CHECK(gil_host_gpu_store(host, 0x30, 1, 3000, &gpu) == GIL_HOST_OK);
	CHECK(gil_host_gpu_load(host, 0x20, 4000, &gpu) == GIL_HOST_OK);
	CHECK(gpu.value & 0x100);
	CHECK(gil_host_gpu_store(host, 0x28, 0x100, 5000, &gpu) == GIL_HOST_OK);
	CHECK(gil_host_gpu_tick(host, 6000, &gpu) == GIL_HOST_OK && gpu.lines == 4);
	CHECK(gil_host_checkpoint(host, state, 6000, NULL, 0) == GIL_HOST_OK);
	gil_host_free(host);
	CHECK(gil_host_restore(bare, state, error, sizeof(error)) == GIL_HOST_NO_CHECKPOINT);
	CHECK(strstr(error, "mali-t628") != NULL);
	gil_host_free(bare);
	CHECK(gil_host_new(with_gpu, setup, &host, NULL, 0) == GIL_HOST_OK);
	CHECK(gil_host_restore(host, state, NULL, 0) == GIL_HOST_OK);
	CHECK(gil_host_gpu_tick(host, 6000, &gpu) == GIL_HOST_OK && gpu.lines == 4);
	CHECK(gil_host_gpu_clock(host, 350400000, 7000, &gpu) == GIL_HOST_OK && gpu.lines == 4);
	gpu.size = 3;
	CHECK(gil_host_gpu_tick(host, 6000, &gpu) == GIL_HOST_BAD_ARGUMENT);
	CHECK(gil_host_gpu_tick(host, 6000, NULL) == GIL_HOST_BAD_ARGUMENT);
	CHECK(gil_host_gpu_tick(NULL, 6000, &gpu) == GIL_HOST_BAD_ARGUMENT);
	gil_host_free(host);
}

int main(int argc, char **argv)
{
	gil_host_setup setup = { .size = sizeof(setup), .simulator = "a tiny simulator in C" };
	struct sim sim = { .session = 5, .now_ns = 1000000 };
	char config[500], error[200], *json;
	size_t len;

	CHECK(argc == 3);
	CHECK(gil_host_abi_version() == GIL_HOST_ABI_VERSION);
	refusals(&setup);
	sim.ram = map(argv[1]);
	snprintf(config, sizeof(config), "ram=%s,ram-base=0x80000000,board=%s", argv[1], argv[2]);
	CHECK(gil_host_new(config, &setup, &sim.host, error, sizeof(error)) == GIL_HOST_OK);
	CHECK(gil_host_add_ram(sim.host, RAM_BASE, RAM_SIZE / 2, 0, error, sizeof(error)) ==
	      GIL_HOST_OK);
	CHECK(gil_host_add_ram(sim.host, RAM_BASE, 1, 0, error, sizeof(error)) ==
	      GIL_HOST_BAD_RAM);
	CHECK(strstr(error, "overlap") != NULL);
	CHECK(gil_host_add_ram(sim.host, RAM_BASE + RAM_SIZE / 2, RAM_SIZE / 2, RAM_SIZE / 2,
			       error, sizeof(error)) == GIL_HOST_OK);

	CHECK(gil_host_check_board(sim.host, error, sizeof(error)) == GIL_HOST_OK);
	CHECK(open_session(&sim) == GIL_STATUS_OK);
	CHECK(gil_host_add_ram(sim.host, 0, 1, 0, error, sizeof(error)) == GIL_HOST_TOO_LATE);
	bad_mailboxes(&sim);
	CHECK(say_hello(&sim) == GIL_STATUS_OK); /* to standard output */
	checkpoints(&sim, config, &setup, argv[1]);
	CHECK(call_board(&sim) == GIL_STATUS_OK);
	CHECK(memcmp(at(&sim, DATA + 0x1000), "87654321", 8) == 0);
	CHECK(mailbox(&sim)->wait_kind == GIL_WAIT_OCCUPY);
	CHECK(mailbox(&sim)->deadline_ns == sim.now_ns + 5000);
	counters(&sim);
	program(&sim);
	CHECK(gil_host_idle(sim.host, 1) == GIL_HOST_OK);
	prepare(&sim, GIL_MBOX_CLOSE);
	CHECK(ring(&sim) == GIL_STATUS_OK);

	CHECK(gil_host_finish(sim.host, NULL, 0, &len) == GIL_HOST_OK);
	json = malloc(len + 1);
	CHECK(gil_host_finish(sim.host, json, len + 1, &len) == GIL_HOST_OK);
	CHECK(strlen(json) == len && strstr(json, "\"a tiny simulator in C\"") != NULL);
	free(json);
	gil_host_free(sim.host);
	own_program(config, &setup);
	registers(config, &setup, argv[1]);
	return 0;
}
