/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A wait for one of panfrost's buffers brings what is new of others: nothing of them is
 * lost, whoever submits, writes, waits and frees at the same moment.
 */
#include "panfrost_zero.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_int over, stale, lost;

static void freed(const struct buffer *buffer)
{
	struct drm_gem_close handle = { .handle = buffer->handle };

	munmap(buffer->memory, PAGE);
	CHECK(!ioctl(node, DRM_IOCTL_GEM_CLOSE, &handle));
}

static void run_threads(unsigned int count, void *(*const does[])(void *))
{
	pthread_t threads[count];

	over = stale = lost = 0;
	for (uintptr_t i = 0; i < count; i++)
		CHECK(!pthread_create(&threads[i], NULL, does[i], (void *)i));
	for (unsigned int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	if (stale || lost)
		printf("# %d stale, %d lost\n", stale, lost);
	CHECK(!stale && !lost);
}

/* A job of many buffers takes long to be submitted. */
static void *submits_large_jobs(void *unused)
{
	enum { MANY = 800, ROUNDS = 40 };
	struct buffer jobs = mapped(), buffer = mapped();
	uint32_t others[MANY];

	for (int i = 0; i < MANY; i++)
		others[i] = created().handle;
	for (int i = 0; i < ROUNDS; i++) {
		zero(&jobs, 1, &buffer, 0, others, MANY);
		wait_bo(&buffer);
		stale += *at(&buffer, 0) != 0;
	}
	over = 1;
	return unused;
}

static void *waits_often(void *unused)
{
	struct buffer jobs = mapped(), buffer = mapped();

	while (!over) {
		zero(&jobs, 0, &buffer, 0, NULL, 0);
		wait_bo(&buffer);
		stale += *at(&buffer, 0) != 0;
	}
	return unused;
}

static void a_job_is_submitted_while_others_are_waited_for(void)
{
	run_threads(4, (void *(*const[])(void *)){ submits_large_jobs, waits_often, waits_often,
						   waits_often });
}

static struct buffer shared;

/* Each has lines of its own in the buffer: one is a job's, the others are the program's. */
static void *uses_its_lines(void *number)
{
	enum { ROUNDS = 100 };
	struct buffer jobs = mapped(), own = mapped();
	uint32_t place = (uintptr_t)number * 256;

	for (uint64_t i = 0; i < ROUNDS; i++) {
		*at(&shared, place + 64) = i;
		zero(&jobs, (uintptr_t)number & 1, &shared, place, NULL, 0);
		zero(&jobs, (uintptr_t)number & 1, &own, 64, NULL, 0);
		if (i & 1)
			wait_bo(&own);
		*at(&shared, place + 128) = i;
		wait_bo(&shared);
		wait_bo(&own);
		stale += *at(&shared, place) || *at(&own, 64);
		lost += *at(&shared, place + 64) != i || *at(&shared, place + 128) != i;
	}
	return NULL;
}

static void threads_write_to_one_buffer(void)
{
	shared = mapped();
	run_threads(4, (void *(*const[])(void *)){ uses_its_lines, uses_its_lines, uses_its_lines,
						   uses_its_lines });
}

static void *frees_what_jobs_use(void *unused)
{
	enum { ROUNDS = 100 };
	struct buffer jobs = mapped();

	for (int i = 0; i < ROUNDS; i++) {
		struct buffer buffer = mapped();

		zero(&jobs, 1, &buffer, 0, NULL, 0);
		wait_bo(&buffer);
		stale += *at(&buffer, 0) != 0;
		zero(&jobs, 1, &buffer, 64, NULL, 0);
		freed(&buffer);
	}
	over = 1;
	return unused;
}

static void a_buffer_is_freed_while_others_are_waited_for(void)
{
	run_threads(3, (void *(*const[])(void *)){ frees_what_jobs_use, waits_often, waits_often });
}

/* More than one wait brings. */
static void many_buffers_are_waited_for_in_another_order(void)
{
	enum { COUNT = 40, ROUNDS = 4 };
	struct buffer jobs = mapped(), all[COUNT];

	stale = lost = 0;
	for (int i = 0; i < COUNT; i++)
		all[i] = mapped();
	for (int n = 1; n <= ROUNDS; n++) {
		for (int i = 0; i < COUNT; i++)
			zero(&jobs, i & 1, &all[i], 64 * i, NULL, 0);
		for (int i = 0; i < COUNT; i++) {
			wait_bo(&all[i * 7 % COUNT]);
			*at(&all[i * 7 % COUNT], PAGE - 8) = n;
		}
		for (int i = 0; i < COUNT; i++)
			for (uint32_t o = 0; o < PAGE - 8; o += 8)
				stale += *at(&all[i], o) != 0;
		for (int i = 0; i < COUNT; i++)
			lost += *at(&all[i], PAGE - 8) != (uint64_t)n;
	}
	CHECK(!stale && !lost);
}

int main(void)
{
	node = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
	if (node < 0)
		return 2;
	run_test("a job is submitted while others are waited for",
		 a_job_is_submitted_while_others_are_waited_for);
	run_test("threads write to one buffer", threads_write_to_one_buffer);
	run_test("a buffer is freed while others are waited for",
		 a_buffer_is_freed_while_others_are_waited_for);
	run_test("many buffers are waited for in another order",
		 many_buffers_are_waited_for_in_another_order);
	return failures != 0;
}
