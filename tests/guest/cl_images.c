/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Images of all types, their errors, and what kernels see of them: prints the
 * same natively and in the guest. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define W 12
#define H 7
#define D 5

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;

static uint32_t sum_of(const void *data, size_t size)
{
	const unsigned char *bytes = data;
	uint32_t sum = 2166136261u;
	size_t i;

	for (i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * 16777619u;
	return sum;
}

static void pattern(void *data, size_t size, unsigned seed)
{
	unsigned char *bytes = data;
	size_t i;

	for (i = 0; i < size; i++)
		bytes[i] = (unsigned char)(i * 7 + seed + (i >> 8));
}

static void set_up(void)
{
	cl_int error;

	clGetPlatformIDs(1, &platform, NULL);
	clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	queue = clCreateCommandQueue(context, device, 0, &error);
	printf("queue %d\n", error);
}

static void limits(void)
{
	static const cl_device_info sizes[] = {
		CL_DEVICE_IMAGE2D_MAX_WIDTH,   CL_DEVICE_IMAGE2D_MAX_HEIGHT,
		CL_DEVICE_IMAGE3D_MAX_WIDTH,   CL_DEVICE_IMAGE3D_MAX_HEIGHT,
		CL_DEVICE_IMAGE3D_MAX_DEPTH,   CL_DEVICE_IMAGE_MAX_BUFFER_SIZE,
		CL_DEVICE_IMAGE_MAX_ARRAY_SIZE,
	};
	static const cl_device_info words[] = {
		CL_DEVICE_IMAGE_SUPPORT,	  CL_DEVICE_MAX_READ_IMAGE_ARGS,
		CL_DEVICE_MAX_WRITE_IMAGE_ARGS,	  CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS,
		CL_DEVICE_MAX_SAMPLERS,		  CL_DEVICE_IMAGE_PITCH_ALIGNMENT,
		CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT,
	};
	size_t i, size;
	cl_uint word;
	cl_int error;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size = 0;
		error = clGetDeviceInfo(device, sizes[i], sizeof(size), &size, NULL);
		printf("limit %x: %d %zu\n", sizes[i], error, size);
	}
	for (i = 0; i < sizeof(words) / sizeof(*words); i++) {
		word = 0;
		error = clGetDeviceInfo(device, words[i], sizeof(word), &word, NULL);
		printf("limit %x: %d %u\n", words[i], error, word);
	}
}

static void formats(void)
{
	static const cl_mem_object_type types[] = {
		CL_MEM_OBJECT_IMAGE1D,	     CL_MEM_OBJECT_IMAGE1D_BUFFER,
		CL_MEM_OBJECT_IMAGE1D_ARRAY, CL_MEM_OBJECT_IMAGE2D,
		CL_MEM_OBJECT_IMAGE2D_ARRAY, CL_MEM_OBJECT_IMAGE3D,
	};
	cl_image_format all[128];
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(*types); i++) {
		cl_uint count = 0;
		cl_int error = clGetSupportedImageFormats(context, CL_MEM_READ_WRITE,
							  types[i], 128, all, &count);
		printf("formats of %x: %d, %u, %08x\n", types[i], error, count,
		       error ? 0 : sum_of(all, count * sizeof(*all)));
	}
	printf("formats without room: %d\n",
	       clGetSupportedImageFormats(context, CL_MEM_READ_WRITE, types[0], 0, all,
					  NULL));
	printf("formats of a buffer: %d\n",
	       clGetSupportedImageFormats(context, CL_MEM_READ_WRITE,
					  CL_MEM_OBJECT_BUFFER, 128, all, NULL));
	printf("formats of nothing: %d\n",
	       clGetSupportedImageFormats(NULL, CL_MEM_READ_WRITE, types[0], 128, all,
					  NULL));
}

