/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Small OpenCL programs whose times are known: what `gil calibrate programs` runs natively
 * and in the guest. Prints the device's name, then for each program and repetition:
 *
 *     NAME WALL DEVICE OPERATIONS SUM
 *
 * WALL: nanoseconds from the program's first call until its results are there. DEVICE: what
 * the device's timers say of the program's launches, which are OPERATIONS, executed once more
 * with profiling; of copies they say nothing. SUM: of the results' words, which are the same natively and in the guest. The first argument is the
 * number of repetitions, more are names of programs; none: all. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Repetitions that do not count: caches are cold, and drivers compile. */
#define WARM 2
/* Nanoseconds between repetitions, in which the device may go to sleep. */
#define PAUSE 1000000
/* Elements of a buffer. */
#define MOST (1 << 20)
#define BUFFERS 4
#define OPERATIONS_MAX 4096

static const char *source =
	"kernel void add(global float *a, global float *b, global float *c) {\n"
	"	size_t i = get_global_id(0); c[i] = a[i] + b[i];\n"
	"}\n"
	"kernel void axpy(global float *a, global float *b, float f) {\n"
	"	size_t i = get_global_id(0); b[i] = f * a[i] + b[i];\n"
	"}\n"
	"kernel void multiply(global float *a, global float *b, global float *c, int n) {\n"
	"	int x = get_global_id(0), y = get_global_id(1); float sum = 0;\n"
	"	for (int k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];\n"
	"	c[y * n + x] = sum;\n"
	"}\n"
	"kernel void tiled(global float *a, global float *b, global float *c, int n) {\n"
	"	local float p[8][8], q[8][8];\n"
	"	int x = get_global_id(0), y = get_global_id(1);\n"
	"	int u = get_local_id(0), v = get_local_id(1); float sum = 0;\n"
	"	for (int t = 0; t < n; t += 8) {\n"
	"		p[v][u] = a[y * n + t + u]; q[v][u] = b[(t + v) * n + x];\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"		for (int k = 0; k < 8; k++) sum += p[v][k] * q[k][u];\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	}\n"
	"	c[y * n + x] = sum;\n"
	"}\n"
	"kernel void transpose(global float *a, global float *b, int n) {\n"
	"	int x = get_global_id(0), y = get_global_id(1); b[x * n + y] = a[y * n + x];\n"
	"}\n"
	"kernel void sum(global float *a, global float *b) {\n"
	"	local float part[64]; int l = get_local_id(0);\n"
	"	part[l] = a[get_global_id(0)];\n"
	"	for (int s = 32; s > 0; s >>= 1) {\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"		if (l < s) part[l] += part[l + s];\n"
	"	}\n"
	"	if (l == 0) b[get_group_id(0)] = part[0];\n"
	"}\n"
	"kernel void bodies(global float4 *a, global float4 *b, int n) {\n"
	"	float4 me = a[get_global_id(0)]; float3 f = 0;\n"
	"	for (int k = 0; k < n; k++) {\n"
	"		float3 d = a[k].xyz - me.xyz; float r = dot(d, d) + 1e-3f;\n"
	"		f += d * (a[k].w / (r * sqrt(r)));\n"
	"	}\n"
	"	b[get_global_id(0)] = (float4)(me.xyz + f * 1e-3f, me.w);\n"
	"}\n"
	"kernel void mandel(global int *a, int n, int most) {\n"
	"	int x = get_global_id(0), y = get_global_id(1), k = 0;\n"
	"	float u = 0, v = 0, p = 3.0f * x / n - 2, q = 3.0f * y / n - 1.5f;\n"
	"	for (; k < most && u * u + v * v < 4; k++) {\n"
	"		float t = u * u - v * v + p; v = 2 * u * v + q; u = t;\n"
	"	}\n"
	"	a[y * n + x] = k;\n"
	"}\n"
	"kernel void stencil(global float *a, global float *b, int n) {\n"
	"	int x = get_global_id(0), y = get_global_id(1), i = y * n + x;\n"
	"	int w = x > 0 ? i - 1 : i, e = x < n - 1 ? i + 1 : i;\n"
	"	int s = y > 0 ? i - n : i, m = y < n - 1 ? i + n : i;\n"
	"	b[i] = 0.2f * (a[i] + a[w] + a[e] + a[s] + a[m]);\n"
	"}\n"
	"kernel void histogram(global int *a, global int *b) {\n"
	"	atomic_inc(&b[a[get_global_id(0)] & 255]);\n"
	"}\n"
	"kernel void scan(global int *a, global int *b, int step) {\n"
	"	int i = get_global_id(0); b[i] = i >= step ? a[i] + a[i - step] : a[i];\n"
	"}\n"
	"kernel void bitonic(global int *a, int size, int step) {\n"
	"	int i = get_global_id(0), j = i ^ step;\n"
	"	if (j > i && ((a[i] > a[j]) == ((i & size) == 0))) {\n"
	"		int t = a[i]; a[i] = a[j]; a[j] = t;\n"
	"	}\n"
	"}\n"
	"kernel void one(global int *a) { a[0] += 1; }\n"
	"kernel void shortest(global int *a, int n, int k) {\n"
	"	int x = get_global_id(0), y = get_global_id(1);\n"
	"	int by = (a[y * n + k] & 0xffff) + (a[k * n + x] & 0xffff);\n"
	"	if (by < (a[y * n + x] & 0xffff)) a[y * n + x] = by;\n"
	"}\n"
	"kernel void convolve(global float *a, global float *b, int n, int r) {\n"
	"	int x = get_global_id(0), y = get_global_id(1); float s = 0;\n"
	"	for (int v = -r; v <= r; v++)\n"
	"		for (int u = -r; u <= r; u++)\n"
	"			s += a[clamp(y + v, 0, n - 1) * n + clamp(x + u, 0, n - 1)];\n"
	"	b[y * n + x] = s / ((2 * r + 1) * (2 * r + 1));\n"
	"}\n"
	"kernel void options(global float *a, global float *b) {\n"
	"	size_t i = get_global_id(0); float s = 10 + a[i], k = 12, t = 0.5f, v = 0.3f;\n"
	"	for (int n = 0; n < 8; n++) {\n"
	"		float d = (log(s / k) + (0.02f + v * v / 2) * t) / (v * sqrt(t));\n"
	"		s += 0.01f * (s / (1 + exp(-1.7f * d)) - k * exp(-0.02f * t) / (1 + exp(-1.7f * (d - v))));\n"
	"	}\n"
	"	b[i] = s;\n"
	"}\n"
	"kernel void rows(global int *first, global int *column, global float *x, global float *y) {\n"
	"	int i = get_global_id(0); float s = 0;\n"
	"	for (int k = i * 16; k < i * 16 + 16; k++) s += x[column[k] & 65535] * (first[i] & 7);\n"
	"	y[i] = s;\n"
	"}\n";

