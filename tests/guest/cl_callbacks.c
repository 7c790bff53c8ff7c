/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Callbacks: of events, of objects that die, of builds. Where OpenCL does not
 * say on which thread or when, the program waits before it goes on. */
#include "cl_same.h"

#include <pthread.h>
#include <time.h>

#define SIZE 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int calls;

static void called(void)
{
	pthread_mutex_lock(&lock);
	calls++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* Waits until so many callbacks have been called since the last time. */
static void wait_for(int wanted)
{
	struct timespec end;
	int late = 0;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 30;
	pthread_mutex_lock(&lock);
	while (calls < wanted && !late)
		late = pthread_cond_timedwait(&changed, &lock, &end);
	printf("%d of %d callbacks\n", calls, wanted);
	calls = 0;
	pthread_mutex_unlock(&lock);
}

/* What an event's callback was given, and what it can ask. */
struct heard {
	cl_event event;
	cl_int status, asked, now;
	cl_command_type type;
	int times;
};

static void on_event(cl_event event, cl_int status, void *data)
{
	struct heard *heard = data;

	heard->event = event;
	heard->status = status;
	heard->asked = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
				      sizeof(heard->now), &heard->now, NULL);
	clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(heard->type),
		       &heard->type, NULL);
	heard->times++;
	called();
}

static void say(const char *what, const struct heard *heard, cl_event event)
{
	printf("%s: %d times, %s event, status %d, asked %d, type %x\n", what,
	       heard->times, heard->event == event ? "its" : "another",
	       (int)heard->status, (int)heard->asked, (unsigned)heard->type);
}

static cl_mem buffer_of(struct gpu *gpu)
{
	cl_int error;
	cl_mem buffer = clCreateBuffer(gpu->context, CL_MEM_READ_WRITE, SIZE,
				       NULL, &error);

	NEED(error);
	return buffer;
}

static void refused(struct gpu *gpu)
{
	struct heard heard = { 0 };
	cl_int error;
	cl_event user = clCreateUserEvent(gpu->context, &error);

	SAY(clSetEventCallback(user, CL_QUEUED, on_event, &heard));
	SAY(clSetEventCallback(user, 17, on_event, &heard));
	SAY(clSetEventCallback(user, -1, on_event, &heard));
	SAY(clSetEventCallback(user, CL_COMPLETE, NULL, &heard));
	SAY(clSetEventCallback(NULL, CL_COMPLETE, on_event, &heard));
	SAY(clSetUserEventStatus(user, CL_RUNNING));
	SAY(clSetUserEventStatus(NULL, CL_COMPLETE));
	SAY(clSetUserEventStatus(user, CL_COMPLETE));
	SAY(clSetUserEventStatus(user, CL_COMPLETE));
	SAY(clReleaseEvent(user));
}

/* Each moment of an operation that waits for the program. */
static void moments(struct gpu *gpu)
{
	struct heard submitted = { 0 }, running = { 0 }, complete = { 0 },
		     again = { 0 }, set = { 0 };
	char *bytes = malloc(SIZE);
	cl_mem buffer = buffer_of(gpu);
	cl_event user, read;
	cl_int error;

	user = clCreateUserEvent(gpu->context, &error);
	SAY(clSetEventCallback(user, CL_SUBMITTED, on_event, &set));
	wait_for(1);
	say("made", &set, user);
	SAY(clEnqueueReadBuffer(gpu->queue, buffer, CL_FALSE, 0, SIZE, bytes, 1,
				&user, &read));
	SAY(clSetEventCallback(read, CL_COMPLETE, on_event, &complete));
	SAY(clSetEventCallback(read, CL_COMPLETE, on_event, &again));
	SAY(clSetEventCallback(read, CL_RUNNING, on_event, &running));
	SAY(clSetEventCallback(read, CL_SUBMITTED, on_event, &submitted));
	SAY(clSetEventCallback(user, CL_COMPLETE, on_event, &set));
	printf("%d callbacks before it is set\n", calls);
	SAY(clSetUserEventStatus(user, CL_COMPLETE));
	wait_for(5);
	say("set", &set, user);
	say("submitted", &submitted, read);
	say("running", &running, read);
	say("complete", &complete, read);
	say("again", &again, read);
	printf("complete it is %d\n", (int)complete.now);
	SAY(clSetEventCallback(read, CL_SUBMITTED, on_event, &submitted));
	SAY(clSetEventCallback(read, CL_RUNNING, on_event, &running));
	SAY(clSetEventCallback(read, CL_COMPLETE, on_event, &complete));
	wait_for(3);
	say("late submitted", &submitted, read);
	say("late running", &running, read);
	say("late complete", &complete, read);
	clReleaseEvent(read);
	clReleaseEvent(user);
	clReleaseMemObject(buffer);
	free(bytes);
}

