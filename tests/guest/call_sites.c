/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls OpenCL from lines that it prints: one of this file's, with its function, and how
 * many launches it makes. A function is put into another one twice. */
#include "cl_test.h"

#define INLINE static inline __attribute__((always_inline))
#define APART static __attribute__((noinline))
/* For calls that stand on one line with it. */
#define HERE(line) ((line) = __LINE__)

static const char source[] =
	"kernel void first(global int *all) { all[get_global_id(0)] += 1; }\n"
	"kernel void second(global int *all) { all[get_global_id(0)] *= 3; }\n";

static const size_t items = 64;
static int launched, outer, other;

INLINE void launch(struct gpu *gpu, cl_kernel kernel)
{
	cl_int error;

	/* clang-format off */
	HERE(launched); error = clEnqueueNDRangeKernel(gpu->queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
	/* clang-format on */
	NEED(error);
}

APART void several(struct gpu *gpu, cl_kernel kernel)
{
	for (int n = 0; n < 5; n++) {
		/* clang-format off */
		HERE(outer); launch(gpu, kernel);
		/* clang-format on */
	}
}

APART void once(struct gpu *gpu, cl_kernel kernel)
{
	cl_int error;

	/* clang-format off */
	HERE(other); error = clEnqueueNDRangeKernel(gpu->queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
	/* clang-format on */
	NEED(error);
}

int main(void)
{
	struct gpu gpu = first_gpu();
	cl_program program = build(&gpu, source);
	cl_kernel first = kernel_of(program, "first");
	cl_kernel second = kernel_of(program, "second");
	cl_mem buffer = buffer_of(&gpu, items * sizeof(cl_int));

	NEED(clSetKernelArg(first, 0, sizeof(buffer), &buffer));
	NEED(clSetKernelArg(second, 0, sizeof(buffer), &buffer));
	several(&gpu, first);
	once(&gpu, second);
	once(&gpu, second);
	NEED(clFinish(gpu.queue));
	printf("launch %d several %d 5\n", launched, outer);
	printf("once %d - 0 2\n", other);
	return 0;
}
