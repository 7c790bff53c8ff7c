/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Buffers: host memory, parts, rectangles, fills, copies, maps, and what is
 * wrong with each. */
#include "cl_same.h"

#define SIZE 4096

static unsigned char bytes[SIZE], out[SIZE];

static void pattern(void *data, size_t size, unsigned seed)
{
	unsigned char *to = data;

	for (size_t n = 0; n < size; n++)
		to[n] = (unsigned char)(n * 7 + seed + (n >> 8));
}

static cl_mem patterned(struct gpu *gpu, unsigned seed)
{
	cl_int error;

	pattern(bytes, SIZE, seed);
	return clCreateBuffer(gpu->context, CL_MEM_COPY_HOST_PTR, SIZE, bytes, &error);
}

static void show(struct gpu *gpu, cl_mem buffer, size_t size)
{
	memset(out, 0, sizeof(out));
	SAY(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 0, size, out, 0, NULL, NULL));
	printf("has %08x\n", checksum(out, size));
}

static void host_memory(struct gpu *gpu)
{
	const cl_mem_flags all[] = {
		0,
		CL_MEM_READ_ONLY,
		CL_MEM_USE_HOST_PTR,
		CL_MEM_COPY_HOST_PTR,
		CL_MEM_ALLOC_HOST_PTR,
		CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR,
		CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR,
		CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR,
		CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY,
		CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY,
		(cl_mem_flags)1 << 40,
	};
	static unsigned char host[SIZE];
	cl_int error = 0;

	printf("-- host memory\n");
	for (size_t n = 0; n < sizeof(all) / sizeof(*all); n++)
		for (int with = 0; with < 2; with++) {
			void *host_ptr = NULL;
			cl_mem buffer;

			pattern(host, SIZE, 3 + (unsigned)n);
			printf("flags %llx, %s: ", (unsigned long long)all[n],
			       with ? "memory" : "none");
			buffer = MADE(clCreateBuffer(gpu->context, all[n], SIZE,
						     with ? host : NULL, &error));
			if (!buffer)
				continue;
			INFO(clGetMemObjectInfo, buffer, CL_MEM_FLAGS);
			clGetMemObjectInfo(buffer, CL_MEM_HOST_PTR, sizeof(host_ptr),
					   &host_ptr, NULL);
			printf("host memory %s\n", !host_ptr	      ? "none"
						   : host_ptr == host ? "its own"
								      : "another");
			if (with)
				show(gpu, buffer, SIZE);
			SAY(clReleaseMemObject(buffer));
		}
	MADE(clCreateBuffer(gpu->context, 0, 0, NULL, &error));
	MADE(clCreateBuffer(NULL, 0, SIZE, NULL, &error));
}

static void properties(struct gpu *gpu)
{
	const cl_mem_properties none[] = { 0 }, odd[] = { 0x7777, 1, 0 };
	cl_int error = 0;
	cl_mem buffer;

	printf("-- properties\n");
	buffer = MADE(clCreateBufferWithProperties(gpu->context, NULL, 0, SIZE, NULL,
						   &error));
	INFO(clGetMemObjectInfo, buffer, CL_MEM_PROPERTIES);
	SAY(clReleaseMemObject(buffer));
	pattern(bytes, SIZE, 31);
	buffer = MADE(clCreateBufferWithProperties(gpu->context, none,
						   CL_MEM_COPY_HOST_PTR, SIZE, bytes,
						   &error));
	if (buffer) {
		INFO(clGetMemObjectInfo, buffer, CL_MEM_PROPERTIES);
		show(gpu, buffer, SIZE);
		SAY(clReleaseMemObject(buffer));
	}
	MADE(clCreateBufferWithProperties(gpu->context, odd, 0, SIZE, NULL, &error));
}

