/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How often each grey level occurs: each work-group counts in local memory with
 * atomic operations, and adds its counts to everybody's.
 *
 *     histogram [--out FILE] [COUNT]      (default: 1000003 pixels)
 *
 * The output is 256 counts of 32 bits.
 */
#include "../common/example.h"

#define LEVELS 256

static const char *source =
	"kernel void count(global const uchar *pixels, uint pixel_count,\n"
	"                  local uint *mine, global uint *all)\n"
	"{\n"
	"    size_t me = get_local_id(0), group = get_local_size(0);\n"
	"    for (size_t level = me; level < 256; level += group)\n"
	"        mine[level] = 0;\n"
	"    barrier(CLK_LOCAL_MEM_FENCE);\n"
	"    for (size_t i = get_global_id(0); i < pixel_count; i += get_global_size(0))\n"
	"        atomic_inc(&mine[pixels[i]]);\n"
	"    barrier(CLK_LOCAL_MEM_FENCE);\n"
	"    for (size_t level = me; level < 256; level += group)\n"
	"        atomic_add(&all[level], mine[level]);\n"
	"}\n";

static void count_on_device(unsigned char *pixels, size_t count, uint32_t *levels)
{
	struct device d;
	cl_program program;
	cl_kernel counting;
	cl_mem in, all;
	cl_uint pixel_count = (cl_uint)count;
	size_t local, global;

	device_open(&d);
	program = build(&d, source);
	counting = kernel_of(program, "count");
	in = buffer(&d, CL_MEM_READ_ONLY, count, pixels);
	all = buffer(&d, CL_MEM_READ_WRITE, LEVELS * sizeof(*levels), levels);
	argument(counting, 0, sizeof(in), &in);
	argument(counting, 1, sizeof(pixel_count), &pixel_count);
	argument(counting, 2, LEVELS * sizeof(cl_uint), NULL);
	argument(counting, 3, sizeof(all), &all);
	local = group_size(&d, counting, 128);
	global = 16 * local;
	run(&d, counting, 1, &global, &local);
	read_back(&d, all, LEVELS * sizeof(*levels), levels);
	printf("histogram: %zu pixels on %s\n", count, d.name);
	clReleaseMemObject(in);
	clReleaseMemObject(all);
	clReleaseKernel(counting);
	clReleaseProgram(program);
	device_close(&d);
}

int main(int argc, char **argv)
{
	const char *out = output_option(&argc, argv);
	size_t count = (size_t)number(argc, argv, 1, 1, 1 << 28, 1000003);
	unsigned char *pixels = allocate(count);
	uint32_t levels[LEVELS] = { 0 }, expected[LEVELS] = { 0 }, state = 3;
	int most = 0;

	for (size_t i = 0; i < count; i++) {
		/* Two dice: the middle levels are the most frequent. */
		pixels[i] = (unsigned char)((next_random(&state) % 128) +
					    (next_random(&state) % 129));
		expected[pixels[i]]++;
	}
	count_on_device(pixels, count, levels);
	for (int level = 0; level < LEVELS; level++)
		if (levels[level] > levels[most])
			most = level;
	printf("histogram: level %d occurs most often, %" PRIu32 " times\n", most, levels[most]);
	write_output(out, levels, sizeof(levels));
	return verdict("histogram", memcmp(levels, expected, sizeof(levels)) == 0, levels,
		       sizeof(levels));
}
