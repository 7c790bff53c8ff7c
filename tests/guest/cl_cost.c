/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What calls cost in the guest, in instructions: QEMU's -icount shift=0 makes
 * one instruction a nanosecond of the guest's counter. The board is one that
 * reports no times, so that nothing else passes.
 *
 * A line a row: kind, instructions a call, name. Kinds: `kernel` (system calls
 * and bare submissions, for comparison), `local` (the library alone), `answer`
 * (forwarded, waits for an answer), `region` (the same with memory of the
 * program's to be pinned), `post` (travels in a batch; 64 calls with the doorbell
 * that takes them along), `callback` (a launch with an event and a callback of it, up
 * to the callback's end; 64 of them in quick succession). */
#define _GNU_SOURCE
#include "cl_test.h"

#include <fcntl.h>
#include <gil.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define GROUPS 15 /* whose median counts */
#define POSTS 64  /* in a batch */

/* The counter's frequency in Hz, and its value; the barrier keeps the reading
 * where it stands. */
static uint64_t counter_hz(void)
{
	uint64_t hz;
#ifdef __aarch64__
	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
#else
	uint32_t low;

	__asm__ volatile("mrc p15, 0, %0, c14, c0, 0" : "=r"(low));
	hz = low;
#endif
	return hz;
}

static uint64_t counter(void)
{
	uint64_t now;
#ifdef __aarch64__
	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(now)::"memory");
#else
	uint32_t low, high;

	__asm__ volatile("isb; mrrc p15, 1, %0, %1, c14"
			 : "=r"(low), "=r"(high)::"memory");
	now = (uint64_t)high << 32 | low;
#endif
	return now;
}

static struct gpu gpu;
static cl_kernel kernel;
static cl_mem buffer, other_buffer;
static cl_event user_event;
static int session;

static int ascending(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* Times `calls` of `call`, several times over. Each group begins with nothing
 * in the batch. */
static void row(const char *kind, const char *name, int calls,
		void (*call)(int))
{
	uint64_t ticks[GROUPS], begin;

	call(0);
	call(1);
	for (int group = 0; group < GROUPS; group++) {
		NEED(clFinish(gpu.queue));
		begin = counter();
		for (int n = 0; n < calls; n++)
			call(n);
		ticks[group] = counter() - begin;
	}
	qsort(ticks, GROUPS, sizeof(ticks[0]), ascending);
	printf("%s %.0f %s\n", kind,
	       ticks[GROUPS / 2] * 1e9 / counter_hz() / calls, name);
	fflush(stdout);
}

static void bare_syscall(int n)
{
	(void)n;
	syscall(SYS_getppid);
}

static void bare_ioctl(int n)
{
	struct gil_info info;

	(void)n;
	ioctl(session, GIL_IOC_INFO, &info);
}

/* One envelope of the control call gil_console with no bytes: the host answers
 * it at once. */
static void bare_submit(int n)
{
	static const uint8_t nothing[] = {
		22, 0, 0, 0, /* length */
		1, 0, 0, 0,  /* op: API 0, entry 1 */
		0, 0, 0, 0, 0, 0, 0, 0, /* entry */
		0, 0, 0, 0, 0, 0, 0, 0, /* a query without anything */
		0, 0, /* arguments: stream out, no bytes */
	};
	uint8_t reply[64];
	struct gil_submit submit = {
		.request = (uintptr_t)nothing,
		.request_len = sizeof(nothing),
		.reply = (uintptr_t)reply,
		.reply_cap = sizeof(reply),
	};

	(void)n;
	if (ioctl(session, GIL_IOC_SUBMIT, &submit) || submit.status)
		exit(2);
}

static void retain_and_release(int n)
{
	(void)n;
	clRetainMemObject(buffer);
	clReleaseMemObject(buffer);
}

static void device_info(int n)
{
	cl_uint units;

	(void)n;
	NEED(clGetDeviceInfo(gpu.device, CL_DEVICE_MAX_COMPUTE_UNITS,
			     sizeof(units), &units, NULL));
}

static void work_group_info(int n)
{
	size_t size;

	(void)n;
	NEED(clGetKernelWorkGroupInfo(kernel, gpu.device,
				      CL_KERNEL_WORK_GROUP_SIZE, sizeof(size),
				      &size, NULL));
}

static void finish(int n)
{
	(void)n;
	NEED(clFinish(gpu.queue));
}

static void poll_event(int n)
{
	cl_int status;

	(void)n;
	NEED(clGetEventInfo(user_event, CL_EVENT_COMMAND_EXECUTION_STATUS,
			    sizeof(status), &status, NULL));
}

/* Local memory of another size than before: the board is asked. */
static void set_new_argument(int n)
{
	NEED(clSetKernelArg(kernel, 2, n % 2 ? 4 : 8, NULL));
}

static void read_blocking(int n)
{
	uint32_t value;

	(void)n;
	NEED(clEnqueueReadBuffer(gpu.queue, buffer, CL_TRUE, 0, sizeof(value),
				 &value, 0, NULL, NULL));
}

static void set_number(int n)
{
	cl_uint value = n;

	NEED(clSetKernelArg(kernel, 1, sizeof(value), &value));
}

static void set_buffer(int n)
{
	(void)n;
	NEED(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
}

static void swap_buffers(int n)
{
	cl_mem *wanted = n % 2 ? &other_buffer : &buffer;

	NEED(clSetKernelArg(kernel, 0, sizeof(*wanted), wanted));
}

static void launch_items(size_t items, cl_event *event)
{
	NEED(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &items, NULL, 0,
				    NULL, event));
}

static void launch(int n)
{
	(void)n;
	launch_items(64, NULL);
}

/* More sizes in turn than the library remembers: the board is asked. */
static void launch_new(int n)
{
	launch_items(128 + 64 * (n % 16), NULL);
}

static void launch_volume(int n)
{
	static const size_t items[] = { 192, 16, 2 }, group[] = { 16, 8, 1 };

	(void)n;
	NEED(clEnqueueNDRangeKernel(gpu.queue, kernel, 3, NULL, items, group, 0,
				    NULL, NULL));
}

static void set_and_launch(int n)
{
	if (n % 2)
		launch(n);
	else
		set_number(n);
}

static void launch_with_event(int n)
{
	static cl_event event;

	if (n % 2)
		NEED(clReleaseEvent(event));
	else
		launch_items(64, &event);
}

static volatile int called;

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *data)
{
	(void)event;
	(void)data;
	NEED(status);
	called++;
}

