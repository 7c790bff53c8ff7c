/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Values that are as wide as the program's own pointers, in a program of either
 * width: sizes and handles in queries, limits that a 32-bit size_t cannot hold,
 * lists of properties, structures of sizes, arguments that look like handles.
 */
#include "cl_test.h"
#include <stdint.h>

static const cl_device_info sizes[] = {
	CL_DEVICE_MAX_WORK_GROUP_SIZE, CL_DEVICE_IMAGE2D_MAX_WIDTH,
	CL_DEVICE_IMAGE3D_MAX_DEPTH,   CL_DEVICE_MAX_PARAMETER_SIZE,
	CL_DEVICE_PRINTF_BUFFER_SIZE,  CL_DEVICE_PROFILING_TIMER_RESOLUTION,
	CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE,
};

static void sizes_are_as_wide_as_pointers(struct gpu *gpu)
{
	size_t told = 0, items[3] = { 0 }, small = 0;
	cl_uint dimensions = 0;

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size_t value[2] = { 0, (size_t)0x5a5a5a5a };

		EXPECT(clGetDeviceInfo(gpu->device, sizes[i], sizeof(value),
				       value, &told), CL_SUCCESS);
		CHECK(told == sizeof(size_t));
		CHECK(value[0] != 0 && value[1] == (size_t)0x5a5a5a5a);
	}
	NEED(clGetDeviceInfo(gpu->device, CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS,
			     sizeof(dimensions), &dimensions, NULL));
	CHECK(dimensions == 3);
	EXPECT(clGetDeviceInfo(gpu->device, CL_DEVICE_MAX_WORK_ITEM_SIZES,
			       sizeof(items), items, &told), CL_SUCCESS);
	CHECK(told == 3 * sizeof(size_t) && items[0] && items[1] && items[2]);
	EXPECT(clGetDeviceInfo(gpu->device, CL_DEVICE_MAX_WORK_ITEM_SIZES,
			       sizeof(small), &small, NULL), CL_INVALID_VALUE);
}

/* What a program asks for in size_t is limited to what size_t can say. */
static void limits_fit(struct gpu *gpu)
{
	static const cl_device_info limits[] = {
		CL_DEVICE_MAX_MEM_ALLOC_SIZE,
		CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE,
	};
	cl_ulong memory = 0, limit = 0;
	cl_uint bits = 0;
	size_t told = 0;

	for (unsigned i = 0; i < 2; i++) {
		EXPECT(clGetDeviceInfo(gpu->device, limits[i], sizeof(limit),
				       &limit, &told), CL_SUCCESS);
		CHECK(told == sizeof(limit) && limit >= 1 << 16);
		CHECK(limit <= SIZE_MAX);
		EXPECT(clGetDeviceInfo(gpu->device, limits[i], 0, NULL, &told),
		       CL_SUCCESS);
		CHECK(told == sizeof(limit));
		EXPECT(clGetDeviceInfo(gpu->device, limits[i], 4, &bits, NULL),
		       CL_INVALID_VALUE);
	}
	NEED(clGetDeviceInfo(gpu->device, CL_DEVICE_GLOBAL_MEM_SIZE,
			     sizeof(memory), &memory, NULL));
	CHECK(memory >= 1 << 20);
	/* The device's own, which no program's width changes. */
	NEED(clGetDeviceInfo(gpu->device, CL_DEVICE_ADDRESS_BITS, sizeof(bits),
			     &bits, NULL));
	CHECK(bits == 32 || bits == 64);
}

/* Pointers hold only where program and device have 64 bits. */
static void narrow_pointers_are_not_shared(struct gpu *gpu)
{
	const cl_device_info svm_capabilities = 0x1053;
	cl_bitfield can = 1;
	cl_uint bits = 0;

	EXPECT(clGetDeviceInfo(gpu->device, svm_capabilities, sizeof(can), &can,
			       NULL), CL_SUCCESS);
	NEED(clGetDeviceInfo(gpu->device, CL_DEVICE_ADDRESS_BITS, sizeof(bits),
			     &bits, NULL));
	if (sizeof(void *) == 4 || bits == 32)
		CHECK(can == 0);
}