static void describe(const char *name, cl_mem image)
{
	static const cl_image_info infos[] = {
		CL_IMAGE_ELEMENT_SIZE, CL_IMAGE_ROW_PITCH, CL_IMAGE_SLICE_PITCH,
		CL_IMAGE_WIDTH,	       CL_IMAGE_HEIGHT,	   CL_IMAGE_DEPTH,
		CL_IMAGE_ARRAY_SIZE,
	};
	cl_image_format format = { 0, 0 };
	cl_mem_object_type type = 0;
	cl_mem_flags flags = 0;
	cl_uint levels = 9, samples = 9;
	size_t value, size = 0, i;
	cl_mem within = NULL;
	cl_int error;

	printf("%s:", name);
	for (i = 0; i < sizeof(infos) / sizeof(*infos); i++) {
		value = 0;
		error = clGetImageInfo(image, infos[i], sizeof(value), &value, NULL);
		printf(" %d/%zu", error, value);
	}
	clGetImageInfo(image, CL_IMAGE_FORMAT, sizeof(format), &format, NULL);
	clGetImageInfo(image, CL_IMAGE_BUFFER, sizeof(within), &within, NULL);
	clGetImageInfo(image, CL_IMAGE_NUM_MIP_LEVELS, sizeof(levels), &levels, NULL);
	clGetImageInfo(image, CL_IMAGE_NUM_SAMPLES, sizeof(samples), &samples, NULL);
	clGetMemObjectInfo(image, CL_MEM_TYPE, sizeof(type), &type, NULL);
	clGetMemObjectInfo(image, CL_MEM_FLAGS, sizeof(flags), &flags, NULL);
	clGetMemObjectInfo(image, CL_MEM_SIZE, sizeof(size), &size, NULL);
	printf(" format %x %x, in %s, %u levels, %u samples, type %x, flags %llx, size %zu\n",
	       format.image_channel_order, format.image_channel_data_type,
	       within ? "a buffer" : "none", levels, samples, type,
	       (unsigned long long)flags, size);
}

/* Every type: written, copied, filled in part, read with pitches. */
struct kind {
	const char *name;
	cl_image_desc desc;
	size_t region[3];
	size_t origin[3], part[3];
};

static const cl_image_format rgba = { CL_RGBA, CL_UNSIGNED_INT8 };

/* PoCL crashes on copying and filling one-dimensional images in buffers. */
static void through_a_buffer(cl_mem image, const struct kind *kind, size_t elements)
{
	static const size_t zero[3];
	unsigned char out[8192] = { 0 };
	cl_mem copy;
	cl_int error;

	copy = clCreateBuffer(context, CL_MEM_READ_WRITE, 4 * elements + 16, NULL, &error);
	clEnqueueWriteBuffer(queue, copy, CL_TRUE, 0, 4 * elements + 16, out, 0, NULL,
			     NULL);
	error = clEnqueueCopyImageToBuffer(queue, image, copy, zero, kind->region, 16, 0,
					   NULL, NULL);
	clEnqueueReadBuffer(queue, copy, CL_TRUE, 0, 4 * elements + 16, out, 0, NULL, NULL);
	printf(" to a buffer %d, %08x", error, sum_of(out, 4 * elements + 16));
	error = clEnqueueCopyBufferToImage(queue, copy, image, 4, zero, kind->region, 0,
					   NULL, NULL);
	clEnqueueReadImage(queue, image, CL_TRUE, zero, kind->region, 0, 0, out, 0, NULL,
			   NULL);
	printf(", back %d, %08x\n", error, sum_of(out, 4 * elements));
	clReleaseMemObject(copy);
}

