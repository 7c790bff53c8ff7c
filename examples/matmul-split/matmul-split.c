/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Matrix multiplication shared between the device and CPU threads: the device
 * computes the first rows of the product, the threads the others, both at the
 * same time.
 *
 *     matmul-split [--out FILE] [PERCENT [SIZE [THREADS [REPEATS]]]]
 *         (default: 50 percent of the rows on the device, 192x192, 2, 1)
 *
 * The entries are integers and the product is taken modulo 2^32, so that it is
 * the same however it is shared. It is checked against all of it computed on
 * the CPU. The time of each repeat, as the program's own clock has it, goes to
 * standard error. The output is the product.
 */
#include "../common/example.h"
#include <pthread.h>

#define MAX_THREADS 64

static const char *source =
	"kernel void multiply(uint n, global const uint *a, global const uint *b,\n"
	"                     global uint *c)\n"
	"{\n"
	"    size_t column = get_global_id(0), row = get_global_id(1);\n"
	"    uint sum = 0;\n"
	"    for (uint k = 0; k < n; k++)\n"
	"        sum += a[row * n + k] * b[k * n + column];\n"
	"    c[row * n + column] = sum;\n"
	"}\n";

struct matrices {
	uint32_t *a, *b, *c;
	size_t n;
};

/* What one thread computes. */
struct part {
	const struct matrices *m;
	size_t first, end;
};

struct machine {
	struct device d;
	cl_program program;
	cl_kernel multiply;
	cl_mem a, b, c;
};

static void *multiply_rows(void *of)
{
	const struct part *part = of;
	const struct matrices *m = part->m;
	size_t n = m->n;

	for (size_t row = part->first; row < part->end; row++) {
		uint32_t *out = &m->c[row * n];

		memset(out, 0, n * sizeof(*out));
		for (size_t k = 0; k < n; k++) {
			uint32_t factor = m->a[row * n + k];

			for (size_t column = 0; column < n; column++)
				out[column] += factor * m->b[k * n + column];
		}
	}
	return NULL;
}

static void open_machine(struct machine *gpu, size_t bytes)
{
	device_open(&gpu->d);
	gpu->program = build(&gpu->d, source);
	gpu->multiply = kernel_of(gpu->program, "multiply");
	gpu->a = buffer(&gpu->d, CL_MEM_READ_ONLY, bytes, NULL);
	gpu->b = buffer(&gpu->d, CL_MEM_READ_ONLY, bytes, NULL);
	gpu->c = buffer(&gpu->d, CL_MEM_WRITE_ONLY, bytes, NULL);
}

static void close_machine(struct machine *gpu)
{
	clReleaseMemObject(gpu->a);
	clReleaseMemObject(gpu->b);
	clReleaseMemObject(gpu->c);
	clReleaseKernel(gpu->multiply);
	clReleaseProgram(gpu->program);
	device_close(&gpu->d);
}

static void write_to(struct machine *gpu, cl_mem to, size_t bytes, const void *from)
{
	check(clEnqueueWriteBuffer(gpu->d.queue, to, CL_FALSE, 0, bytes, from, 0, NULL, NULL),
	      "clEnqueueWriteBuffer");
}

/* Puts the first rows on the device's queue, and does not wait. */
static void begin_on_device(struct machine *gpu, const struct matrices *m, size_t rows)
{
	size_t row = m->n * sizeof(*m->a), global[2] = { m->n, rows };
	cl_uint n = (cl_uint)m->n;

	if (rows == 0)
		return;
	write_to(gpu, gpu->a, rows * row, m->a);
	write_to(gpu, gpu->b, m->n * row, m->b);
	argument(gpu->multiply, 0, sizeof(n), &n);
	argument(gpu->multiply, 1, sizeof(gpu->a), &gpu->a);
	argument(gpu->multiply, 2, sizeof(gpu->b), &gpu->b);
	argument(gpu->multiply, 3, sizeof(gpu->c), &gpu->c);
	run(&gpu->d, gpu->multiply, 2, global, NULL);
	check(clEnqueueReadBuffer(gpu->d.queue, gpu->c, CL_FALSE, 0, rows * row, m->c, 0, NULL,
				  NULL),
	      "clEnqueueReadBuffer");
	check(clFlush(gpu->d.queue), "clFlush");
}

/* Shares the rows from `first` on between threads. */
static void on_threads(const struct matrices *m, size_t first, size_t threads)
{
	struct part parts[MAX_THREADS];
	pthread_t ids[MAX_THREADS];
	size_t rows = m->n - first;

	for (size_t i = 0; i < threads; i++) {
		parts[i].m = m;
		parts[i].first = first + rows * i / threads;
		parts[i].end = first + rows * (i + 1) / threads;
		if (pthread_create(&ids[i], NULL, multiply_rows, &parts[i]) != 0) {
			fprintf(stderr, "matmul-split: no thread\n");
			exit(2);
		}
	}
	for (size_t i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
}

static int64_t multiply_shared(struct machine *gpu, const struct matrices *m, size_t rows,
			       size_t threads)
{
	int64_t begin = now_ns();

	begin_on_device(gpu, m, rows);
	if (rows < m->n)
		on_threads(m, rows, threads);
	check(clFinish(gpu->d.queue), "clFinish");
	return now_ns() - begin;
}

int main(int argc, char **argv)
{
	const char *out = output_option(&argc, argv);
	long percent = number(argc, argv, 1, 0, 100, 50);
	size_t n = (size_t)number(argc, argv, 2, 1, 4096, 192);
	size_t threads = (size_t)number(argc, argv, 3, 1, MAX_THREADS, 2);
	long repeats = number(argc, argv, 4, 1, 1000, 1);
	size_t bytes = n * n * sizeof(uint32_t), rows = n * (size_t)percent / 100;
	struct matrices m = { allocate(bytes), allocate(bytes), allocate(bytes), n };
	uint32_t *expected = allocate(bytes), state = 5;
	struct part whole = { &m, 0, n };
	struct machine gpu;

	for (size_t i = 0; i < n * n; i++) {
		m.a[i] = next_random(&state);
		m.b[i] = next_random(&state);
	}
	multiply_rows(&whole);
	memcpy(expected, m.c, bytes);
	memset(m.c, 0, bytes);
	open_machine(&gpu, bytes);
	printf("matmul-split: %zux%zu, %zu rows on %s, %zu on %zu threads\n", n, n, rows,
	       gpu.d.name, n - rows, threads);
	for (long i = 0; i < repeats; i++) {
		int64_t ns = multiply_shared(&gpu, &m, rows, threads);

		fprintf(stderr, "matmul-split: %ld percent, %" PRId64 " ns\n", percent, ns);
	}
	close_machine(&gpu);
	write_output(out, m.c, bytes);
	return verdict("matmul-split", memcmp(m.c, expected, bytes) == 0, m.c, bytes);
}