static void handles_are_as_wide_as_pointers(struct gpu *gpu)
{
	cl_context_properties list[] = { CL_CONTEXT_PLATFORM,
					 (cl_context_properties)gpu->platform,
					 0 };
	cl_context_properties again[3] = { 1, 1, 1 };
	cl_platform_id platform = NULL;
	cl_device_id device = NULL;
	cl_context context;
	size_t told = 0;
	cl_int error;

	EXPECT(clGetDeviceInfo(gpu->device, CL_DEVICE_PLATFORM,
			       sizeof(platform), &platform, &told), CL_SUCCESS);
	CHECK(platform == gpu->platform && told == sizeof(platform));
	context = clCreateContext(list, 1, &gpu->device, NULL, NULL, &error);
	NEED(error);
	EXPECT(clGetContextInfo(context, CL_CONTEXT_PROPERTIES, sizeof(again),
				again, &told), CL_SUCCESS);
	CHECK(told == sizeof(list) && !memcmp(list, again, sizeof(list)));
	EXPECT(clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(device),
				&device, &told), CL_SUCCESS);
	CHECK(device == gpu->device && told == sizeof(device));
	EXPECT(clGetDeviceInfo(gpu->device, CL_DEVICE_PARTITION_PROPERTIES, 0,
			       NULL, &told), CL_SUCCESS);
	CHECK(told % sizeof(cl_device_partition_property) == 0);
	EXPECT(clReleaseContext(context), CL_SUCCESS);
}

static const char *source =
	"__kernel void keep(uint value, __global uint *out)\n"
	"{ out[get_global_id(0)] = value + get_global_id(0); }\n"
	"__kernel void keep_long(ulong value, __global ulong *out)\n"
	"{ out[get_global_id(0)] = value; }\n";

/* A number may happen to be the address of a live object. */
static void numbers_that_look_like_handles(struct gpu *gpu)
{
	cl_program program = build(gpu, source);
	cl_kernel kernel = kernel_of(program, sizeof(void *) == 4 ? "keep" :
								    "keep_long");
	cl_mem out = buffer_of(gpu, 64);
	size_t one = 1;
	uintptr_t got = 0;

	for (int round = 0; round < 3; round++) {
		uintptr_t number = round == 1 ? 17 : (uintptr_t)out;

		EXPECT(clSetKernelArg(kernel, 0, sizeof(number), &number),
		       CL_SUCCESS);
		EXPECT(clSetKernelArg(kernel, 1, sizeof(out), &out),
		       CL_SUCCESS);
		NEED(clEnqueueNDRangeKernel(gpu->queue, kernel, 1, NULL, &one,
					    NULL, 0, NULL, NULL));
		NEED(clEnqueueReadBuffer(gpu->queue, out, CL_TRUE, 0,
					 sizeof(got), &got, 0, NULL, NULL));
		CHECK(got == number);
	}
	EXPECT(clSetKernelArg(kernel, 1, 2, &out), CL_INVALID_ARG_SIZE);
	clReleaseMemObject(out);
	clReleaseKernel(kernel);
	clReleaseProgram(program);
}

static void structures_of_sizes(struct gpu *gpu)
{
	cl_mem whole = buffer_of(gpu, 1 << 16);
	cl_buffer_region region = { 1 << 12, 1 << 13 };
	size_t value = 0, told = 0;
	cl_int error;
	cl_mem part = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION,
					&region, &error);

	NEED(error);
	EXPECT(clGetMemObjectInfo(part, CL_MEM_SIZE, sizeof(value), &value,
				  &told), CL_SUCCESS);
	CHECK(value == 1 << 13 && told == sizeof(size_t));
	EXPECT(clGetMemObjectInfo(part, CL_MEM_OFFSET, sizeof(value), &value,
				  NULL), CL_SUCCESS);
	CHECK(value == 1 << 12);
	clReleaseMemObject(part);
	clReleaseMemObject(whole);
}

