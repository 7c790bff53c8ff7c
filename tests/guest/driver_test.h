/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the programs that test gil.ko share: raw ioctls, a submission that runs
 * nothing, clocks, and one line a test.
 */
#ifndef DRIVER_TEST_H
#define DRIVER_TEST_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <gil.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000ull
#define US 1000ull
/* Deadlines no test lives to see. */
#define NEVER (UINT64_MAX / 4)

static int failures;

/* Says that a condition does not hold, and where; the test goes on. */
#define CHECK(condition)                                                       \
	do {                                                                   \
		if (!(condition)) {                                            \
			printf("# %s:%d: %s (errno %d)\n", __FILE__, __LINE__, \
			       #condition, errno);                             \
			failures++;                                            \
		}                                                              \
	} while (0)

/* An ioctl that should fail, and how. */
#define FAILS(call, wanted)                                                    \
	do {                                                                   \
		errno = 0;                                                     \
		int got_ = (call);                                             \
		if (got_ != -1 || errno != (wanted)) {                         \
			printf("# %s:%d: %s gave %d, errno %d, not %s\n",      \
			       __FILE__, __LINE__, #call, got_, errno,         \
			       #wanted);                                       \
			failures++;                                            \
		}                                                              \
	} while (0)

static inline void run_test(const char *name, void (*test)(void))
{
	int before = failures;

	test();
	printf("%s %s\n", failures == before ? "ok" : "not ok", name);
	fflush(stdout);
}

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static inline uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* How many use a module of the kernel. */
static inline long users_of(const char *module)
{
	FILE *modules = fopen("/proc/modules", "r");
	char line[256], name[64];
	long one, count = -1;

	while (modules && count < 0 && fgets(line, sizeof(line), modules))
		if (sscanf(line, "%63s %*u %ld", name, &one) == 2 && !strcmp(name, module))
			count = one;
	if (modules)
		fclose(modules);
	return count;
}

/* Waits until so many use it: what is closed is given up a little later. */
static inline int users_become(const char *module, long wanted)
{
	for (int i = 0; i < 500 && users_of(module) != wanted; i++)
		usleep(1000);
	return users_of(module) == wanted;
}

/* A session of its own. */
static inline int open_session(void)
{
	int fd = open("/dev/" GIL_DEVICE_NAME, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		printf("not ok: open /dev/" GIL_DEVICE_NAME ": %s\n",
		       strerror(errno));
		exit(1);
	}
	return fd;
}

static inline int wait_for(int fd, uint32_t kind, uint64_t deadline_ns)
{
	struct gil_wait wait = { .deadline_ns = deadline_ns, .kind = kind };

	return ioctl(fd, GIL_IOC_WAIT, &wait);
}

static inline int wait_progress(int fd, uint64_t progress)
{
	struct gil_wait wait = { .progress = progress,
				 .kind = GIL_WAIT_PROGRESS };

	return ioctl(fd, GIL_IOC_WAIT, &wait);
}

/*
 * A request that runs nothing: one envelope of the control call gil_console
 * with no bytes.
 */
static const uint8_t nothing[] = {
	22, 0, 0, 0,		/* length of the envelope */
	1, 0, 0, 0,		/* op: API 0, entry 1 */
	0, 0, 0, 0, 0, 0, 0, 0, /* entry */
	0, 0, 0, 0,		/* a query, an engine, no flags, no rows */
	0, 0, 0, 0,		/* no regions, no waits */
	0, 0,			/* arguments: stream out, no bytes */
};
#define NOTHING_LEN (sizeof(nothing))

static inline struct gil_submit submit_of(const void *request, uint32_t len,
					  void *reply, uint32_t cap)
{
	struct gil_submit submit = {
		.request = (uintptr_t)request,
		.request_len = len,
		.reply = (uintptr_t)reply,
		.reply_cap = cap,
	};
	return submit;
}

/* Submits nothing: the ioctl's result, and the host's status. */
static inline int submit_nothing(int fd, uint32_t *status)
{
	uint8_t reply[64];
	struct gil_submit submit =
		submit_of(nothing, NOTHING_LEN, reply, sizeof(reply));
	int result = ioctl(fd, GIL_IOC_SUBMIT, &submit);

	*status = submit.status;
	return result;
}

/* Whether the session still works. */
static inline int works(int fd)
{
	uint32_t status = GIL_STATUS_UNSEEN;

	return submit_nothing(fd, &status) == 0 && status == GIL_STATUS_OK;
}

/* Sets a parameter of gil.ko's. */
static inline void set(const char *parameter, const char *value)
{
	char path[128];
	int file;

	snprintf(path, sizeof(path), "/sys/module/gil/parameters/%s",
		 parameter);
	file = open(path, O_WRONLY);
	CHECK(write(file, value, strlen(value)) == (ssize_t)strlen(value));
	close(file);
}

#endif
