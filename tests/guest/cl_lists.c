/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lists with nothing in them, and which error goes first. */
#include "cl_same.h"

/* How many bytes a query's value has. */
#define BYTES(ask, object, name)                                               \
	do {                                                                   \
		size_t size_ = 99;                                             \
		cl_int error_ = ask(object, name, 0, NULL, &size_);            \
		printf(#name " %d: %lu entries\n", (int)error_,                \
		       (unsigned long)size_ / 8);                              \
	} while (0)

static void memory_objects(struct gpu *gpu)
{
	cl_mem_properties none[1] = { 0 };
	cl_image_format format = { CL_RGBA, CL_UNORM_INT8 };
	cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D,
			       .image_width = 16,
			       .image_height = 16 };
	cl_int error;
	cl_mem made[5] = {
		clCreateImageWithProperties(gpu->context, none, 1, &format,
					    &desc, NULL, &error),
		clCreateImageWithProperties(gpu->context, NULL, 1, &format,
					    &desc, NULL, &error),
		clCreateImage(gpu->context, 1, &format, &desc, NULL, &error),
		clCreateBufferWithProperties(gpu->context, none, 1, 64, NULL,
					     &error),
		clCreateBufferWithProperties(gpu->context, NULL, 1, 64, NULL,
					     &error),
	};

	for (int n = 0; n < 5; n++) {
		BYTES(clGetMemObjectInfo, made[n], CL_MEM_PROPERTIES);
		NEED(clReleaseMemObject(made[n]));
	}
}

static void queues_and_samplers(struct gpu *gpu)
{
	cl_queue_properties none[1] = { 0 };
	cl_sampler_properties plain[1] = { 0 };
	cl_int error;
	cl_command_queue queue;
	cl_sampler sampler;

	queue = clCreateCommandQueueWithProperties(gpu->context, gpu->device,
						   none, &error);
	BYTES(clGetCommandQueueInfo, queue, CL_QUEUE_PROPERTIES_ARRAY);
	NEED(clReleaseCommandQueue(queue));
	queue = clCreateCommandQueueWithProperties(gpu->context, gpu->device,
						   NULL, &error);
	BYTES(clGetCommandQueueInfo, queue, CL_QUEUE_PROPERTIES_ARRAY);
	NEED(clReleaseCommandQueue(queue));
	BYTES(clGetCommandQueueInfo, gpu->queue, CL_QUEUE_PROPERTIES_ARRAY);
	sampler = MADE(clCreateSamplerWithProperties(gpu->context, plain,
						     &error));
	BYTES(clGetSamplerInfo, sampler, CL_SAMPLER_PROPERTIES);
	NEED(clReleaseSampler(sampler));
}

static void contexts(struct gpu *gpu)
{
	cl_context_properties none[1] = { 0 };
	cl_int error;
	cl_context context =
		clCreateContext(none, 1, &gpu->device, NULL, NULL, &error);
	size_t word = sizeof(none[0]), size = 99;

	SAY(clGetContextInfo(context, CL_CONTEXT_PROPERTIES, 0, NULL, &size));
	printf("%lu entries\n", (unsigned long)(size / word));
	NEED(clReleaseContext(context));
}

static void memory_lists(struct gpu *gpu)
{
	SAY(clEnqueueMigrateMemObjects(gpu->queue, 0, NULL, 0, 0, NULL, NULL));
}

/* What is not supported is said before what is wrong. */
static void orders(struct gpu *gpu)
{
	cl_context context = gpu->context;
	cl_device_id device = gpu->device;
	cl_ulong one, two;

	SAY(clGetDeviceAndHostTimer(device, &one, &two));
	SAY(clGetDeviceAndHostTimer(device, NULL, &two));
	SAY(clGetDeviceAndHostTimer(device, &one, NULL));
	SAY(clGetDeviceAndHostTimer(NULL, NULL, &two));
	SAY(clGetHostTimer(device, &one));
	SAY(clGetHostTimer(device, NULL));
	SAY(clGetHostTimer(NULL, NULL));
	SAY(clSetDefaultDeviceCommandQueue(context, device, gpu->queue));
	SAY(clSetDefaultDeviceCommandQueue(context, device, NULL));
	SAY(clSetDefaultDeviceCommandQueue(context, NULL, gpu->queue));
	SAY(clSetDefaultDeviceCommandQueue(NULL, device, gpu->queue));
	SAY(clSetDefaultDeviceCommandQueue(NULL, NULL, NULL));
}

int main(void)
{
	struct gpu gpu = first_gpu(0);

	memory_objects(&gpu);
	queues_and_samplers(&gpu);
	contexts(&gpu);
	memory_lists(&gpu);
	orders(&gpu);
	close_gpu(&gpu);
	return 0;
}
