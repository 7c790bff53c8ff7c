/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Output of commands that do not block, while their thread waits for something
 * else, builds a program, has to share its CPU, or another process works: it
 * arrives at its simulated end. The argument is one of these. */
#define _GNU_SOURCE
#include "cl_test.h"

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N 1024
#define READS 8
#define ROUNDS 20
#define THREADS 4

static const char SOURCE[] =
	"__kernel void add(__global uint *x) { x[get_global_id(0)] += 1; }";

static volatile int stop;
static unsigned back[THREADS][READS][N];

struct worker {
	struct gpu gpu;
	cl_kernel kernel;
	cl_mem buffer;
};

static struct worker worker(void)
{
	struct worker it = {.gpu = first_gpu()};
	unsigned zero = 0;

	it.kernel = kernel_of(build(&it.gpu, SOURCE), "add");
	it.buffer = buffer_of(&it.gpu, sizeof(back[0][0]));
	NEED(clEnqueueFillBuffer(it.gpu.queue, it.buffer, &zero, sizeof(zero), 0,
				 sizeof(back[0][0]), 0, NULL, NULL));
	NEED(clSetKernelArg(it.kernel, 0, sizeof(it.buffer), &it.buffer));
	NEED(clFinish(it.gpu.queue));
	return it;
}

/* A kernel and a read of what it made, READS times. */
static void reads(struct worker *it, unsigned to[READS][N], cl_event *last)
{
	size_t size = N;

	for (int n = 0; n < READS; n++) {
		NEED(clEnqueueNDRangeKernel(it->gpu.queue, it->kernel, 1, NULL, &size, NULL,
					    0, NULL, NULL));
		NEED(clEnqueueReadBuffer(it->gpu.queue, it->buffer, CL_FALSE, 0,
					 sizeof(to[n]), to[n], 0, NULL,
					 n == READS - 1 ? last : NULL));
	}
	NEED(clFlush(it->gpu.queue));
}

static void work(long ns)
{
	struct timespec now;
	long end;

	clock_gettime(CLOCK_MONOTONIC, &now);
	end = now.tv_sec * 1000000000L + now.tv_nsec + ns;
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (now.tv_sec * 1000000000L + now.tv_nsec < end);
}

/* One wait for all of them. */
static void waits(int n)
{
	struct worker it = worker();

	for (int round = 0; round < ROUNDS; round++) {
		reads(&it, back[n], NULL);
		if (round % 3 == 0)
			work(3000000);
		NEED(clFinish(it.gpu.queue));
		CHECK(back[n][READS - 1][N - 1] == (unsigned)(round + 1) * READS);
	}
}

/* A call that takes its time while they go on. */
static void builds(int n)
{
	struct worker it = worker();

	for (int round = 0; round < 5; round++) {
		reads(&it, back[n], NULL);
		build(&it.gpu, SOURCE);
		NEED(clFinish(it.gpu.queue));
	}
}

static void *burns(void *unused)
{
	(void)unused;
	while (!stop)
		work(100000);
	return NULL;
}

/* Threads that leave their CPU to nobody, beside the one that waits. */
static void shares(int n)
{
	pthread_t threads[THREADS];

	for (int t = 0; t < THREADS; t++)
		pthread_create(&threads[t], NULL, burns, NULL);
	waits(n);
	stop = 1;
	for (int t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
}

static void *waits_thread(void *n)
{
	waits((int)(long)n);
	return NULL;
}

/* Several threads that each wait for their own. */
static void threads(int n)
{
	pthread_t threads[THREADS];

	(void)n;
	for (long t = 0; t < THREADS; t++)
		pthread_create(&threads[t], NULL, waits_thread, (void *)t);
	for (int t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
}

/* Several processes that do. */
static void processes(int n)
{
	int status;

	for (int t = 0; t < THREADS; t++)
		if (!fork()) {
			waits(n);
			exit(failures != 0);
		}
	for (int t = 0; t < THREADS; t++)
		CHECK(wait(&status) > 0 && status == 0);
}

static void CL_CALLBACK called(cl_event event, cl_int status, void *count)
{
	(void)event;
	CHECK(status == CL_COMPLETE);
	work(2000000);
	__atomic_add_fetch((int *)count, 1, __ATOMIC_RELEASE);
}

/* Callbacks that work, and a thread that sleeps meanwhile. */
static void calls(int n)
{
	struct worker it = worker();
	int count = 0;

	for (int round = 0; round < ROUNDS; round++) {
		cl_event last;

		reads(&it, back[n], &last);
		NEED(clSetEventCallback(last, CL_COMPLETE, called, &count));
		while (__atomic_load_n(&count, __ATOMIC_ACQUIRE) <= round)
			usleep(500);
		CHECK(back[n][READS - 1][N - 1] == (unsigned)(round + 1) * READS);
		NEED(clReleaseEvent(last));
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(int);
	} all[] = {
		{"waits", waits},     {"builds", builds},       {"shares", shares},
		{"threads", threads}, {"processes", processes}, {"calls", calls},
	};

	for (size_t n = 0; n < sizeof(all) / sizeof(*all); n++)
		if (argc > 1 && !strcmp(argv[1], all[n].name)) {
			all[n].run(0);
			printf("%s %s\n", failures ? "not ok" : "ok", all[n].name);
		}
	return failures != 0;
}