/* The last one waits for all. */
static void launch_with_callback(int n)
{
	const struct timespec moment = { 0, 10000 };
	cl_event event;

	if (n == 0)
		called = 0;
	launch_items(64, &event);
	NEED(clSetEventCallback(event, CL_COMPLETE, on_event, NULL));
	NEED(clReleaseEvent(event));
	while (n == POSTS - 1 && called < POSTS)
		nanosleep(&moment, NULL);
}

static void flush(int n)
{
	(void)n;
	NEED(clFlush(gpu.queue));
}

static void set_up(void)
{
	static const char source[] =
		"__kernel void k(__global uint *a, uint n, __local uint *l)"
		"{ l[0] = n; a[0] = l[0]; }";
	cl_int error;

	gpu = first_gpu();
	buffer = buffer_of(&gpu, 4096);
	other_buffer = buffer_of(&gpu, 4096);
	kernel = kernel_of(build(&gpu, source), "k");
	user_event = clCreateUserEvent(gpu.context, &error);
	NEED(error);
	set_buffer(0);
	set_number(0);
	set_new_argument(0);
	session = open("/dev/" GIL_DEVICE_NAME, O_RDWR | O_CLOEXEC);
}

int main(void)
{
	set_up();
	row("kernel", "getppid", 16, bare_syscall);
	row("kernel", "ioctl GIL_IOC_INFO", 16, bare_ioctl);
	row("kernel", "ioctl GIL_IOC_SUBMIT, nothing", 16, bare_submit);
	row("local", "clRetainMemObject, clReleaseMemObject", 16,
	    retain_and_release);
	row("answer", "clGetDeviceInfo", 16, device_info);
	row("answer", "clGetKernelWorkGroupInfo", 16, work_group_info);
	row("answer", "clFinish, idle queue", 16, finish);
	row("answer", "clGetEventInfo, status of an event not set", 16,
	    poll_event);
	row("answer", "clSetKernelArg, of a new kind", 16, set_new_argument);
	row("answer", "clFlush", 16, flush);
	row("answer", "clEnqueueNDRangeKernel, of a new size", 16, launch_new);
	row("region", "clEnqueueReadBuffer, blocking, 4 bytes", 16,
	    read_blocking);
	row("post", "clSetKernelArg, a number", POSTS, set_number);
	row("post", "clSetKernelArg, a buffer", POSTS, set_buffer);
	row("post", "clSetKernelArg, two buffers in turn", POSTS, swap_buffers);
	row("post", "clEnqueueNDRangeKernel", POSTS, launch);
	row("post", "clEnqueueNDRangeKernel, in three dimensions, with groups", POSTS,
	    launch_volume);
	row("post", "clSetKernelArg, clEnqueueNDRangeKernel in turn", POSTS,
	    set_and_launch);
	row("post", "clEnqueueNDRangeKernel with an event, clReleaseEvent in turn", POSTS,
	    launch_with_event);
	row("callback", "clEnqueueNDRangeKernel, clSetEventCallback, clReleaseEvent",
	    POSTS, launch_with_callback);
	return failures != 0;
}
