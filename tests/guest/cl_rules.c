/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The rules of the path, seen from a program: a signal in the middle of a
 * call, a fork, threads of which one waits for what the other causes, memory
 * that cannot be pinned, handles that are none. */
#define _GNU_SOURCE
#include "cl_test.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Counts its own executions in c[0]; c[1] is a value that takes `rounds` steps
 * to find. */
static const char source[] =
	"__kernel void count(__global uint *c, uint rounds)"
	"{ uint s = 1;"
	"  for (uint i = 0; i < rounds; i++) s = s * 1664525u + (1013904223u ^ i);"
	"  c[0] += 1; c[1] = s; }"
	"__kernel void add(__global uint *c, uint n) { c[0] += n; }";

static cl_program program;

static uint32_t spin(uint32_t rounds)
{
	uint32_t s = 1;

	for (uint32_t i = 0; i < rounds; i++)
		s = s * 1664525u + (1013904223u ^ i);
	return s;
}

static cl_mem counter_of(struct gpu *gpu)
{
	uint32_t zero[2] = { 0, 0 };
	cl_mem buffer = buffer_of(gpu, sizeof(zero));

	NEED(clEnqueueWriteBuffer(gpu->queue, buffer, CL_TRUE, 0, sizeof(zero),
				  zero, 0, NULL, NULL));
	return buffer;
}

static cl_kernel kernel_with(const char *name, cl_mem buffer, uint32_t n)
{
	cl_kernel kernel = kernel_of(program, name);

	NEED(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
	NEED(clSetKernelArg(kernel, 1, sizeof(n), &n));
	return kernel;
}

static cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint waits,
		     const cl_event *list, cl_event *event)
{
	size_t one = 1;

	return clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, waits,
				      list, event);
}

static uint32_t first_word(struct gpu *gpu, cl_mem buffer)
{
	uint32_t word = UINT32_MAX;

	NEED(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 0, sizeof(word),
				 &word, 0, NULL, NULL));
	return word;
}

/* ---- signals ---- */

static volatile sig_atomic_t signals;

static void on_alarm(int number)
{
	(void)number;
	signals++;
}

static void alarms(long microseconds)
{
	struct itimerval timer = { { 0, microseconds }, { 0, microseconds } };
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_alarm; /* without SA_RESTART */
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

#define ROUNDS 20000000u

/* Each way to wait, with an alarm every 500 microseconds. */
static void signal_in_a_call(struct gpu *gpu)
{
	cl_mem buffer = counter_of(gpu);
	cl_kernel count = kernel_with("count", buffer, ROUNDS);
	uint32_t got[2] = { 0, 0 }, wanted = spin(ROUNDS);
	cl_event event;

	alarms(500);
	NEED(launch(gpu->queue, count, 0, NULL, NULL));
	EXPECT(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 0, sizeof(got),
				   got, 0, NULL, NULL), CL_SUCCESS);
	CHECK(got[0] == 1 && got[1] == wanted);
	NEED(launch(gpu->queue, count, 0, NULL, NULL));
	EXPECT(clFinish(gpu->queue), CL_SUCCESS);
	NEED(launch(gpu->queue, count, 0, NULL, &event));
	EXPECT(clWaitForEvents(1, &event), CL_SUCCESS);
	alarms(0);
	CHECK(signals > 0);
	CHECK(first_word(gpu, buffer) == 3);
	clReleaseEvent(event);
	clReleaseKernel(count);
	clReleaseMemObject(buffer);
}

/* ---- fork ---- */

/* In the child every way in fails; its exit hands nothing over. */
static void child(struct gpu *gpu, cl_kernel add, cl_mem buffer)
{
	uint32_t word = 1000;
	cl_uint count;
	cl_int error;

	failures = 0;
	CHECK(clSetKernelArg(add, 1, sizeof(word), &word) != CL_SUCCESS);
	CHECK(launch(gpu->queue, add, 0, NULL, NULL) != CL_SUCCESS);
	CHECK(clFinish(gpu->queue) != CL_SUCCESS);
	CHECK(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 0, sizeof(word),
				  &word, 0, NULL, NULL) != CL_SUCCESS);
	CHECK(clCreateBuffer(gpu->context, 0, 4, NULL, &error) == NULL &&
	      error != CL_SUCCESS);
	CHECK(clGetPlatformIDs(0, NULL, &count) != CL_SUCCESS || count == 0);
	exit(failures != 0);
}

