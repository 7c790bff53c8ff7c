/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Enqueues that are refused although they wait for a user event that nobody
 * has set: nothing comes of them, so their queue is drained at once, blocking
 * ones return at once, and what is enqueued afterwards runs. */
#include "cl_same.h"

#define N 64
#define BYTES (N * sizeof(unsigned))

static const char SOURCE[] =
	"__kernel void add(__global uint *x, uint by)"
	"{ x[get_global_id(0)] += by; }";

static unsigned data[2 * N], back[N];

struct all {
	struct gpu gpu;
	cl_context other_context;
	cl_event unset, foreign;
	cl_mem buffer, second, image, foreign_buffer;
	cl_kernel add, bare;
	unsigned runs;
};

/* After each refusal the queue is as it was: drained, in order, at work. */
static void goes_on(struct all *it)
{
	cl_command_queue queue = it->gpu.queue;
	cl_event marker = NULL;
	size_t size = N;

	NEED(clFinish(queue));
	NEED(clEnqueueNDRangeKernel(queue, it->add, 1, NULL, &size, NULL, 0,
				    NULL, NULL));
	NEED(clEnqueueMarkerWithWaitList(queue, 0, NULL, &marker));
	NEED(clWaitForEvents(1, &marker));
	NEED(clReleaseEvent(marker));
	NEED(clEnqueueReadBuffer(queue, it->buffer, CL_TRUE, 0, BYTES, back, 0,
				 NULL, NULL));
	it->runs++;
	printf("  the queue went on: %s\n",
	       back[0] == it->runs && back[N - 1] == it->runs ? "yes" : "no");
}

#define REFUSED(call)                                                          \
	do {                                                                   \
		SAY(call);                                                     \
		goes_on(it);                                                   \
	} while (0)

/* The list has an event of another context, too. */
#define WAITS 2, both, NULL

static void foreign_events(struct all *it)
{
	cl_event both[2] = {it->unset, it->foreign};
	cl_command_queue queue = it->gpu.queue;
	size_t zero[3] = {0}, small[3] = {4, 4, 1};
	size_t rect[3] = {16, 2, 1}, start[3] = {0};
	unsigned pattern = 7, colour[4] = {1, 2, 3, 4};

	REFUSED(clEnqueueReadBuffer(queue, it->buffer, CL_FALSE, 0, BYTES, back, WAITS));
	REFUSED(clEnqueueReadBuffer(queue, it->buffer, CL_TRUE, 0, BYTES, back, WAITS));
	REFUSED(clEnqueueWriteBuffer(queue, it->second, CL_FALSE, 0, BYTES, data, WAITS));
	REFUSED(clEnqueueWriteBuffer(queue, it->second, CL_TRUE, 0, BYTES, data, WAITS));
	REFUSED(clEnqueueReadBufferRect(queue, it->buffer, CL_FALSE, start, start, rect,
					0, 0, 0, 0, back, WAITS));
	REFUSED(clEnqueueWriteBufferRect(queue, it->second, CL_FALSE, start, start, rect,
					 0, 0, 0, 0, data, WAITS));
	REFUSED(clEnqueueCopyBuffer(queue, it->buffer, it->second, 0, 0, BYTES, WAITS));
	REFUSED(clEnqueueCopyBufferRect(queue, it->buffer, it->second, start, start, rect,
					0, 0, 0, 0, WAITS));
	REFUSED(clEnqueueFillBuffer(queue, it->second, &pattern, sizeof(pattern), 0, BYTES,
				    WAITS));
	REFUSED(clEnqueueReadImage(queue, it->image, CL_FALSE, zero, small, 0, 0, back, WAITS));
	REFUSED(clEnqueueReadImage(queue, it->image, CL_TRUE, zero, small, 0, 0, back, WAITS));
	REFUSED(clEnqueueWriteImage(queue, it->image, CL_FALSE, zero, small, 0, 0, data,
				    WAITS));
	REFUSED(clEnqueueCopyImage(queue, it->image, it->image, zero, zero, small, WAITS));
	REFUSED(clEnqueueFillImage(queue, it->image, colour, zero, small, WAITS));
	REFUSED(clEnqueueCopyImageToBuffer(queue, it->image, it->second, zero, small, 0,
					   WAITS));
	REFUSED(clEnqueueCopyBufferToImage(queue, it->second, it->image, 0, zero, small,
					   WAITS));
	REFUSED(clEnqueueMigrateMemObjects(queue, 1, &it->second, 0, WAITS));
	REFUSED(clEnqueueMarkerWithWaitList(queue, WAITS));
	REFUSED(clEnqueueBarrierWithWaitList(queue, WAITS));
}

