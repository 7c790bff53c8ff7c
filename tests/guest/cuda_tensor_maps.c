/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tensor maps of CUDA's driver API. The driver here has the address in a map's first word, and in the second
 * the kind of map, the rank, and the type of the data; whatever else is asked changes the others. */
#include "cuda_driver.h"

typedef struct {
	_Alignas(128) unsigned long long words[16];
} map;

CUresult cuTensorMapEncodeTiled(map *to, int type, unsigned int rank, void *address, const unsigned long long *dims,
				const unsigned long long *strides, const unsigned int *boxes,
				const unsigned int *elements, int interleave, int swizzle, int promotion, int fill);
CUresult cuTensorMapEncodeIm2col(map *to, int type, unsigned int rank, void *address, const unsigned long long *dims,
				 const unsigned long long *strides, const int *lower, const int *upper,
				 unsigned int channels, unsigned int pixels, const unsigned int *elements,
				 int interleave, int swizzle, int promotion, int fill);
CUresult cuTensorMapEncodeIm2colWide(map *to, int type, unsigned int rank, void *address,
				     const unsigned long long *dims, const unsigned long long *strides, int lower,
				     int upper, unsigned int channels, unsigned int pixels,
				     const unsigned int *elements, int interleave, int mode, int swizzle,
				     int promotion, int fill);
CUresult cuTensorMapReplaceAddress(map *of, void *address);

enum { FLOAT32 = 7, TILED = 1, COLUMNS = 2, WIDE = 3 };

static char *const address = (char *)0x700000100;
static unsigned long long dims[5] = { 64, 32, 16, 8, 4 };
static unsigned long long strides[4] = { 256, 8192, 131072, 1048576 };
static unsigned int boxes[5] = { 16, 8, 4, 2, 1 };
static unsigned int elements[5] = { 1, 1, 2, 1, 1 };
static int lower[3] = { -1, -2, 0 }, upper[3] = { 1, -1, 0 };

static CUresult tiled(map *to, unsigned int rank)
{
	return cuTensorMapEncodeTiled(to, FLOAT32, rank, address, dims, strides, boxes, elements, 0, 2, 1, 0);
}

static CUresult columns(map *to, unsigned int rank)
{
	return cuTensorMapEncodeIm2col(to, FLOAT32, rank, address, dims, strides, lower, upper, 16, 32, elements, 0, 2,
				       1, 1);
}

static CUresult wide(map *to, unsigned int rank)
{
	return cuTensorMapEncodeIm2colWide(to, FLOAT32, rank, address, dims, strides, -1, 1, 16, 32, elements, 0, 1, 2,
					   1, 0);
}

/* Whether a map is of this kind, with this rank. */
static int is_of(const map *it, int kind, unsigned int rank)
{
	return it->words[0] == (uintptr_t)address &&
	       it->words[1] == ((unsigned)kind << 16 | rank << 8 | FLOAT32);
}

/* Whether a number of a description reaches the map: with another one it is another map. */
#define REACHES(number, other, encode)                              \
	do {                                                        \
		__typeof__(number) was = (number);                  \
		map before, after;                                  \
		OK(encode(&before, 4));                             \
		(number) = (other);                                 \
		OK(encode(&after, 4));                              \
		(number) = was;                                     \
		IS(memcmp(&before, &after, sizeof(before)) != 0);   \
	} while (0)