static void infos(struct gpu *gpu)
{
	cl_mem buffer = patterned(gpu, 1);
	cl_uint references;

	printf("-- infos\n");
	INFO(clGetMemObjectInfo, buffer, CL_MEM_TYPE);
	SIZES(clGetMemObjectInfo, buffer, CL_MEM_SIZE);
	SIZES(clGetMemObjectInfo, buffer, CL_MEM_OFFSET);
	INFO(clGetMemObjectInfo, buffer, CL_MEM_MAP_COUNT);
	HANDLES(clGetMemObjectInfo, buffer, CL_MEM_CONTEXT, gpu->context);
	HANDLES(clGetMemObjectInfo, buffer, CL_MEM_ASSOCIATED_MEMOBJECT, NULL);
	INFO(clGetMemObjectInfo, buffer, CL_MEM_USES_SVM_POINTER);
	INFO(clGetMemObjectInfo, buffer, 0xdead);
	INFO(clGetMemObjectInfo, (cl_mem)NULL, CL_MEM_TYPE);
	SAY(clRetainMemObject(buffer));
	clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof(references), &references,
			   NULL);
	printf("%u references\n", references);
	SAY(clReleaseMemObject(buffer));
	SAY(clReleaseMemObject(buffer));
	SAY(clReleaseMemObject(NULL));
	SAY(clRetainMemObject(NULL));
}

static void parts(struct gpu *gpu)
{
	const cl_mem_flags wholes[] = { 0, CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_READ_ONLY,
					CL_MEM_HOST_WRITE_ONLY };
	const cl_mem_flags some[] = { 0, CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY,
				      CL_MEM_HOST_NO_ACCESS };
	cl_buffer_region region = { 1024, 512 };
	cl_mem buffer = patterned(gpu, 5), part, again;
	unsigned char *mapped, *whole;
	cl_int error = 0;

	printf("-- parts\n");
	part = MADE(clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region,
				      &error));
	SIZES(clGetMemObjectInfo, part, CL_MEM_SIZE);
	SIZES(clGetMemObjectInfo, part, CL_MEM_OFFSET);
	INFO(clGetMemObjectInfo, part, CL_MEM_FLAGS);
	HANDLES(clGetMemObjectInfo, part, CL_MEM_ASSOCIATED_MEMOBJECT, buffer);
	show(gpu, part, 512);
	pattern(bytes, 512, 77);
	SAY(clEnqueueWriteBuffer(gpu->queue, part, CL_TRUE, 0, 512, bytes, 0, NULL, NULL));
	show(gpu, buffer, SIZE);
	SAY(clEnqueueReadBuffer(gpu->queue, part, CL_TRUE, 1, 512, out, 0, NULL, NULL));
	/* One byte of a buffer has one address. */
	mapped = MADE(clEnqueueMapBuffer(gpu->queue, part, CL_TRUE, CL_MAP_READ, 16, 64, 0,
					 NULL, NULL, &error));
	whole = MADE(clEnqueueMapBuffer(gpu->queue, buffer, CL_TRUE, CL_MAP_READ, 0, SIZE,
					0, NULL, NULL, &error));
	printf("at %ld, has %08x\n", (long)(mapped - whole), checksum(mapped, 64));
	SAY(clEnqueueUnmapMemObject(gpu->queue, part, mapped, 0, NULL, NULL));
	SAY(clEnqueueUnmapMemObject(gpu->queue, buffer, whole, 0, NULL, NULL));
	SAY(clFinish(gpu->queue));
	MADE(clCreateSubBuffer(part, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error));
	region.size = 0;
	MADE(clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error));
	region.size = SIZE;
	MADE(clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error));
	region.size = 64;
	MADE(clCreateSubBuffer(buffer, 0, 0x7777, &region, &error));
	MADE(clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, NULL, &error));
	MADE(clCreateSubBuffer(NULL, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error));
	region.origin = 3;
	MADE(clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error));
	/* The whole lives on in its part. */
	SAY(clReleaseMemObject(buffer));
	show(gpu, part, 512);
	SAY(clReleaseMemObject(part));
	region.origin = 1024;
	for (int n = 0; n < 4; n++)
		for (int m = 0; m < 4; m++) {
			buffer = clCreateBuffer(gpu->context, wholes[n], SIZE, NULL,
						&error);
			printf("%llx in %llx: ", (unsigned long long)some[m],
			       (unsigned long long)wholes[n]);
			again = MADE(clCreateSubBuffer(buffer, some[m],
						       CL_BUFFER_CREATE_TYPE_REGION,
						       &region, &error));
			if (again) {
				INFO(clGetMemObjectInfo, again, CL_MEM_FLAGS);
				SAY(clReleaseMemObject(again));
			}
			SAY(clReleaseMemObject(buffer));
		}
}

