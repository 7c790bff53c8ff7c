/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Commands on a queue: kernels, reads, writes, copies, fills, rectangles,
 * migrations, markers, barriers, events and their times. */
#include "cl_same.h"

#define N 256

static const char SOURCE[] =
	"__kernel void add(__global uint *x, uint by)"
	"{ x[get_global_id(0)] += by + get_global_id(1); }"
	"__kernel void once(__global uint *x) { x[0] = 4711; }";

static unsigned data[N], back[N];

static void events(struct gpu *gpu, cl_event event)
{
	cl_ulong queued = 0, submitted = 0, start = 0, end = 0;

	INFO(clGetEventInfo, event, CL_EVENT_COMMAND_TYPE);
	INFO(clGetEventInfo, event, CL_EVENT_COMMAND_EXECUTION_STATUS);
	INFO(clGetEventInfo, event, CL_EVENT_REFERENCE_COUNT);
	HANDLES(clGetEventInfo, event, CL_EVENT_COMMAND_QUEUE, gpu->queue);
	HANDLES(clGetEventInfo, event, CL_EVENT_CONTEXT, gpu->context);
	INFO(clGetEventInfo, event, 0xdead);
#define TIME(name, to)                                                         \
	SAY(clGetEventProfilingInfo(event, name, sizeof(to), &to, NULL))
	TIME(CL_PROFILING_COMMAND_QUEUED, queued);
	TIME(CL_PROFILING_COMMAND_SUBMIT, submitted);
	TIME(CL_PROFILING_COMMAND_START, start);
	TIME(CL_PROFILING_COMMAND_END, end);
	printf("times in order: %s\n", queued <= submitted && submitted <= start &&
						       start <= end
					       ? "yes"
					       : "no");
	SAY(clGetEventProfilingInfo(event, 0xdead, sizeof(end), &end, NULL));
	SAY(clRetainEvent(event));
	SAY(clReleaseEvent(event));
	SAY(clReleaseEvent(event));
}

static void kernels(struct gpu *gpu, cl_mem buffer, cl_program program)
{
	size_t offset[2] = {8, 1}, global[2] = {16, 2}, local[2] = {4, 2};
	size_t huge[2] = {1 << 20, 1 << 20};
	cl_int error = 0;
	cl_uint by = 100;
	cl_event event = NULL;
	cl_kernel add = MADE(clCreateKernel(program, "add", &error));
	cl_kernel once = MADE(clCreateKernel(program, "once", &error));

	SAY(clSetKernelArg(add, 0, sizeof(buffer), &buffer));
	SAY(clSetKernelArg(add, 1, sizeof(by), &by));
	SAY(clSetKernelArg(once, 0, sizeof(buffer), &buffer));
	SAY(clEnqueueNDRangeKernel(gpu->queue, add, 2, offset, global, local, 0,
				   NULL, &event));
	SAY(clEnqueueTask(gpu->queue, once, 1, &event, NULL));
	SAY(clEnqueueNDRangeKernel(gpu->queue, add, 4, NULL, global, NULL, 0, NULL,
				   NULL));
	SAY(clEnqueueNDRangeKernel(gpu->queue, add, 2, NULL, global, huge, 0, NULL,
				   NULL));
	SAY(clEnqueueNDRangeKernel(gpu->queue, add, 0, NULL, global, NULL, 0, NULL,
				   NULL));
	SAY(clEnqueueNDRangeKernel(gpu->queue, add, 2, NULL, global, NULL, 0, NULL,
				   NULL));
	SAY(clEnqueueNDRangeKernel(NULL, add, 1, NULL, global, NULL, 0, NULL,
				   NULL));
	SAY(clFinish(gpu->queue));
	events(gpu, event);
	SAY(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 0, sizeof(back), back,
				0, NULL, NULL));
	printf("computed: %08x %u %u\n", checksum(back, sizeof(back)), back[0],
	       back[9]);
	SAY(clReleaseKernel(once));
	SAY(clReleaseKernel(add));
}