/* The program gives its event away before the operation begins. */
static void released(struct gpu *gpu)
{
	struct heard heard = { 0 };
	cl_mem buffer = buffer_of(gpu);
	cl_event user, fill;
	cl_int error;
	cl_uint one = 1;

	user = clCreateUserEvent(gpu->context, &error);
	SAY(clEnqueueFillBuffer(gpu->queue, buffer, &one, sizeof(one), 0, SIZE,
				1, &user, &fill));
	SAY(clSetEventCallback(fill, CL_COMPLETE, on_event, &heard));
	SAY(clReleaseEvent(fill));
	SAY(clSetUserEventStatus(user, CL_COMPLETE));
	wait_for(1);
	say("released", &heard, fill);
	clReleaseEvent(user);
	clReleaseMemObject(buffer);
}

/* A chain: each callback enqueues the next operation. */
struct chain {
	struct gpu *gpu;
	cl_mem buffer;
	int left;
};

static void next(cl_event event, cl_int status, void *data)
{
	struct chain *chain = data;
	cl_uint value = chain->left;
	cl_event filled;

	(void)status;
	clReleaseEvent(event);
	if (chain->left-- > 0 &&
	    clEnqueueFillBuffer(chain->gpu->queue, chain->buffer, &value,
				sizeof(value), 4 * value, 4, 0, NULL,
				&filled) == CL_SUCCESS &&
	    clSetEventCallback(filled, CL_COMPLETE, next, chain) == CL_SUCCESS &&
	    clFlush(chain->gpu->queue) == CL_SUCCESS)
		return;
	called();
}

static void calls_from_callbacks(struct gpu *gpu)
{
	struct chain chain = { gpu, buffer_of(gpu), 50 };
	cl_uint words[SIZE / 4] = { 0 };
	cl_event first;
	cl_uint zero = 0;

	NEED(clEnqueueFillBuffer(gpu->queue, chain.buffer, &zero, sizeof(zero),
				 0, SIZE, 0, NULL, &first));
	SAY(clSetEventCallback(first, CL_COMPLETE, next, &chain));
	SAY(clFlush(gpu->queue));
	wait_for(1);
	NEED(clEnqueueReadBuffer(gpu->queue, chain.buffer, CL_TRUE, 0, SIZE,
				 words, 0, NULL, NULL));
	printf("%08x of the chain\n", checksum(words, sizeof(words)));
	clReleaseMemObject(chain.buffer);
}

/* Events of several queues and contexts, many callbacks. */
#define MANY 200

static void count(cl_event event, cl_int status, void *data)
{
	(void)event;
	__atomic_add_fetch((int *)data, status == CL_COMPLETE, __ATOMIC_SEQ_CST);
	called();
}

static void several(struct gpu *gpu)
{
	struct gpu other = first_gpu(0);
	struct gpu *both[2] = { gpu, &other };
	cl_event user[2], fill[2];
	cl_mem buffer[2];
	cl_uint one = 1;
	int done = 0;
	cl_int error;

	for (int n = 0; n < 2; n++) {
		buffer[n] = buffer_of(both[n]);
		user[n] = clCreateUserEvent(both[n]->context, &error);
		NEED(clEnqueueFillBuffer(both[n]->queue, buffer[n], &one, 4, 0,
					 SIZE, 1, &user[n], &fill[n]));
		for (int m = 0; m < MANY; m++)
			NEED(clSetEventCallback(fill[n], CL_COMPLETE, count,
						&done));
	}
	NEED(clSetUserEventStatus(user[1], CL_COMPLETE));
	wait_for(MANY);
	NEED(clSetUserEventStatus(user[0], CL_COMPLETE));
	wait_for(MANY);
	printf("%d complete\n", done);
	for (int n = 0; n < 2; n++) {
		clReleaseEvent(fill[n]);
		clReleaseEvent(user[n]);
		clReleaseMemObject(buffer[n]);
	}
	close_gpu(&other);
}

/* ---- the end of objects ---- */

static char order[16];

static void on_memory(cl_mem memory, void *data)
{
	(void)memory;
	strncat(order, data, sizeof(order) - strlen(order) - 1);
	called();
}

static void on_context(cl_context context, void *data)
{
	(void)context;
	strncat(order, data, sizeof(order) - strlen(order) - 1);
	called();
}