static void round_trip(const struct kind *kind)
{
	static const size_t zero[3];
	const cl_uint color[4] = { 1, 2, 3, 4 };
	size_t elements = kind->region[0] * kind->region[1] * kind->region[2];
	size_t row = kind->part[0] * 4 + 8, slice = 0, room;
	unsigned char in[4 * W * H * D], out[8192];
	cl_mem image, other = NULL, buffer = NULL;
	cl_image_desc desc = kind->desc;
	cl_int error, error2 = 0;

	if (desc.image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER)
		desc.mem_object = buffer = clCreateBuffer(context, CL_MEM_READ_WRITE,
							  4 * W, NULL, &error);
	image = clCreateImage(context, CL_MEM_READ_WRITE, &rgba, &desc, NULL, &error);
	if (!buffer)
		other = clCreateImage(context, CL_MEM_READ_WRITE, &rgba, &desc, NULL,
				      &error2);
	printf("%s: %d\n", kind->name, error);
	if (error)
		return;
	describe(kind->name, image);
	pattern(in, sizeof(in), 3);
	error = clEnqueueWriteImage(queue, image, CL_TRUE, zero, kind->region, 0, 0, in,
				    0, NULL, NULL);
	memset(out, 0xee, sizeof(out));
	printf(" write %d, read %d", error,
	       clEnqueueReadImage(queue, image, CL_TRUE, zero, kind->region, 0, 0, out,
				  0, NULL, NULL));
	printf(", %s, behind it %x\n", memcmp(in, out, 4 * elements) ? "other" : "same",
	       out[4 * elements]);
	if (!buffer)
		error = clEnqueueFillImage(queue, image, color, kind->origin, kind->part, 0,
					   NULL, NULL);
	memset(out, 0xee, sizeof(out));
	clEnqueueReadImage(queue, image, CL_TRUE, zero, kind->region, 0, 0, out, 0, NULL,
			   NULL);
	printf(" fill %d, %08x\n", error, sum_of(out, 4 * elements));
	/* Gaps of 8 bytes between rows, and of a row more between slices. */
	if (desc.image_type == CL_MEM_OBJECT_IMAGE3D ||
	    desc.image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY)
		slice = row * (kind->part[1] + 1);
	room = slice ? slice * kind->part[2] : row * kind->part[1];
	memset(out, 0xee, sizeof(out));
	if (desc.image_type != CL_MEM_OBJECT_IMAGE1D_ARRAY)
		error = clEnqueueReadImage(queue, image, CL_TRUE, kind->origin, kind->part,
					   row, slice, out, 0, NULL, NULL);
	printf(" read with pitches %d, %08x\n", error, sum_of(out, room));
	if (!buffer && !error2) {
		error = clEnqueueCopyImage(queue, image, other, kind->origin, zero,
					   kind->part, 0, NULL, NULL);
		memset(out, 0xee, sizeof(out));
		clEnqueueReadImage(queue, other, CL_TRUE, zero, kind->part, 0, 0, out, 0,
				   NULL, NULL);
		printf(" copy %d, %08x\n", error,
		       sum_of(out, 4 * kind->part[0] * kind->part[1] * kind->part[2]));
		clReleaseMemObject(other);
	}
	if (!buffer)
		through_a_buffer(image, kind, elements);
	printf(" released %d", clReleaseMemObject(image));
	if (buffer)
		printf(" %d", clReleaseMemObject(buffer));
	printf("\n");
}

static void all_types(void)
{
	static const struct kind kinds[] = {
		{ "1d", { .image_type = CL_MEM_OBJECT_IMAGE1D, .image_width = W },
		  { W, 1, 1 }, { 3, 0, 0 }, { 5, 1, 1 } },
		{ "1d buffer",
		  { .image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = W },
		  { W, 1, 1 }, { 3, 0, 0 }, { 5, 1, 1 } },
		{ "1d array",
		  { .image_type = CL_MEM_OBJECT_IMAGE1D_ARRAY, .image_width = W,
		    .image_array_size = H },
		  { W, H, 1 }, { 3, 2, 0 }, { 5, 3, 1 } },
		{ "2d",
		  { .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = W,
		    .image_height = H },
		  { W, H, 1 }, { 3, 2, 0 }, { 5, 3, 1 } },
		{ "2d array",
		  { .image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY, .image_width = W,
		    .image_height = H, .image_array_size = D },
		  { W, H, D }, { 3, 2, 1 }, { 5, 3, 2 } },
		{ "3d",
		  { .image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = W,
		    .image_height = H, .image_depth = D },
		  { W, H, D }, { 3, 2, 1 }, { 5, 3, 2 } },
	};
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		round_trip(&kinds[i]);
}

