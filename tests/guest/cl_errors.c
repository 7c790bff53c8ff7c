/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* On a board that refuses launches whose answer nobody waits for: the event,
 * the context's function and the next call that waits say so. */
#define _GNU_SOURCE
#include "cl_test.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* The error that the board is made to return. */
#define REFUSED (-54)

static const char source[] =
	"__kernel void add(__global uint *c, uint n) { c[0] += n; }";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int calls, on_main;
static char said[2048];
static uint64_t called_ns;
static void *called_with;
static pthread_t main_thread;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

static void CL_CALLBACK on_error(const char *errinfo, const void *private_info,
				 size_t cb, void *user_data)
{
	(void)private_info;
	(void)cb;
	pthread_mutex_lock(&lock);
	calls++;
	called_ns = now_ns();
	on_main |= pthread_equal(pthread_self(), main_thread);
	snprintf(said, sizeof(said), "%s", errinfo);
	called_with = user_data;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* Waits for so many calls; there must be no more of them. */
static void calls_are(int wanted)
{
	const struct timespec moment = { 0, 5000000 };
	struct timespec end;
	int late = 0;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 60;
	pthread_mutex_lock(&lock);
	while (calls < wanted && !late)
		late = pthread_cond_timedwait(&changed, &lock, &end);
	pthread_mutex_unlock(&lock);
	nanosleep(&moment, NULL);
	CHECK(calls == wanted);
	calls = 0;
}

static const size_t one = 1;
static cl_program program;
static cl_kernel kernel;
static cl_mem buffer;

static void launch(struct gpu *gpu, cl_event *event)
{
	EXPECT(clEnqueueNDRangeKernel(gpu->queue, kernel, 1, NULL, &one, NULL, 0, NULL,
				      event),
	       CL_SUCCESS);
}

/* A launch that the board judges, and one like it that goes along later. */
static void launch_twice(struct gpu *gpu, cl_event *event)
{
	const cl_uint n = 1;

	if (kernel)
		EXPECT(clReleaseKernel(kernel), CL_SUCCESS);
	kernel = kernel_of(program, "add");
	EXPECT(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), CL_SUCCESS);
	EXPECT(clSetKernelArg(kernel, 1, sizeof(n), &n), CL_SUCCESS);
	launch(gpu, NULL);
	launch(gpu, event);
}

static cl_int status_of(cl_event event)
{
	cl_int status = 1;

	EXPECT(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
			      &status, NULL),
	       CL_SUCCESS);
	return status;
}

static void finish_says_it(struct gpu *gpu)
{
	uint64_t before_ns = now_ns();
	cl_event event;

	launch_twice(gpu, &event);
	CHECK(calls == 0);
	EXPECT(clFinish(gpu->queue), REFUSED);
	EXPECT(status_of(event), REFUSED);
	calls_are(1);
	CHECK(strstr(said, "clEnqueueNDRangeKernel") && strstr(said, "-54"));
	CHECK(called_with == &calls && !on_main);
	CHECK(called_ns > before_ns && called_ns < now_ns());
	EXPECT(clFinish(gpu->queue), CL_SUCCESS);
	EXPECT(clReleaseEvent(event), CL_SUCCESS);
	calls_are(0);
}

/* After that, the board judges the like of it again, which it does not refuse. */
static void the_next_is_judged(struct gpu *gpu)
{
	launch_twice(gpu, NULL);
	EXPECT(clFinish(gpu->queue), REFUSED);
	launch(gpu, NULL);
	EXPECT(clFinish(gpu->queue), CL_SUCCESS);
	calls_are(1);
}

static void blocking_calls_say_it(struct gpu *gpu)
{
	cl_uint word;
	cl_int error;
	void *mapped;

	launch_twice(gpu, NULL);
	EXPECT(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 0, 4, &word, 0, NULL, NULL),
	       REFUSED);
	EXPECT(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 0, 4, &word, 0, NULL, NULL),
	       CL_SUCCESS);
	launch_twice(gpu, NULL);
	mapped = clEnqueueMapBuffer(gpu->queue, buffer, CL_TRUE, CL_MAP_READ, 0, 4, 0, NULL,
				    NULL, &error);
	CHECK(!mapped && error == REFUSED);
	EXPECT(clFinish(gpu->queue), CL_SUCCESS);
	calls_are(2);
}