static void rectangles(struct gpu *gpu)
{
	const size_t origin[3] = { 5, 3, 1 }, at[3] = { 2, 1, 1 }, zero[3] = { 0 };
	const size_t region[3] = { 16, 4, 3 }, none[3] = { 16, 0, 3 };
	const size_t far[3] = { 0, 0, 100 };
	cl_mem buffer = patterned(gpu, 9), other = patterned(gpu, 10);

	printf("-- rectangles\n");
	memset(out, 0xee, sizeof(out));
	SAY(clEnqueueReadBufferRect(gpu->queue, buffer, CL_TRUE, origin, at, region, 32,
				    512, 40, 400, out, 0, NULL, NULL));
	printf("%08x\n", checksum(out, sizeof(out)));
	memset(out, 0xee, sizeof(out));
	SAY(clEnqueueReadBufferRect(gpu->queue, buffer, CL_TRUE, zero, zero, region, 0, 0,
				    0, 0, out, 0, NULL, NULL));
	printf("%08x\n", checksum(out, sizeof(out)));
	pattern(bytes, SIZE, 55);
	SAY(clEnqueueWriteBufferRect(gpu->queue, buffer, CL_TRUE, origin, at, region, 32,
				     512, 40, 400, bytes, 0, NULL, NULL));
	show(gpu, buffer, SIZE);
	SAY(clEnqueueCopyBufferRect(gpu->queue, buffer, other, origin, at, region, 32, 512,
				    40, 400, 0, NULL, NULL));
	show(gpu, other, SIZE);
	SAY(clEnqueueCopyBufferRect(gpu->queue, buffer, buffer, origin, origin, region, 32,
				    512, 32, 512, 0, NULL, NULL));
	SAY(clEnqueueReadBufferRect(gpu->queue, buffer, CL_TRUE, origin, at, none, 32, 512,
				    40, 400, out, 0, NULL, NULL));
	SAY(clEnqueueReadBufferRect(gpu->queue, buffer, CL_TRUE, far, at, region, 32, 512,
				    40, 400, out, 0, NULL, NULL));
	SAY(clEnqueueReadBufferRect(gpu->queue, buffer, CL_TRUE, zero, at, region, 8, 512,
				    40, 400, out, 0, NULL, NULL));
	SAY(clEnqueueReadBufferRect(gpu->queue, buffer, CL_TRUE, zero, at, region, 32, 512,
				    8, 400, out, 0, NULL, NULL));
	SAY(clEnqueueReadBufferRect(gpu->queue, buffer, CL_TRUE, zero, at, region, 32, 512,
				    40, 100, out, 0, NULL, NULL));
	SAY(clEnqueueReadBufferRect(gpu->queue, buffer, CL_TRUE, zero, at, region, 32, 512,
				    40, 400, NULL, 0, NULL, NULL));
	SAY(clEnqueueReadBufferRect(gpu->queue, NULL, CL_TRUE, zero, at, region, 32, 512,
				    40, 400, out, 0, NULL, NULL));
	SAY(clEnqueueWriteBufferRect(gpu->queue, buffer, CL_TRUE, far, at, region, 32, 512,
				     40, 400, out, 0, NULL, NULL));
	SAY(clEnqueueWriteBufferRect(gpu->queue, buffer, CL_TRUE, zero, at, region, 32, 512,
				     40, 100, out, 0, NULL, NULL));
	SAY(clReleaseMemObject(buffer));
	SAY(clReleaseMemObject(other));
}

/* What is between the rows is the program's, whenever the rows come. */
static void gaps(struct gpu *gpu)
{
	const size_t zero[3] = { 0 }, region[3] = { 16, 8, 1 };
	cl_mem buffer = patterned(gpu, 13);
	cl_event gate, done;
	cl_int error;

	printf("-- gaps\n");
	memset(out, 0xee, sizeof(out));
	gate = clCreateUserEvent(gpu->context, &error);
	SAY(clEnqueueReadBufferRect(gpu->queue, buffer, CL_FALSE, zero, zero, region, 64,
				    0, 32, 0, out, 1, &gate, &done));
	for (size_t n = 0; n < 7; n++)
		memset(out + 32 * n + 16, (int)n, 16);
	SAY(clSetUserEventStatus(gate, CL_COMPLETE));
	SAY(clWaitForEvents(1, &done));
	printf("%08x\n", checksum(out, sizeof(out)));
	SAY(clReleaseEvent(gate));
	SAY(clReleaseEvent(done));
	SAY(clReleaseMemObject(buffer));
}