static cl_context context;
static cl_device_id device;
static cl_program built;
static cl_command_queue plain, profiled, queue;
static cl_mem buffers[BUFFERS];
static cl_event events[OPERATIONS_MAX];
static int operations;
static unsigned *host, *out;

static void need(cl_int error, int line)
{
	if (error) {
		fprintf(stderr, "kernels.c:%d: OpenCL's error %d\n", line, error);
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

/* Where the next operation's event belongs. */
static cl_event *next(void)
{
	if (operations >= OPERATIONS_MAX) {
		fprintf(stderr, "kernels.c: a program has over %d operations\n", OPERATIONS_MAX);
		exit(1);
	}
	operations++;
	return queue == profiled ? &events[operations - 1] : NULL;
}

static cl_kernel kernel(const char *name)
{
	static struct { const char *name; cl_kernel kernel; } all[32];
	cl_int error;
	int n = 0;

	while (all[n].name && strcmp(all[n].name, name))
		n++;
	if (!all[n].name) {
		all[n].kernel = clCreateKernel(built, name, &error);
		NEED(error);
		all[n].name = name;
	}
	return all[n].kernel;
}

/* Launches a kernel: a letter an argument, "b" a buffer's number, "i" an int, "f" a float. */
static void launch(const char *name, size_t x, size_t y, size_t group, const char *kinds, ...)
{
	size_t global[2] = { x, y }, local[2] = { group, group };
	cl_kernel it = kernel(name);
	cl_uint dimensions = y ? 2 : 1;
	va_list all;

	va_start(all, kinds);
	for (cl_uint n = 0; kinds[n]; n++) {
		int number;
		float real;

		if (kinds[n] == 'f') {
			real = va_arg(all, double);
			NEED(clSetKernelArg(it, n, sizeof(real), &real));
			continue;
		}
		number = va_arg(all, int);
		if (kinds[n] == 'b')
			NEED(clSetKernelArg(it, n, sizeof(cl_mem), &buffers[number]));
		else
			NEED(clSetKernelArg(it, n, sizeof(number), &number));
	}
	va_end(all);
	NEED(clEnqueueNDRangeKernel(queue, it, dimensions, NULL, global, group ? local : NULL,
				    0, NULL, next()));
}

static void put(int buffer, size_t words)
{
	NEED(clEnqueueWriteBuffer(queue, buffers[buffer], CL_FALSE, 0, words * 4, host, 0, NULL,
				  NULL));
}

static void get(int buffer, size_t words)
{
	NEED(clEnqueueReadBuffer(queue, buffers[buffer], CL_TRUE, 0, words * 4, out, 0, NULL,
				 NULL));
}

static void add(void)
{
	put(0, MOST);
	put(1, MOST);
	launch("add", MOST, 0, 0, "bbb", 0, 1, 2);
	get(2, MOST);
}

static void axpy(void)
{
	put(0, MOST / 4);
	put(1, MOST / 4);
	for (int n = 0; n < 20; n++)
		launch("axpy", MOST / 4, 0, 0, "bbf", 0, 1, 0.125);
	get(1, MOST / 4);
}

static void multiply(void)
{
	put(0, 192 * 192);
	put(1, 192 * 192);
	launch("multiply", 192, 192, 8, "bbbi", 0, 1, 2, 192);
	get(2, 192 * 192);
}

static void tiled(void)
{
	put(0, 256 * 256);
	put(1, 256 * 256);
	launch("tiled", 256, 256, 8, "bbbi", 0, 1, 2, 256);
	get(2, 256 * 256);
}

static void transpose(void)
{
	put(0, MOST);
	for (int n = 0; n < 4; n++)
		launch("transpose", 1024, 1024, 8, "bbi", n % 2, 1 - n % 2, 1024);
	get(0, 1024);
}

static void reduce(void)
{
	put(0, MOST);
	launch("sum", MOST, 0, 64, "bb", 0, 1);
	launch("sum", MOST / 64, 0, 64, "bb", 1, 2);
	get(2, MOST / 4096);
}

static void bodies(void)
{
	put(0, 2048 * 4);
	for (int n = 0; n < 2; n++)
		launch("bodies", 2048, 0, 64, "bbi", n % 2, 1 - n % 2, 2048);
	get(0, 2048 * 4);
}

static void mandel(void)
{
	launch("mandel", 384, 384, 8, "bii", 0, 384, 256);
	get(0, 384 * 384);
}

static void stencil(void)
{
	put(0, 512 * 512);
	for (int n = 0; n < 40; n++)
		launch("stencil", 512, 512, 8, "bbi", n % 2, 1 - n % 2, 512);
	get(0, 512 * 512);
}

static void histogram(void)
{
	put(0, MOST);
	put(1, 256);
	launch("histogram", MOST, 0, 64, "bb", 0, 1);
	get(1, 256);
}

static void scan(void)
{
	put(0, MOST / 4);
	for (int n = 0; n < 18; n++)
		launch("scan", MOST / 4, 0, 64, "bbi", n % 2, 1 - n % 2, 1 << n);
	get(0, MOST / 4);
}

static void sort(void)
{
	put(0, 1 << 14);
	for (int size = 2; size <= 1 << 14; size *= 2)
		for (int step = size / 2; step > 0; step /= 2)
			launch("bitonic", 1 << 14, 0, 64, "bii", 0, size, step);
	get(0, 1 << 14);
}

/* Nothing but launches. */
static void chain(void)
{
	put(0, 1);
	for (int n = 0; n < 500; n++)
		launch("one", 1, 0, 1, "b", 0);
	get(0, 1);
}

/* A launch and a finish, in turn. */
static void turns(void)
{
	put(0, 1);
	for (int n = 0; n < 100; n++) {
		launch("one", 1, 0, 1, "b", 0);
		NEED(clFinish(queue));
	}
	get(0, 1);
}

/* A launch and its result, in turn. */
static void answers(void)
{
	put(0, 1);
	for (int n = 0; n < 100; n++) {
		launch("one", 1, 0, 1, "b", 0);
		get(0, 1);
	}
}

static void shortest(void)
{
	put(0, 128 * 128);
	for (int n = 0; n < 128; n++)
		launch("shortest", 128, 128, 8, "bii", 0, 128, n);
	get(0, 128 * 128);
}

static void convolve(void)
{
	put(0, 512 * 512);
	launch("convolve", 512, 512, 8, "bbii", 0, 1, 512, 3);
	get(1, 512 * 512);
}

static void options(void)
{
	put(0, MOST / 32);
	launch("options", MOST / 32, 0, 64, "bb", 0, 1);
	get(1, MOST / 32);
}

static void rows(void)
{
	put(0, 1 << 16);
	put(1, MOST);
	put(2, 1 << 16);
	launch("rows", 1 << 16, 0, 64, "bbbb", 0, 1, 2, 3);
	get(3, 1 << 16);
}

/* Buffers there and back. */
static void copies(void)
{
	for (int n = 0; n < 4; n++) {
		put(n, MOST / 2);
		get(n, MOST / 2);
	}
}

static const struct { const char *name; void (*body)(void); } programs[] = {
	{ "add", add }, { "axpy", axpy }, { "multiply", multiply }, { "tiled", tiled },
	{ "transpose", transpose }, { "reduce", reduce }, { "bodies", bodies },
	{ "mandel", mandel }, { "stencil", stencil }, { "histogram", histogram },
	{ "scan", scan }, { "sort", sort }, { "chain", chain }, { "turns", turns },
	{ "answers", answers }, { "shortest", shortest }, { "convolve", convolve },
	{ "options", options }, { "rows", rows }, { "copies", copies },
};

static void set_up(void)
{
	cl_platform_id platform;
	unsigned state = 1;
	cl_int error;
	char name[256];

	NEED(clGetPlatformIDs(1, &platform, NULL));
	NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	NEED(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, NULL));
	printf("%s\n", name);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	NEED(error);
	plain = clCreateCommandQueue(context, device, 0, &error);
	NEED(error);
	profiled = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &error);
	NEED(error);
	host = calloc(MOST, 4);
	out = calloc(MOST, 4);
	if (!host || !out)
		exit(1);
	for (int n = 0; n < MOST; n++) {
		/* As floats they are from 0.5 to 2. */
		state = state * 1664525 + 1013904223;
		host[n] = 0x3f000000 | state >> 8;
	}
	for (int n = 0; n < BUFFERS; n++) {
		buffers[n] = clCreateBuffer(context, CL_MEM_READ_WRITE, MOST * 4, NULL, &error);
		NEED(error);
	}
	built = clCreateProgramWithSource(context, 1, &source, NULL, &error);
	NEED(error);
	NEED(clBuildProgram(built, 1, &device, "", NULL, NULL));
}