/* What host memory an image begins with, with and without pitches. */
static void host_memory(void)
{
	static const size_t zero[3];
	const size_t region[3] = { W, H, D };
	const size_t plane[3] = { W, H, 1 };
	cl_image_desc flat = { .image_type = CL_MEM_OBJECT_IMAGE2D,
			       .image_width = W,
			       .image_height = H };
	cl_image_desc deep = { .image_type = CL_MEM_OBJECT_IMAGE3D,
			       .image_width = W,
			       .image_height = H,
			       .image_depth = D };
	static unsigned char host[64 * 8 * D], out[4 * W * H * D];
	void *host_ptr;
	cl_mem image;
	cl_int error;

	pattern(host, sizeof(host), 5);
	image = clCreateImage(context, CL_MEM_COPY_HOST_PTR, &rgba, &flat, host, &error);
	clEnqueueReadImage(queue, image, CL_TRUE, zero, plane, 0, 0, out, 0, NULL, NULL);
	printf("copied %d, %08x\n", error, sum_of(out, 4 * W * H));
	clReleaseMemObject(image);
	flat.image_row_pitch = 64;
	image = clCreateImage(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &rgba,
			      &flat, host, &error);
	clEnqueueReadImage(queue, image, CL_TRUE, zero, plane, 0, 0, out, 0, NULL, NULL);
	printf("copied with a pitch %d, %08x\n", error, sum_of(out, 4 * W * H));
	describe("with a pitch", image);
	clReleaseMemObject(image);
	deep.image_row_pitch = 64;
	deep.image_slice_pitch = 64 * 8;
	image = clCreateImage(context, CL_MEM_USE_HOST_PTR, &rgba, &deep, host, &error);
	clEnqueueReadImage(queue, image, CL_TRUE, zero, region, 0, 0, out, 0, NULL, NULL);
	host_ptr = NULL;
	clGetMemObjectInfo(image, CL_MEM_HOST_PTR, sizeof(host_ptr), &host_ptr, NULL);
	printf("used with pitches %d, %08x, %s\n", error, sum_of(out, sizeof(out)),
	       host_ptr == host ? "here" : "elsewhere");
	clReleaseMemObject(image);
	flat.image_row_pitch = 0;
	image = clCreateImage(context, CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR, &rgba,
			      &flat, host, &error);
	clEnqueueReadImage(queue, image, CL_TRUE, zero, plane, 0, 0, out, 0, NULL, NULL);
	printf("allocated and copied %d, %08x\n", error, sum_of(out, 4 * W * H));
	clReleaseMemObject(image);
	image = clCreateImage2D(context, CL_MEM_COPY_HOST_PTR, &rgba, W, H, 64, host,
				&error);
	clEnqueueReadImage(queue, image, CL_TRUE, zero, plane, 0, 0, out, 0, NULL, NULL);
	printf("by the older call %d, %08x\n", error, sum_of(out, 4 * W * H));
	clReleaseMemObject(image);
	image = clCreateImage3D(context, CL_MEM_COPY_HOST_PTR, &rgba, W, H, D, 64, 512,
				host, &error);
	clEnqueueReadImage(queue, image, CL_TRUE, zero, region, 0, 0, out, 0, NULL, NULL);
	printf("and the one for three dimensions %d, %08x\n", error,
	       sum_of(out, sizeof(out)));
	clReleaseMemObject(image);
	flat.image_row_pitch = 0;
	image = clCreateImageWithProperties(context, NULL, CL_MEM_COPY_HOST_PTR, &rgba,
					    &flat, host, &error);
	printf("with properties %d\n", error);
	if (image) {
		clEnqueueReadImage(queue, image, CL_TRUE, zero, plane, 0, 0, out, 0, NULL,
				   NULL);
		printf("%08x\n", sum_of(out, 4 * W * H));
		clReleaseMemObject(image);
	}
}

/* An image in a buffer shares its bytes. */
static void in_a_buffer(void)
{
	static const size_t zero[3];
	const size_t plane[3] = { W, H, 1 };
	const cl_uint color[4] = { 9, 8, 7, 6 };
	static unsigned char bytes[64 * H], out[64 * H];
	cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D,
			       .image_width = W,
			       .image_height = H,
			       .image_row_pitch = 64 };
	cl_mem image, within = NULL, associated = NULL;
	cl_int error;

	pattern(bytes, sizeof(bytes), 11);
	desc.mem_object = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
					 sizeof(bytes), bytes, &error);
	image = clCreateImage(context, 0, &rgba, &desc, NULL, &error);
	printf("2d in a buffer: %d\n", error);
	if (error)
		return;
	describe("2d in a buffer", image);
	clGetImageInfo(image, CL_IMAGE_BUFFER, sizeof(within), &within, NULL);
	clGetMemObjectInfo(image, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(associated),
			   &associated, NULL);
	printf("its buffer %d, its object %d\n", within == desc.mem_object,
	       associated == desc.mem_object);
	clEnqueueReadImage(queue, image, CL_TRUE, zero, plane, 0, 0, out, 0, NULL, NULL);
	printf("read %08x\n", sum_of(out, 4 * W * H));
	error = clEnqueueFillImage(queue, image, color, zero, plane, 0, NULL, NULL);
	clEnqueueReadBuffer(queue, desc.mem_object, CL_TRUE, 0, sizeof(out), out, 0, NULL,
			    NULL);
	printf("filled %d, the buffer has %08x\n", error, sum_of(out, sizeof(out)));
	/* The buffer lives on in the image. */
	printf("released %d", clReleaseMemObject(desc.mem_object));
	error = clEnqueueReadImage(queue, image, CL_TRUE, zero, plane, 0, 0, out, 0, NULL,
				   NULL);
	printf(", still there %d, %08x", error, sum_of(out, 4 * W * H));
	printf(", released %d\n", clReleaseMemObject(image));
}