static void ends_of_memory(struct gpu *gpu)
{
	cl_buffer_region region = { 0, 1024 };
	cl_mem buffer = buffer_of(gpu), part;
	cl_uint one = 1;
	cl_int error;

	SAY(clSetMemObjectDestructorCallback(buffer, on_memory, "1"));
	SAY(clSetMemObjectDestructorCallback(buffer, on_memory, "2"));
	SAY(clSetMemObjectDestructorCallback(buffer, NULL, "3"));
	SAY(clSetMemObjectDestructorCallback(NULL, on_memory, "3"));
	part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION,
				 &region, &error);
	SAY(clSetMemObjectDestructorCallback(part, on_memory, "p"));
	SAY(clRetainMemObject(buffer));
	SAY(clReleaseMemObject(buffer));
	SAY(clReleaseMemObject(buffer));
	printf("%d called while a part lives\n", calls);
	NEED(clEnqueueFillBuffer(gpu->queue, part, &one, 4, 0, 1024, 0, NULL,
				 NULL));
	NEED(clFinish(gpu->queue));
	SAY(clReleaseMemObject(part));
	wait_for(3);
	printf("in the order %s\n", order);
	order[0] = 0;
}

static void ends_of_contexts(struct gpu *gpu)
{
	cl_int error;
	cl_context context = clCreateContext(NULL, 1, &gpu->device, NULL, NULL,
					     &error);
	cl_mem buffer = clCreateBuffer(context, 0, SIZE, NULL, &error);

	SAY(clSetContextDestructorCallback(context, on_context, "1"));
	SAY(clSetContextDestructorCallback(context, on_context, "2"));
	SAY(clSetContextDestructorCallback(context, NULL, "3"));
	SAY(clSetContextDestructorCallback(NULL, on_context, "3"));
	SAY(clReleaseContext(context));
	printf("%d called while a buffer lives\n", calls);
	SAY(clReleaseMemObject(buffer));
	wait_for(2);
	printf("in the order %s\n", order);
	order[0] = 0;
}

/* ---- builds ---- */

static const char good[] = "__kernel void one(__global int *a) { a[0] = 1; }";
static const char bad[] = "__kernel void one(__global int *a) { a[0] = b; }";
static cl_build_status build_status;
static cl_program built_program;

static void on_build(cl_program program, void *data)
{
	build_status = 1;
	clGetProgramBuildInfo(program, *(cl_device_id *)data,
			      CL_PROGRAM_BUILD_STATUS, sizeof(build_status),
			      &build_status, NULL);
	built_program = program;
	called();
}

static cl_program program_of(struct gpu *gpu, const char *source)
{
	cl_int error;
	cl_program program = clCreateProgramWithSource(gpu->context, 1, &source,
						       NULL, &error);
	NEED(error);
	return program;
}

static void told_build(const char *what, cl_program program)
{
	wait_for(1);
	printf("%s: %s program, status %d\n", what,
	       built_program == program ? "its" : "another",
	       (int)build_status);
}

static void on_release(cl_program program, void *data)
{
	(void)program;
	(void)data;
}

static void builds(struct gpu *gpu)
{
	cl_program program = program_of(gpu, good), linked;
	cl_device_id *device = &gpu->device;
	cl_int error;

	SAY(clBuildProgram(program, 1, device, "", on_build, device));
	told_build("built", program);
	SAY(clBuildProgram(program, 1, device, "", NULL, device));
	SAY(clSetProgramReleaseCallback(program, on_release, NULL));
	SAY(clSetProgramReleaseCallback(NULL, on_release, NULL));
	SAY(clReleaseProgram(program));
	program = program_of(gpu, bad);
	/* A failure may be reported by the callback alone. */
	clBuildProgram(program, 1, device, "", on_build, device);
	told_build("not built", program);
	SAY(clReleaseProgram(program));
	program = program_of(gpu, good);
	SAY(clCompileProgram(program, 1, device, "", 0, NULL, NULL, on_build,
			     device));
	told_build("compiled", program);
	linked = clLinkProgram(gpu->context, 1, device, "", 1, &program,
			       on_build, device, &error);
	told_build("linked", linked);
	SAY(clReleaseProgram(linked));
	SAY(clReleaseProgram(program));
}

int main(void)
{
	struct gpu gpu = first_gpu(0);

	refused(&gpu);
	moments(&gpu);
	released(&gpu);
	calls_from_callbacks(&gpu);
	several(&gpu);
	ends_of_memory(&gpu);
	ends_of_contexts(&gpu);
	builds(&gpu);
	close_gpu(&gpu);
	/* Exits while one is pending. */
	gpu = first_gpu(0);
	cl_int error;
	cl_event never = clCreateUserEvent(gpu.context, &error);
	SAY(clSetEventCallback(never, CL_COMPLETE, on_event, NULL));
	return 0;
}