static void fills(struct gpu *gpu)
{
	cl_mem buffer = patterned(gpu, 21);
	unsigned char fill[256];

	printf("-- fills\n");
	pattern(fill, sizeof(fill), 99);
	for (size_t size = 1; size <= 128; size *= 2) {
		SAY(clEnqueueFillBuffer(gpu->queue, buffer, fill, size, 128, 1024, 0, NULL,
					NULL));
		show(gpu, buffer, SIZE);
	}
	SAY(clEnqueueFillBuffer(gpu->queue, buffer, fill, 3, 0, 12, 0, NULL, NULL));
	SAY(clEnqueueFillBuffer(gpu->queue, buffer, fill, 0, 0, 12, 0, NULL, NULL));
	SAY(clEnqueueFillBuffer(gpu->queue, buffer, fill, 256, 0, 256, 0, NULL, NULL));
	SAY(clEnqueueFillBuffer(gpu->queue, buffer, NULL, 4, 0, 16, 0, NULL, NULL));
	SAY(clEnqueueFillBuffer(gpu->queue, buffer, fill, 4, 2, 16, 0, NULL, NULL));
	SAY(clEnqueueFillBuffer(gpu->queue, buffer, fill, 4, 0, 18, 0, NULL, NULL));
	SAY(clEnqueueFillBuffer(gpu->queue, buffer, fill, 4, SIZE, 16, 0, NULL, NULL));
	SAY(clEnqueueFillBuffer(gpu->queue, NULL, fill, 4, 0, 16, 0, NULL, NULL));
	SAY(clReleaseMemObject(buffer));
}

static void copies(struct gpu *gpu)
{
	cl_mem buffer = patterned(gpu, 33), other = patterned(gpu, 34), both[2];

	printf("-- copies\n");
	SAY(clEnqueueCopyBuffer(gpu->queue, buffer, other, 100, 300, 1000, 0, NULL, NULL));
	show(gpu, other, SIZE);
	SAY(clEnqueueCopyBuffer(gpu->queue, buffer, buffer, 0, 2000, 1000, 0, NULL, NULL));
	show(gpu, buffer, SIZE);
	SAY(clEnqueueCopyBuffer(gpu->queue, buffer, buffer, 0, 999, 1000, 0, NULL, NULL));
	SAY(clEnqueueCopyBuffer(gpu->queue, buffer, other, 0, SIZE, 1, 0, NULL, NULL));
	SAY(clEnqueueCopyBuffer(gpu->queue, buffer, NULL, 0, 0, 1, 0, NULL, NULL));
	both[0] = buffer;
	both[1] = other;
	SAY(clEnqueueMigrateMemObjects(gpu->queue, 2, both, CL_MIGRATE_MEM_OBJECT_HOST, 0,
				       NULL, NULL));
	SAY(clEnqueueMigrateMemObjects(gpu->queue, 1, both,
				       CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL,
				       NULL));
	SAY(clFinish(gpu->queue));
	SAY(clEnqueueMigrateMemObjects(gpu->queue, 0, both, 0, 0, NULL, NULL));
	SAY(clEnqueueMigrateMemObjects(gpu->queue, 2, NULL, 0, 0, NULL, NULL));
	SAY(clEnqueueMigrateMemObjects(gpu->queue, 2, both, 1 << 20, 0, NULL, NULL));
	both[1] = NULL;
	SAY(clEnqueueMigrateMemObjects(gpu->queue, 2, both, 0, 0, NULL, NULL));
	SAY(clEnqueueReadBuffer(gpu->queue, other, CL_TRUE, 0, SIZE + 1, out, 0, NULL,
				NULL));
	SAY(clEnqueueReadBuffer(gpu->queue, other, CL_TRUE, 0, 16, NULL, 0, NULL, NULL));
	SAY(clEnqueueWriteBuffer(gpu->queue, other, CL_TRUE, SIZE, 1, out, 0, NULL, NULL));
	SAY(clEnqueueWriteBuffer(gpu->queue, other, CL_TRUE, 0, 16, NULL, 0, NULL, NULL));
	SAY(clReleaseMemObject(buffer));
	SAY(clReleaseMemObject(other));
}

