/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Many threads in one session, and sessions that end in the middle of it:
 * every submission is answered or refused, and nothing is left behind.
 */
#include "driver_test.h"
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { THREADS = 12, ROUNDS = 200 };

struct worker {
	int fd;
	unsigned seed;
	int answered;
	int error; /* that ended it */
};

static int submit_memory(int fd, void *memory, uint64_t len)
{
	struct gil_region regions[2] = {
		{ (uintptr_t)memory, len, GIL_DIR_OUT, 0 },
		{ (uintptr_t)memory, len, GIL_DIR_IN, 0 },
	};
	uint8_t reply[64];
	struct gil_submit arg =
		submit_of(nothing, NOTHING_LEN, reply, sizeof(reply));

	arg.regions = (uintptr_t)regions;
	arg.region_count = 2;
	return ioctl(fd, GIL_IOC_SUBMIT, &arg);
}

static int round_of(struct worker *worker)
{
	size_t len = 4096 * (1 + rand_r(&worker->seed) % 40);
	char *memory = mmap(NULL, len, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int result = submit_memory(worker->fd, memory, len);

	worker->error = result ? errno : 0;
	munmap(memory, len);
	if (!result && wait_for(worker->fd, GIL_WAIT_SLEEP, now_ns() + 20 * US))
		worker->error = errno;
	return worker->error;
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	for (int i = 0; i < ROUNDS && !round_of(worker); i++)
		worker->answered++;
	return NULL;
}

static void start(struct worker *workers, pthread_t *threads, int fd)
{
	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .fd = fd, .seed = i };
		pthread_create(&threads[i], NULL, work, &workers[i]);
	}
}

static void all_are_answered(void)
{
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	int fd = open_session();

	start(workers, threads, fd);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		CHECK(workers[i].answered == ROUNDS && !workers[i].error);
	}
	CHECK(works(fd));
	close(fd);
}

static void closing_in_the_middle(void)
{
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	int fd = open_session();

	start(workers, threads, fd);
	usleep(3000);
	close(fd);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		CHECK(!workers[i].error || workers[i].error == EBADF);
	}
}

/* The program is killed while its threads submit and wait. */
static void killed_in_the_middle(void)
{
	for (int i = 0; i < 10; i++) {
		pid_t child = fork();
		int status = 0;

		if (child == 0) {
			struct worker workers[THREADS];
			pthread_t threads[THREADS];

			start(workers, threads, open_session());
			pause();
		}
		usleep(2000 + 700 * i);
		kill(child, SIGKILL);
		CHECK(waitpid(child, &status, 0) == child);
		CHECK(WIFSIGNALED(status));
	}
}

/* What is pinned is taken away at once by another thread. */
static char *shared;
static volatile int stop;

static void *take_away(void *arg)
{
	size_t len = 64 * 4096;

	(void)arg;
	while (!stop) {
		mmap(shared, len, PROT_READ | PROT_WRITE,
		     MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(shared + len / 2, len / 2);
	}
	return NULL;
}

static void memory_disappears_meanwhile(void)
{
	size_t len = 64 * 4096;
	int fd = open_session(), others = 0;
	pthread_t thread;

	shared = mmap(NULL, len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stop = 0;
	pthread_create(&thread, NULL, take_away, NULL);
	for (int i = 0; i < 1000; i++) {
		int result = submit_memory(fd, shared, len);

		others += result && errno != EFAULT;
	}
	stop = 1;
	pthread_join(thread, NULL);
	CHECK(others == 0);
	CHECK(works(fd));
	close(fd);
}

static long free_kilobytes(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	long free = 0;
	char line[128];

	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "MemFree: %ld", &free) == 1)
			break;
	fclose(file);
	return free;
}

/* Many sessions' worth of calls leave the machine's memory as it was. */
static void nothing_is_leaked(void)
{
	static char memory[4 << 20];
	long before = 0;

	memset(memory, 1, sizeof(memory));
	for (int i = 0; i < 120; i++) {
		int fd = open_session();

		if (i == 20)
			before = free_kilobytes();
		CHECK(submit_memory(fd, memory, sizeof(memory)) == 0);
		close(fd);
	}
	/* Leaked a hundred times, a block is 3 MiB, and so are the extent
	 * pages beyond it. */
	CHECK(before - free_kilobytes() < 1500);
}

int main(void)
{
	run_test("all_are_answered", all_are_answered);
	run_test("closing_in_the_middle", closing_in_the_middle);
	run_test("killed_in_the_middle", killed_in_the_middle);
	run_test("memory_disappears_meanwhile", memory_disappears_meanwhile);
	run_test("nothing_is_leaked", nothing_is_leaked);
	return failures != 0;
}
