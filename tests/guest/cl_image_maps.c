/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Mapped images: pitches, flags, overlaps, order, errors. */
#include "cl_same.h"

#define W 12
#define H 7
#define D 5

static const cl_image_format rgba = { CL_RGBA, CL_UNSIGNED_INT8 };
static const size_t zero[3];

static void pattern(void *data, size_t size, unsigned seed)
{
	unsigned char *bytes = data;

	for (size_t n = 0; n < size; n++)
		bytes[n] = (unsigned char)(n * 7 + seed + (n >> 8));
}

/* Adds 1 to every byte of a mapped region, whose rows are where the pitches
 * say; prints what it saw. */
static void add_one(unsigned char *mapped, const size_t region[3], size_t row,
		    size_t slice)
{
	unsigned hash = 0;

	for (size_t z = 0; z < region[2]; z++)
		for (size_t y = 0; y < region[1]; y++)
			for (size_t x = 0; x < 4 * region[0]; x++) {
				unsigned char *at = mapped + z * slice + y * row + x;

				hash = hash * 31 + *at;
				*at += 1;
			}
	printf("saw %08x\n", hash);
}

/* Maps a part, changes it, unmaps it, and reads all. */
static void round_trip(struct gpu *gpu, const char *name, cl_image_desc desc,
		       const size_t whole[3], const size_t origin[3],
		       const size_t region[3])
{
	static unsigned char bytes[4 * W * H * D], out[4 * W * H * D];
	size_t size = 4 * whole[0] * whole[1] * whole[2];
	size_t row = 77, slice = 77;
	size_t layers[3] = { region[0], region[1], region[2] };
	cl_mem image, buffer = NULL;
	void *mapped;
	cl_int error;

	printf("-- %s\n", name);
	if (desc.image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER)
		desc.mem_object = buffer = clCreateBuffer(gpu->context, 0, size, NULL,
							  &error);
	image = MADE(clCreateImage(gpu->context, 0, &rgba, &desc, NULL, &error));
	pattern(bytes, sizeof(bytes), 3);
	SAY(clEnqueueWriteImage(gpu->queue, image, CL_TRUE, zero, whole, 0, 0, bytes, 0,
				NULL, NULL));
	mapped = MADE(clEnqueueMapImage(gpu->queue, image, CL_TRUE,
					CL_MAP_READ | CL_MAP_WRITE, origin, region, &row,
					&slice, 0, NULL, NULL, &error));
	if (!mapped)
		return;
	/* PoCL gives no pitches of an image in a buffer, and counts no maps. */
	if (!buffer) {
		printf("row pitch %lu, slice pitch %lu\n", (unsigned long)row,
		       (unsigned long)slice);
		INFO(clGetMemObjectInfo, image, CL_MEM_MAP_COUNT);
	}
	if (desc.image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY) {
		layers[2] = layers[1];
		layers[1] = 1;
	}
	add_one(mapped, layers, row, slice);
	SAY(clEnqueueUnmapMemObject(gpu->queue, image, mapped, 0, NULL, NULL));
	SAY(clFinish(gpu->queue));
	INFO(clGetMemObjectInfo, image, CL_MEM_MAP_COUNT);
	SAY(clEnqueueReadImage(gpu->queue, image, CL_TRUE, zero, whole, 0, 0, out, 0, NULL,
			       NULL));
	printf("all %08x\n", checksum(out, size));
	SAY(clReleaseMemObject(image));
	if (buffer)
		SAY(clReleaseMemObject(buffer));
}

static void all_types(struct gpu *gpu)
{
	const size_t at[3] = { 3, 2, 1 }, part[3] = { 5, 3, 2 };
	const size_t at1[3] = { 3, 0, 0 }, part1[3] = { 5, 1, 1 };
	const size_t at2[3] = { 3, 2, 0 }, part2[3] = { 5, 3, 1 };
	const size_t row[3] = { W, 1, 1 }, plane[3] = { W, H, 1 }, space[3] = { W, H, D };
	cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE1D, .image_width = W };

	round_trip(gpu, "1d", desc, row, at1, part1);
	desc.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
	round_trip(gpu, "1d buffer", desc, row, at1, part1);
	desc.image_type = CL_MEM_OBJECT_IMAGE1D_ARRAY;
	desc.image_array_size = H;
	round_trip(gpu, "1d array", desc, plane, at2, part2);
	desc.image_array_size = 0;
	desc.image_type = CL_MEM_OBJECT_IMAGE2D;
	desc.image_height = H;
	round_trip(gpu, "2d", desc, plane, at2, part2);
	desc.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY;
	desc.image_array_size = D;
	round_trip(gpu, "2d array", desc, space, at, part);
	desc.image_array_size = 0;
	desc.image_type = CL_MEM_OBJECT_IMAGE3D;
	desc.image_depth = D;
	round_trip(gpu, "3d", desc, space, at, part);
}