static long long executed(void (*body)(void), cl_command_queue on)
{
	const struct timespec pause = { .tv_nsec = PAUSE };
	long long began;

	nanosleep(&pause, NULL);
	queue = on;
	operations = 0;
	began = now();
	body();
	NEED(clFinish(queue));
	return now() - began;
}

static long long profile(void)
{
	long long all = 0;

	for (int n = 0; n < operations; n++) {
		cl_ulong start, end;

		NEED(clGetEventProfilingInfo(events[n], CL_PROFILING_COMMAND_START,
					     sizeof(start), &start, NULL));
		NEED(clGetEventProfilingInfo(events[n], CL_PROFILING_COMMAND_END, sizeof(end),
					     &end, NULL));
		NEED(clReleaseEvent(events[n]));
		all += end - start;
	}
	return all;
}

static unsigned sum(void)
{
	unsigned all = 0;

	for (int n = 0; n < MOST; n++)
		all += out[n];
	return all;
}

static void run(int n, int repetitions)
{
	memset(out, 0, MOST * 4);
	for (int r = -WARM; r < repetitions; r++) {
		long long wall = executed(programs[n].body, plain);
		long long on_device;

		executed(programs[n].body, profiled);
		on_device = profile();
		if (r >= 0)
			printf("%s %lld %lld %d %u\n", programs[n].name, wall, on_device,
			       operations, sum());
	}
}

int main(int argc, char **argv)
{
	int repetitions = argc > 1 ? atoi(argv[1]) : 0;

	if (repetitions < 1) {
		fprintf(stderr, "usage: kernels REPETITIONS [PROGRAM]...\n");
		return 2;
	}
	set_up();
	for (size_t n = 0; n < sizeof(programs) / sizeof(programs[0]); n++) {
		int is_named = argc == 2;

		for (int k = 2; k < argc; k++)
			is_named |= !strcmp(argv[k], programs[n].name);
		if (is_named)
			run(n, repetitions);
	}
	return 0;
}
