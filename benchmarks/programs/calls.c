/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Makes calls of one kind after the other, and writes a line when a kind begins and
 * when it has ended, so that whoever reads them can measure. Arguments are pairs:
 *
 *     KIND NUMBER
 *
 * Kinds: `read` (blocking reads of 64 bytes), `launch` (launches of a kernel, and a
 * clFinish), `event` (the same, each with an event), `callback` (the same, each event
 * with a callback; ends when all have been called), `outstanding` (reads that do not
 * block, and a clFinish). */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BYTES 64

static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem buffer;

static void need(cl_int error, int line)
{
	if (error) {
		fprintf(stderr, "calls.c:%d: OpenCL's error %d\n", line, error);
		exit(1);
	}
}
#define NEED(call) need(call, __LINE__)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int called;

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *wanted)
{
	(void)event;
	NEED(status);
	pthread_mutex_lock(&lock);
	if (++called == *(int *)wanted)
		pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

static void read_blocking(int number)
{
	char bytes[BYTES];

	for (int n = 0; n < number; n++)
		NEED(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, BYTES, bytes,
					 0, NULL, NULL));
}

static void launch(cl_event *event)
{
	size_t one = 1;

	NEED(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL,
				    event));
}

static void launch_all(int number)
{
	for (int n = 0; n < number; n++)
		launch(NULL);
	NEED(clFinish(queue));
}

static void launch_with_events(int number)
{
	cl_event event;

	for (int n = 0; n < number; n++) {
		launch(&event);
		NEED(clReleaseEvent(event));
	}
	NEED(clFinish(queue));
}

static void launch_with_callbacks(int number)
{
	cl_event event;

	called = 0;
	for (int n = 0; n < number; n++) {
		launch(&event);
		NEED(clSetEventCallback(event, CL_COMPLETE, on_event, &number));
		NEED(clReleaseEvent(event));
	}
	NEED(clFinish(queue));
	pthread_mutex_lock(&lock);
	while (called < number)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void read_outstanding(int number)
{
	char *bytes = calloc(number, BYTES);

	if (!bytes)
		exit(1);
	for (int n = 0; n < number; n++)
		NEED(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, BYTES,
					 bytes + (size_t)n * BYTES, 0, NULL, NULL));
	NEED(clFinish(queue));
	free(bytes);
}

static const struct {
	const char *name;
	void (*make)(int number);
} kinds[] = {
	{ "read", read_blocking },
	{ "launch", launch_all },
	{ "event", launch_with_events },
	{ "callback", launch_with_callbacks },
	{ "outstanding", read_outstanding },
};

static void set_up(void)
{
	const char *source = "kernel void k(global int *a) { a[0] = 1; }";
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_program program;
	cl_int error;

	NEED(clGetPlatformIDs(1, &platform, NULL));
	NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	NEED(error);
	queue = clCreateCommandQueue(context, device, 0, &error);
	NEED(error);
	buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &error);
	NEED(error);
	program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
	NEED(error);
	NEED(clBuildProgram(program, 1, &device, "", NULL, NULL));
	kernel = clCreateKernel(program, "k", &error);
	NEED(error);
	NEED(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
}

/* Says so, and gives the line time to be passed on. */
static void say(const char *what)
{
	const struct timespec moment = { 0, 100000 };

	puts(what);
	fflush(stdout);
	nanosleep(&moment, NULL);
}

static void measure(const char *name, int number)
{
	for (size_t n = 0; n < sizeof(kinds) / sizeof(kinds[0]); n++) {
		if (strcmp(kinds[n].name, name))
			continue;
		kinds[n].make(number < 100 ? number : 100);
		say("begins");
		kinds[n].make(number);
		say("ended");
		return;
	}
	fprintf(stderr, "calls: no kind \"%s\"\n", name);
	exit(1);
}

int main(int argc, char **argv)
{
	set_up();
	for (int n = 1; n + 1 < argc; n += 2)
		measure(argv[n], atoi(argv[n + 1]));
	return 0;
}
