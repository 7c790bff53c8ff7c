/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Whatever a program hands to the driver, it gets an error or an answer, and
 * the session works as before.
 */
#include "driver_test.h"
#include <sys/mman.h>
#include <sys/uio.h>

static int fd;
static uint8_t reply[GIL_REPLY_MAX];

#define PAGE 4096ul

static struct gil_submit good(void)
{
	return submit_of(nothing, NOTHING_LEN, reply, sizeof(reply));
}

static int submit(struct gil_submit submit)
{
	return ioctl(fd, GIL_IOC_SUBMIT, &submit);
}

static int submit_region_at(uint64_t addr, uint64_t len, uint32_t dir)
{
	struct gil_region region = { addr, len, dir, 0 };
	struct gil_submit arg = good();

	arg.regions = (uintptr_t)&region;
	arg.region_count = 1;
	return submit(arg);
}

static int submit_region(void *addr, uint64_t len, uint32_t dir)
{
	return submit_region_at((uintptr_t)addr, len, dir);
}

static void *map(size_t len, int protection)
{
	return mmap(NULL, len, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void bounds_are_checked(void)
{
	static uint8_t large[GIL_REQUEST_MAX + 1];
	struct gil_submit arg = good();

	arg.request_len = 0;
	FAILS(submit(arg), EINVAL);
	arg = submit_of(large, sizeof(large), reply, sizeof(reply));
	FAILS(submit(arg), EINVAL);
	arg = good();
	arg.reply_cap = GIL_REPLY_MAX + 1;
	FAILS(submit(arg), EINVAL);
	arg = good();
	arg.region_count = GIL_REGIONS_MAX + 1;
	FAILS(submit(arg), EINVAL);
	arg.region_count = UINT32_MAX;
	FAILS(submit(arg), EINVAL);
}

static void unknown_fields_are_refused(void)
{
	struct gil_region region = { (uintptr_t)reply, 1, GIL_DIR_IN, 1 };
	struct gil_wait wait = { .kind = 4 };
	struct gil_submit arg = good();

	arg.reserved = 1;
	FAILS(submit(arg), EINVAL);
	arg = good();
	arg.regions = (uintptr_t)&region;
	arg.region_count = 1;
	FAILS(submit(arg), EINVAL);
	FAILS(submit_region(reply, 1, 0), EINVAL);
	FAILS(submit_region(reply, 1, 4), EINVAL);
	FAILS(submit_region(reply, 0, GIL_DIR_IN), EINVAL);
	FAILS(ioctl(fd, GIL_IOC_WAIT, &wait), EINVAL);
	wait = (struct gil_wait){ .kind = GIL_WAIT_NONE, .flags = 2 };
	FAILS(ioctl(fd, GIL_IOC_WAIT, &wait), EINVAL);
	FAILS(ioctl(fd, _IO(GIL_IOC_MAGIC, 0x7f), 0), ENOTTY);
}

static void unmapped_pointers_are_faults(void)
{
	void *hole = map(PAGE, PROT_NONE);
	struct gil_submit arg;

	FAILS(ioctl(fd, GIL_IOC_SUBMIT, hole), EFAULT);
	FAILS(ioctl(fd, GIL_IOC_WAIT, NULL), EFAULT);
	FAILS(ioctl(fd, GIL_IOC_INFO, hole), EFAULT);
	arg = good();
	arg.request = (uintptr_t)hole;
	FAILS(submit(arg), EFAULT);
	arg = good();
	arg.reply = (uintptr_t)hole;
	FAILS(submit(arg), EFAULT);
	arg = good();
	arg.regions = (uintptr_t)hole;
	arg.region_count = 1;
	FAILS(submit(arg), EFAULT);
	munmap(hole, PAGE);
}

static void kernel_addresses_are_faults(void)
{
	uint64_t addresses[] = { 1ull << 63, ~0ull << 48, ~0ull - PAGE, ~0ull };

	for (unsigned i = 0; i < 4; i++) {
		struct gil_submit arg = good();

		FAILS(submit_region_at(addresses[i], 64, GIL_DIR_IN), EFAULT);
		FAILS(submit_region_at(addresses[i], 64, GIL_DIR_OUT), EFAULT);
		FAILS(submit_region(reply, addresses[i], GIL_DIR_IN), EFAULT);
		arg.request = addresses[i];
		FAILS(submit(arg), EFAULT);
		arg = good();
		arg.reply = addresses[i];
		FAILS(submit(arg), EFAULT);
	}
}

/* A 32-bit program can name addresses that it cannot have. */
static void addresses_without_memory_are_faults(void)
{
	uint64_t addresses[] = { 1ull << 32, (1ull << 32) + PAGE, 1ull << 47 };

	for (unsigned i = 0; i < 3; i++) {
		struct gil_submit arg = good();

		FAILS(submit_region_at(addresses[i], 64, GIL_DIR_IN), EFAULT);
		FAILS(submit_region_at(addresses[i], 64, GIL_DIR_OUT), EFAULT);
		arg.request = addresses[i];
		FAILS(submit(arg), EFAULT);
	}
	/* From the program's own memory to beyond the last it can have. */
	FAILS(submit_region_at((uintptr_t)reply, 1ull << 40, GIL_DIR_IN),
	      ENOMEM);
}

/* The answer could not be given: better to find that before the doorbell. */
static void answers_need_writable_memory(void)
{
	struct gil_submit *locked = map(PAGE, PROT_READ | PROT_WRITE);
	struct gil_submit arg = good();

	*locked = good();
	mprotect(locked, PAGE, PROT_READ);
	FAILS(ioctl(fd, GIL_IOC_SUBMIT, locked), EFAULT);
	arg.reply = (uintptr_t)locked;
	FAILS(submit(arg), EFAULT);
	CHECK(locked->status == 0);
	munmap(locked, PAGE);
}

static void regions_need_their_access(void)
{
	char *memory = map(3 * PAGE, PROT_READ | PROT_WRITE);
	static const char constant[64] = "x";

	memset(memory, 1, 3 * PAGE);
	FAILS(submit_region((void *)constant, 64, GIL_DIR_OUT), EFAULT);
	CHECK(submit_region((void *)constant, 64, GIL_DIR_IN) == 0);
	CHECK(submit_region(memory + 1, 3 * PAGE - 2, GIL_DIR_INOUT) == 0);
	mprotect(memory + PAGE, PAGE, PROT_READ);
	FAILS(submit_region(memory, 3 * PAGE, GIL_DIR_OUT), EFAULT);
	CHECK(submit_region(memory, 3 * PAGE, GIL_DIR_IN) == 0);
	munmap(memory + PAGE, PAGE);
	FAILS(submit_region(memory, 3 * PAGE, GIL_DIR_IN), EFAULT);
	CHECK(submit_region(memory, PAGE, GIL_DIR_OUT) == 0);
	munmap(memory, 3 * PAGE);
}

static void many_regions_and_pages(void)
{
	static struct gil_region regions[GIL_REGIONS_MAX];
	char *memory = map(4096 * PAGE, PROT_READ | PROT_WRITE);
	struct gil_submit arg = good();

	for (unsigned i = 0; i < GIL_REGIONS_MAX; i++)
		regions[i] = (struct gil_region){ (uintptr_t)memory + i * 777,
						  PAGE + i, GIL_DIR_INOUT, 0 };
	arg.regions = (uintptr_t)regions;
	arg.region_count = GIL_REGIONS_MAX;
	CHECK(submit(arg) == 0);
	CHECK(submit_region(memory, 4096 * PAGE, GIL_DIR_OUT) == 0);
	munmap(memory, 4096 * PAGE);
}

static void too_much_memory_is_refused(void)
{
	size_t len = 3ul << 30;
	void *memory = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS |
			    MAP_NORESERVE, -1, 0);

	FAILS(submit_region(memory, len, GIL_DIR_IN), ENOMEM);
	munmap(memory, len);
}

/* Where a mapping is, by its name in /proc/self/maps. */
static void *mapping(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start = 0;
	char line[256];

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, name) && sscanf(line, "%lx", &start) == 1)
			break;
	if (maps)
		fclose(maps);
	return (void *)start;
}

