/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Matrix multiplication on an OpenCL device, each product checked on the CPU.
 *
 *     matmul [PRODUCTS [SIZE [TIMES]]]      (defaults: 300 products of 320x320
 *                                            doubles, each computed once)
 *
 * Every product has inputs of its own: small integers, so that every sum is
 * exact in a double and a check needs no tolerance. The check is Freivalds'
 * (1977): A(Br) = Cr for a random vector r. With entries of r drawn from 2^16
 * values a wrong C passes with probability at most 2^-16. TIMES more than once
 * is for those who measure the device rather than the check: inputs go there,
 * are multiplied and come back so many times.
 *
 * Standard output is the same on every machine; the elapsed time goes to
 * standard error. Exit code: 0, 1 for a wrong product, 2 if OpenCL fails.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *kernel_source =
	"#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
	"kernel void multiply(uint n, global const double *a,\n"
	"                     global const double *b, global double *c)\n"
	"{\n"
	"    size_t column = get_global_id(0), row = get_global_id(1);\n"
	"    double sum = 0;\n"
	"    for (uint k = 0; k < n; k++)\n"
	"        sum += a[row * n + k] * b[k * n + column];\n"
	"    c[row * n + column] = sum;\n"
	"}\n";

static void check(cl_int status, const char *call)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "matmul: %s failed with OpenCL error %d\n", call, status);
	exit(2);
}

/* xorshift64 (Marsaglia 2003): cheap, and the same everywhere. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/*
 * A matrix of integers from -8 to 7, as the device has it and as the check does,
 * with room for one entry more.
 */
struct matrix {
	double *values;
	int8_t *entries;
};

/* Any two entries, by the eight bits that choose them. */
static struct {
	double values[256][2];
	int8_t entries[256][2];
} pairs;

static void make_pairs(void)
{
	for (int bits = 0; bits < 256; bits++) {
		pairs.entries[bits][0] = (int8_t)((bits & 15) - 8);
		pairs.entries[bits][1] = (int8_t)((bits >> 4) - 8);
		pairs.values[bits][0] = pairs.entries[bits][0];
		pairs.values[bits][1] = pairs.entries[bits][1];
	}
}

/* Sixteen entries from each random number. */
static void fill_matrix(struct matrix m, size_t count, uint64_t *state)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < count; i += 2) {
		if (i % 16 == 0)
			bits = next_random(state);
		memcpy(&m.values[i], pairs.values[bits & 255], sizeof(pairs.values[0]));
		memcpy(&m.entries[i], pairs.entries[bits & 255], sizeof(pairs.entries[0]));
		bits >>= 8;
	}
}

static void multiply_vector(const int8_t *m, const int64_t *v, int64_t *out, size_t n)
{
	for (size_t row = 0; row < n; row++) {
		int64_t sum = 0;

		for (size_t i = 0; i < n; i++)
			sum += m[row * n + i] * v[i];
		out[row] = sum;
	}
}

/*
 * QEMU computes with the host's floating-point unit only after a result was
 * rounded, and more slowly until then. All sums here are exact.
 */
static void round_once(void)
{
	volatile double one = 1, third;

	third = one / 3;
	(void)third;
}

/* The vectors of a check: r as the entries have it and as the device's results. */
struct vectors {
	int64_t *r, *br, *abr;
	double *r_values;
};

/* Freivalds' test. */
static int product_is_right(struct matrix a, struct matrix b, const double *c, size_t n,
			    struct vectors v, uint64_t *state)
{
	for (size_t i = 0; i < n; i++) {
		v.r[i] = (int64_t)(next_random(state) >> 48);
		v.r_values[i] = (double)v.r[i];
	}
	multiply_vector(b.entries, v.r, v.br, n);
	multiply_vector(a.entries, v.br, v.abr, n);
	round_once();
	for (size_t row = 0; row < n; row++) {
		double sum = 0;

		for (size_t i = 0; i < n; i++)
			sum += c[row * n + i] * v.r_values[i];
		if (sum != (double)v.abr[row])
			return 0;
	}
	return 1;
}

/* FNV-1a over every 64th entry of every product. */
static uint64_t add_to_checksum(uint64_t sum, const double *c, size_t count)
{
	for (size_t i = 0; i < count; i += 64) {
		int64_t entry = (int64_t)c[i];

		for (int byte = 0; byte < 8; byte++)
			sum = (sum ^ ((entry >> (8 * byte)) & 0xff)) * 0x100000001b3u;
	}
	return sum;
}

struct device {
	cl_device_id id;
	cl_context context;
	cl_command_queue queue;
	cl_kernel kernel;
	cl_mem a, b, c;
	char name[256];
};

static void show_build_log(cl_program program, cl_device_id id)
{
	static char log[16384];

	clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1, log, NULL);
	fprintf(stderr, "matmul: the kernel does not build:\n%s\n", log);
}