int main(void)
{
	CUdevice device;
	CUcontext context;
	map made, again;
	_Alignas(128) char space[256];

	OK(cuInit(0));
	OK(cuDeviceGet(&device, 0));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, tiled(&made, 3));
	OK(cuCtxCreate_v2(&context, 0, device));

	for (unsigned int rank = 1; rank <= 5; rank++) {
		memset(&made, 0xee, sizeof(made));
		OK(tiled(&made, rank));
		IS(is_of(&made, TILED, rank));
		OK(tiled(&again, rank));
		IS(!memcmp(&made, &again, sizeof(made)));
	}
	for (unsigned int rank = 3; rank <= 5; rank++) {
		OK(columns(&made, rank));
		IS(is_of(&made, COLUMNS, rank));
		OK(wide(&made, rank));
		IS(is_of(&made, WIDE, rank));
	}
	for (int n = 0; n < 4; n++) {
		REACHES(dims[n], dims[n] + 1, tiled);
		REACHES(boxes[n], boxes[n] + 1, tiled);
		REACHES(elements[n], elements[n] + 1, tiled);
		REACHES(dims[n], dims[n] + 1, columns);
		REACHES(elements[n], elements[n] + 1, columns);
		REACHES(dims[n], dims[n] + 1, wide);
		REACHES(elements[n], elements[n] + 1, wide);
	}
	for (int n = 0; n < 3; n++) {
		REACHES(strides[n], strides[n] + 32, tiled);
		REACHES(strides[n], strides[n] + 32, columns);
		REACHES(strides[n], strides[n] + 32, wide);
	}
	for (int n = 0; n < 2; n++) {
		REACHES(lower[n], lower[n] - 1, columns);
		REACHES(upper[n], upper[n] - 5, columns);
	}

	/* Each mode and each number by itself. */
	OK(cuTensorMapEncodeTiled(&made, FLOAT32, 3, address, dims, strides, boxes, elements, 0, 2, 1, 0));
	OK(cuTensorMapEncodeTiled(&again, FLOAT32, 3, address, dims, strides, boxes, elements, 0, 3, 1, 0));
	IS(memcmp(&made, &again, sizeof(made)));
	OK(cuTensorMapEncodeTiled(&again, FLOAT32, 3, address, dims, strides, boxes, elements, 0, 2, 2, 0));
	IS(memcmp(&made, &again, sizeof(made)));
	OK(cuTensorMapEncodeTiled(&again, FLOAT32, 3, address, dims, strides, boxes, elements, 0, 2, 1, 1));
	IS(memcmp(&made, &again, sizeof(made)));
	OK(wide(&made, 4));
	OK(cuTensorMapEncodeIm2colWide(&again, FLOAT32, 4, address, dims, strides, -1, 1, 16, 32, elements, 0, 0, 2,
				       1, 0));
	IS(memcmp(&made, &again, sizeof(made)));
	OK(cuTensorMapEncodeIm2colWide(&again, FLOAT32, 4, address, dims, strides, -2, 1, 16, 32, elements, 0, 1, 2,
				       1, 0));
	IS(memcmp(&made, &again, sizeof(made)));
	OK(cuTensorMapEncodeIm2colWide(&again, FLOAT32, 4, address, dims, strides, -1, 1, 16, 64, elements, 0, 1, 2,
				       1, 0));
	IS(memcmp(&made, &again, sizeof(made)));

	OK(tiled(&made, 3));
	again = made;
	OK(cuTensorMapReplaceAddress(&again, address + 4096));
	IS(again.words[0] == (uintptr_t)address + 4096);
	IS(!memcmp(again.words + 1, made.words + 1, sizeof(made) - 8));

	/* What is refused leaves the map as it was. */
	again = made;
	GIVES(CUDA_ERROR_INVALID_VALUE, tiled(&again, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, tiled(&again, 6));
	GIVES(CUDA_ERROR_INVALID_VALUE, columns(&again, 2));
	GIVES(CUDA_ERROR_INVALID_VALUE, wide(&again, 2));
	GIVES(CUDA_ERROR_INVALID_VALUE, tiled(NULL, 3));
	GIVES(CUDA_ERROR_INVALID_VALUE, tiled((map *)(space + 32), 3));
	GIVES(CUDA_ERROR_INVALID_VALUE,
	      cuTensorMapEncodeTiled(&again, 99, 3, address, dims, strides, boxes, elements, 0, 2, 1, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE,
	      cuTensorMapEncodeTiled(&again, FLOAT32, 3, address + 4, dims, strides, boxes, elements, 0, 2, 1, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE,
	      cuTensorMapEncodeTiled(&again, FLOAT32, 3, address, NULL, strides, boxes, elements, 0, 2, 1, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE,
	      cuTensorMapEncodeTiled(&again, FLOAT32, 3, address, dims, NULL, boxes, elements, 0, 2, 1, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE,
	      cuTensorMapEncodeTiled(&again, FLOAT32, 3, address, dims, strides, NULL, elements, 0, 2, 1, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE,
	      cuTensorMapEncodeTiled(&again, FLOAT32, 3, address, dims, strides, boxes, NULL, 0, 2, 1, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE,
	      cuTensorMapEncodeTiled(&again, FLOAT32, 3, address, dims, strides, boxes, elements, 0, 9, 1, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuTensorMapReplaceAddress(&again, address + 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuTensorMapReplaceAddress(NULL, address));
	IS(!memcmp(&made, &again, sizeof(made)));
	/* A tensor of one dimension has no stride. */
	OK(cuTensorMapEncodeTiled(&again, FLOAT32, 1, address, dims, NULL, boxes, elements, 0, 2, 1, 0));
	/* Where half of a map's alignment is enough. */
	OK(tiled((map *)(space + 64), 3));
	IS(is_of((map *)(space + 64), TILED, 3));

	OK(cuCtxDestroy_v2(context));
	printf("%d failures\n", failures);
	return failures != 0;
}