static void moves(struct gpu *gpu, cl_mem a, cl_mem b)
{
	size_t origin[3] = {8, 1, 0}, host[3] = {0, 0, 0}, region[3] = {16, 4, 2};
	size_t none[3] = {0, 1, 1};
	cl_uint pattern = 0xabcd1234;
	cl_event waits[2];
	cl_mem both[2] = {a, b};

	memset(back, 0, sizeof(back));
	SAY(clEnqueueWriteBuffer(gpu->queue, a, CL_FALSE, 0, sizeof(data), data, 0,
				 NULL, &waits[0]));
	SAY(clEnqueueCopyBuffer(gpu->queue, a, b, 0, 64, 256, 1, waits,
				&waits[1]));
	SAY(clWaitForEvents(2, waits));
	SAY(clReleaseEvent(waits[0]));
	SAY(clEnqueueFillBuffer(gpu->queue, b, &pattern, 4, 512, 128, 1, &waits[1],
				NULL));
	SAY(clEnqueueFillBuffer(gpu->queue, b, &pattern, 3, 512, 128, 0, NULL,
				NULL));
	SAY(clReleaseEvent(waits[1]));
	SAY(clEnqueueMigrateMemObjects(gpu->queue, 2, both, 0, 0, NULL, NULL));
	SAY(clEnqueueMigrateMemObjects(gpu->queue, 0, both, 0, 0, NULL, NULL));
	SAY(clEnqueueReadBufferRect(gpu->queue, b, CL_TRUE, origin, host, region,
				    32, 256, 20, 100, back, 0, NULL, NULL));
	printf("a rectangle: %08x\n", checksum(back, sizeof(back)));
	SAY(clEnqueueWriteBufferRect(gpu->queue, a, CL_FALSE, origin, host, region,
				     32, 256, 0, 0, data, 0, NULL, NULL));
	SAY(clEnqueueCopyBufferRect(gpu->queue, a, b, origin, host, region, 32, 256,
				    64, 0, 0, NULL, NULL));
	SAY(clEnqueueReadBufferRect(gpu->queue, b, CL_TRUE, origin, host, none, 0,
				    0, 0, 0, back, 0, NULL, NULL));
	SAY(clEnqueueReadBuffer(gpu->queue, b, CL_TRUE, 4, sizeof(back) - 4, back,
				0, NULL, NULL));
	printf("copied: %08x\n", checksum(back, sizeof(back)));
	SAY(clEnqueueReadBuffer(gpu->queue, b, CL_TRUE, 8, sizeof(back), back, 0,
				NULL, NULL));
	SAY(clEnqueueReadBuffer(gpu->queue, b, CL_TRUE, 0, 8, NULL, 0, NULL, NULL));
	SAY(clEnqueueReadBuffer(gpu->queue, NULL, CL_TRUE, 0, 8, back, 0, NULL,
				NULL));
	SAY(clEnqueueWriteBuffer(gpu->queue, a, CL_TRUE, sizeof(data), 8, data, 0,
				 NULL, NULL));
	SAY(clEnqueueCopyBuffer(gpu->queue, a, a, 0, 32, 256, 0, NULL, NULL));
}

static void maps(struct gpu *gpu, cl_mem a)
{
	cl_int error = 0;
	unsigned *at = MADE(clEnqueueMapBuffer(gpu->queue, a, CL_TRUE,
					       CL_MAP_READ | CL_MAP_WRITE, 128,
					       256, 0, NULL, NULL, &error));

	printf("mapped: %08x\n", checksum(at, 256));
	at[3] = 99;
	INFO(clGetMemObjectInfo, a, CL_MEM_MAP_COUNT);
	SAY(clEnqueueUnmapMemObject(gpu->queue, a, at, 0, NULL, NULL));
	SAY(clFinish(gpu->queue));
	SAY(clEnqueueReadBuffer(gpu->queue, a, CL_TRUE, 140, 4, back, 0, NULL,
				NULL));
	printf("through the map: %u\n", back[0]);
	MADE(clEnqueueMapBuffer(gpu->queue, a, CL_TRUE, CL_MAP_READ, 0, 1 << 20, 0,
				NULL, NULL, &error));
	SAY(clEnqueueUnmapMemObject(gpu->queue, a, &error, 0, NULL, NULL));
}

static void order(struct gpu *gpu)
{
	cl_int error = 0;
	cl_event user = MADE(clCreateUserEvent(gpu->context, &error));
	cl_event marker = NULL, barrier = NULL;

	INFO(clGetEventInfo, user, CL_EVENT_COMMAND_TYPE);
	INFO(clGetEventInfo, user, CL_EVENT_COMMAND_EXECUTION_STATUS);
	HANDLES(clGetEventInfo, user, CL_EVENT_COMMAND_QUEUE, NULL);
	SAY(clEnqueueMarkerWithWaitList(gpu->queue, 1, &user, &marker));
	SAY(clEnqueueBarrierWithWaitList(gpu->queue, 0, NULL, &barrier));
	SAY(clSetUserEventStatus(user, CL_COMPLETE));
	SAY(clSetUserEventStatus(user, CL_COMPLETE));
	INFO(clGetEventInfo, user, CL_EVENT_COMMAND_EXECUTION_STATUS);
	SAY(clWaitForEvents(1, &barrier));
	INFO(clGetEventInfo, marker, CL_EVENT_COMMAND_TYPE);
	INFO(clGetEventInfo, barrier, CL_EVENT_COMMAND_TYPE);
	INFO(clGetEventInfo, barrier, CL_EVENT_COMMAND_EXECUTION_STATUS);
	SAY(clReleaseEvent(barrier));
	SAY(clReleaseEvent(marker));
	SAY(clReleaseEvent(user));
	SAY(clEnqueueMarker(gpu->queue, &marker));
	SAY(clEnqueueBarrier(gpu->queue));
	SAY(clFinish(gpu->queue));
	SAY(clReleaseEvent(marker));
	SAY(clWaitForEvents(0, NULL));
	SAY(clRetainEvent(NULL));
	SAY(clReleaseEvent(NULL));
	SAY(clSetUserEventStatus(NULL, CL_COMPLETE));
}

int main(void)
{
	struct gpu gpu = first_gpu(CL_QUEUE_PROFILING_ENABLE);
	cl_program program = built(&gpu, SOURCE, "");
	cl_int error = 0;
	cl_mem a, b;

	for (unsigned n = 0; n < N; n++)
		data[n] = n * 2654435761u;
	a = MADE(clCreateBuffer(gpu.context, CL_MEM_COPY_HOST_PTR, sizeof(data),
				data, &error));
	b = MADE(clCreateBuffer(gpu.context, CL_MEM_COPY_HOST_PTR, sizeof(data),
				data, &error));
	kernels(&gpu, a, program);
	moves(&gpu, a, b);
	maps(&gpu, a);
	order(&gpu);
	NEED(clReleaseMemObject(b));
	NEED(clReleaseMemObject(a));
	NEED(clReleaseProgram(program));
	close_gpu(&gpu);
	return 0;
}