static void events_say_it(struct gpu *gpu)
{
	cl_event event, other;

	launch_twice(gpu, &event);
	EXPECT(clWaitForEvents(1, &event), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
	EXPECT(clFinish(gpu->queue), CL_SUCCESS);
	EXPECT(clReleaseEvent(event), CL_SUCCESS);
	/* A wait for another event does not report it. */
	launch_twice(gpu, NULL);
	EXPECT(clEnqueueReadBuffer(gpu->queue, buffer, CL_FALSE, 0, 4, &(cl_uint){ 0 }, 0,
				   NULL, &other),
	       CL_SUCCESS);
	EXPECT(clWaitForEvents(1, &other), CL_SUCCESS);
	EXPECT(clFinish(gpu->queue), REFUSED);
	EXPECT(clReleaseEvent(other), CL_SUCCESS);
	calls_are(2);
}

static void other_queues_do_not(struct gpu *gpu)
{
	cl_int error;
	cl_command_queue other = clCreateCommandQueue(gpu->context, gpu->device, 0, &error);

	launch_twice(gpu, NULL);
	EXPECT(clFinish(other), CL_SUCCESS);
	EXPECT(clFinish(gpu->queue), REFUSED);
	EXPECT(clReleaseCommandQueue(other), CL_SUCCESS);
	calls_are(1);
}

static void contexts_without_a_function_are_quiet(struct gpu *gpu)
{
	struct gpu quiet = first_gpu();
	cl_program program_before = program;
	cl_mem buffer_before = buffer;

	(void)gpu;
	program = build(&quiet, source);
	buffer = buffer_of(&quiet, 4);
	launch_twice(&quiet, NULL);
	EXPECT(clFinish(quiet.queue), REFUSED);
	EXPECT(clReleaseMemObject(buffer), CL_SUCCESS);
	EXPECT(clReleaseProgram(program), CL_SUCCESS);
	EXPECT(clReleaseCommandQueue(quiet.queue), CL_SUCCESS);
	EXPECT(clReleaseContext(quiet.context), CL_SUCCESS);
	program = program_before;
	buffer = buffer_before;
	calls_are(0);
}

static void data_needs_a_function(struct gpu *gpu)
{
	cl_int error = 0;
	cl_context context;

	context = clCreateContext(NULL, 1, &gpu->device, NULL, &calls, &error);
	CHECK(!context && error == CL_INVALID_VALUE);
	context = clCreateContextFromType(NULL, CL_DEVICE_TYPE_ALL, on_error, NULL, &error);
	CHECK(context && error == CL_SUCCESS);
	EXPECT(clReleaseContext(context), CL_SUCCESS);
}

int main(void)
{
	struct gpu gpu = first_gpu();
	cl_int error;

	main_thread = pthread_self();
	NEED(clReleaseCommandQueue(gpu.queue));
	NEED(clReleaseContext(gpu.context));
	gpu.context = clCreateContext(NULL, 1, &gpu.device, on_error, &calls, &error);
	NEED(error);
	gpu.queue = clCreateCommandQueue(gpu.context, gpu.device, 0, &error);
	NEED(error);
	program = build(&gpu, source);
	buffer = buffer_of(&gpu, 4);
	run_test("clFinish says it", finish_says_it, &gpu);
	run_test("the next launch is judged", the_next_is_judged, &gpu);
	run_test("blocking calls say it", blocking_calls_say_it, &gpu);
	run_test("events say it", events_say_it, &gpu);
	run_test("other queues do not", other_queues_do_not, &gpu);
	run_test("contexts without a function are quiet",
		 contexts_without_a_function_are_quiet, &gpu);
	run_test("data needs a function", data_needs_a_function, &gpu);
	return failures != 0;
}
