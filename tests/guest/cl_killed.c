/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program that is killed while the board works for it: it is gone at once,
 * its memory is nobody's business any more, and others go on. */
#define _GNU_SOURCE
#include "cl_test.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BYTES (4u << 20)

/* `rounds` is large: simulated time in which to kill. */
static const char source[] =
	"__kernel void fill(__global uint *c, uint rounds)"
	"{ uint s = 7;"
	"  for (uint i = 0; i < rounds; i++) s = s * 1664525u + (1013904223u ^ i);"
	"  c[get_global_id(0)] = s | 1; }";

#define ROUNDS 100000000u

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Enqueues a long kernel and a read behind it, says so, and waits in one of
 * three ways: in a blocking read; with the read's memory held by the board; or
 * behind a user event that nobody sets. */
static void victim(int way, int ready)
{
	struct gpu gpu = first_gpu();
	cl_program program = build(&gpu, source);
	cl_kernel fill = kernel_of(program, "fill");
	cl_mem buffer = buffer_of(&gpu, BYTES);
	void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cl_uint rounds = ROUNDS;
	size_t one = 1;
	cl_int error;
	cl_event user = clCreateUserEvent(gpu.context, &error);

	NEED(error);
	NEED(clSetKernelArg(fill, 0, sizeof(buffer), &buffer));
	NEED(clSetKernelArg(fill, 1, sizeof(rounds), &rounds));
	NEED(clEnqueueNDRangeKernel(gpu.queue, fill, 1, NULL, &one, &one,
				    way == 2, way == 2 ? &user : NULL, NULL));
	if (way > 0)
		NEED(clEnqueueReadBuffer(gpu.queue, buffer, CL_FALSE, 0, BYTES,
					 memory, 0, NULL, NULL));
	if (write(ready, "", 1) != 1)
		_exit(3);
	if (way > 0)
		clFinish(gpu.queue);
	else
		clEnqueueReadBuffer(gpu.queue, buffer, CL_TRUE, 0, BYTES,
				    memory, 0, NULL, NULL);
	_exit(4); /* not reached: killed before */
}

static void killed(int way)
{
	struct timespec moment = { 0, 2000000 };
	int ready[2], status = 0;
	char byte;
	long long before;
	pid_t child;

	CHECK(pipe(ready) == 0);
	child = fork();
	if (child == 0)
		victim(way, ready[1]);
	close(ready[1]);
	CHECK(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	nanosleep(&moment, NULL);
	before = now_ns();
	kill(child, SIGKILL);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	/* Exit never waits for the GPU: the kernel takes far longer. */
	CHECK(now_ns() - before < 20000000);
}

/* Pages that the victims gave back are this program's now: filled here, they
 * must keep what they hold while the board's late results find nobody. */
static void memory_stays(void)
{
	static unsigned char *pages;
	struct timespec long_after = { 2, 0 };
	size_t wrong = 0;

	pages = mmap(NULL, 64u << 20, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	CHECK(pages != MAP_FAILED);
	memset(pages, 0xa5, 64u << 20);
	nanosleep(&long_after, NULL);
	for (size_t i = 0; i < 64u << 20; i += 64)
		wrong += pages[i] != 0xa5;
	CHECK(wrong == 0);
	munmap(pages, 64u << 20);
}

static void say(const char *name)
{
	printf("%s %s\n", failures ? "not ok" : "ok", name);
	fflush(stdout);
}

static void others_go_on(struct gpu *gpu)
{
	cl_program program = build(gpu, source);
	cl_kernel fill = kernel_of(program, "fill");
	cl_mem buffer = buffer_of(gpu, 4);
	cl_uint rounds = 0, got = 0;
	size_t one = 1;

	NEED(clSetKernelArg(fill, 0, sizeof(buffer), &buffer));
	NEED(clSetKernelArg(fill, 1, sizeof(rounds), &rounds));
	NEED(clEnqueueNDRangeKernel(gpu->queue, fill, 1, NULL, &one, &one, 0,
				    NULL, NULL));
	NEED(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 0, 4, &got, 0,
				 NULL, NULL));
	CHECK(got == 7);
}

int main(void)
{
	struct gpu gpu;

	killed(0);
	say("killed in a blocking read");
	killed(1);
	say("killed with output outstanding");
	killed(2);
	say("killed behind a user event");
	memory_stays();
	say("memory given back stays untouched");
	gpu = first_gpu();
	run_test("others go on", others_go_on, &gpu);
	return failures != 0;
}
