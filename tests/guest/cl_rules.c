/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The rules of the path, seen from a program: a signal in the middle of a
 * call, a fork, threads of which one waits for what the other causes, memory
 * that cannot be pinned, handles that are none. */
#define _GNU_SOURCE
#include "cl_test.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Counts its own executions in c[0]; c[1] is a value that takes `rounds` steps
 * to find. */
static const char source[] =
	"__kernel void count(__global uint *c, uint rounds)"
	"{ uint s = 1;"
	"  for (uint i = 0; i < rounds; i++) s = s * 1664525u + (1013904223u ^ i);"
	"  c[0] += 1; c[1] = s; }"
	"__kernel void add(__global uint *c, uint n) { c[0] += n; }";

static cl_program program;

static uint32_t spin(uint32_t rounds)
{
	uint32_t s = 1;

	for (uint32_t i = 0; i < rounds; i++)
		s = s * 1664525u + (1013904223u ^ i);
	return s;
}

static cl_mem counter_of(struct gpu *gpu)
{
	uint32_t zero[2] = { 0, 0 };
	cl_mem buffer = buffer_of(gpu, sizeof(zero));

	NEED(clEnqueueWriteBuffer(gpu->queue, buffer, CL_TRUE, 0, sizeof(zero),
				  zero, 0, NULL, NULL));
	return buffer;
}

static cl_kernel kernel_with(const char *name, cl_mem buffer, uint32_t n)
{
	cl_kernel kernel = kernel_of(program, name);

	NEED(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
	NEED(clSetKernelArg(kernel, 1, sizeof(n), &n));
	return kernel;
}

static cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint waits,
		     const cl_event *list, cl_event *event)
{
	size_t one = 1;

	return clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, waits,
				      list, event);
}

static uint32_t first_word(struct gpu *gpu, cl_mem buffer)
{
	uint32_t word = UINT32_MAX;

	NEED(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 0, sizeof(word),
				 &word, 0, NULL, NULL));
	return word;
}

/* ---- signals ---- */

static volatile sig_atomic_t signals;

static void on_alarm(int number)
{
	(void)number;
	signals++;
}

static void alarms(long microseconds)
{
	struct itimerval timer = { { 0, microseconds }, { 0, microseconds } };
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_alarm; /* without SA_RESTART */
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

#define ROUNDS 20000000u

/* Each way to wait, with an alarm every 500 microseconds. */
static void signal_in_a_call(struct gpu *gpu)
{
	cl_mem buffer = counter_of(gpu);
	cl_kernel count = kernel_with("count", buffer, ROUNDS);
	uint32_t got[2] = { 0, 0 }, wanted = spin(ROUNDS);
	cl_event event;

	alarms(500);
	NEED(launch(gpu->queue, count, 0, NULL, NULL));
	EXPECT(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 0, sizeof(got),
				   got, 0, NULL, NULL), CL_SUCCESS);
	CHECK(got[0] == 1 && got[1] == wanted);
	NEED(launch(gpu->queue, count, 0, NULL, NULL));
	EXPECT(clFinish(gpu->queue), CL_SUCCESS);
	NEED(launch(gpu->queue, count, 0, NULL, &event));
	EXPECT(clWaitForEvents(1, &event), CL_SUCCESS);
	alarms(0);
	CHECK(signals > 0);
	CHECK(first_word(gpu, buffer) == 3);
	clReleaseEvent(event);
	clReleaseKernel(count);
	clReleaseMemObject(buffer);
}

/* ---- fork ---- */

/* In the child every way in fails; its exit hands nothing over. */
static void child(struct gpu *gpu, cl_kernel add, cl_mem buffer)
{
	uint32_t word = 1000;
	cl_uint count;
	cl_int error;

	CHECK(clSetKernelArg(add, 1, sizeof(word), &word) != CL_SUCCESS);
	CHECK(launch(gpu->queue, add, 0, NULL, NULL) != CL_SUCCESS);
	CHECK(clFinish(gpu->queue) != CL_SUCCESS);
	CHECK(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 0, sizeof(word),
				  &word, 0, NULL, NULL) != CL_SUCCESS);
	CHECK(clCreateBuffer(gpu->context, 0, 4, NULL, &error) == NULL &&
	      error != CL_SUCCESS);
	CHECK(clGetPlatformIDs(0, NULL, &count) != CL_SUCCESS || count == 0);
	exit(failures != 0);
}

static void fork_in_the_middle(struct gpu *gpu)
{
	cl_mem buffer = counter_of(gpu);
	cl_kernel add = kernel_with("add", buffer, 5); /* two waiting posts */
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		child(gpu, add, buffer);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	NEED(launch(gpu->queue, add, 0, NULL, NULL));
	CHECK(first_word(gpu, buffer) == 5);
	NEED(launch(gpu->queue, add, 0, NULL, NULL));
	CHECK(first_word(gpu, buffer) == 10);
	clReleaseKernel(add);
	clReleaseMemObject(buffer);
}

/* ---- threads ---- */

struct waiter {
	struct gpu *gpu;
	cl_command_queue queue;
	cl_event event;
	cl_mem buffer;
	cl_int result;
	uint32_t word;
	atomic_int_fast32_t *set;
	int early;
};

static void *waits_for_event(void *data)
{
	struct waiter *w = data;

	w->result = clWaitForEvents(1, &w->event);
	w->early = !__atomic_load_n(w->set, __ATOMIC_SEQ_CST);
	return NULL;
}

static void *finishes(void *data)
{
	struct waiter *w = data;

	w->result = clFinish(w->queue);
	w->early = !__atomic_load_n(w->set, __ATOMIC_SEQ_CST);
	return NULL;
}

static void *reads(void *data)
{
	struct waiter *w = data;

	w->result = clEnqueueReadBuffer(w->queue, w->buffer, CL_TRUE, 0,
					sizeof(w->word), &w->word, 0, NULL,
					NULL);
	w->early = !__atomic_load_n(w->set, __ATOMIC_SEQ_CST);
	return NULL;
}