/* The kernel's own pages cannot be pinned; the driver copies them. */
static void unpinnable_memory_is_staged(void)
{
	char *vvar = mapping("[vvar]");

	CHECK(vvar);
	CHECK(submit_region(vvar, 64, GIL_DIR_IN) == 0);
	FAILS(submit_region(vvar, 64, GIL_DIR_OUT), EFAULT);
}

static void requests_that_do_not_decode(void)
{
	uint32_t seed = 1;

	for (int round = 0; round < 40; round++) {
		uint8_t noise[200];
		struct gil_submit arg;

		for (unsigned i = 0; i < sizeof(noise); i++)
			noise[i] = (seed = seed * 1103515245 + 12345) >> 16;
		arg = submit_of(noise, 1 + round % sizeof(noise), reply, 64);
		CHECK(ioctl(fd, GIL_IOC_SUBMIT, &arg) == 0);
		CHECK(arg.status == GIL_STATUS_BAD_REQUEST);
	}
}

/* Nothing of what was refused is left behind: the session works. */
static void session_still_works(void)
{
	for (int i = 0; i < 100; i++)
		CHECK(works(fd));
}

int main(void)
{
	fd = open_session();
	run_test("bounds_are_checked", bounds_are_checked);
	run_test("unknown_fields_are_refused", unknown_fields_are_refused);
	run_test("unmapped_pointers_are_faults", unmapped_pointers_are_faults);
	run_test("kernel_addresses_are_faults", kernel_addresses_are_faults);
	run_test("addresses_without_memory_are_faults",
		 addresses_without_memory_are_faults);
	run_test("answers_need_writable_memory", answers_need_writable_memory);
	run_test("regions_need_their_access", regions_need_their_access);
	run_test("many_regions_and_pages", many_regions_and_pages);
	run_test("too_much_memory_is_refused", too_much_memory_is_refused);
	run_test("unpinnable_memory_is_staged", unpinnable_memory_is_staged);
	run_test("requests_that_do_not_decode", requests_that_do_not_decode);
	run_test("session_still_works", session_still_works);
	return failures != 0;
}
