/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Kernels that print: in order with each other and with the program itself,
 * which flushes what it prints, as drivers may write past its buffers. */
#include "cl_same.h"

static const char source[] =
	"__kernel void one(int n)\n"
	"{ printf(\"kernel %d item %d\\n\", n, (int)get_global_id(0)); }\n"
	"__kernel void formats(float f, long l)\n"
	"{ printf(\"%5.2f %ld %x %c %s|%-6d|%06d\\n\", f, l, 255, 'z',\n"
	"         \"text\", 12, 34); }\n"
	"__kernel void no_newline(int n) { printf(\"%d, \", n); }\n"
	"__kernel void many(int lines)\n"
	"{ for (int n = 0; n < lines; n++) printf(\"line %07d of many\\n\", n); }\n"
	"__kernel void silent(__global int *a) { a[0] += 1; }\n";

static void flushed(const char *text)
{
	fputs(text, stdout);
	fflush(stdout);
}

static cl_event launch(struct gpu *gpu, cl_kernel kernel, size_t items,
		       cl_uint waits, const cl_event *list)
{
	cl_event event;

	NEED(clEnqueueNDRangeKernel(gpu->queue, kernel, 1, NULL, &items, &items,
				    waits, list, &event));
	return event;
}

static void set_int(cl_kernel kernel, int value)
{
	NEED(clSetKernelArg(kernel, 0, sizeof(value), &value));
}

static void finish(struct gpu *gpu)
{
	NEED(clFinish(gpu->queue));
}

static cl_kernel kernel_of(cl_program program, const char *name)
{
	cl_int error;
	cl_kernel kernel = clCreateKernel(program, name, &error);

	NEED(error);
	return kernel;
}

/* The program says something before, between and after. */
static void interleaved(struct gpu *gpu, cl_program program)
{
	cl_kernel one = kernel_of(program, "one");

	for (int n = 0; n < 5; n++) {
		flushed("before\n");
		set_int(one, n);
		clReleaseEvent(launch(gpu, one, 3, 0, NULL));
		finish(gpu);
		flushed("after\n");
	}
	/* Several before anyone waits. */
	for (int n = 10; n < 20; n++) {
		set_int(one, n);
		clReleaseEvent(launch(gpu, one, 1, 0, NULL));
	}
	finish(gpu);
	flushed("ten\n");
	clReleaseKernel(one);
}

static void formats(struct gpu *gpu, cl_program program)
{
	cl_kernel formats = kernel_of(program, "formats");
	cl_kernel part = kernel_of(program, "no_newline");
	cl_float f = 3.25f;
	cl_long l = -1234567890123;
	cl_event event;

	NEED(clSetKernelArg(formats, 0, sizeof(f), &f));
	NEED(clSetKernelArg(formats, 1, sizeof(l), &l));
	event = launch(gpu, formats, 1, 0, NULL);
	NEED(clWaitForEvents(1, &event));
	clReleaseEvent(event);
	for (int n = 0; n < 10; n++) {
		set_int(part, n);
		event = launch(gpu, part, 1, 0, NULL);
		NEED(clWaitForEvents(1, &event));
		clReleaseEvent(event);
	}
	flushed("\n");
	clReleaseKernel(formats);
	clReleaseKernel(part);
}

/* Kernels that wait for the program. */
static void behind_an_event(struct gpu *gpu, cl_program program)
{
	cl_kernel one = kernel_of(program, "one");
	cl_int error;
	cl_event user = clCreateUserEvent(gpu->context, &error), last = NULL;

	for (int n = 30; n < 33; n++) {
		cl_event event;

		set_int(one, n);
		event = launch(gpu, one, 1, 1, last ? &last : &user);
		if (last)
			clReleaseEvent(last);
		last = event;
	}
	flushed("not yet\n");
	NEED(clSetUserEventStatus(user, CL_COMPLETE));
	NEED(clWaitForEvents(1, &last));
	flushed("now\n");
	clReleaseEvent(last);
	clReleaseEvent(user);
	clReleaseKernel(one);
}

/* A blocking read behind it, instead of a wait; a kernel that does not print. */
static void by_reading(struct gpu *gpu, cl_program program)
{
	cl_kernel one = kernel_of(program, "one");
	cl_kernel silent = kernel_of(program, "silent");
	cl_int error, zero = 0, got = -1;
	cl_mem buffer = clCreateBuffer(gpu->context, CL_MEM_COPY_HOST_PTR,
				       sizeof(zero), &zero, &error);

	NEED(error);
	NEED(clSetKernelArg(silent, 0, sizeof(buffer), &buffer));
	set_int(one, 40);
	clReleaseEvent(launch(gpu, one, 1, 0, NULL));
	clReleaseEvent(launch(gpu, silent, 1, 0, NULL));
	NEED(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 0, sizeof(got),
				 &got, 0, NULL, NULL));
	printf("read %d\n", (int)got);
	fflush(stdout);
	clReleaseMemObject(buffer);
	clReleaseKernel(one);
	clReleaseKernel(silent);
}

/* A program of a binary prints, too. */
static void of_a_binary(struct gpu *gpu, cl_program program)
{
	size_t size = 0;
	unsigned char *binary;
	cl_program again;
	cl_kernel one;
	cl_int error;

	NEED(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size),
			      &size, NULL));
	binary = malloc(size);
	NEED(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary),
			      &binary, NULL));
	again = clCreateProgramWithBinary(gpu->context, 1, &gpu->device, &size,
					  (const unsigned char **)&binary, NULL,
					  &error);
	NEED(error);
	NEED(clBuildProgram(again, 1, &gpu->device, "", NULL, NULL));
	one = kernel_of(again, "one");
	set_int(one, 50);
	clReleaseEvent(launch(gpu, one, 2, 0, NULL));
	finish(gpu);
	flushed("of a binary\n");
	clReleaseKernel(one);
	clReleaseProgram(again);
	free(binary);
}

/* Some 800 KiB at once. */
static void much(struct gpu *gpu, cl_program program)
{
	cl_kernel many = kernel_of(program, "many");

	set_int(many, 40000);
	clReleaseEvent(launch(gpu, many, 1, 0, NULL));
	finish(gpu);
	flushed("that was all\n");
	clReleaseKernel(many);
}

int main(void)
{
	struct gpu gpu = first_gpu(0);
	cl_program program = built(&gpu, source, "");

	interleaved(&gpu, program);
	formats(&gpu, program);
	behind_an_event(&gpu, program);
	by_reading(&gpu, program);
	of_a_binary(&gpu, program);
	much(&gpu, program);
	NEED(clReleaseProgram(program));
	close_gpu(&gpu);
	return 0;
}