static void maps(struct gpu *gpu)
{
	unsigned char *one, *two, *three, *four;
	cl_mem buffer = patterned(gpu, 44);
	cl_event event;
	cl_int error = 0;

	printf("-- maps\n");
	one = MADE(clEnqueueMapBuffer(gpu->queue, buffer, CL_TRUE,
				      CL_MAP_READ | CL_MAP_WRITE, 0, 1000, 0, NULL, NULL,
				      &error));
	two = MADE(clEnqueueMapBuffer(gpu->queue, buffer, CL_FALSE,
				      CL_MAP_WRITE_INVALIDATE_REGION, 1000, 1000, 0, NULL,
				      &event, &error));
	SAY(clWaitForEvents(1, &event));
	SAY(clReleaseEvent(event));
	three = MADE(clEnqueueMapBuffer(gpu->queue, buffer, CL_TRUE, CL_MAP_READ, 2000,
					1000, 0, NULL, NULL, &error));
	four = MADE(clEnqueueMapBuffer(gpu->queue, buffer, CL_TRUE, CL_MAP_READ, 2500, 1000,
				       0, NULL, NULL, &error));
	INFO(clGetMemObjectInfo, buffer, CL_MEM_MAP_COUNT);
	printf("at %ld %ld %ld\n", (long)(two - one), (long)(three - one),
	       (long)(four - one));
	printf("has %08x %08x %08x\n", checksum(one, 1000), checksum(three, 1000),
	       checksum(four, 1000));
	for (size_t n = 0; n < 1000; n++)
		one[n] ^= 0xff;
	memset(two, 7, 1000);
	SAY(clEnqueueUnmapMemObject(gpu->queue, buffer, three, 0, NULL, NULL));
	SAY(clEnqueueUnmapMemObject(gpu->queue, buffer, one, 0, NULL, NULL));
	SAY(clEnqueueUnmapMemObject(gpu->queue, buffer, four, 0, NULL, NULL));
	SAY(clEnqueueUnmapMemObject(gpu->queue, buffer, two, 0, NULL, &event));
	SAY(clWaitForEvents(1, &event));
	SAY(clReleaseEvent(event));
	SAY(clFinish(gpu->queue));
	INFO(clGetMemObjectInfo, buffer, CL_MEM_MAP_COUNT);
	show(gpu, buffer, SIZE);
	SAY(clEnqueueUnmapMemObject(gpu->queue, buffer, two, 0, NULL, NULL));
	MADE(clEnqueueMapBuffer(gpu->queue, buffer, CL_TRUE, CL_MAP_READ, 0, SIZE + 1, 0,
				NULL, NULL, &error));
	MADE(clEnqueueMapBuffer(gpu->queue, buffer, CL_TRUE, CL_MAP_READ, 0, 0, 0, NULL,
				NULL, &error));
	MADE(clEnqueueMapBuffer(gpu->queue, NULL, CL_TRUE, CL_MAP_READ, 0, 1, 0, NULL,
				NULL, &error));
	MADE(clEnqueueMapBuffer(NULL, buffer, CL_TRUE, CL_MAP_READ, 0, 1, 0, NULL, NULL,
				&error));
	SAY(clReleaseMemObject(buffer));
}

/* The program's own memory behind a buffer. */
static void own_memory(struct gpu *gpu)
{
	static unsigned char host[SIZE];
	const unsigned fill = 0x01020304;
	unsigned char *mapped;
	cl_int error = 0;
	cl_mem buffer;

	printf("-- own memory\n");
	pattern(host, SIZE, 3);
	buffer = MADE(clCreateBuffer(gpu->context, CL_MEM_USE_HOST_PTR, SIZE, host,
				     &error));
	SAY(clEnqueueFillBuffer(gpu->queue, buffer, &fill, 4, 0, 1024, 0, NULL, NULL));
	mapped = MADE(clEnqueueMapBuffer(gpu->queue, buffer, CL_TRUE,
					 CL_MAP_READ | CL_MAP_WRITE, 512, 1024, 0, NULL,
					 NULL, &error));
	printf("at %ld, has %08x\n", (long)(mapped - host), checksum(mapped, 1024));
	memset(mapped, 5, 100);
	SAY(clEnqueueUnmapMemObject(gpu->queue, buffer, mapped, 0, NULL, NULL));
	show(gpu, buffer, SIZE);
	SAY(clReleaseMemObject(buffer));
}

