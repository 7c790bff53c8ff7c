/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program of two APIs: what it prints is the same in the guest and natively. */
#include "cl_same.h"

#include <pthread.h>
#include <toy.h>

#define COUNT 4096

static unsigned values[COUNT];

static void fill(unsigned first)
{
	for (unsigned n = 0; n < COUNT; n++)
		values[n] = first + n;
}

static toyBuffer filled(unsigned first)
{
	toyBuffer buffer = NULL;

	fill(first);
	SAY(toyBufferCreate(&buffer, sizeof(values)));
	SAY(toyUpload(buffer, 0, values, sizeof(values)));
	return buffer;
}

static void devices(cl_device_id device)
{
	char ours[256] = "", theirs[256] = "";
	unsigned char uuid[16] = { 0 };
	size_t size = 0;

	NEED(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(theirs), theirs, NULL));
	SAY(toyDeviceInfo(0, TOY_DEVICE_NAME, sizeof(ours), ours, &size));
	printf("the same device: %d\n", !strcmp(ours, theirs));
	printf("its whole name: %d\n", size == strlen(ours) + 1);
	SAY(toyDeviceInfo(0, TOY_DEVICE_UUID, sizeof(uuid), uuid, &size));
	printf("%u bytes\n", (unsigned)size);
	SAY(toyDeviceInfo(0, TOY_DEVICE_NAME, 1, ours, NULL));
	SAY(toyDeviceInfo(0, TOY_DEVICE_PLACE, 0, NULL, &size));
	SAY(toyDeviceInfo(0, 77, sizeof(ours), ours, NULL));
	SAY(toyDeviceInfo(1000000, TOY_DEVICE_NAME, sizeof(ours), ours, NULL));
}

/* The API's errors are positive. */
static void mistakes(toyContext context)
{
	toyBuffer buffer = NULL;
	toyContext other = NULL;
	unsigned value = 7;

	SAY(toyContextSetCurrent(NULL));
	SAY(toyBufferCreate(&buffer, 16));
	SAY(toyFinish());
	SAY(toyScale((toyBuffer)&value, 2));
	SAY(toyContextSetCurrent((toyContext)&value));
	SAY(toyContextDestroy((toyContext)&value));
	SAY(toyContextCreate(NULL, 0));
	SAY(toyContextCreate(&other, 1000000));
	SAY(toyContextSetCurrent(context));
	SAY(toyBufferCreate(&buffer, 0));
	SAY(toyBufferCreate(NULL, 16));
	SAY(toyScale((toyBuffer)&value, 2));
	SAY(toyScale((toyBuffer)context, 2));
	SAY(toyBufferCreate(&buffer, 6));
	SAY(toyScale(buffer, 2));
	SAY(toyUpload(buffer, 4, &value, 4));
	SAY(toyUpload(buffer, (size_t)-1, &value, 4));
	SAY(toyUpload(buffer, 0, NULL, 4));
	SAY(toyRead(buffer, 3, &value, 4, 1));
	SAY(toyRead(buffer, 0, NULL, 4, 1));
	SAY(toyBufferDestroy(buffer));
	SAY(toyBufferDestroy(buffer));
	SAY(toyUpload(buffer, 0, &value, 4));
}

static void commands(void)
{
	toyBuffer buffer = filled(1);

	SAY(toyScale(buffer, 3));
	SAY(toyScale(buffer, 5));
	SAY(toyRead(buffer, 0, values, sizeof(values), 1));
	printf("%u %u %08x\n", values[0], values[COUNT - 1],
	       checksum(values, sizeof(values)));
	SAY(toyScale(buffer, 7));
	SAY(toyRead(buffer, 4, values, 8, 0));
	SAY(toyFinish());
	printf("%u %u %u\n", values[0], values[1], values[2]);
	SAY(toyBufferDestroy(buffer));
}

struct notice {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int calls;
	toyResult status;
};

static void notified(toyResult status, void *user_data)
{
	struct notice *notice = user_data;

	pthread_mutex_lock(&notice->mutex);
	notice->calls++;
	notice->status = status;
	pthread_cond_signal(&notice->changed);
	pthread_mutex_unlock(&notice->mutex);
}

static void callbacks(void)
{
	struct notice notice = { PTHREAD_MUTEX_INITIALIZER,
				 PTHREAD_COND_INITIALIZER, 0, -1 };
	toyBuffer buffer = filled(1);

	SAY(toyScale(buffer, 2));
	SAY(toyNotify(notified, &notice));
	pthread_mutex_lock(&notice.mutex);
	while (!notice.calls)
		pthread_cond_wait(&notice.changed, &notice.mutex);
	printf("called %d times, status %d\n", notice.calls, notice.status);
	pthread_mutex_unlock(&notice.mutex);
	SAY(toyBufferDestroy(buffer));
}

