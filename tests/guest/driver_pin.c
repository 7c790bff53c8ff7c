/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Memory of the program's that the driver pins once: a number each, until it is
 * forgotten or the session ends, and nothing stays pinned afterwards.
 */
#include "driver_test.h"

#include <sys/mman.h>
#include <sys/wait.h>

#define PAGE 4096ul
#define PAGES 100ul
#define LIMIT "409600" /* as many bytes as these */

static int session;
static uint8_t *memory;

static void *map(size_t bytes, int protection)
{
	return mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int pin_at(int at, const void *place, uint64_t len, struct gil_pin_arg *arg)
{
	*arg = (struct gil_pin_arg){ .addr = (uintptr_t)place, .len = len };
	return ioctl(at, GIL_IOC_PIN, arg);
}

static int pin(const void *place, uint64_t len, struct gil_pin_arg *arg)
{
	return pin_at(session, place, len, arg);
}

static int forget(unsigned long id)
{
	return ioctl(session, GIL_IOC_FORGET, id);
}

/* A region of what is pinned, for a request that does not read it. */
static int names(uint32_t id, uint64_t offset, uint64_t len)
{
	static uint8_t reply[64];
	struct gil_submit arg = submit_of(nothing, NOTHING_LEN, reply, sizeof(reply));
	struct gil_region region = { offset, len, GIL_DIR_INOUT, id };

	arg.regions = (uintptr_t)&region;
	arg.region_count = 1;
	return ioctl(session, GIL_IOC_SUBMIT, &arg);
}

static void a_number_each(void)
{
	struct gil_pin_arg first, second, part;

	CHECK(!pin(memory, PAGES * PAGE, &first) && first.id);
	CHECK(!pin(memory, PAGES * PAGE, &second) && second.id && second.id != first.id);
	CHECK(!pin(memory + 5, 1, &part) && part.id);
	CHECK(!forget(first.id));
	FAILS(forget(first.id), ENOENT);
	CHECK(!forget(second.id) && !forget(part.id));
}

static void what_cannot_be_pinned(void)
{
	struct gil_pin_arg arg;
	uint8_t *hole = map(2 * PAGE, PROT_READ | PROT_WRITE), *fixed = map(PAGE, PROT_READ);

	munmap(hole + PAGE, PAGE);
	FAILS(pin(memory, 0, &arg), EINVAL);
	FAILS(pin(NULL, 1, &arg), EFAULT);
	FAILS(pin(hole, 2 * PAGE, &arg), EFAULT);
	FAILS(pin(fixed, PAGE, &arg), EFAULT);
	FAILS(pin(memory, UINT64_MAX, &arg), EFAULT);
	FAILS(pin((void *)-PAGE, 1, &arg), EFAULT);
	arg = (struct gil_pin_arg){ .addr = (uintptr_t)memory, .len = 1, .flags = 1 };
	FAILS(ioctl(session, GIL_IOC_PIN, &arg), EINVAL);
	FAILS(ioctl(session, GIL_IOC_PIN, NULL), EFAULT);
	munmap(hole, PAGE);
	munmap(fixed, PAGE);
}

static void parts_of_it(void)
{
	struct gil_pin_arg arg;
	uint64_t len = PAGES * PAGE - 12;

	CHECK(!pin(memory + 5, len, &arg));
	CHECK(!names(arg.id, 0, len));
	CHECK(!names(arg.id, len - 1, 1));
	CHECK(!names(arg.id, PAGE - 5, PAGE));
	FAILS(names(arg.id, 1, len), EFAULT);
	FAILS(names(arg.id, len, 1), EFAULT);
	FAILS(names(arg.id, UINT64_MAX, 1), EFAULT);
	FAILS(names(arg.id + 1, 0, 1), EINVAL);
	CHECK(!forget(arg.id));
	FAILS(names(arg.id, 0, 1), EINVAL);
}

/* Pinned memory outlives its mapping. */
static void without_its_mapping(void)
{
	struct gil_pin_arg arg;
	void *place = map(64 * PAGE, PROT_READ | PROT_WRITE);

	CHECK(!pin(place, 64 * PAGE, &arg));
	munmap(place, 64 * PAGE);
	CHECK(!names(arg.id, 0, 64 * PAGE));
	CHECK(!forget(arg.id));
}

static void of_another_process(void)
{
	struct gil_pin_arg arg;
	int status = -1;
	pid_t child;

	CHECK(!pin(memory, PAGE, &arg));
	child = fork();
	if (!child) {
		struct gil_pin_arg mine;

		failures = 0;
		FAILS(pin(memory, PAGE, &mine), EPERM);
		FAILS(forget(arg.id), EPERM);
		_exit(failures);
	}
	waitpid(child, &status, 0);
	CHECK(status == 0);
	CHECK(!forget(arg.id));
}

static void counted_by_pages(void)
{
	struct gil_pin_arg arg, more;

	set("max_pinned", LIMIT);
	CHECK(!pin(memory, PAGES * PAGE, &arg));
	FAILS(pin(memory, 1, &more), ENOMEM);
	CHECK(!forget(arg.id));
	FAILS(pin(memory + 1, PAGES * PAGE, &arg), ENOMEM);
	CHECK(!pin(memory + PAGE - 1, 2, &more));
	FAILS(pin(memory, (PAGES - 1) * PAGE, &arg), ENOMEM);
	CHECK(!pin(memory, (PAGES - 2) * PAGE, &arg));
	CHECK(!forget(more.id) && !forget(arg.id));
	set("max_pinned", "1073741824");
}

/* Whether all that may be pinned can be, soon. */
static int all_is_free(void)
{
	struct gil_pin_arg arg;

	for (int i = 0; i < 100; i++) {
		if (!pin(memory, PAGES * PAGE, &arg))
			return !forget(arg.id);
		usleep(10000);
	}
	return 0;
}

/* A session that ends by close, and one whose process is killed. */
static void a_session_that_ends(void)
{
	struct gil_pin_arg arg;
	int other = open_session(), status = -1;
	pid_t child;

	set("max_pinned", LIMIT);
	CHECK(!pin_at(other, memory, PAGES * PAGE, &arg));
	FAILS(pin(memory, 1, &arg), ENOMEM);
	close(other);
	CHECK(all_is_free());
	child = fork();
	if (!child) {
		pin_at(open_session(), memory, PAGES * PAGE, &arg);
		raise(SIGKILL);
	}
	waitpid(child, &status, 0);
	CHECK(WIFSIGNALED(status) && all_is_free());
	set("max_pinned", "1073741824");
}

int main(void)
{
	session = open_session();
	memory = map((PAGES + 1) * PAGE, PROT_READ | PROT_WRITE);
	run_test("what is pinned has a number until it is forgotten", a_number_each);
	run_test("what cannot be pinned is refused", what_cannot_be_pinned);
	run_test("regions are within what is pinned", parts_of_it);
	run_test("pinned memory outlives its mapping", without_its_mapping);
	run_test("another process can neither pin nor forget", of_another_process);
	run_test("pinned memory counts by pages", counted_by_pages);
	run_test("a session that ends leaves nothing pinned", a_session_that_ends);
	return failures != 0;
}
