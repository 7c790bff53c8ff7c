/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Adds two vectors of 32-bit integers on the device.
 *
 *     vector-add [--out FILE] [COUNT]      (default: 65537 numbers)
 */
#include "../common/example.h"

static const char *source =
	"kernel void add(global const uint *a, global const uint *b, global uint *c)\n"
	"{\n"
	"    size_t i = get_global_id(0);\n"
	"    c[i] = a[i] + b[i];\n"
	"}\n";

static void fill(uint32_t *numbers, size_t count, uint32_t *state)
{
	for (size_t i = 0; i < count; i++)
		numbers[i] = next_random(state) << 8 ^ next_random(state);
}

static void add_on_device(const uint32_t *a, const uint32_t *b, uint32_t *c, size_t count)
{
	size_t bytes = count * sizeof(*a);
	struct device d;
	cl_program program;
	cl_kernel add;
	cl_mem in_a, in_b, out;

	device_open(&d);
	program = build(&d, source);
	add = kernel_of(program, "add");
	in_a = buffer(&d, CL_MEM_READ_ONLY, bytes, NULL);
	in_b = buffer(&d, CL_MEM_READ_ONLY, bytes, NULL);
	out = buffer(&d, CL_MEM_WRITE_ONLY, bytes, NULL);
	check(clEnqueueWriteBuffer(d.queue, in_a, CL_FALSE, 0, bytes, a, 0, NULL, NULL),
	      "clEnqueueWriteBuffer");
	check(clEnqueueWriteBuffer(d.queue, in_b, CL_FALSE, 0, bytes, b, 0, NULL, NULL),
	      "clEnqueueWriteBuffer");
	argument(add, 0, sizeof(in_a), &in_a);
	argument(add, 1, sizeof(in_b), &in_b);
	argument(add, 2, sizeof(out), &out);
	run(&d, add, 1, &count, NULL);
	read_back(&d, out, bytes, c);
	printf("vector-add: %zu numbers on %s\n", count, d.name);
	clReleaseMemObject(in_a);
	clReleaseMemObject(in_b);
	clReleaseMemObject(out);
	clReleaseKernel(add);
	clReleaseProgram(program);
	device_close(&d);
}

int main(int argc, char **argv)
{
	const char *out = output_option(&argc, argv);
	size_t count = (size_t)number(argc, argv, 1, 1, 1 << 26, 65537);
	size_t bytes = count * sizeof(uint32_t);
	uint32_t *a = allocate(bytes), *b = allocate(bytes), *c = allocate(bytes);
	uint32_t state = 1;
	int is_right = 1;

	fill(a, count, &state);
	fill(b, count, &state);
	add_on_device(a, b, c, count);
	for (size_t i = 0; i < count; i++)
		is_right &= c[i] == a[i] + b[i];
	write_output(out, c, bytes);
	return verdict("vector-add", is_right, c, bytes);
}