/* Sizes at the end of what size_t can say. */
static void the_largest_sizes(struct gpu *gpu)
{
	static char bytes[64];
	cl_mem buffer = buffer_of(gpu, sizeof(bytes));
	size_t origin[3] = { 0, 0, 0 }, region[3] = { 8, 2, 1 };
	size_t huge = SIZE_MAX - 7;

	EXPECT(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, huge, 8, bytes,
				   0, NULL, NULL), CL_INVALID_VALUE);
	CHECK(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 8, SIZE_MAX,
				  bytes, 0, NULL, NULL) != CL_SUCCESS);
	CHECK(clEnqueueReadBufferRect(gpu->queue, buffer, CL_TRUE, origin,
				      origin, region, 8, 0, huge, 0, bytes, 0,
				      NULL, NULL) != CL_SUCCESS);
	CHECK(!clEnqueueMapBuffer(gpu->queue, buffer, CL_TRUE, CL_MAP_READ,
				  huge, 8, 0, NULL, NULL, NULL));
	NEED(clFinish(gpu->queue));
	clReleaseMemObject(buffer);
}

/* Sizes that the program can say and a device of 32 bits cannot have: with
 * their upper half cut off, each would be a good one. */
static void sizes_beyond_a_narrow_device(struct gpu *gpu)
{
	const cl_ulong beyond = (cl_ulong)1 << 32;
	size_t huge = (size_t)beyond + 64, one = 1, before = 0;
	cl_uint bits = 0, value = 3, got = 0;
	cl_program program;
	cl_kernel kernel;
	cl_mem out;
	cl_int error;

	NEED(clGetDeviceInfo(gpu->device, CL_DEVICE_ADDRESS_BITS, sizeof(bits),
			     &bits, NULL));
	if (bits != 32 || sizeof(size_t) == 4)
		return;
	CHECK(!clCreateBuffer(gpu->context, 0, huge, NULL, &error));
	CHECK(error == CL_INVALID_BUFFER_SIZE);
	program = build(gpu, source);
	kernel = kernel_of(program, "keep");
	out = buffer_of(gpu, 64);
	NEED(clSetKernelArg(kernel, 0, sizeof(value), &value));
	NEED(clSetKernelArg(kernel, 1, sizeof(out), &out));
	EXPECT(clEnqueueNDRangeKernel(gpu->queue, kernel, 1, NULL, &huge, NULL,
				      0, NULL, NULL),
	       CL_INVALID_GLOBAL_WORK_SIZE);
	before = (size_t)beyond;
	EXPECT(clEnqueueNDRangeKernel(gpu->queue, kernel, 1, &before, &one,
				      NULL, 0, NULL, NULL),
	       CL_INVALID_GLOBAL_OFFSET);
	EXPECT(clEnqueueNDRangeKernel(gpu->queue, kernel, 1, NULL, &one, &huge,
				      0, NULL, NULL),
	       CL_INVALID_WORK_GROUP_SIZE);
	CHECK(clEnqueueReadBuffer(gpu->queue, out, CL_TRUE, before, sizeof(got),
				  &got, 0, NULL, NULL) != CL_SUCCESS);
	/* None of them ran, and what fits still does. */
	NEED(clEnqueueNDRangeKernel(gpu->queue, kernel, 1, NULL, &one, NULL, 0,
				    NULL, NULL));
	NEED(clEnqueueReadBuffer(gpu->queue, out, CL_TRUE, 0, sizeof(got), &got,
				 0, NULL, NULL));
	CHECK(got == value);
	clReleaseMemObject(out);
	clReleaseKernel(kernel);
	clReleaseProgram(program);
}

int main(void)
{
	struct gpu gpu = first_gpu();

	run_test("sizes are as wide as pointers", sizes_are_as_wide_as_pointers,
		 &gpu);
	run_test("limits fit", limits_fit, &gpu);
	run_test("narrow pointers are not shared",
		 narrow_pointers_are_not_shared, &gpu);
	run_test("handles are as wide as pointers",
		 handles_are_as_wide_as_pointers, &gpu);
	run_test("numbers that look like handles",
		 numbers_that_look_like_handles, &gpu);
	run_test("structures of sizes", structures_of_sizes, &gpu);
	run_test("the largest sizes", the_largest_sizes, &gpu);
	run_test("sizes beyond a narrow device", sizes_beyond_a_narrow_device,
		 &gpu);
	return failures != 0;
}
