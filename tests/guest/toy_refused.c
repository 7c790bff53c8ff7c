/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* On a board that has no toy API: its calls say so, and OpenCL works. */
#include "cl_test.h"

#include <toy.h>

static void the_other_api_says_so(struct gpu *gpu)
{
	toyContext context = NULL;
	size_t size;

	(void)gpu;
	EXPECT(toyContextCreate(&context, 0), TOY_NOT_SUPPORTED);
	CHECK(!context);
	EXPECT(toyDeviceInfo(0, TOY_DEVICE_NAME, 0, NULL, &size),
	       TOY_NOT_SUPPORTED);
	EXPECT(toyContextCreate(&context, 0), TOY_NOT_SUPPORTED);
	EXPECT(toyFinish(), TOY_NO_CONTEXT);
}

static void opencl_works(struct gpu *gpu)
{
	cl_uint wanted = 0x01020304, got[64] = { 0 };
	cl_mem memory = buffer_of(gpu, sizeof(got));

	EXPECT(clEnqueueFillBuffer(gpu->queue, memory, &wanted, sizeof(wanted),
				   0, sizeof(got), 0, NULL, NULL),
	       CL_SUCCESS);
	EXPECT(clEnqueueReadBuffer(gpu->queue, memory, CL_TRUE, 0, sizeof(got),
				   got, 0, NULL, NULL),
	       CL_SUCCESS);
	for (int n = 0; n < 64; n++)
		CHECK(got[n] == wanted);
	EXPECT(clReleaseMemObject(memory), CL_SUCCESS);
}

int main(void)
{
	struct gpu gpu = first_gpu();

	run_test("OpenCL works before", opencl_works, &gpu);
	run_test("the other API says so", the_other_api_says_so, &gpu);
	run_test("OpenCL works after", opencl_works, &gpu);
	return failures != 0;
}