static void making_errors(void)
{
	cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D,
			       .image_width = W,
			       .image_height = H };
	cl_image_format odd = { CL_RGBA, 0x7777 }, packed = { CL_R, CL_UNORM_SHORT_565 };
	static unsigned char host[4 * W * H];
	cl_image_desc bad;
	cl_int error;

#define FAILS(what, call)                                                              \
	do {                                                                           \
		cl_mem made_;                                                          \
		error = 1;                                                             \
		made_ = (call);                                                        \
		printf("%s: %d%s\n", what, error, made_ ? ", an object" : "");         \
		if (made_)                                                             \
			clReleaseMemObject(made_);                                     \
	} while (0)
	FAILS("no context", clCreateImage(NULL, 0, &rgba, &desc, NULL, &error));
	FAILS("no format", clCreateImage(context, 0, NULL, &desc, NULL, &error));
	FAILS("an odd format", clCreateImage(context, 0, &odd, &desc, NULL, &error));
	FAILS("an odd pair", clCreateImage(context, 0, &packed, &desc, NULL, &error));
	FAILS("no descriptor", clCreateImage(context, 0, &rgba, NULL, NULL, &error));
	bad = desc;
	bad.image_width = 0;
	FAILS("no width", clCreateImage(context, 0, &rgba, &bad, NULL, &error));
	bad = desc;
	bad.image_height = (size_t)1 << 30;
	FAILS("a huge height", clCreateImage(context, 0, &rgba, &bad, NULL, &error));
	bad = desc;
	bad.image_type = 0x1234;
	FAILS("an odd type", clCreateImage(context, 0, &rgba, &bad, NULL, &error));
	bad = desc;
	bad.image_row_pitch = 64;
	FAILS("a pitch of nothing", clCreateImage(context, 0, &rgba, &bad, NULL, &error));
	bad.image_row_pitch = 4 * W - 4;
	FAILS("a short pitch",
	      clCreateImage(context, CL_MEM_COPY_HOST_PTR, &rgba, &bad, host, &error));
	FAILS("memory without flags", clCreateImage(context, 0, &rgba, &desc, host, &error));
	FAILS("flags without memory",
	      clCreateImage(context, CL_MEM_COPY_HOST_PTR, &rgba, &desc, NULL, &error));
	FAILS("flags that conflict",
	      clCreateImage(context, CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR, &rgba,
			    &desc, host, &error));
	FAILS("access that conflicts",
	      clCreateImage(context, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, &rgba, &desc,
			    NULL, &error));
	FAILS("flags there are not",
	      clCreateImage(context, (cl_mem_flags)1 << 40, &rgba, &desc, NULL, &error));
	FAILS("no image of two dimensions",
	      clCreateImage2D(context, 0, &rgba, 0, H, 0, NULL, &error));
	FAILS("no image of three",
	      clCreateImage3D(context, 0, &rgba, W, H, 0, 0, 0, NULL, &error));
}

static void using_errors(void)
{
	const size_t zero[3] = { 0, 0, 0 }, plane[3] = { W, H, 1 };
	const size_t beyond[3] = { 1, 0, 0 }, deep[3] = { W, H, 2 };
	const size_t none[3] = { W, 0, 1 };
	const cl_uint color[4] = { 0 };
	cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D,
			       .image_width = W,
			       .image_height = H };
	cl_image_format floats = { CL_RGBA, CL_FLOAT };
	static unsigned char out[4 * W * H];
	cl_mem image, other, buffer;
	size_t size;
	cl_int error;

	image = clCreateImage(context, 0, &rgba, &desc, NULL, &error);
	other = clCreateImage(context, 0, &floats, &desc, NULL, &error);
	buffer = clCreateBuffer(context, 0, 64, NULL, &error);
