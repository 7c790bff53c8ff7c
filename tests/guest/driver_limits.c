/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a user may take of the guest through gil.ko is bounded, however many
 * processes and open files ask for it. Runs as root, its children do not.
 */
#include "driver_test.h"

#include <sys/mman.h>
#include <sys/wait.h>

#define PAGE 4096ul
#define USER 1000

/* Runs it in a process of that user; whether it found all well. */
static int as_user(uid_t user, int (*run)(void))
{
	int status = 1;
	pid_t child = fork();

	if (child == 0)
		_exit(setuid(user) || run());
	waitpid(child, &status, 0);
	return status == 0;
}

static int open_one(void)
{
	return open("/dev/" GIL_DEVICE_NAME, O_RDWR | O_CLOEXEC);
}

static int one_more_is_refused(void)
{
	return open_one() != -1 || errno != EMFILE;
}

static int opens(void)
{
	return open_one() == -1;
}

static int three_are_all(void)
{
	int first = open_one();

	if (first == -1 || open_one() == -1 || open_one() == -1)
		return 1;
	if (one_more_is_refused() || !as_user(getuid(), one_more_is_refused))
		return 1;
	/* One that is closed makes room. */
	close(first);
	return opens();
}

static void sessions_are_a_users(void)
{
	set("max_sessions", "3");
	CHECK(as_user(USER, three_are_all));
	CHECK(as_user(USER, three_are_all)); /* the first ones are gone */
	CHECK(as_user(USER + 1, three_are_all));
	set("max_sessions", "256");
}

static int submit_region(const void *memory, uint64_t len)
{
	struct gil_region region = { (uintptr_t)memory, len, GIL_DIR_IN, 0 };
	uint8_t reply[64];
	struct gil_submit submit =
		submit_of(nothing, NOTHING_LEN, reply, sizeof(reply));
	int fd = open_session(), result;

	submit.regions = (uintptr_t)&region;
	submit.region_count = 1;
	result = ioctl(fd, GIL_IOC_SUBMIT, &submit);
	close(fd);
	return result;
}

/* More than the guest may have: it is not looked for, and nobody is killed. */
static int memory_that_is_not_there(void)
{
	size_t len = 1ul << 30;
	void *none = mmap(NULL, len, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (none == MAP_FAILED || submit_region(none, len) != -1)
		return 1;
	return errno != EFAULT;
}

static void memory_that_is_not_there_takes_none(void)
{
	CHECK(as_user(USER, memory_that_is_not_there));
	CHECK(as_user(0, memory_that_is_not_there));
}

static int three_pages_are_too_many(void)
{
	static uint8_t memory[4 * PAGE];

	return submit_region(memory, 3 * PAGE) != -1 || errno != ENOMEM;
}

static void pinned_memory_is_bounded(void)
{
	set("max_pinned", "8192");
	CHECK(as_user(USER, three_pages_are_too_many));
	CHECK(as_user(0, three_pages_are_too_many));
	set("max_pinned", "1073741824");
}

int main(void)
{
	run_test("sessions_are_a_users", sessions_are_a_users);
	run_test("memory_that_is_not_there_takes_none",
		 memory_that_is_not_there_takes_none);
	run_test("pinned_memory_is_bounded", pinned_memory_is_bounded);
	return failures != 0;
}