/* The list is a good one, and something else is not. */
#undef WAITS
#define WAITS 1, &it->unset, NULL

static void bad_arguments(struct all *it)
{
	cl_command_queue queue = it->gpu.queue;
	size_t one = N, huge = 1 << 30, far[3] = {1000, 0, 0}, zero[3] = {0}, small[3] = {4, 4, 1};
	unsigned pattern = 7;

	REFUSED(clEnqueueNDRangeKernel(queue, it->bare, 1, NULL, &one, NULL, WAITS));
	REFUSED(clEnqueueNDRangeKernel(queue, it->add, 1, NULL, &one, &huge, WAITS));
	REFUSED(clEnqueueNDRangeKernel(queue, it->add, 4, NULL, &one, NULL, WAITS));
	REFUSED(clEnqueueTask(queue, it->bare, WAITS));
	REFUSED(clEnqueueReadBuffer(queue, it->buffer, CL_FALSE, BYTES, BYTES, back, WAITS));
	REFUSED(clEnqueueReadBuffer(queue, it->buffer, CL_TRUE, BYTES, BYTES, back, WAITS));
	REFUSED(clEnqueueWriteBuffer(queue, it->second, CL_FALSE, BYTES, BYTES, data, WAITS));
	REFUSED(clEnqueueCopyBuffer(queue, it->buffer, it->second, BYTES, 0, BYTES, WAITS));
	REFUSED(clEnqueueCopyBuffer(queue, it->buffer, it->buffer, 0, 4, BYTES / 2, WAITS));
	REFUSED(clEnqueueFillBuffer(queue, it->second, &pattern, sizeof(pattern), 2 * BYTES,
				    BYTES, WAITS));
	REFUSED(clEnqueueReadBuffer(queue, it->foreign_buffer, CL_FALSE, 0, BYTES, back,
				    WAITS));
	REFUSED(clEnqueueReadImage(queue, it->image, CL_FALSE, far, small, 0, 0, back, WAITS));
	REFUSED(clEnqueueReadImage(queue, it->image, CL_TRUE, far, small, 0, 0, back, WAITS));
	REFUSED(clEnqueueWriteImage(queue, it->image, CL_FALSE, far, small, 0, 0, data, WAITS));
	REFUSED(clEnqueueCopyImageToBuffer(queue, it->image, it->second, zero, small,
					   10 * BYTES, WAITS));
	REFUSED(clEnqueueMigrateMemObjects(queue, 0, NULL, 0, WAITS));
}

static void maps(struct all *it)
{
	cl_event both[2] = {it->unset, it->foreign};
	cl_command_queue queue = it->gpu.queue;
	cl_int error = 0;
	void *mapped;

	MADE(clEnqueueMapBuffer(queue, it->second, CL_TRUE, CL_MAP_READ, 0, BYTES, 2, both,
				NULL, &error));
	goes_on(it);
	mapped = MADE(clEnqueueMapBuffer(queue, it->second, CL_TRUE,
					 CL_MAP_READ | CL_MAP_WRITE, 0, BYTES, 0, NULL,
					 NULL, &error));
	REFUSED(clEnqueueUnmapMemObject(queue, it->second, mapped, 2, both, NULL));
	REFUSED(clEnqueueUnmapMemObject(queue, it->second, mapped, 0, NULL, NULL));
}