static void open_device(struct device *d, size_t bytes)
{
	cl_platform_id platform;
	cl_program program;
	cl_int status;

	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &d->id, NULL), "clGetDeviceIDs");
	check(clGetDeviceInfo(d->id, CL_DEVICE_NAME, sizeof(d->name), d->name, NULL),
	      "clGetDeviceInfo");
	d->context = clCreateContext(NULL, 1, &d->id, NULL, NULL, &status);
	check(status, "clCreateContext");
	d->queue = clCreateCommandQueue(d->context, d->id, 0, &status);
	check(status, "clCreateCommandQueue");
	program = clCreateProgramWithSource(d->context, 1, &kernel_source, NULL, &status);
	check(status, "clCreateProgramWithSource");
	status = clBuildProgram(program, 1, &d->id, "", NULL, NULL);
	if (status != CL_SUCCESS)
		show_build_log(program, d->id);
	check(status, "clBuildProgram");
	d->kernel = clCreateKernel(program, "multiply", &status);
	check(status, "clCreateKernel");
	check(clReleaseProgram(program), "clReleaseProgram");
	d->a = clCreateBuffer(d->context, CL_MEM_READ_ONLY, bytes, NULL, &status);
	check(status, "clCreateBuffer");
	d->b = clCreateBuffer(d->context, CL_MEM_READ_ONLY, bytes, NULL, &status);
	check(status, "clCreateBuffer");
	d->c = clCreateBuffer(d->context, CL_MEM_WRITE_ONLY, bytes, NULL, &status);
	check(status, "clCreateBuffer");
}

static void set_arguments(struct device *d, cl_uint n)
{
	check(clSetKernelArg(d->kernel, 0, sizeof(n), &n), "clSetKernelArg");
	check(clSetKernelArg(d->kernel, 1, sizeof(cl_mem), &d->a), "clSetKernelArg");
	check(clSetKernelArg(d->kernel, 2, sizeof(cl_mem), &d->b), "clSetKernelArg");
	check(clSetKernelArg(d->kernel, 3, sizeof(cl_mem), &d->c), "clSetKernelArg");
}

static void multiply(struct device *d, const double *a, const double *b, double *c, size_t n)
{
	size_t bytes = n * n * sizeof(double);
	size_t global[2] = { n, n };

	check(clEnqueueWriteBuffer(d->queue, d->a, CL_FALSE, 0, bytes, a, 0, NULL, NULL),
	      "clEnqueueWriteBuffer");
	check(clEnqueueWriteBuffer(d->queue, d->b, CL_FALSE, 0, bytes, b, 0, NULL, NULL),
	      "clEnqueueWriteBuffer");
	check(clEnqueueNDRangeKernel(d->queue, d->kernel, 2, NULL, global, NULL, 0, NULL, NULL),
	      "clEnqueueNDRangeKernel");
	check(clEnqueueReadBuffer(d->queue, d->c, CL_TRUE, 0, bytes, c, 0, NULL, NULL),
	      "clEnqueueReadBuffer");
}

static void close_device(struct device *d)
{
	check(clReleaseMemObject(d->a), "clReleaseMemObject");
	check(clReleaseMemObject(d->b), "clReleaseMemObject");
	check(clReleaseMemObject(d->c), "clReleaseMemObject");
	check(clReleaseKernel(d->kernel), "clReleaseKernel");
	check(clReleaseCommandQueue(d->queue), "clReleaseCommandQueue");
	check(clReleaseContext(d->context), "clReleaseContext");
}

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long positive(const char *text)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*end || value < 1 || value > 16384) {
		fprintf(stderr, "usage: matmul [PRODUCTS [SIZE [TIMES]]], each from 1 to 16384\n");
		exit(2);
	}
	return value;
}

int main(int argc, char **argv)
{
	long products = argc > 1 ? positive(argv[1]) : 300;
	size_t n = argc > 2 ? (size_t)positive(argv[2]) : 320;
	long times = argc > 3 ? positive(argv[3]) : 1;
	size_t bytes = n * n * sizeof(double);
	struct matrix a = { malloc(bytes + sizeof(double)), malloc(n * n + 1) };
	struct matrix b = { malloc(bytes + sizeof(double)), malloc(n * n + 1) };
	double *c = malloc(bytes);
	struct vectors v = { malloc(8 * n), malloc(8 * n), malloc(8 * n), malloc(8 * n) };
	uint64_t state = 88172645463325252u, sum = 0xcbf29ce484222325u;
	struct device d;
	long long begin;

	if (!a.values || !a.entries || !b.values || !b.entries || !c || !v.r || !v.br ||
	    !v.abr || !v.r_values) {
		fprintf(stderr, "matmul: no memory for %zux%zu matrices\n", n, n);
		return 2;
	}
	make_pairs();
	open_device(&d, bytes);
	set_arguments(&d, (cl_uint)n);
	begin = now_ns();
	for (long i = 0; i < products; i++) {
		fill_matrix(a, n * n, &state);
		fill_matrix(b, n * n, &state);
		for (long again = 0; again < times; again++)
			multiply(&d, a.values, b.values, c, n);
		if (!product_is_right(a, b, c, n, v, &state)) {
			fprintf(stderr, "matmul: product %ld is wrong\n", i);
			return 1;
		}
		sum = add_to_checksum(sum, c, n * n);
	}
	fprintf(stderr, "matmul: %.3f s\n", (now_ns() - begin) / 1e9);
	printf("matmul: %ld products of %zux%zu doubles on %s\n", products, n, n, d.name);
	printf("matmul: every product passed Freivalds' test, checksum %016llx\n",
	       (unsigned long long)sum);
	close_device(&d);
	return 0;
}