/* The program's own memory, with pitches of its own. */
static void own_memory(struct gpu *gpu)
{
	static unsigned char host[64 * H];
	const size_t at[3] = { 2, 1, 0 }, part[3] = { 4, 3, 1 }, plane[3] = { W, H, 1 };
	cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D,
			       .image_width = W,
			       .image_height = H,
			       .image_row_pitch = 64 };
	const cl_uint color[4] = { 1, 2, 3, 4 };
	unsigned char *mapped;
	size_t row = 0;
	cl_mem image;
	cl_int error;

	printf("-- own memory\n");
	memset(host, 0xee, sizeof(host));
	image = MADE(clCreateImage(gpu->context, CL_MEM_USE_HOST_PTR, &rgba, &desc, host,
				   &error));
	SAY(clEnqueueFillImage(gpu->queue, image, color, zero, plane, 0, NULL, NULL));
	mapped = MADE(clEnqueueMapImage(gpu->queue, image, CL_TRUE, CL_MAP_READ, at, part,
					&row, NULL, 0, NULL, NULL, &error));
	printf("at %ld, pitch %lu, has %u %u %u %u, behind the row %x\n",
	       (long)(mapped - host), (unsigned long)row, mapped[0], mapped[1], mapped[2],
	       mapped[3], host[63]);
	SAY(clEnqueueUnmapMemObject(gpu->queue, image, mapped, 0, NULL, NULL));
	SAY(clFinish(gpu->queue));
	SAY(clReleaseMemObject(image));
}

/* Unmaps, and says what its event is of. */
static void unmap_says(struct gpu *gpu, cl_mem image, void *mapped)
{
	cl_event event;

	SAY(clEnqueueUnmapMemObject(gpu->queue, image, mapped, 0, NULL, &event));
	SAY(clWaitForEvents(1, &event));
	INFO(clGetEventInfo, event, CL_EVENT_COMMAND_TYPE);
	SAY(clReleaseEvent(event));
}

static void flags_and_order(struct gpu *gpu)
{
	static unsigned char bytes[4 * W * H], out[4 * W * H];
	const size_t plane[3] = { W, H, 1 }, right[3] = { 4, 0, 0 }, part[3] = { 4, H, 1 };
	cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D,
			       .image_width = W,
			       .image_height = H };
	unsigned char *left_half, *right_half, *all, *read_only;
	size_t row = 0;
	cl_event event;
	cl_mem image;
	cl_int error;

	printf("-- flags and order\n");
	pattern(bytes, sizeof(bytes), 9);
	image = MADE(clCreateImage(gpu->context, CL_MEM_COPY_HOST_PTR, &rgba, &desc, bytes,
				   &error));
	/* What is written over is not read; all of it is written. */
	all = MADE(clEnqueueMapImage(gpu->queue, image, CL_TRUE,
				     CL_MAP_WRITE_INVALIDATE_REGION, zero, plane, &row,
				     NULL, 0, NULL, NULL, &error));
	for (size_t y = 0; y < H; y++)
		pattern(all + y * row, 4 * W, 40 + (unsigned)y);
	SAY(clEnqueueUnmapMemObject(gpu->queue, image, all, 0, NULL, NULL));
	SAY(clEnqueueReadImage(gpu->queue, image, CL_TRUE, zero, plane, 0, 0, out, 0, NULL,
			       NULL));
	printf("all %08x\n", checksum(out, sizeof(out)));
	/* Two that do not overlap and one that does, unmapped out of order. */
	left_half = MADE(clEnqueueMapImage(gpu->queue, image, CL_TRUE, CL_MAP_WRITE, zero,
					   part, &row, NULL, 0, NULL, NULL, &error));
	right_half = MADE(clEnqueueMapImage(gpu->queue, image, CL_FALSE, CL_MAP_WRITE,
					    right, part, &row, NULL, 0, NULL, &event,
					    &error));
	SAY(clWaitForEvents(1, &event));
	INFO(clGetEventInfo, event, CL_EVENT_COMMAND_TYPE);
	SAY(clReleaseEvent(event));
	read_only = MADE(clEnqueueMapImage(gpu->queue, image, CL_TRUE, CL_MAP_READ, zero,
					   plane, &row, NULL, 0, NULL, NULL, &error));
	printf("%ld between them, %08x\n", (long)(right_half - left_half),
	       checksum(read_only, 4 * W));
	INFO(clGetMemObjectInfo, image, CL_MEM_MAP_COUNT);
	for (size_t y = 0; y < H; y++) {
		memset(left_half + y * row, 1, 16);
		memset(right_half + y * row, 2, 16);
	}
	SAY(clEnqueueUnmapMemObject(gpu->queue, image, right_half, 0, NULL, NULL));
	/* What was written, and what was only read. */
	unmap_says(gpu, image, left_half);
	unmap_says(gpu, image, read_only);
	INFO(clGetMemObjectInfo, image, CL_MEM_MAP_COUNT);
	SAY(clEnqueueReadImage(gpu->queue, image, CL_TRUE, zero, plane, 0, 0, out, 0, NULL,
			       NULL));
	printf("all %08x\n", checksum(out, sizeof(out)));
	SAY(clReleaseMemObject(image));
}

