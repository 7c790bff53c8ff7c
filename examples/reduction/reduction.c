/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sum, least and greatest of many integers: each work-group reduces its part
 * in local memory, and the same kernel reduces what the groups left.
 *
 *     reduction [--out FILE] [COUNT]      (default: 300001 numbers)
 *
 * The output is the results of every round: three 64-bit integers a group.
 */
#include "../common/example.h"

struct result {
	int64_t sum, least, greatest;
};

/* A power of two, and few enough work-items for every device. */
#define GROUP 64

static const char *source =
	"typedef struct { long sum, least, greatest; } result;\n"
	"\n"
	"kernel void widen(global const int *numbers, global result *out)\n"
	"{\n"
	"    size_t i = get_global_id(0);\n"
	"    long number = numbers[i];\n"
	"    out[i].sum = number;\n"
	"    out[i].least = number;\n"
	"    out[i].greatest = number;\n"
	"}\n"
	"\n"
	"kernel void reduce(global const result *in, uint count, local result *part,\n"
	"                   global result *out)\n"
	"{\n"
	"    size_t i = get_global_id(0), me = get_local_id(0);\n"
	"    result mine = { 0, LONG_MAX, LONG_MIN };\n"
	"    if (i < count)\n"
	"        mine = in[i];\n"
	"    part[me] = mine;\n"
	"    for (size_t width = get_local_size(0) / 2; width > 0; width /= 2) {\n"
	"        barrier(CLK_LOCAL_MEM_FENCE);\n"
	"        if (me < width) {\n"
	"            part[me].sum += part[me + width].sum;\n"
	"            part[me].least = min(part[me].least, part[me + width].least);\n"
	"            part[me].greatest = max(part[me].greatest, part[me + width].greatest);\n"
	"        }\n"
	"    }\n"
	"    if (me == 0)\n"
	"        out[get_group_id(0)] = part[0];\n"
	"}\n";

static size_t groups(size_t count)
{
	return (count + GROUP - 1) / GROUP;
}

/* All groups of all rounds. */
static size_t results_of(size_t count)
{
	size_t all = 0;

	do {
		count = groups(count);
		all += count;
	} while (count > 1);
	return all;
}

static size_t round_on_device(struct device *d, cl_kernel reduce, cl_mem in, size_t count,
			      cl_mem out, struct result *results)
{
	size_t local = GROUP, global = groups(count) * GROUP;
	cl_uint items = (cl_uint)count;

	argument(reduce, 0, sizeof(in), &in);
	argument(reduce, 1, sizeof(items), &items);
	argument(reduce, 2, GROUP * sizeof(struct result), NULL);
	argument(reduce, 3, sizeof(out), &out);
	run(d, reduce, 1, &global, &local);
	read_back(d, out, groups(count) * sizeof(*results), results);
	return groups(count);
}

static void reduce_on_device(int32_t *numbers, size_t count, struct result *results)
{
	struct device d;
	cl_program program;
	cl_kernel widen, reduce;
	cl_mem in, rounds[2];
	int from = 0;

	device_open(&d);
	program = build(&d, source);
	widen = kernel_of(program, "widen");
	reduce = kernel_of(program, "reduce");
	in = buffer(&d, CL_MEM_READ_ONLY, count * sizeof(*numbers), numbers);
	rounds[0] = buffer(&d, CL_MEM_READ_WRITE, count * sizeof(*results), NULL);
	rounds[1] = buffer(&d, CL_MEM_READ_WRITE, groups(count) * sizeof(*results), NULL);
	argument(widen, 0, sizeof(in), &in);
	argument(widen, 1, sizeof(rounds[0]), &rounds[0]);
	run(&d, widen, 1, &count, NULL);
	printf("reduction: %zu numbers on %s\n", count, d.name);
	do {
		size_t left = round_on_device(&d, reduce, rounds[from], count, rounds[!from],
					      results);

		results += left;
		count = left;
		from = !from;
	} while (count > 1);
	clReleaseMemObject(in);
	clReleaseMemObject(rounds[0]);
	clReleaseMemObject(rounds[1]);
	clReleaseKernel(widen);
	clReleaseKernel(reduce);
	clReleaseProgram(program);
	device_close(&d);
}

static struct result reduce_here(const int32_t *numbers, size_t count)
{
	struct result all = { 0, INT64_MAX, INT64_MIN };

	for (size_t i = 0; i < count; i++) {
		all.sum += numbers[i];
		if (numbers[i] < all.least)
			all.least = numbers[i];
		if (numbers[i] > all.greatest)
			all.greatest = numbers[i];
	}
	return all;
}

int main(int argc, char **argv)
{
	const char *out = output_option(&argc, argv);
	size_t count = (size_t)number(argc, argv, 1, 1, 1 << 24, 300001);
	size_t left = results_of(count), bytes = left * sizeof(struct result);
	int32_t *numbers = allocate(count * sizeof(*numbers));
	struct result *results = allocate(bytes), *last = &results[left - 1], expected;
	uint32_t state = 2;

	for (size_t i = 0; i < count; i++)
		numbers[i] = (int32_t)(next_random(&state) << 8);
	reduce_on_device(numbers, count, results);
	expected = reduce_here(numbers, count);
	printf("reduction: sum %" PRId64 ", least %" PRId64 ", greatest %" PRId64 "\n", last->sum,
	       last->least, last->greatest);
	write_output(out, results, bytes);
	return verdict("reduction", memcmp(last, &expected, sizeof(expected)) == 0, results,
		       bytes);
}