/* Each thread has its own current context. They call in turn, one call each: a
 * recording has their calls in this order, and numbers of objects by it, whatever
 * the scheduler does. */
struct turns {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	unsigned next;
};

struct thread {
	struct turns *turns;
	const struct thread *peer;
	unsigned number;
	unsigned factor;
	unsigned first;
	toyResult none, foreign;
	toyBuffer mine;
};

static void my_turn(const struct thread *own)
{
	pthread_mutex_lock(&own->turns->mutex);
	while (own->turns->next % 2 != own->number)
		pthread_cond_wait(&own->turns->changed, &own->turns->mutex);
	pthread_mutex_unlock(&own->turns->mutex);
}

static void your_turn(const struct thread *own)
{
	pthread_mutex_lock(&own->turns->mutex);
	own->turns->next++;
	pthread_cond_signal(&own->turns->changed);
	pthread_mutex_unlock(&own->turns->mutex);
}

static void *in_its_context(void *argument)
{
	struct thread *own = argument;
	toyContext context = NULL;
	unsigned value = own->first;

	my_turn(own);
	own->none = toyFinish();
	toyContextCreate(&context, 0);
	toyContextSetCurrent(context);
	toyBufferCreate(&own->mine, sizeof(value));
	toyUpload(own->mine, 0, &value, sizeof(value));
	your_turn(own);
	for (int n = 0; n < 10; n++) {
		my_turn(own);
		toyScale(own->mine, own->factor);
		your_turn(own);
	}
	my_turn(own);
	own->foreign = toyScale(own->peer->mine, 2);
	your_turn(own);
	my_turn(own);
	toyRead(own->mine, 0, &own->first, sizeof(own->first), 1);
	toyBufferDestroy(own->mine);
	toyContextDestroy(context);
	your_turn(own);
	return NULL;
}

static void threads(void)
{
	struct turns turns = { PTHREAD_MUTEX_INITIALIZER,
			       PTHREAD_COND_INITIALIZER, 0 };
	struct thread both[2] = { { &turns, &both[1], 0, 2, 1, 0, 0, NULL },
				  { &turns, &both[0], 1, 3, 1, 0, 0, NULL } };
	pthread_t ids[2];

	for (int n = 0; n < 2; n++)
		pthread_create(&ids[n], NULL, in_its_context, &both[n]);
	for (int n = 0; n < 2; n++)
		pthread_join(ids[n], NULL);
	for (int n = 0; n < 2; n++)
		printf("%u: before %d, another's buffer %d\n", both[n].first,
		       both[n].none, both[n].foreign);
}

/* One after the other, of each API in turn. */
static void in_turn(cl_context context, cl_command_queue queue)
{
	static unsigned theirs[COUNT];
	toyBuffer buffer = filled(1);
	cl_int error;
	cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE,
				       sizeof(theirs), NULL, &error);

	NEED(error);
	for (unsigned n = 0; n < 8; n++) {
		SAY(clEnqueueFillBuffer(queue, memory, &n, sizeof(n), 0,
					(n + 1) * sizeof(n), 0, NULL, NULL));
		SAY(toyScale(buffer, n + 1));
	}
	SAY(toyRead(buffer, 0, values, sizeof(values), 1));
	SAY(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, 8 * sizeof(*theirs),
				theirs, 0, NULL, NULL));
	printf("%08x %08x\n", checksum(values, sizeof(values)),
	       checksum(theirs, 8 * sizeof(*theirs)));
	NEED(clReleaseMemObject(memory));
	SAY(toyBufferDestroy(buffer));
}

int main(void)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_int error;
	toyContext current = NULL;

	NEED(clGetPlatformIDs(1, &platform, NULL));
	NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	NEED(error);
	queue = clCreateCommandQueue(context, device, 0, &error);
	NEED(error);
	devices(device);
	SAY(toyContextCreate(&current, 0));
	mistakes(current);
	commands();
	callbacks();
	threads();
	in_turn(context, queue);
	SAY(toyContextDestroy(current));
	SAY(toyFinish());
	SAY(toyContextSetCurrent(current));
	SAY(toyContextSetCurrent(NULL));
	NEED(clReleaseCommandQueue(queue));
	NEED(clReleaseContext(context));
	return 0;
}