/* Refused with launches in front that wait in a batch, and with one behind. */
static void in_a_batch(struct all *it)
{
	cl_event both[2] = {it->unset, it->foreign};
	cl_command_queue queue = it->gpu.queue;
	size_t one = N;

	for (unsigned n = 0; n < 3; n++)
		NEED(clEnqueueNDRangeKernel(queue, it->add, 1, NULL, &one, NULL, 0, NULL,
					    NULL));
	SAY(clEnqueueCopyBuffer(queue, it->buffer, it->second, BYTES, 0, BYTES, 2, both,
				NULL));
	it->runs += 3;
	goes_on(it);
}

/* What was accepted behind the same event still waits for it. */
static void accepted(struct all *it)
{
	cl_command_queue queue = it->gpu.queue;
	cl_event read = NULL;
	cl_int status = 1;

	back[0] = 0;
	SAY(clEnqueueReadBuffer(queue, it->buffer, CL_FALSE, 0, BYTES, back, 1, &it->unset,
				&read));
	SAY(clEnqueueReadBuffer(queue, it->buffer, CL_FALSE, BYTES, BYTES, back, 1,
				&it->unset, NULL));
	NEED(clGetEventInfo(read, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
			    &status, NULL));
	printf("it waits: %s\n", status > CL_COMPLETE && !back[0] ? "yes" : "no");
	SAY(clSetUserEventStatus(it->unset, CL_COMPLETE));
	SAY(clWaitForEvents(1, &read));
	printf("it ran: %s\n", back[0] == it->runs ? "yes" : "no");
	SAY(clFinish(queue));
	NEED(clReleaseEvent(read));
}

static void on_a_queue(cl_command_queue_properties properties)
{
	cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
	cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
			      .image_width = 8, .image_height = 8};
	struct all all = {.gpu = first_gpu(properties)}, *it = &all;
	cl_program program = built(&it->gpu, SOURCE, "");
	cl_uint by = 1;
	cl_int error = 0;

	memset(data, 0, sizeof(data));
	it->other_context = clCreateContext(NULL, 1, &it->gpu.device, NULL, NULL, &error);
	NEED(error);
	it->unset = clCreateUserEvent(it->gpu.context, &error);
	NEED(error);
	it->foreign = clCreateUserEvent(it->other_context, &error);
	NEED(error);
	it->buffer = clCreateBuffer(it->gpu.context, CL_MEM_COPY_HOST_PTR, BYTES, data, &error);
	NEED(error);
	it->second = clCreateBuffer(it->gpu.context, 0, BYTES, NULL, &error);
	NEED(error);
	it->foreign_buffer = clCreateBuffer(it->other_context, 0, BYTES, NULL, &error);
	NEED(error);
	it->image = clCreateImage(it->gpu.context, 0, &format, &desc, NULL, &error);
	NEED(error);
	it->add = clCreateKernel(program, "add", &error);
	NEED(error);
	it->bare = clCreateKernel(program, "add", &error);
	NEED(error);
	NEED(clSetKernelArg(it->add, 0, sizeof(it->buffer), &it->buffer));
	NEED(clSetKernelArg(it->add, 1, sizeof(by), &by));

	foreign_events(it);
	bad_arguments(it);
	maps(it);
	in_a_batch(it);
	accepted(it);

	NEED(clSetUserEventStatus(it->foreign, CL_COMPLETE));
	NEED(clReleaseEvent(it->unset));
	NEED(clReleaseEvent(it->foreign));
	NEED(clReleaseKernel(it->add));
	NEED(clReleaseKernel(it->bare));
	NEED(clReleaseMemObject(it->buffer));
	NEED(clReleaseMemObject(it->second));
	NEED(clReleaseMemObject(it->foreign_buffer));
	NEED(clReleaseMemObject(it->image));
	NEED(clReleaseProgram(program));
	NEED(clReleaseContext(it->other_context));
	close_gpu(&it->gpu);
}

int main(void)
{
	printf("in order\n");
	on_a_queue(0);
	printf("out of order\n");
	on_a_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	return 0;
}
