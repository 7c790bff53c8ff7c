/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Operations that go on while the program does, in simulated time: what
 * overlaps, what waits for what, and what a program sees of it meanwhile. Every
 * time is printed: they must not depend on when the board answers. */
#define _GNU_SOURCE
#include "cl_test.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define LEN 4096
/* How long after an end a program may learn of it, in nanoseconds. */
#define SOON 100000

static const char source[] =
	"__kernel void add(__global uint *c, uint n) { c[get_global_id(0)] += n; }";

static cl_program program;

struct times {
	cl_ulong queued, submitted, start, end;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static cl_ulong profile(cl_event event, cl_profiling_info what)
{
	cl_ulong value = 0;

	EXPECT(clGetEventProfilingInfo(event, what, sizeof(value), &value, NULL),
	       CL_SUCCESS);
	return value;
}

/* Of an operation that has ended; they are in order. */
static struct times times_of(const char *name, cl_event event)
{
	struct times t = {
		profile(event, CL_PROFILING_COMMAND_QUEUED),
		profile(event, CL_PROFILING_COMMAND_SUBMIT),
		profile(event, CL_PROFILING_COMMAND_START),
		profile(event, CL_PROFILING_COMMAND_END),
	};

	CHECK(t.queued <= t.submitted && t.submitted <= t.start &&
	      t.start <= t.end);
	printf("# %s: %llu + %llu, %llu ns\n", name,
	       (unsigned long long)t.queued,
	       (unsigned long long)(t.start - t.queued),
	       (unsigned long long)(t.end - t.start));
	return t;
}

static cl_command_queue queue_of(struct gpu *gpu, cl_command_queue_properties more)
{
	cl_int error;
	cl_command_queue queue = clCreateCommandQueue(
		gpu->context, gpu->device, CL_QUEUE_PROFILING_ENABLE | more,
		&error);
	NEED(error);
	return queue;
}

static cl_event add(struct gpu *gpu, cl_command_queue queue, cl_uint waits,
		    const cl_event *list)
{
	cl_kernel kernel = kernel_of(program, "add");
	cl_mem buffer = buffer_of(gpu, LEN);
	cl_uint one = 1;
	size_t size = LEN / 4;
	cl_event event;

	NEED(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
	NEED(clSetKernelArg(kernel, 1, sizeof(one), &one));
	NEED(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, waits,
				    list, &event));
	NEED(clReleaseKernel(kernel));
	NEED(clReleaseMemObject(buffer));
	return event;
}

static cl_event copy_in(struct gpu *gpu, cl_command_queue queue, cl_uint waits,
			const cl_event *list)
{
	static uint8_t data[LEN];
	cl_mem buffer = buffer_of(gpu, LEN);
	cl_event event;

	NEED(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, LEN, data, waits,
				  list, &event));
	NEED(clReleaseMemObject(buffer));
	return event;
}

static void kernels_and_copies_overlap(struct gpu *gpu)
{
	cl_command_queue other = queue_of(gpu, 0);
	uint64_t before = now_ns();
	cl_event kernels[4], copies[4];
	uint64_t busy = 0, took;

	for (int i = 0; i < 4; i++) {
		kernels[i] = add(gpu, gpu->queue, 0, NULL);
		copies[i] = copy_in(gpu, other, 0, NULL);
	}
	EXPECT(clFinish(gpu->queue), CL_SUCCESS);
	EXPECT(clFinish(other), CL_SUCCESS);
	took = now_ns() - before;
	for (int i = 0; i < 4; i++) {
		struct times kernel = times_of("kernel", kernels[i]);
		struct times copy = times_of("copy", copies[i]);

		busy += kernel.end - kernel.start + copy.end - copy.start;
		CHECK(copy.start < kernel.end && kernel.start < copy.end);
	}
	printf("# %llu ns of work in %llu ns\n", (unsigned long long)busy,
	       (unsigned long long)took);
	CHECK(took < busy * 3 / 4);
}

