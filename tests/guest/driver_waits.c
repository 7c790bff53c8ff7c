/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Waits end at their deadline. During a sleep another thread has the processor;
 * an occupation is the thread's own processor time.
 */
#include "driver_test.h"
#include <pthread.h>

static int fd;

static void ends_on_time(uint32_t kind)
{
	static const uint64_t delays[] = { 0, 1 * US, 20 * US, 300 * US,
					   3 * MS, 70 * MS, 1500 * MS };

	for (unsigned i = 0; i < sizeof(delays) / sizeof(*delays); i++) {
		uint64_t deadline = now_ns() + delays[i], end;

		CHECK(wait_for(fd, kind, deadline) == 0);
		end = now_ns();
		CHECK(end >= deadline && end < deadline + 100 * US);
		if (end >= deadline + 100 * US)
			printf("# %llu ns late\n",
			       (unsigned long long)(end - deadline));
	}
}

static void sleeps_end_on_time(void)
{
	ends_on_time(GIL_WAIT_SLEEP);
}

static void occupations_end_on_time(void)
{
	ends_on_time(GIL_WAIT_OCCUPY);
}

static void past_deadlines_cost_little(void)
{
	uint64_t start = now_ns();

	CHECK(wait_for(fd, GIL_WAIT_SLEEP, 0) == 0);
	CHECK(wait_for(fd, GIL_WAIT_OCCUPY, 1) == 0);
	CHECK(wait_for(fd, GIL_WAIT_NONE, NEVER) == 0);
	CHECK(now_ns() < start + 1 * MS);
}

/* Processor time of this thread during a wait. */
static uint64_t processor_time(uint32_t kind, uint64_t delay)
{
	uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	CHECK(wait_for(fd, kind, now_ns() + delay) == 0);
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
}

static void only_occupation_takes_processor_time(void)
{
	CHECK(processor_time(GIL_WAIT_SLEEP, 200 * MS) < 1 * MS);
	CHECK(processor_time(GIL_WAIT_OCCUPY, 200 * MS) > 190 * MS);
}

/* To sleep takes the simulator longer. */
static void short_sleeps_spin(void)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		return;
	CHECK(processor_time(GIL_WAIT_SLEEP, 200 * US) > 190 * US);
	CHECK(processor_time(GIL_WAIT_SLEEP, 1500 * US) > 1400 * US);
	CHECK(processor_time(GIL_WAIT_SLEEP, 5 * MS) < 1 * MS);
}

static volatile int stop;

/* Processor time that another thread got. */
static void *work(void *arg)
{
	while (!stop)
		;
	*(uint64_t *)arg = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

static uint64_t others_time(uint32_t kind)
{
	uint64_t worked = 0;
	pthread_t thread;

	stop = 0;
	pthread_create(&thread, NULL, work, &worked);
	CHECK(wait_for(fd, kind, now_ns() + 200 * MS) == 0);
	stop = 1;
	pthread_join(thread, NULL);
	return worked;
}

/* Longer than short sleeps are in all. */
static void *wake_often(void *arg)
{
	uint64_t *worked = arg;

	while (!stop) {
		struct timespec moment = { .tv_nsec = 50 * US };

		nanosleep(&moment, NULL);
		++*worked;
	}
	return NULL;
}

/* Who wakes in the meantime is not kept waiting until the sleep's end. */
static void others_work_during_a_short_sleep(void)
{
	uint64_t worked = 0;
	pthread_t thread;

	stop = 0;
	pthread_create(&thread, NULL, wake_often, &worked);
	for (int i = 0; i < 50; i++)
		CHECK(wait_for(fd, GIL_WAIT_SLEEP, now_ns() + 300 * US) == 0);
	stop = 1;
	pthread_join(thread, NULL);
	CHECK(worked > 50);
}

/* With one processor the occupier takes its share; with more, none of it. */
static void others_work_during_a_sleep(void)
{
	uint64_t asleep = others_time(GIL_WAIT_SLEEP);
	uint64_t occupied = others_time(GIL_WAIT_OCCUPY);

	CHECK(asleep > 180 * MS);
	if (sysconf(_SC_NPROCESSORS_ONLN) == 1)
		CHECK(occupied > 50 * MS && occupied < 150 * MS);
}

static void collecting_with_nothing_due(void)
{
	struct gil_wait wait = { .deadline_ns = now_ns() + 1 * MS,
				 .kind = GIL_WAIT_SLEEP,
				 .flags = GIL_WAIT_COLLECT };

	CHECK(ioctl(fd, GIL_IOC_WAIT, &wait) == 0);
	CHECK(now_ns() >= wait.deadline_ns);
	CHECK(works(fd));
}

int main(void)
{
	fd = open_session();
	run_test("sleeps_end_on_time", sleeps_end_on_time);
	run_test("occupations_end_on_time", occupations_end_on_time);
	run_test("past_deadlines_cost_little", past_deadlines_cost_little);
	run_test("only_occupation_takes_processor_time",
		 only_occupation_takes_processor_time);
	run_test("short_sleeps_spin", short_sleeps_spin);
	run_test("others_work_during_a_sleep", others_work_during_a_sleep);
	run_test("others_work_during_a_short_sleep",
		 others_work_during_a_short_sleep);
	run_test("collecting_with_nothing_due", collecting_with_nothing_due);
	return failures != 0;
}
