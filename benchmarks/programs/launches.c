/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What an empty kernel costs beside itself. Prints the device's name, then one line for
 * each repetition, in nanoseconds:
 *
 *     ONE MANY LAUNCH DEVICE
 *
 * ONE: a launch and a clFinish. MANY: so many launches as the second argument says, and a
 * clFinish. LAUNCH: by the device's timers, from the call until the kernel started; DEVICE:
 * how long it was executed. The first argument is the number of repetitions. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Repetitions that do not count: caches are cold, and drivers compile. */
#define WARM 5
/* Nanoseconds between repetitions: the device goes to sleep, as between a program's. */
#define PAUSE 2000000

static cl_command_queue queue, profiled;
static cl_kernel kernel;

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
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = PAUSE };
	int repetitions = argc > 1 ? atoi(argv[1]) : 0;
	int number = argc > 2 ? atoi(argv[2]) : 0;

	if (repetitions < 1 || number < 2) {
		fprintf(stderr, "usage: launches REPETITIONS NUMBER\n");
		return 2;
	}
	set_up();
	for (int n = -WARM; n < repetitions; n++) {
		long long one, many;
		cl_event event;

		nanosleep(&pause, NULL);
		one = launches(1);
		nanosleep(&pause, NULL);
		many = launches(number);
		nanosleep(&pause, NULL);
		launch(profiled, &event);
		NEED(clWaitForEvents(1, &event));
		if (n >= 0)
			printf("%lld %lld %lld %lld\n", one, many,
			       between(event, CL_PROFILING_COMMAND_QUEUED,
				       CL_PROFILING_COMMAND_START),
			       between(event, CL_PROFILING_COMMAND_START,
				       CL_PROFILING_COMMAND_END));
		NEED(clReleaseEvent(event));
	}
	return 0;
}
