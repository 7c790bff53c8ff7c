/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Callbacks come when their event gets there in simulated time, on a thread
 * that takes none of the program's signals; of what fails, and in a program
 * that forks. */
#define _GNU_SOURCE
#include "cl_test.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How much later than its time a callback may come: the thread has to wake up,
 * and fetches what is ready by then. */
#define LATE_NS 100000
#define ROUNDS 3000000u
#define MANY 10000

static const char source[] =
	"__kernel void spin(__global uint *c, uint rounds)"
	"{ uint s = 1;"
	"  for (uint i = 0; i < rounds; i++) s = s * 1664525u + (1013904223u ^ i);"
	"  c[0] += 1; c[1] = s; }";

static cl_program program;
static pthread_t main_thread;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int calls;

static void called(void)
{
	pthread_mutex_lock(&lock);
	calls++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void wait_for(int wanted)
{
	struct timespec end;
	int late = 0;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 60;
	pthread_mutex_lock(&lock);
	while (calls < wanted && !late)
		late = pthread_cond_timedwait(&changed, &lock, &end);
	CHECK(calls == wanted);
	calls = 0;
	pthread_mutex_unlock(&lock);
}

struct heard {
	uint64_t at_ns;
	cl_int status;
	int on_main;
	const volatile uint32_t *word;
	uint32_t value;
};

static void on_event(cl_event event, cl_int status, void *data)
{
	struct heard *heard = data;

	(void)event;
	heard->at_ns = now_ns();
	heard->status = status;
	heard->on_main = pthread_equal(pthread_self(), main_thread);
	heard->value = heard->word ? *heard->word : 0;
	called();
}

static cl_event launch(struct gpu *gpu, cl_mem buffer, uint32_t rounds)
{
	cl_kernel kernel = kernel_of(program, "spin");
	size_t one = 1;
	cl_event event;

	NEED(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
	NEED(clSetKernelArg(kernel, 1, sizeof(rounds), &rounds));
	NEED(clEnqueueNDRangeKernel(gpu->queue, kernel, 1, NULL, &one, &one, 0,
				    NULL, &event));
	clReleaseKernel(kernel);
	return event;
}

static cl_ulong profile(cl_event event, cl_profiling_info name)
{
	cl_ulong at = 0;

	NEED(clGetEventProfilingInfo(event, name, sizeof(at), &at, NULL));
	return at;
}

static void in_time(const char *what, const struct heard *heard, cl_ulong due)
{
	int64_t late = heard->at_ns - due;

	if (late < 0 || late > LATE_NS || heard->on_main) {
		printf("# %s: %lld ns after its time%s\n", what, (long long)late,
		       heard->on_main ? ", on the main thread" : "");
		failures++;
	}
}

/* While the program sleeps, and while it waits for the queue. */
static void at_their_time(struct gpu *gpu)
{
	cl_mem buffer = buffer_of(gpu, 8);

	for (int n = 0; n < 4; n++) {
		struct heard running = { 0 }, complete = { 0 };
		cl_event event = launch(gpu, buffer, ROUNDS);

		NEED(clSetEventCallback(event, CL_RUNNING, on_event, &running));
		NEED(clSetEventCallback(event, CL_COMPLETE, on_event, &complete));
		if (n % 2)
			NEED(clFinish(gpu->queue));
		wait_for(2);
		CHECK(running.status == CL_RUNNING);
		CHECK(complete.status == CL_COMPLETE);
		/* It began before the program could ask for more. */
		CHECK(running.at_ns >= profile(event, CL_PROFILING_COMMAND_START));
		CHECK(running.at_ns < profile(event, CL_PROFILING_COMMAND_END));
		in_time("complete", &complete,
			profile(event, CL_PROFILING_COMMAND_END));
		clReleaseEvent(event);
	}
	clReleaseMemObject(buffer);
}

/* An operation in a row of others: each at its own end. */
static void in_a_row(struct gpu *gpu)
{
	struct heard heard[8];
	cl_mem buffer = buffer_of(gpu, 8);
	cl_event event[8], gate;
	cl_int error;

	/* Making kernels occupies the CPU: they start when all are made. */
	gate = clCreateUserEvent(gpu->context, &error);
	NEED(error);
	NEED(clEnqueueMarkerWithWaitList(gpu->queue, 1, &gate, NULL));
	memset(heard, 0, sizeof(heard));
	for (int n = 0; n < 8; n++) {
		event[n] = launch(gpu, buffer, ROUNDS);
		NEED(clSetEventCallback(event[n], CL_COMPLETE, on_event,
					&heard[n]));
	}
	NEED(clSetUserEventStatus(gate, CL_COMPLETE));
	clReleaseEvent(gate);
	wait_for(8);
	for (int n = 0; n < 8; n++) {
		in_time("row", &heard[n],
			profile(event[n], CL_PROFILING_COMMAND_END));
		clReleaseEvent(event[n]);
	}
	clReleaseMemObject(buffer);
}

/* What the operation brings is there when its callback is called. */
static void output_is_there(struct gpu *gpu)
{
	uint32_t *words = calloc(2, sizeof(*words));
	struct heard heard = { .word = words };
	cl_mem buffer = buffer_of(gpu, 8);
	uint32_t zero[2] = { 41, 0 };
	cl_event event, read;

	NEED(clEnqueueWriteBuffer(gpu->queue, buffer, CL_TRUE, 0, sizeof(zero),
				  zero, 0, NULL, NULL));
	event = launch(gpu, buffer, ROUNDS);
	NEED(clEnqueueReadBuffer(gpu->queue, buffer, CL_FALSE, 0, 8, words, 1,
				 &event, &read));
	NEED(clSetEventCallback(read, CL_COMPLETE, on_event, &heard));
	CHECK(words[0] == 0);
	wait_for(1);
	CHECK(heard.value == 42);
	in_time("read", &heard, profile(read, CL_PROFILING_COMMAND_END));
	clReleaseEvent(event);
	clReleaseEvent(read);
	clReleaseMemObject(buffer);
	free(words);
}

static int threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int count = 0;

	while (tasks && readdir(tasks))
		count++;
	if (tasks)
		closedir(tasks);
	return count - 2;
}

static void many(struct gpu *gpu)
{
	static struct heard heard[MANY];
	cl_int error;
	cl_event user = clCreateUserEvent(gpu->context, &error), marker;

	NEED(clEnqueueMarkerWithWaitList(gpu->queue, 1, &user, &marker));
	for (int n = 0; n < MANY; n++)
		NEED(clSetEventCallback(n % 2 ? user : marker, CL_COMPLETE,
					on_event, &heard[n]));
	CHECK(threads() <= 2);
	NEED(clSetUserEventStatus(user, CL_COMPLETE));
	wait_for(MANY);
	for (int n = 0; n < MANY; n++)
		CHECK(heard[n].status == CL_COMPLETE && !heard[n].on_main);
	clReleaseEvent(user);
	clReleaseEvent(marker);
}

/* All moments of what fails come with the error. */
static void errors(struct gpu *gpu)
{
	struct heard user_heard = { 0 }, heard[3] = { { 0 } };
	cl_int error, types[3] = { CL_SUBMITTED, CL_RUNNING, CL_COMPLETE };
	cl_mem buffer = buffer_of(gpu, 8);
	cl_event user = clCreateUserEvent(gpu->context, &error), read;
	uint32_t words[2];

	NEED(clEnqueueReadBuffer(gpu->queue, buffer, CL_FALSE, 0, 8, words, 1,
				 &user, &read));
	NEED(clSetEventCallback(user, CL_COMPLETE, on_event, &user_heard));
	for (int n = 0; n < 3; n++)
		NEED(clSetEventCallback(read, types[n], on_event, &heard[n]));
	NEED(clSetUserEventStatus(user, -5));
	wait_for(4);
	CHECK(user_heard.status == -5);
	for (int n = 0; n < 3; n++)
		CHECK(heard[n].status < 0);
	EXPECT(clWaitForEvents(1, &read),
	       CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
	clReleaseEvent(user);
	clReleaseEvent(read);
	clReleaseMemObject(buffer);
}

static volatile sig_atomic_t alarms, elsewhere;

static void on_alarm(int number)
{
	(void)number;
	alarms++;
	if (!pthread_equal(pthread_self(), main_thread))
		elsewhere++;
}

static void signals(struct gpu *gpu)
{
	struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action;
	struct heard heard = { 0 };
	cl_mem buffer = buffer_of(gpu, 8);
	cl_event event = launch(gpu, buffer, ROUNDS);

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_alarm;
	sigaction(SIGALRM, &action, NULL);
	NEED(clSetEventCallback(event, CL_COMPLETE, on_event, &heard));
	setitimer(ITIMER_REAL, &often, NULL);
	NEED(clFinish(gpu->queue));
	wait_for(1);
	setitimer(ITIMER_REAL, &never, NULL);
	CHECK(heard.status == CL_COMPLETE);
	CHECK(alarms > 0 && elsewhere == 0);
	clReleaseEvent(event);
	clReleaseMemObject(buffer);
}

/* A child has none of its parent's callbacks, and disturbs none. */
static void forks(struct gpu *gpu)
{
	struct heard heard = { 0 };
	cl_int error;
	cl_event user = clCreateUserEvent(gpu->context, &error);
	int status = -1;
	pid_t child;

	NEED(clSetEventCallback(user, CL_COMPLETE, on_event, &heard));
	child = fork();
	if (child == 0) {
		usleep(20000);
		exit(calls == 0 && clSetUserEventStatus(user, 0) != CL_SUCCESS &&
		     clSetEventCallback(user, CL_COMPLETE, on_event, &heard) !=
			     CL_SUCCESS ? 0 : 1);
	}
	waitpid(child, &status, 0);
	CHECK(status == 0);
	NEED(clSetUserEventStatus(user, CL_COMPLETE));
	wait_for(1);
	CHECK(heard.status == CL_COMPLETE);
	clReleaseEvent(user);
}

int main(void)
{
	struct gpu gpu = first_gpu();

	main_thread = pthread_self();
	program = build(&gpu, source);
	run_test("callbacks come at their time", at_their_time, &gpu);
	run_test("callbacks come at each end in a row", in_a_row, &gpu);
	run_test("output is there when its callback is called", output_is_there,
		 &gpu);
	run_test("errors reach every callback", errors, &gpu);
	run_test("callbacks take no signals", signals, &gpu);
	run_test("a child has none of its parent's callbacks", forks, &gpu);
	run_test("ten thousand callbacks have one thread", many, &gpu);
	return failures != 0;
}