#define READ(origin, region, row, slice, ptr)                                          \
	clEnqueueReadImage(queue, image, CL_TRUE, origin, region, row, slice, ptr, 0,  \
			   NULL, NULL)
	printf("read: beyond %d, too deep %d, nothing %d\n", READ(beyond, plane, 0, 0, out),
	       READ(zero, deep, 0, 0, out), READ(zero, none, 0, 0, out));
	printf("read: no memory %d, no origin %d, no region %d\n",
	       READ(zero, plane, 0, 0, NULL), READ(NULL, plane, 0, 0, out),
	       READ(zero, NULL, 0, 0, out));
	printf("read of a buffer %d, without a queue %d\n",
	       clEnqueueReadImage(queue, buffer, CL_TRUE, zero, plane, 0, 0, out, 0, NULL,
				  NULL),
	       clEnqueueReadImage(NULL, image, CL_TRUE, zero, plane, 0, 0, out, 0, NULL,
				  NULL));
	printf("write beyond %d, of a buffer %d\n",
	       clEnqueueWriteImage(queue, image, CL_TRUE, beyond, plane, 0, 0, out, 0, NULL,
				   NULL),
	       clEnqueueWriteImage(queue, buffer, CL_TRUE, zero, plane, 0, 0, out, 0, NULL,
				   NULL));
	printf("copy to another format %d, beyond %d\n",
	       clEnqueueCopyImage(queue, image, other, zero, zero, plane, 0, NULL, NULL),
	       clEnqueueCopyImage(queue, image, image, zero, beyond, plane, 0, NULL, NULL));
	printf("copy to a short buffer %d, from one %d\n",
	       clEnqueueCopyImageToBuffer(queue, image, buffer, zero, plane, 0, 0, NULL,
					  NULL),
	       clEnqueueCopyBufferToImage(queue, buffer, image, 0, zero, plane, 0, NULL,
					  NULL));
	printf("fill with nothing %d, beyond %d, a buffer %d\n",
	       clEnqueueFillImage(queue, image, NULL, zero, plane, 0, NULL, NULL),
	       clEnqueueFillImage(queue, image, color, beyond, plane, 0, NULL, NULL),
	       clEnqueueFillImage(queue, buffer, color, zero, plane, 0, NULL, NULL));
	printf("info of a buffer %d, of nothing %d, without room %d, of another name %d\n",
	       clGetImageInfo(buffer, CL_IMAGE_WIDTH, sizeof(size), &size, NULL),
	       clGetImageInfo(NULL, CL_IMAGE_WIDTH, sizeof(size), &size, NULL),
	       clGetImageInfo(image, CL_IMAGE_WIDTH, 1, &size, NULL),
	       clGetImageInfo(image, 0x7777, sizeof(size), &size, NULL));
	clReleaseMemObject(image);
	clReleaseMemObject(other);
	clReleaseMemObject(buffer);
}

static const char source[] =
	"kernel void turn(read_only image2d_t in, write_only image2d_t out, sampler_t s)\n"
	"{\n"
	"  int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
	"  uint4 pixel = read_imageui(in, s, at);\n"
	"  write_imageui(out, at, pixel.wzyx + (uint4)(1, 2, 3, 4));\n"
	"}\n"
	"kernel void pick(read_only image2d_t in, sampler_t s, global uint4 *out)\n"
	"{\n"
	"  float x = (get_global_id(0) - 4.0f) / 8.0f;\n"
	"  out[get_global_id(0)] = read_imageui(in, s, (float2)(x, 0.25f));\n"
	"}\n"
	"kernel void sizes(read_only image3d_t in, read_only image2d_array_t all,\n"
	"                  read_only image1d_t row, global int *out)\n"
	"{\n"
	"  out[0] = get_image_width(in); out[1] = get_image_height(in);\n"
	"  out[2] = get_image_depth(in); out[3] = get_image_array_size(all);\n"
	"  out[4] = get_image_width(row);\n"
	"}\n";

static cl_mem image_of(cl_mem_object_type type)
{
	cl_image_desc desc = { .image_type = type,
			       .image_width = W,
			       .image_height = H,
			       .image_depth = type == CL_MEM_OBJECT_IMAGE3D ? D : 0,
			       .image_array_size =
				       type == CL_MEM_OBJECT_IMAGE2D_ARRAY ? D : 0 };
	cl_int error;

	if (type == CL_MEM_OBJECT_IMAGE1D)
		desc.image_height = 0;
	return clCreateImage(context, CL_MEM_READ_WRITE, &rgba, &desc, NULL, &error);
}

static void picked(cl_kernel kernel, cl_mem image, cl_sampler sampler, cl_mem out)
{
	cl_uint values[17 * 4];
	size_t items = 17;
	cl_int error;

	error = clSetKernelArg(kernel, 0, sizeof(image), &image);
	error |= clSetKernelArg(kernel, 1, sizeof(sampler), &sampler);
	error |= clSetKernelArg(kernel, 2, sizeof(out), &out);
	error |= clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
	clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof(values), values, 0, NULL, NULL);
	printf("picked %d, %08x\n", error, sum_of(values, sizeof(values)));
}