static void fork_in_the_middle(struct gpu *gpu)
{
	cl_mem buffer = counter_of(gpu);
	cl_kernel add = kernel_with("add", buffer, 5); /* two waiting posts */
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		child(gpu, add, buffer);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	NEED(launch(gpu->queue, add, 0, NULL, NULL));
	CHECK(first_word(gpu, buffer) == 5);
	NEED(launch(gpu->queue, add, 0, NULL, NULL));
	CHECK(first_word(gpu, buffer) == 10);
	clReleaseKernel(add);
	clReleaseMemObject(buffer);
}

/* ---- threads ---- */

struct waiter {
	struct gpu *gpu;
	cl_command_queue queue;
	cl_event event;
	cl_mem buffer;
	cl_int result;
	uint32_t word;
	int *set;
	int early;
};

static void *waits_for_event(void *data)
{
	struct waiter *w = data;

	w->result = clWaitForEvents(1, &w->event);
	w->early = !__atomic_load_n(w->set, __ATOMIC_SEQ_CST);
	return NULL;
}

static void *finishes(void *data)
{
	struct waiter *w = data;

	w->result = clFinish(w->queue);
	w->early = !__atomic_load_n(w->set, __ATOMIC_SEQ_CST);
	return NULL;
}

static void *reads(void *data)
{
	struct waiter *w = data;

	w->result = clEnqueueReadBuffer(w->queue, w->buffer, CL_TRUE, 0,
					sizeof(w->word), &w->word, 0, NULL,
					NULL);
	w->early = !__atomic_load_n(w->set, __ATOMIC_SEQ_CST);
	return NULL;
}

static void sleep_ms(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

/* One thread waits in each way for what only this thread will cause. */
static void threads_wait_for_a_user_event(struct gpu *gpu)
{
	void *(*const ways[])(void *) = { waits_for_event, finishes, reads };

	for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
		cl_mem buffer = counter_of(gpu);
		cl_kernel add = kernel_with("add", buffer, 7);
		int set = 0;
		cl_int error;
		cl_event user = clCreateUserEvent(gpu->context, &error);
		struct waiter w = { .gpu = gpu, .buffer = buffer, .set = &set };
		pthread_t thread;

		NEED(error);
		w.queue = clCreateCommandQueue(gpu->context, gpu->device, 0,
					       &error);
		NEED(error);
		NEED(launch(w.queue, add, 1, &user, &w.event));
		NEED(clFlush(w.queue));
		CHECK(pthread_create(&thread, NULL, ways[way], &w) == 0);
		sleep_ms(20);
		__atomic_store_n(&set, 1, __ATOMIC_SEQ_CST);
		EXPECT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
		CHECK(pthread_join(thread, NULL) == 0);
		EXPECT(w.result, CL_SUCCESS);
		CHECK(!w.early);
		if (ways[way] == reads)
			CHECK(w.word == 7);
		CHECK(first_word(gpu, buffer) == 7);
		clReleaseEvent(w.event);
		clReleaseEvent(user);
		clReleaseCommandQueue(w.queue);
		clReleaseKernel(add);
		clReleaseMemObject(buffer);
	}
}

/* Some drivers abort the process that asks for a queue on the device where
 * there is none; the board must live on. */
static void no_queue_on_the_device(struct gpu *gpu)
{
	cl_command_queue_properties flags = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE |
					    4 /* CL_QUEUE_ON_DEVICE */;
	cl_command_queue_properties supported = 0;
	cl_command_queue queue;
	cl_int error = 0;

	clGetDeviceInfo(gpu->device, 0x104e /* CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES */,
			sizeof(supported), &supported, NULL);
	queue = clCreateCommandQueue(gpu->context, gpu->device, flags, &error);
	if (!supported) {
		CHECK(!queue && error == CL_INVALID_QUEUE_PROPERTIES);
		queue = clCreateCommandQueue(gpu->context, gpu->device, 0xff,
					     &error);
		CHECK(!queue && error == CL_INVALID_VALUE);
	} else if (queue) {
		EXPECT(clReleaseCommandQueue(queue), CL_SUCCESS);
	}
	EXPECT(clFinish(gpu->queue), CL_SUCCESS);
}

static void user_event_states(struct gpu *gpu)
{
	cl_int status = 99, error;
	cl_event user = clCreateUserEvent(gpu->context, &error);

	NEED(error);
	EXPECT(clGetEventInfo(user, CL_EVENT_COMMAND_EXECUTION_STATUS,
			      sizeof(status), &status, NULL), CL_SUCCESS);
	CHECK(status == CL_SUBMITTED);
	EXPECT(clSetUserEventStatus(user, -5), CL_SUCCESS);
	EXPECT(clGetEventInfo(user, CL_EVENT_COMMAND_EXECUTION_STATUS,
			      sizeof(status), &status, NULL), CL_SUCCESS);
	CHECK(status == -5);
	EXPECT(clWaitForEvents(1, &user),
	       CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
	EXPECT(clSetUserEventStatus(user, CL_COMPLETE), CL_INVALID_OPERATION);
	EXPECT(clReleaseEvent(user), CL_SUCCESS);
}

/* ---- memory that cannot be pinned ---- */

/* The kernel's own page of clock data: readable, and no ordinary memory. */
static const unsigned char *vvar_page(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	unsigned long start = 0;

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "[vvar]") && sscanf(line, "%lx", &start) == 1)
			break;
	if (maps)
		fclose(maps);
	return (const unsigned char *)start;
}