/* A map that waits, and an unmap behind it before its event is set. */
static void waiting(struct gpu *gpu)
{
	static unsigned char bytes[4 * W * H], out[4 * W * H];
	const size_t plane[3] = { W, H, 1 };
	cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D,
			       .image_width = W,
			       .image_height = H };
	cl_event gate, mapped_event, unmapped;
	unsigned char *mapped;
	size_t row = 0;
	cl_mem image;
	cl_int error;

	printf("-- waiting\n");
	pattern(bytes, sizeof(bytes), 19);
	image = MADE(clCreateImage(gpu->context, CL_MEM_COPY_HOST_PTR, &rgba, &desc, bytes,
				   &error));
	gate = clCreateUserEvent(gpu->context, &error);
	mapped = MADE(clEnqueueMapImage(gpu->queue, image, CL_FALSE, CL_MAP_WRITE, zero,
					plane, &row, NULL, 1, &gate, &mapped_event,
					&error));
	SAY(clEnqueueUnmapMemObject(gpu->queue, image, mapped, 0, NULL, &unmapped));
	SAY(clSetUserEventStatus(gate, CL_COMPLETE));
	SAY(clWaitForEvents(1, &unmapped));
	SAY(clEnqueueReadImage(gpu->queue, image, CL_TRUE, zero, plane, 0, 0, out, 0, NULL,
			       NULL));
	printf("%s\n", memcmp(bytes, out, sizeof(out)) ? "other" : "same");
	SAY(clReleaseEvent(gate));
	SAY(clReleaseEvent(mapped_event));
	SAY(clReleaseEvent(unmapped));
	SAY(clReleaseMemObject(image));
}

static void errors(struct gpu *gpu)
{
	const size_t plane[3] = { W, H, 1 }, beyond[3] = { 1, 0, 0 };
	const cl_mem_flags hidden[3] = { CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_READ_ONLY,
					 CL_MEM_HOST_WRITE_ONLY };
	cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D,
			       .image_width = W,
			       .image_height = H };
	static unsigned char out[4 * W * H];
	size_t row = 0, slice = 0;
	cl_mem image, array, buffer;
	void *mapped;
	cl_int error;

	printf("-- errors\n");
	image = clCreateImage(gpu->context, 0, &rgba, &desc, NULL, &error);
	buffer = clCreateBuffer(gpu->context, 0, 64, NULL, &error);
#define MAP(queue, image, flags, origin, region, row)                          \
	MADE(clEnqueueMapImage(queue, image, CL_TRUE, flags, origin, region, row, &slice,  \
			       0, NULL, NULL, &error))
	MAP(NULL, image, CL_MAP_READ, zero, plane, &row);
	MAP(gpu->queue, NULL, CL_MAP_READ, zero, plane, &row);
	MAP(gpu->queue, buffer, CL_MAP_READ, zero, plane, &row);
	MAP(gpu->queue, image, CL_MAP_READ, beyond, plane, &row);
	MAP(gpu->queue, image, CL_MAP_READ, zero, plane, NULL);
	MADE(clEnqueueMapBuffer(gpu->queue, image, CL_TRUE, CL_MAP_READ, 0, 4, 0, NULL, NULL,
				&error));
	SAY(clEnqueueUnmapMemObject(gpu->queue, image, out, 0, NULL, NULL));
	SAY(clEnqueueUnmapMemObject(gpu->queue, image, NULL, 0, NULL, NULL));
	SAY(clReleaseMemObject(image));
	desc.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY;
	desc.image_array_size = D;
	array = clCreateImage(gpu->context, 0, &rgba, &desc, NULL, &error);
	MADE(clEnqueueMapImage(gpu->queue, array, CL_TRUE, CL_MAP_READ, zero, plane, &row,
			       NULL, 0, NULL, NULL, &error));
	SAY(clReleaseMemObject(array));
	desc.image_type = CL_MEM_OBJECT_IMAGE2D;
	desc.image_array_size = 0;
	for (int n = 0; n < 3; n++) {
		image = MADE(clCreateImage(gpu->context, hidden[n], &rgba, &desc, NULL,
					   &error));
		SAY(clEnqueueReadImage(gpu->queue, image, CL_TRUE, zero, plane, 0, 0, out,
				       0, NULL, NULL));
		SAY(clEnqueueWriteImage(gpu->queue, image, CL_TRUE, zero, plane, 0, 0, out,
					0, NULL, NULL));
		mapped = MAP(gpu->queue, image, CL_MAP_READ, zero, plane, &row);
		if (mapped)
			SAY(clEnqueueUnmapMemObject(gpu->queue, image, mapped, 0, NULL,
						    NULL));
		mapped = MAP(gpu->queue, image, CL_MAP_WRITE, zero, plane, &row);
		if (mapped)
			SAY(clEnqueueUnmapMemObject(gpu->queue, image, mapped, 0, NULL,
						    NULL));
		SAY(clFinish(gpu->queue));
		SAY(clReleaseMemObject(image));
	}
	SAY(clReleaseMemObject(buffer));
}

int main(void)
{
	struct gpu gpu = first_gpu(0);

	all_types(&gpu);
	own_memory(&gpu);
	flags_and_order(&gpu);
	waiting(&gpu);
	errors(&gpu);
	close_gpu(&gpu);
	return 0;
}