static void sampler_infos(cl_sampler sampler)
{
	cl_bool normalized = 9;
	cl_addressing_mode addressing = 0;
	cl_filter_mode filter = 0;
	cl_uint references = 0;
	cl_context its = NULL;
	size_t list = 99;
	cl_int error;

	clGetSamplerInfo(sampler, CL_SAMPLER_NORMALIZED_COORDS, sizeof(normalized),
			 &normalized, NULL);
	clGetSamplerInfo(sampler, CL_SAMPLER_ADDRESSING_MODE, sizeof(addressing),
			 &addressing, NULL);
	clGetSamplerInfo(sampler, CL_SAMPLER_FILTER_MODE, sizeof(filter), &filter, NULL);
	clGetSamplerInfo(sampler, CL_SAMPLER_CONTEXT, sizeof(its), &its, NULL);
	clGetSamplerInfo(sampler, CL_SAMPLER_REFERENCE_COUNT, sizeof(references),
			 &references, NULL);
	printf("sampler: %u %x %x, context %d, references %u", normalized, addressing, filter,
	       its == context, references);
	error = clGetSamplerInfo(sampler, CL_SAMPLER_PROPERTIES, 0, NULL, &list);
	printf(", properties %d/%zu\n", error, list);
}

static void kernels(void)
{
	static const size_t zero[3];
	const size_t plane[3] = { W, H, 1 }, global[2] = { W, H };
	const cl_sampler_properties repeat[] = {
		CL_SAMPLER_NORMALIZED_COORDS, CL_TRUE,
		CL_SAMPLER_ADDRESSING_MODE, CL_ADDRESS_REPEAT,
		CL_SAMPLER_FILTER_MODE, CL_FILTER_NEAREST, 0
	};
	const cl_sampler_properties mip[] = { CL_SAMPLER_MIP_FILTER_MODE,
					      CL_FILTER_NEAREST, 0 };
	const cl_sampler_properties twice[] = { CL_SAMPLER_FILTER_MODE, CL_FILTER_NEAREST,
						CL_SAMPLER_FILTER_MODE, CL_FILTER_LINEAR,
						0 };
	const cl_sampler_properties odd[] = { 0x7777, 1, 0 };
	const char *text = source;
	static unsigned char bytes[4 * W * H], out[4 * W * H];
	cl_mem in, turned, deep, array, row, words;
	cl_sampler nearest, repeating;
	cl_kernel turn, pick, sizes;
	cl_program program;
	cl_int error, found[5] = { 0 };
	size_t one = 1;

	program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
	printf("built %d\n", clBuildProgram(program, 1, &device, "", NULL, NULL));
	turn = clCreateKernel(program, "turn", &error);
	pick = clCreateKernel(program, "pick", &error);
	sizes = clCreateKernel(program, "sizes", &error);
	in = image_of(CL_MEM_OBJECT_IMAGE2D);
	turned = image_of(CL_MEM_OBJECT_IMAGE2D);
	pattern(bytes, sizeof(bytes), 17);
	clEnqueueWriteImage(queue, in, CL_TRUE, zero, plane, 0, 0, bytes, 0, NULL, NULL);
	nearest = clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE,
				  CL_FILTER_NEAREST, &error);
	printf("sampler %d\n", error);
	sampler_infos(nearest);
	printf("arguments %d %d %d\n", clSetKernelArg(turn, 0, sizeof(in), &in),
	       clSetKernelArg(turn, 1, sizeof(turned), &turned),
	       clSetKernelArg(turn, 2, sizeof(nearest), &nearest));
	printf("run %d\n", clEnqueueNDRangeKernel(queue, turn, 2, NULL, global, NULL, 0, NULL,
						  NULL));
	clEnqueueReadImage(queue, turned, CL_TRUE, zero, plane, 0, 0, out, 0, NULL, NULL);
	printf("turned %08x\n", sum_of(out, sizeof(out)));
	words = clCreateBuffer(context, CL_MEM_READ_WRITE, 17 * 16, NULL, &error);
	repeating = clCreateSamplerWithProperties(context, repeat, &error);
	printf("sampler with properties %d\n", error);
	if (repeating) {
		sampler_infos(repeating);
		picked(pick, in, repeating, words);
		printf("retained %d", clRetainSampler(repeating));
		printf(", released %d", clReleaseSampler(repeating));
		printf(" %d\n", clReleaseSampler(repeating));
	}
	clCreateSamplerWithProperties(context, mip, &error);
	printf("mip properties %d\n", error);
	clCreateSamplerWithProperties(context, odd, &error);
	printf("odd properties %d\n", error);
	clCreateSamplerWithProperties(context, twice, &error);
	printf("the same twice %d\n", error);
	clCreateSamplerWithProperties(NULL, repeat, &error);
	printf("without a context %d\n", error);
	clCreateSampler(context, CL_TRUE, 0x7777, CL_FILTER_NEAREST, &error);
	printf("an odd mode %d\n", error);
	deep = image_of(CL_MEM_OBJECT_IMAGE3D);
	array = image_of(CL_MEM_OBJECT_IMAGE2D_ARRAY);
	row = image_of(CL_MEM_OBJECT_IMAGE1D);
	clSetKernelArg(sizes, 0, sizeof(deep), &deep);
	clSetKernelArg(sizes, 1, sizeof(array), &array);
	clSetKernelArg(sizes, 2, sizeof(row), &row);
	clSetKernelArg(sizes, 3, sizeof(words), &words);
	printf("sizes %d", clEnqueueNDRangeKernel(queue, sizes, 1, NULL, &one, NULL, 0, NULL,
						  NULL));
	clEnqueueReadBuffer(queue, words, CL_TRUE, 0, sizeof(found), found, 0, NULL, NULL);
	printf(": %d %d %d %d %d\n", found[0], found[1], found[2], found[3], found[4]);
	printf("a short argument %d\n", clSetKernelArg(sizes, 0, 2, &deep));
	clReleaseMemObject(in);
	clReleaseMemObject(turned);
	clReleaseMemObject(deep);
	clReleaseMemObject(array);
	clReleaseMemObject(row);
	clReleaseMemObject(words);
	clReleaseSampler(nearest);
	clReleaseKernel(turn);
	clReleaseKernel(pick);
	clReleaseKernel(sizes);
	clReleaseProgram(program);
}

