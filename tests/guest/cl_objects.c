/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Platforms, devices, contexts, queues: made, asked, retained, released. */
#include "cl_same.h"

static void platforms(void)
{
	cl_platform_id platform;
	cl_uint count = 0;

	SAY(clGetPlatformIDs(0, NULL, &count));
	printf("%u platforms\n", count);
	SAY(clGetPlatformIDs(1, &platform, NULL));
	SAY(clGetPlatformIDs(0, NULL, NULL));
	INFO(clGetPlatformInfo, platform, CL_PLATFORM_NAME);
	INFO(clGetPlatformInfo, platform, CL_PLATFORM_VENDOR);
	INFO(clGetPlatformInfo, platform, CL_PLATFORM_PROFILE);
	INFO(clGetPlatformInfo, platform, CL_PLATFORM_HOST_TIMER_RESOLUTION);
	INFO(clGetPlatformInfo, platform, 0xdead);
	SAY(clUnloadPlatformCompiler(platform));
	SAY(clUnloadCompiler());
}

static void devices(struct gpu *gpu)
{
	cl_device_partition_property parts[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
	cl_device_id devices[16];
	cl_uint count = 0;
	char small[2];
	size_t size = 0;

	SAY(clGetDeviceIDs(gpu->platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count));
	printf("%u devices\n", count);
	SAY(clGetDeviceIDs(gpu->platform, CL_DEVICE_TYPE_ACCELERATOR, 1, devices,
			   &count));
	SAY(clGetDeviceIDs(gpu->platform, 0, 1, devices, NULL));
	SAY(clGetDeviceIDs(gpu->platform, CL_DEVICE_TYPE_ALL, 0, devices, NULL));
	INFO(clGetDeviceInfo, gpu->device, CL_DEVICE_NAME);
	INFO(clGetDeviceInfo, gpu->device, CL_DEVICE_TYPE);
	INFO(clGetDeviceInfo, gpu->device, CL_DEVICE_VENDOR_ID);
	INFO(clGetDeviceInfo, gpu->device, CL_DEVICE_MAX_COMPUTE_UNITS);
	SIZES(clGetDeviceInfo, gpu->device, CL_DEVICE_MAX_WORK_ITEM_SIZES);
	SIZES(clGetDeviceInfo, gpu->device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
	HANDLES(clGetDeviceInfo, gpu->device, CL_DEVICE_PLATFORM, gpu->platform);
	HANDLES(clGetDeviceInfo, gpu->device, CL_DEVICE_PARENT_DEVICE, NULL);
	INFO(clGetDeviceInfo, gpu->device, 0xdead);
	SAY(clGetDeviceInfo(gpu->device, CL_DEVICE_NAME, 2, small, &size));
	SAY(clRetainDevice(gpu->device));
	SAY(clReleaseDevice(gpu->device));
	SAY(clCreateSubDevices(gpu->device, parts, 0, NULL, &count));
	printf("%u parts\n", count);
	if (count && count <= 16) {
		SAY(clCreateSubDevices(gpu->device, parts, count, devices, NULL));
		HANDLES(clGetDeviceInfo, devices[0], CL_DEVICE_PARENT_DEVICE,
			gpu->device);
		INFO(clGetDeviceInfo, devices[0], CL_DEVICE_MAX_COMPUTE_UNITS);
		INFO(clGetDeviceInfo, devices[0], CL_DEVICE_REFERENCE_COUNT);
		SAY(clRetainDevice(devices[0]));
		INFO(clGetDeviceInfo, devices[0], CL_DEVICE_REFERENCE_COUNT);
		SAY(clReleaseDevice(devices[0]));
		for (cl_uint n = 0; n < count; n++)
			NEED(clReleaseDevice(devices[n]));
	}
}

static void contexts(struct gpu *gpu)
{
	cl_context_properties of[] = {CL_CONTEXT_PLATFORM,
				      (cl_context_properties)gpu->platform, 0};
	cl_context_properties odd[] = {0x7777, 1, 0};
	cl_int error = 0;
	cl_context context =
		MADE(clCreateContext(of, 1, &gpu->device, NULL, NULL, &error));

	INFO(clGetContextInfo, context, CL_CONTEXT_REFERENCE_COUNT);
	INFO(clGetContextInfo, context, CL_CONTEXT_NUM_DEVICES);
	HANDLES(clGetContextInfo, context, CL_CONTEXT_DEVICES, gpu->device);
	SAY(clRetainContext(context));
	INFO(clGetContextInfo, context, CL_CONTEXT_REFERENCE_COUNT);
	SAY(clReleaseContext(context));
	SAY(clReleaseContext(context));
	MADE(clCreateContext(odd, 1, &gpu->device, NULL, NULL, &error));
	MADE(clCreateContext(NULL, 0, &gpu->device, NULL, NULL, &error));
	context = MADE(clCreateContextFromType(of, CL_DEVICE_TYPE_ALL, NULL, NULL,
					       &error));
	INFO(clGetContextInfo, context, CL_CONTEXT_NUM_DEVICES);
	SAY(clReleaseContext(context));
	SAY(clGetContextInfo(NULL, CL_CONTEXT_NUM_DEVICES, 0, NULL, NULL));
	SAY(clRetainContext(NULL));
	SAY(clReleaseContext(NULL));
}

static void queues(struct gpu *gpu)
{
	cl_queue_properties list[] = {CL_QUEUE_PROPERTIES,
				      CL_QUEUE_PROFILING_ENABLE, 0};
	cl_int error = 0;
	cl_command_queue queue = MADE(clCreateCommandQueueWithProperties(
		gpu->context, gpu->device, list, &error));

	INFO(clGetCommandQueueInfo, queue, CL_QUEUE_PROPERTIES);
	INFO(clGetCommandQueueInfo, queue, CL_QUEUE_PROPERTIES_ARRAY);
	INFO(clGetCommandQueueInfo, queue, CL_QUEUE_REFERENCE_COUNT);
	HANDLES(clGetCommandQueueInfo, queue, CL_QUEUE_CONTEXT, gpu->context);
	HANDLES(clGetCommandQueueInfo, queue, CL_QUEUE_DEVICE, gpu->device);
	SAY(clRetainCommandQueue(queue));
	INFO(clGetCommandQueueInfo, queue, CL_QUEUE_REFERENCE_COUNT);
	SAY(clReleaseCommandQueue(queue));
	SAY(clFlush(queue));
	SAY(clFinish(queue));
	SAY(clReleaseCommandQueue(queue));
	queue = MADE(clCreateCommandQueue(gpu->context, gpu->device,
					  CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
					  &error));
	INFO(clGetCommandQueueInfo, queue, CL_QUEUE_PROPERTIES);
	SAY(clReleaseCommandQueue(queue));
	MADE(clCreateCommandQueue(gpu->context, gpu->device, 1 << 20, &error));
	MADE(clCreateCommandQueue(NULL, gpu->device, 0, &error));
	SAY(clFlush(NULL));
	SAY(clFinish(NULL));
	SAY(clSetDefaultDeviceCommandQueue(gpu->context, gpu->device, gpu->queue));
}

static void buffers(struct gpu *gpu)
{
	cl_buffer_region part = {1024, 512};
	cl_int error = 0;
	cl_mem whole =
		MADE(clCreateBuffer(gpu->context, CL_MEM_READ_WRITE, 4096, NULL,
				    &error));
	cl_mem sub = MADE(clCreateSubBuffer(whole, CL_MEM_READ_ONLY,
					    CL_BUFFER_CREATE_TYPE_REGION, &part,
					    &error));

	INFO(clGetMemObjectInfo, whole, CL_MEM_TYPE);
	INFO(clGetMemObjectInfo, whole, CL_MEM_FLAGS);
	SIZES(clGetMemObjectInfo, sub, CL_MEM_SIZE);
	SIZES(clGetMemObjectInfo, sub, CL_MEM_OFFSET);
	HANDLES(clGetMemObjectInfo, sub, CL_MEM_ASSOCIATED_MEMOBJECT, whole);
	HANDLES(clGetMemObjectInfo, whole, CL_MEM_CONTEXT, gpu->context);
	SAY(clRetainMemObject(whole));
	SAY(clReleaseMemObject(whole));
	SAY(clReleaseMemObject(sub));
	INFO(clGetMemObjectInfo, whole, CL_MEM_REFERENCE_COUNT);
	SAY(clReleaseMemObject(whole));
	MADE(clCreateBuffer(gpu->context, 0, 0, NULL, &error));
	MADE(clCreateBuffer(gpu->context, CL_MEM_COPY_HOST_PTR, 64, NULL, &error));
	SAY(clRetainMemObject(NULL));
	SAY(clReleaseMemObject(NULL));
	whole = MADE(clCreateBufferWithProperties(gpu->context, NULL, 0, 64, NULL,
						  &error));
	if (whole)
		SAY(clReleaseMemObject(whole));
}

int main(void)
{
	struct gpu gpu = first_gpu(0);

	platforms();
	devices(&gpu);
	contexts(&gpu);
	queues(&gpu);
	buffers(&gpu);
	close_gpu(&gpu);
	return 0;
}
