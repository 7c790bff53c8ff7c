/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What an empty kernel and what copies cost beside themselves. Prints the device's name, then
 * for each repetition, in nanoseconds:
 *
 *     launch ONE MANY LAUNCH DEVICE COLD
 *     to BYTES TIME
 *     from BYTES TIME
 *
 * ONE: a launch and a clFinish, one after the other without a pause. MANY: so many launches
 * as the second argument says, and a clFinish. LAUNCH: by the device's timers, from the call
 * until the kernel started; DEVICE: how long each of many was executed. COLD: as ONE, after a
 * pause. TIME: a copy to the device that does not block, a launch and a blocking copy of 4 bytes
 * back; or a launch and a blocking copy back. The first argument is the number of repetitions. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Repetitions that do not count: caches are cold, and drivers compile. */
#define WARM 5
/* Nanoseconds in which the device goes to sleep, as between a program's launches. */
#define PAUSE 2000000
/* Turns of which ONE is the mean. */
#define TURNS 16
/* Most launches in a row. */
#define NUMBER_MAX 1024
/* Bytes of the greatest copy. */
#define BYTES_MAX (4 << 20)

static cl_command_queue queue, profiled;
static cl_kernel kernel;
static cl_mem large;
/* What is copied there is never what copies back wrote: that may be in no cache. */
static char *host, *out;

static void need(cl_int error, int line)
{
	if (error) {
		fprintf(stderr, "launches.c:%d: OpenCL's error %d\n", line, error);
		exit(1);
	}
}
#define NEED(call) need(call, __LINE__)

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void launch(cl_command_queue on, cl_event *event)
{
	size_t one = 1;

	NEED(clEnqueueNDRangeKernel(on, kernel, 1, NULL, &one, &one, 0, NULL, event));
}

static long long launches(int number)
{
	long long began = now();

	for (int n = 0; n < number; n++)
		launch(queue, NULL);
	NEED(clFinish(queue));
	return now() - began;
}

static long long between(cl_event event, cl_profiling_info from, cl_profiling_info to)
{
	cl_ulong start, end;

	NEED(clGetEventProfilingInfo(event, from, sizeof(start), &start, NULL));
	NEED(clGetEventProfilingInfo(event, to, sizeof(end), &end, NULL));
	return (long long)(end - start);
}

static void set_up(void)
{
	const char *source = "kernel void k(global int *a) { a[0] = 1; }";
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_program program;
	cl_mem buffer;
	cl_int error;
	char name[256];

	NEED(clGetPlatformIDs(1, &platform, NULL));
	NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	NEED(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, NULL));
	printf("%s\n", name);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	NEED(error);
	queue = clCreateCommandQueue(context, device, 0, &error);
	NEED(error);
	profiled = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &error);
	NEED(error);
	buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(int), NULL, &error);
	NEED(error);
	program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
	NEED(error);
	NEED(clBuildProgram(program, 1, &device, "", NULL, NULL));
	kernel = clCreateKernel(program, "k", &error);
	NEED(error);
	NEED(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
	large = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES_MAX, NULL, &error);
	NEED(error);
	host = malloc(BYTES_MAX);
	out = malloc(BYTES_MAX);
	if (!host || !out)
		exit(1);
	/* Each page is one of its own. */
	memset(host, 1, BYTES_MAX);
	memset(out, 1, BYTES_MAX);
}

static long long turn(void)
{
	long long began = now();

	for (int n = 0; n < TURNS; n++) {
		launch(queue, NULL);
		NEED(clFinish(queue));
	}
	return (now() - began) / TURNS;
}

/* From the call to the start, of kernels one at a time. */
static long long latency(void)
{
	long long all = 0;

	for (int n = 0; n < TURNS; n++) {
		cl_event event;

		launch(profiled, &event);
		NEED(clWaitForEvents(1, &event));
		all += between(event, CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_START);
		NEED(clReleaseEvent(event));
	}
	return all / TURNS;
}

/* How long each of many kernels is executed. */
static long long executed(int number)
{
	static cl_event events[NUMBER_MAX];
	long long all = 0;

	for (int n = 0; n < number; n++)
		launch(profiled, &events[n]);
	NEED(clFinish(profiled));
	for (int n = 0; n < number; n++) {
		all += between(events[n], CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END);
		NEED(clReleaseEvent(events[n]));
	}
	return all / number;
}

static long long copy(int is_to, size_t bytes)
{
	size_t back = is_to ? 4 : bytes;
	long long began;

	began = now();
	if (is_to)
		NEED(clEnqueueWriteBuffer(queue, large, CL_FALSE, 0, bytes, host, 0, NULL,
					  NULL));
	launch(queue, NULL);
	NEED(clEnqueueReadBuffer(queue, large, CL_TRUE, 0, back, out, 0, NULL, NULL));
	return now() - began;
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = { 4, 1 << 12, 1 << 14, 1 << 16, 1 << 17, 1 << 18,
		1 << 20, BYTES_MAX };
	const struct timespec pause = { .tv_nsec = PAUSE };
	int repetitions = argc > 1 ? atoi(argv[1]) : 0;
	int number = argc > 2 ? atoi(argv[2]) : 0;

	if (repetitions < 1 || number < 2 || number > NUMBER_MAX) {
		fprintf(stderr, "usage: launches REPETITIONS NUMBER\n");
		return 2;
	}
	set_up();
	for (int n = -WARM; n < repetitions; n++) {
		long long cold, one, many, start, each;

		nanosleep(&pause, NULL);
		cold = launches(1);
		turn();
		one = turn();
		many = launches(number);
		start = latency();
		each = executed(number);
		if (n >= 0)
			printf("launch %lld %lld %lld %lld %lld\n", one, many, start, each, cold);
		for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
			for (int is_to = 0; is_to < 2; is_to++) {
				long long time;

				copy(is_to, sizes[k]);
				time = copy(is_to, sizes[k]);
				if (n >= 0)
					printf("%s %zu %lld\n", is_to ? "to" : "from", sizes[k], time);
			}
		}
	}
	return 0;
}
