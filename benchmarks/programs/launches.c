/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What an empty kernel and what copies cost beside themselves. Prints the device's name and
 *
 *     number NUMBER
 *
 * of its second argument, then for each repetition, in nanoseconds:
 *
 *     launch ONE MANY LAUNCH DEVICE COLD SUBMIT QUEUED POSTS
 *     to BYTES TIME
 *     from BYTES TIME
 *
 * ONE: a launch and a clFinish, one after the other without a pause. MANY: so many launches
 * as the second argument says, and a clFinish. LAUNCH: by the device's timers, from the call
 * until the kernel started; DEVICE: how long each of many was executed. COLD: as ONE, after a
 * pause. SUBMIT: of each of those launches, what the calls took. QUEUED: what each adds of so
 * many that were submitted while the device was busy. POSTS: 0, since boards do not say what
 * the calls of OpenCL take for which nobody waits. Before each launch its argument is set, as
 * most programs do. TIME: a copy to the device that does not block, a launch and a blocking copy of 4 bytes
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
#define TURNS 50
/* Most launches in a row. */
#define NUMBER_MAX 1024
/* Bytes of the greatest copy. */
#define BYTES_MAX (4 << 20)
/* Bytes that copies are from, and as many that they are to: each copy takes the next, since a
 * program's data are seldom in the CPU's first caches, and often in its last. */
#define BYTES_ALL (16 << 20)
/* From so many on it takes the first ones each time, as a program does that has one large
 * buffer. */
#define BYTES_LONG (1 << 20)
/* Up to so many bytes a copy's time is the mean of several, one after the other. */
#define BYTES_SHORT (64 << 10)
/* How many. */
#define COPIES 15
/* Turns with which a kernel keeps the device busy, at most. */
#define SPIN_MAX (1 << 23)

static cl_command_queue queue, profiled;
static cl_kernel kernel, spinning;
static cl_mem large, small;
static char *host, *out;
static size_t place;
static int turns = 1 << 10;

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

	NEED(clSetKernelArg(kernel, 0, sizeof(small), &small));
	NEED(clEnqueueNDRangeKernel(on, kernel, 1, NULL, &one, &one, 0, NULL, event));
}

static long long launches(int number, long long *submitted)
{
	long long began = now();

	for (int n = 0; n < number; n++)
		launch(queue, NULL);
	*submitted = now() - began;
	NEED(clFinish(queue));
	return now() - began;
}

/* The same behind a kernel that keeps the device busy. */
static long long behind(int number)
{
	long long began = now();
	size_t one = 1;

	NEED(clSetKernelArg(spinning, 1, sizeof(turns), &turns));
	NEED(clEnqueueNDRangeKernel(queue, spinning, 1, NULL, &one, &one, 0, NULL, NULL));
	for (int n = 0; n < number; n++)
		launch(queue, NULL);
	NEED(clFinish(queue));
	return now() - began;
}

/* What each of so many launches adds that are submitted while the device is busy. */
static long long queued(int number)
{
	long long one = behind(1), all = behind(number);

	return all > one ? (all - one) / (number - 1) : 0;
}

/* Makes the device busy for longer than it takes to submit so many launches. */
static void spin_for(int number)
{
	long long submitted;

	while (turns < SPIN_MAX && behind(1) < 3 * launches(number, &submitted))
		turns *= 2;
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
	const char *source =
		"kernel void k(global int *a) { a[0] = 1; }\n"
		"kernel void spin(global int *a, int turns) {\n"
		"	volatile int x = 0;\n"
		"	for (int i = 0; i < turns; i++) x += i;\n"
		"	a[0] = x;\n"
		"}\n";
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_program program;
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
	small = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(int), NULL, &error);
	NEED(error);
	program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
	NEED(error);
	NEED(clBuildProgram(program, 1, &device, "", NULL, NULL));
	kernel = clCreateKernel(program, "k", &error);
	NEED(error);
	spinning = clCreateKernel(program, "spin", &error);
	NEED(error);
	NEED(clSetKernelArg(spinning, 0, sizeof(small), &small));
	large = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES_MAX, NULL, &error);
	NEED(error);
	host = malloc(BYTES_ALL);
	out = malloc(BYTES_ALL);
	if (!host || !out)
		exit(1);
	/* Each page is one of its own. */
	memset(host, 1, BYTES_ALL);
	memset(out, 1, BYTES_ALL);
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

static long long copy_once(int is_to, size_t bytes)
{
	size_t back = is_to ? 4 : bytes;
	long long began;

	if (bytes >= BYTES_LONG || place + bytes > BYTES_ALL)
		place = 0;
	began = now();
	if (is_to)
		NEED(clEnqueueWriteBuffer(queue, large, CL_FALSE, 0, bytes, host + place, 0, NULL,
					  NULL));
	launch(queue, NULL);
	NEED(clEnqueueReadBuffer(queue, large, CL_TRUE, 0, back, out + place, 0, NULL, NULL));
	began = now() - began;
	place += bytes;
	return began;
}

static long long copy(int is_to, size_t bytes)
{
	int number = bytes <= BYTES_SHORT ? COPIES : 1;
	long long all = 0;

	copy_once(is_to, bytes);
	for (int n = 0; n < number; n++)
		all += copy_once(is_to, bytes);
	return all / number;
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = { 4, 1 << 12, 1 << 14, 1 << 16, 1 << 17, 1 << 18,
		1 << 20, 2 << 20, BYTES_MAX };
	const struct timespec pause = { .tv_nsec = PAUSE };
	int repetitions = argc > 1 ? atoi(argv[1]) : 0;
	int number = argc > 2 ? atoi(argv[2]) : 0;

	if (repetitions < 1 || number < 2 || number > NUMBER_MAX) {
		fprintf(stderr, "usage: launches REPETITIONS NUMBER\n");
		return 2;
	}
	set_up();
	printf("number %d\n", number);
	/* First: a driver that has had many launches at once may copy more slowly from then on,
	 * as NVIDIA's does (4 MiB in 0.53 ms and not in 0.39), which few programs make it do. */
	for (int n = -WARM; n < repetitions; n++) {
		for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
			for (int is_to = 0; is_to < 2; is_to++) {
				long long time = copy(is_to, sizes[k]);
				if (n >= 0)
					printf("%s %zu %lld\n", is_to ? "to" : "from", sizes[k], time);
			}
		}
	}
	spin_for(number);
	for (int n = -WARM; n < repetitions; n++) {
		long long cold, one, many, start, each, submitted, added;

		nanosleep(&pause, NULL);
		cold = launches(1, &submitted);
		turn();
		one = turn();
		many = launches(number, &submitted);
		start = latency();
		each = executed(number);
		added = queued(number);
		if (n >= 0)
			printf("launch %lld %lld %lld %lld %lld %lld %lld 0\n", one, many, start,
			       each, cold, submitted / number, added);
	}
	return 0;
}