static void staged_input(struct gpu *gpu)
{
	const unsigned char *vvar = vvar_page();
	unsigned char before[2048], after[2048], got[2048];
	cl_mem buffer = buffer_of(gpu, sizeof(got));
	int wrong = 0;

	if (!vvar) {
		printf("# skipped for want of a [vvar] page\n");
		return;
	}
	memset(got, 0xee, sizeof(got));
	memcpy(before, vvar, sizeof(before));
	EXPECT(clEnqueueWriteBuffer(gpu->queue, buffer, CL_TRUE, 0, sizeof(got),
				    vvar, 0, NULL, NULL), CL_SUCCESS);
	memcpy(after, vvar, sizeof(after));
	NEED(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 0, sizeof(got),
				 got, 0, NULL, NULL));
	/* The clock's own words change meanwhile; the rest does not. */
	for (size_t i = 0; i < sizeof(got); i++)
		wrong += before[i] == after[i] && got[i] != before[i];
	CHECK(wrong < 16);
	CHECK(memcmp(got, "\xee\xee\xee\xee\xee\xee\xee\xee", 8) != 0);
	clReleaseMemObject(buffer);
}

/* A region over many pages, of which not one is present yet. */
static void output_to_fresh_pages(struct gpu *gpu)
{
	const size_t size = 1 << 20;
	cl_mem buffer = buffer_of(gpu, size);
	unsigned char *in = malloc(size);
	unsigned char *out = mmap(NULL, size, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; i < size; i++)
		in[i] = i * 31 >> 3;
	NEED(clEnqueueWriteBuffer(gpu->queue, buffer, CL_FALSE, 0, size, in, 0,
				  NULL, NULL));
	/* Captured when the call was made: what comes later is not seen. */
	memset(in + 1000, 0, 1000);
	EXPECT(clEnqueueReadBuffer(gpu->queue, buffer, CL_FALSE, 0, size, out,
				   0, NULL, NULL), CL_SUCCESS);
	EXPECT(clFinish(gpu->queue), CL_SUCCESS);
	CHECK(memcmp(in, out, 1000) == 0);
	CHECK(memcmp(in + 2000, out + 2000, size - 2000) == 0);
	munmap(out, size);
	free(in);
	clReleaseMemObject(buffer);
}

/* ---- mapping ---- */

static void mapping(struct gpu *gpu)
{
	cl_mem buffer = counter_of(gpu);
	cl_kernel add = kernel_with("add", buffer, 3);
	cl_uint count = 99;
	uint32_t *words;
	cl_int error;

	words = clEnqueueMapBuffer(gpu->queue, buffer, CL_TRUE,
				   CL_MAP_READ | CL_MAP_WRITE, 0, 8, 0, NULL,
				   NULL, &error);
	NEED(error);
	CHECK(words[0] == 0);
	words[0] = 40;
	EXPECT(clGetMemObjectInfo(buffer, CL_MEM_MAP_COUNT, sizeof(count),
				  &count, NULL), CL_SUCCESS);
	CHECK(count == 1);
	EXPECT(clEnqueueUnmapMemObject(gpu->queue, buffer, words, 0, NULL,
				       NULL), CL_SUCCESS);
	NEED(launch(gpu->queue, add, 0, NULL, NULL));
	CHECK(first_word(gpu, buffer) == 43);
	EXPECT(clEnqueueUnmapMemObject(gpu->queue, buffer, words, 0, NULL,
				       NULL), CL_INVALID_VALUE);
	clReleaseKernel(add);
	clReleaseMemObject(buffer);
}

/* ---- handles ---- */

#define NONE(type) ((type)(uintptr_t)0x123450)