/* Maps that wait, and unmaps behind them before their event is set. */
static void waiting(struct gpu *gpu)
{
	cl_mem buffer = patterned(gpu, 66);
	cl_event gate, mapped_event, unmapped;
	unsigned char *mapped;
	cl_int error = 0;

	printf("-- waiting\n");
	gate = clCreateUserEvent(gpu->context, &error);
	mapped = MADE(clEnqueueMapBuffer(gpu->queue, buffer, CL_FALSE,
					 CL_MAP_READ | CL_MAP_WRITE, 0, SIZE, 1, &gate,
					 &mapped_event, &error));
	SAY(clSetUserEventStatus(gate, CL_COMPLETE));
	SAY(clWaitForEvents(1, &mapped_event));
	printf("has %08x\n", checksum(mapped, SIZE));
	memset(mapped, 1, 64);
	SAY(clEnqueueUnmapMemObject(gpu->queue, buffer, mapped, 0, NULL, NULL));
	show(gpu, buffer, SIZE);
	SAY(clReleaseEvent(gate));
	SAY(clReleaseEvent(mapped_event));
	gate = clCreateUserEvent(gpu->context, &error);
	mapped = MADE(clEnqueueMapBuffer(gpu->queue, buffer, CL_FALSE, CL_MAP_WRITE, 0,
					 SIZE, 1, &gate, &mapped_event, &error));
	SAY(clEnqueueUnmapMemObject(gpu->queue, buffer, mapped, 0, NULL, &unmapped));
	SAY(clSetUserEventStatus(gate, CL_COMPLETE));
	SAY(clWaitForEvents(1, &unmapped));
	SAY(clFinish(gpu->queue));
	INFO(clGetMemObjectInfo, buffer, CL_MEM_MAP_COUNT);
	show(gpu, buffer, SIZE);
	SAY(clReleaseEvent(gate));
	SAY(clReleaseEvent(mapped_event));
	SAY(clReleaseEvent(unmapped));
	SAY(clReleaseMemObject(buffer));
}

static void access(struct gpu *gpu)
{
	const cl_mem_flags all[] = { CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_READ_ONLY,
				     CL_MEM_HOST_WRITE_ONLY };
	const cl_map_flags how[] = { CL_MAP_READ, CL_MAP_WRITE,
				     CL_MAP_WRITE_INVALIDATE_REGION };
	const size_t zero[3] = { 0 }, region[3] = { 16, 2, 1 };
	cl_int error = 0;

	printf("-- access\n");
	for (int n = 0; n < 3; n++) {
		cl_mem buffer;

		pattern(bytes, SIZE, 70 + (unsigned)n);
		buffer = MADE(clCreateBuffer(gpu->context, all[n] | CL_MEM_COPY_HOST_PTR,
					     SIZE, bytes, &error));
		INFO(clGetMemObjectInfo, buffer, CL_MEM_FLAGS);
		SAY(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 0, 16, out, 0, NULL,
					NULL));
		SAY(clEnqueueWriteBuffer(gpu->queue, buffer, CL_TRUE, 0, 16, out, 0, NULL,
					 NULL));
		SAY(clEnqueueReadBufferRect(gpu->queue, buffer, CL_TRUE, zero, zero, region,
					    0, 0, 32, 0, out, 0, NULL, NULL));
		SAY(clEnqueueWriteBufferRect(gpu->queue, buffer, CL_TRUE, zero, zero,
					     region, 0, 0, 32, 0, out, 0, NULL, NULL));
		for (int m = 0; m < 3; m++) {
			void *mapped = MADE(clEnqueueMapBuffer(gpu->queue, buffer, CL_TRUE,
							       how[m], 0, SIZE, 0, NULL,
							       NULL, &error));
			if (!mapped)
				continue;
			if (how[m] == CL_MAP_WRITE_INVALIDATE_REGION)
				memset(mapped, 9, SIZE);
			SAY(clEnqueueUnmapMemObject(gpu->queue, buffer, mapped, 0, NULL,
						    NULL));
		}
		SAY(clFinish(gpu->queue));
		SAY(clReleaseMemObject(buffer));
	}
}

int main(void)
{
	struct gpu gpu = first_gpu(0);

	host_memory(&gpu);
	properties(&gpu);
	infos(&gpu);
	parts(&gpu);
	rectangles(&gpu);
	gaps(&gpu);
	fills(&gpu);
	copies(&gpu);
	maps(&gpu);
	own_memory(&gpu);
	waiting(&gpu);
	access(&gpu);
	close_gpu(&gpu);
	return 0;
}
