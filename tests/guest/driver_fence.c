/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sync files that signal at a time: not before, however many there are and whoever
 * closes them; and the module stays as long as one is open. */
#include "driver_test.h"

#include <linux/sync_file.h>
#include <poll.h>
#include <sys/wait.h>

static int session;

static int fence_at(uint64_t deadline_ns)
{
	struct gil_fence_arg fence = { .deadline_ns = deadline_ns, .fd = -1 };

	return ioctl(session, GIL_IOC_FENCE, &fence) ? -1 : fence.fd;
}

/* Whether it signals within so many milliseconds. */
static int signals(int fd, int within_ms)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };

	return poll(&one, 1, within_ms) == 1 && (one.revents & POLLIN);
}

static void at_its_deadline(void)
{
	uint64_t deadline = now_ns() + 20 * MS;
	int fence = fence_at(deadline);

	CHECK(fence >= 0);
	CHECK(!signals(fence, 0));
	CHECK(!signals(fence, 10));
	CHECK(now_ns() < deadline);
	CHECK(signals(fence, 1000));
	CHECK(now_ns() >= deadline && now_ns() < deadline + MS);
	CHECK(signals(fence, 0));
	CHECK(fcntl(fence, F_GETFD) & FD_CLOEXEC);
	close(fence);
}

static void at_once(void)
{
	const uint64_t passed[] = { 0, 1, now_ns() };

	for (int i = 0; i < 3; i++) {
		int fence = fence_at(passed[i]);

		CHECK(signals(fence, 0));
		close(fence);
	}
}

static void says_when(void)
{
	uint64_t deadline = now_ns() + 5 * MS;
	struct sync_fence_info one = { .status = -1 };
	struct sync_file_info info = { .num_fences = 1, .sync_fence_info = (uintptr_t)&one };
	int fence = fence_at(deadline);

	CHECK(!ioctl(fence, SYNC_IOC_FILE_INFO, &info) && info.status == 0);
	CHECK(signals(fence, 1000));
	info.num_fences = 1;
	CHECK(!ioctl(fence, SYNC_IOC_FILE_INFO, &info) && info.status == 1);
	CHECK(!strcmp(one.driver_name, "gil") && one.status == 1);
	CHECK(one.timestamp_ns >= deadline && one.timestamp_ns < deadline + MS);
	close(fence);
}

/* Two that are merged signal at the later time. */
static void merged(void)
{
	uint64_t deadline = now_ns() + 12 * MS;
	struct sync_merge_data merge = { .name = "both" };
	int late = fence_at(deadline), early = fence_at(now_ns() + 4 * MS);

	merge.fd2 = early;
	CHECK(!ioctl(late, SYNC_IOC_MERGE, &merge));
	close(late);
	CHECK(signals(early, 1000));
	close(early);
	CHECK(!signals(merge.fence, 0));
	CHECK(signals(merge.fence, 1000) && now_ns() >= deadline);
	close(merge.fence);
}

static void many(void)
{
	enum { MANY = 200 };
	uint64_t begun = now_ns() + 20 * MS;
	int fences[MANY];

	for (int i = 0; i < MANY; i++)
		fences[i] = fence_at(begun + (i * 7 % MANY) * 50 * US);
	for (int i = 0; i < MANY; i++) {
		uint64_t deadline = begun + (i * 7 % MANY) * 50 * US;

		CHECK(signals(fences[i], 1000) && now_ns() >= deadline);
		close(fences[i]);
	}
}

static uint64_t far_away(void)
{
	return now_ns() + GIL_FENCE_MAX_NS / 2;
}

/* Closed before they signal, in this process or with another. */
static void closed_early(void)
{
	long before = users_of("gil");
	int status = -1, fence;
	pid_t child;

	for (int i = 0; i < 100; i++)
		close(fence_at(i % 2 ? far_away() : now_ns() + i * 10 * US));
	CHECK(users_become("gil", before));
	fence = fence_at(far_away());
	CHECK(users_of("gil") == before + 1);
	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	close(fence);
	CHECK(users_of("gil") > before);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	CHECK(WIFSIGNALED(status) && users_become("gil", before));
}

/* A fence outlives its session. */
static void without_a_session(void)
{
	long before = users_of("gil");
	uint64_t deadline = now_ns() + 10 * MS;
	int fence = fence_at(deadline);

	CHECK(users_of("gil") == before + 1);
	close(session);
	CHECK(users_become("gil", before));
	CHECK(!signals(fence, 0));
	CHECK(signals(fence, 1000) && now_ns() >= deadline);
	close(fence);
	CHECK(users_become("gil", before - 1));
	session = open_session();
}

/* The driver reads the clock while it checks: the deadline passes meanwhile, or not. */
static void just_now(void)
{
	enum { TIMES = 5000 };
	int made = 0;

	for (int i = 0; i < TIMES; i++) {
		int fence = fence_at(now_ns() + (uint64_t)i);

		made += fence >= 0;
		close(fence);
	}
	CHECK(made == TIMES);
}

static void bad_arguments(void)
{
	struct gil_fence_arg flags = { .deadline_ns = 1, .flags = 1 };
	struct gil_fence_arg never = { .deadline_ns = UINT64_MAX };
	struct gil_fence_arg later = { .deadline_ns = now_ns() + GIL_FENCE_MAX_NS + 1000 * MS };
	int before = dup(session);

	FAILS(ioctl(session, GIL_IOC_FENCE, &flags), EINVAL);
	FAILS(ioctl(session, GIL_IOC_FENCE, &never), EINVAL);
	FAILS(ioctl(session, GIL_IOC_FENCE, &later), EINVAL);
	FAILS(ioctl(session, GIL_IOC_FENCE, NULL), EFAULT);
	FAILS(ioctl(session, GIL_IOC_FENCE, (void *)1), EFAULT);
	close(before);
	CHECK(dup(session) == before);
	close(before);
}

int main(void)
{
	session = open_session();
	run_test("a fence signals at its deadline and not before", at_its_deadline);
	run_test("one whose deadline has passed signals at once", at_once);
	run_test("it says that it has signalled, and when", says_when);
	run_test("two that are merged signal at the later time", merged);
	run_test("two hundred signal each at its time", many);
	run_test("those that are closed early leave nothing", closed_early);
	run_test("a fence outlives its session", without_a_session);
	run_test("one whose deadline is just now is made", just_now);
	run_test("bad arguments make none", bad_arguments);
	return failures != 0;
}