/* Reads that wait, into rows between rows that another read fills. */
static void interleaved(void)
{
	static const size_t zero[3];
	const size_t half[3] = { W / 2, H, 1 }, right[3] = { W / 2, 0, 0 };
	cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D,
			       .image_width = W,
			       .image_height = H };
	static unsigned char bytes[4 * W * H], out[4 * W * H];
	cl_command_queue second;
	cl_event gates[2], done[2];
	cl_int errors[2];
	cl_mem image;

	pattern(bytes, sizeof(bytes), 23);
	image = clCreateImage(context, CL_MEM_COPY_HOST_PTR, &rgba, &desc, bytes, errors);
	second = clCreateCommandQueue(context, device, 0, errors);
	gates[0] = clCreateUserEvent(context, errors);
	gates[1] = clCreateUserEvent(context, errors);
	errors[0] = clEnqueueReadImage(queue, image, CL_FALSE, zero, half, 4 * W, 0, out, 1,
				       &gates[0], &done[0]);
	errors[1] = clEnqueueReadImage(second, image, CL_FALSE, right, half, 4 * W, 0,
				       out + 2 * W, 1, &gates[1], &done[1]);
	printf("interleaved %d %d", errors[0], errors[1]);
	clSetUserEventStatus(gates[1], CL_COMPLETE);
	clWaitForEvents(1, &done[1]);
	printf(", right half %s", memcmp(out + 2 * W, bytes + 2 * W, 2 * W) ? "other" : "same");
	out[1] = 77;
	clSetUserEventStatus(gates[0], CL_COMPLETE);
	clWaitForEvents(1, &done[0]);
	printf(", both %s\n", memcmp(out, bytes, sizeof(out)) ? "other" : "same");
	clReleaseEvent(gates[0]);
	clReleaseEvent(gates[1]);
	clReleaseEvent(done[0]);
	clReleaseEvent(done[1]);
	clReleaseCommandQueue(second);
	clReleaseMemObject(image);
}

int main(void)
{
	set_up();
	limits();
	formats();
	all_types();
	host_memory();
	in_a_buffer();
	making_errors();
	using_errors();
	kernels();
	interleaved();
	clReleaseCommandQueue(queue);
	printf("context released %d\n", clReleaseContext(context));
	return 0;
}