static void bad_handles(struct gpu *gpu)
{
	cl_mem buffer = buffer_of(gpu, 64), freed = buffer_of(gpu, 64);
	cl_event event = NONE(cl_event);
	char bytes[64];
	size_t size;
	cl_int error;

	NEED(clReleaseMemObject(freed));
	EXPECT(clReleaseMemObject(freed), CL_INVALID_MEM_OBJECT);
	EXPECT(clReleaseMemObject(NONE(cl_mem)), CL_INVALID_MEM_OBJECT);
	EXPECT(clReleaseMemObject(NULL), CL_INVALID_MEM_OBJECT);
	EXPECT(clRetainContext((cl_context)(void *)buffer), CL_INVALID_CONTEXT);
	EXPECT(clFinish(NONE(cl_command_queue)), CL_INVALID_COMMAND_QUEUE);
	EXPECT(clWaitForEvents(1, &event), CL_INVALID_EVENT);
	EXPECT(clWaitForEvents(0, NULL), CL_INVALID_VALUE);
	EXPECT(clEnqueueReadBuffer(gpu->queue, freed, CL_TRUE, 0, 64, bytes, 0,
				   NULL, NULL), CL_INVALID_MEM_OBJECT);
	EXPECT(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 0, 64, bytes, 1,
				   &event, NULL), CL_INVALID_EVENT_WAIT_LIST);
	EXPECT(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 0, 64, bytes, 1,
				   NULL, NULL), CL_INVALID_EVENT_WAIT_LIST);
	EXPECT(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 32, 64, bytes,
				   0, NULL, NULL), CL_INVALID_VALUE);
	EXPECT(clGetDeviceInfo(NONE(cl_device_id), CL_DEVICE_NAME, 64, bytes,
			       NULL), CL_INVALID_DEVICE);
	EXPECT(clGetDeviceInfo(gpu->device, CL_DEVICE_NAME, 1, bytes, NULL),
	       CL_INVALID_VALUE);
	EXPECT(clGetDeviceInfo(gpu->device, 0xdead, 64, bytes, NULL),
	       CL_INVALID_VALUE);
	EXPECT(clGetDeviceInfo(gpu->device, CL_DEVICE_NAME, 0, NULL, &size),
	       CL_SUCCESS);
	CHECK(size > 1);
	CHECK(!clCreateBuffer(NONE(cl_context), 0, 64, NULL, &error));
	CHECK(error == CL_INVALID_CONTEXT);
	CHECK(!clCreateBuffer(gpu->context, 0, 0, NULL, &error));
	CHECK(error == CL_INVALID_BUFFER_SIZE);
	EXPECT(clReleaseMemObject(buffer), CL_SUCCESS);
}

/* A pointer to nowhere is an error, and the program goes on. */
static void bad_pointers(struct gpu *gpu)
{
	cl_mem buffer = buffer_of(gpu, 1 << 16);
	void *nowhere = mmap(NULL, 1 << 16, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 0, 1 << 16,
				  nowhere, 0, NULL, NULL) != CL_SUCCESS);
	CHECK(clEnqueueWriteBuffer(gpu->queue, buffer, CL_TRUE, 0, 1 << 16,
				   nowhere, 0, NULL, NULL) != CL_SUCCESS);
	EXPECT(clFinish(gpu->queue), CL_SUCCESS);
	munmap(nowhere, 1 << 16);
	clReleaseMemObject(buffer);
}

static void references(struct gpu *gpu)
{
	cl_mem buffer = buffer_of(gpu, 64);
	cl_context context = NULL;
	cl_uint count = 0;

	NEED(clRetainMemObject(buffer));
	EXPECT(clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof(count),
				  &count, NULL), CL_SUCCESS);
	CHECK(count == 2);
	EXPECT(clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof(context),
				  &context, NULL), CL_SUCCESS);
	CHECK(context == gpu->context);
	EXPECT(clReleaseMemObject(buffer), CL_SUCCESS);
	EXPECT(clReleaseMemObject(buffer), CL_SUCCESS);
	EXPECT(clReleaseMemObject(buffer), CL_INVALID_MEM_OBJECT);
}

/* `cl_rules [portable]`: with it only what any OpenCL allows, so that the
 * program can be tried where it does not run on gil. */
int main(int argc, char **argv)
{
	struct gpu gpu = first_gpu();
	int portable = argc > 1 && !strcmp(argv[1], "portable");

	program = build(&gpu, source);
	run_test("signal in a call", signal_in_a_call, &gpu);
	run_test("threads wait for a user event",
		 threads_wait_for_a_user_event, &gpu);
	run_test("user event states", user_event_states, &gpu);
	run_test("output to fresh pages", output_to_fresh_pages, &gpu);
	run_test("mapping", mapping, &gpu);
	if (!portable) {
		run_test("references", references, &gpu);
		run_test("staged input", staged_input, &gpu);
		run_test("bad handles", bad_handles, &gpu);
		run_test("no queue on the device", no_queue_on_the_device, &gpu);
		run_test("bad pointers", bad_pointers, &gpu);
		run_test("fork in the middle", fork_in_the_middle, &gpu);
	}
	return failures != 0;
}