static void wait_lists_order_a_queue_that_is_not(struct gpu *gpu)
{
	cl_command_queue queue =
		queue_of(gpu, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	cl_event first = add(gpu, queue, 0, NULL);
	cl_event after = copy_in(gpu, queue, 1, &first);
	cl_event alone = copy_in(gpu, queue, 0, NULL);
	cl_event both[] = { after, alone };
	cl_event last = add(gpu, queue, 2, both);
	struct times t[4];

	EXPECT(clWaitForEvents(1, &last), CL_SUCCESS);
	t[0] = times_of("first", first);
	t[1] = times_of("after it", after);
	t[2] = times_of("alone", alone);
	t[3] = times_of("after both", last);
	CHECK(t[2].start < t[0].end);
	CHECK(t[1].start >= t[0].end);
	CHECK(t[3].start >= t[1].end && t[3].start >= t[2].end);
}

static void markers_and_barriers(struct gpu *gpu)
{
	cl_command_queue queue =
		queue_of(gpu, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	cl_event kernel = add(gpu, queue, 0, NULL);
	cl_event copy = copy_in(gpu, queue, 0, NULL);
	cl_event some, all, barrier, after;
	struct times t[6];

	NEED(clEnqueueMarkerWithWaitList(queue, 1, &copy, &some));
	NEED(clEnqueueMarkerWithWaitList(queue, 0, NULL, &all));
	NEED(clEnqueueBarrierWithWaitList(queue, 0, NULL, &barrier));
	after = copy_in(gpu, queue, 0, NULL);
	EXPECT(clFinish(queue), CL_SUCCESS);
	t[0] = times_of("kernel", kernel);
	t[1] = times_of("copy", copy);
	t[2] = times_of("marker of the copy", some);
	t[3] = times_of("marker", all);
	t[4] = times_of("barrier", barrier);
	t[5] = times_of("behind the barrier", after);
	CHECK(t[1].start < t[0].end);
	CHECK(t[2].end == t[1].end);
	CHECK(t[3].end >= t[0].end && t[3].end >= t[1].end);
	CHECK(t[4].end >= t[3].end);
	CHECK(t[5].start >= t[4].end);
}

struct setter {
	cl_event event;
	uint64_t at;
};

static void *set_later(void *arg)
{
	struct setter *setter = arg;

	usleep(3000);
	setter->at = now_ns();
	EXPECT(clSetUserEventStatus(setter->event, CL_COMPLETE), CL_SUCCESS);
	return NULL;
}

static void another_thread_sets_the_event(struct gpu *gpu)
{
	struct setter setter;
	cl_event kernel, copy;
	struct times t[2];
	pthread_t thread;
	cl_int error;

	setter.event = clCreateUserEvent(gpu->context, &error);
	NEED(error);
	kernel = add(gpu, gpu->queue, 1, &setter.event);
	copy = copy_in(gpu, gpu->queue, 0, NULL);
	pthread_create(&thread, NULL, set_later, &setter);
	EXPECT(clWaitForEvents(1, &copy), CL_SUCCESS);
	pthread_join(thread, NULL);
	t[0] = times_of("kernel", kernel);
	t[1] = times_of("copy", copy);
	CHECK(t[0].start >= setter.at && t[0].start < setter.at + SOON);
	CHECK(t[1].start >= t[0].end);
}

static void profiles_come_with_the_end(struct gpu *gpu)
{
	static const cl_profiling_info all[] = {
		CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
		CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END
	};
	uint64_t before = now_ns(), after;
	cl_event first = add(gpu, gpu->queue, 0, NULL);
	cl_event second = add(gpu, gpu->queue, 0, NULL);
	struct times t;
	cl_ulong value;

	for (int i = 0; i < 4; i++) {
		EXPECT(clGetEventProfilingInfo(first, all[i], sizeof(value),
					       &value, NULL),
		       CL_PROFILING_INFO_NOT_AVAILABLE);
		EXPECT(clGetEventProfilingInfo(second, all[i], sizeof(value),
					       &value, NULL),
		       CL_PROFILING_INFO_NOT_AVAILABLE);
	}
	EXPECT(clWaitForEvents(1, &second), CL_SUCCESS);
	after = now_ns();
	t = times_of("second", second);
	CHECK(before <= t.queued && t.end <= after && after < t.end + SOON);
	CHECK(times_of("first", first).end <= t.start);
}

static void polling_sees_it_run_and_end(struct gpu *gpu)
{
	cl_event first = add(gpu, gpu->queue, 0, NULL);
	cl_event second = add(gpu, gpu->queue, 0, NULL);
	cl_int status = CL_QUEUED, before = CL_QUEUED;
	int seen[4] = { 0 };
	uint64_t polls = 0;
	struct times t;

	do {
		NEED(clGetEventInfo(second, CL_EVENT_COMMAND_EXECUTION_STATUS,
				    sizeof(status), &status, NULL));
		CHECK(status <= before);
		before = status;
		seen[status] = 1;
		polls++;
	} while (status != CL_COMPLETE);
	t = times_of("polled", second);
	CHECK(seen[CL_RUNNING] && (seen[CL_QUEUED] || seen[CL_SUBMITTED]));
	CHECK(now_ns() < t.end + SOON);
	printf("# %llu polls\n", (unsigned long long)polls);
	EXPECT(clWaitForEvents(1, &first), CL_SUCCESS);
}

/* No call is made until the bytes are there: only the driver's timer. */
static void output_arrives_by_itself(struct gpu *gpu)
{
	static volatile uint32_t out[LEN / 4];
	cl_mem buffer = buffer_of(gpu, LEN);
	cl_uint pattern = 77;
	uint64_t arrived;
	struct times t;
	cl_event read;

	out[0] = 0;
	NEED(clEnqueueFillBuffer(gpu->queue, buffer, &pattern, 4, 0, LEN, 0,
				 NULL, NULL));
	NEED(clEnqueueReadBuffer(gpu->queue, buffer, CL_FALSE, 0, LEN,
				 (void *)out, 0, NULL, &read));
	arrived = now_ns();
	while (!out[0] && now_ns() < arrived + 1000000000ull)
		;
	arrived = now_ns();
	CHECK(out[0] == 77 && out[LEN / 4 - 1] == 77);
	EXPECT(clWaitForEvents(1, &read), CL_SUCCESS);
	t = times_of("read", read);
	printf("# seen %lld ns after its end\n",
	       (long long)(arrived - t.end));
	CHECK(arrived >= t.end && arrived < t.end + SOON);
	NEED(clReleaseMemObject(buffer));
}

int main(void)
{
	struct gpu gpu = first_gpu();

	program = build(&gpu, source);
	/* The first use of each kind is not what is timed here. */
	cl_event warm = add(&gpu, gpu.queue, 0, NULL);
	NEED(clWaitForEvents(1, &warm));
	run_test("kernels_and_copies_overlap", kernels_and_copies_overlap, &gpu);
	run_test("wait_lists_order_a_queue_that_is_not",
		 wait_lists_order_a_queue_that_is_not, &gpu);
	run_test("markers_and_barriers", markers_and_barriers, &gpu);
	run_test("another_thread_sets_the_event", another_thread_sets_the_event,
		 &gpu);
	run_test("profiles_come_with_the_end", profiles_come_with_the_end, &gpu);
	run_test("polling_sees_it_run_and_end", polling_sees_it_run_and_end,
		 &gpu);
	run_test("output_arrives_by_itself", output_arrives_by_itself, &gpu);
	return failures != 0;
}
