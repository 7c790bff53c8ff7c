/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the tests of arrays, textures and surfaces use of CUDA's driver API beside cuda_memory.h. */
#ifndef CUDA_ARRAYS_H
#define CUDA_ARRAYS_H

#include "cuda_memory.h"

typedef struct CUarray_st *CUarray;
typedef struct CUmipmappedArray_st *CUmipmappedArray;

typedef struct {
	size_t width, height;
	int format;
	unsigned int channels;
} flat_array;

typedef struct {
	size_t width, height, depth;
	int format;
	unsigned int channels, flags;
} deep_array;

typedef struct {
	int kind;
	union {
		void *array;
		struct {
			CUdeviceptr at;
			int format;
			unsigned int channels;
			size_t bytes;
		} linear;
		struct {
			CUdeviceptr at;
			int format;
			unsigned int channels;
			size_t width, height, pitch;
		} rows;
		uint64_t words[16];
	} res;
	unsigned int flags;
} shown;

typedef struct {
	int modes[3], filter;
	unsigned int flags, anisotropy;
	int levels;
	float levels_at[3], border[4];
	int reserved[12];
} sampled;

typedef struct {
	int format;
	size_t size[3];
	unsigned int ranges[4], reserved[16];
} seen;

enum { LINE_OF_ARRAY = 0, MIPMAPPED, LINEAR, PITCHED };
enum { BYTES = 0x01, WORDS = 0x03, FLOATS = 0x20, BLOCKS = 0x91, UNORM_BYTES_4 = 0xc2 };
enum { LAYERS = 1, SURFACES = 2, CUBES = 4, SPARSE = 0x40 };

CUresult cuArrayCreate_v2(CUarray *array, const flat_array *asked);
CUresult cuArray3DCreate_v2(CUarray *array, const deep_array *asked);
CUresult cuArrayDestroy(CUarray array);
CUresult cuMipmappedArrayCreate(CUmipmappedArray *array, const deep_array *asked, unsigned int levels);
CUresult cuMipmappedArrayGetLevel(CUarray *level, CUmipmappedArray array, unsigned int number);
CUresult cuMipmappedArrayDestroy(CUmipmappedArray array);
CUresult cuArrayGetDescriptor_v2(flat_array *found, CUarray array);
CUresult cuArray3DGetDescriptor_v2(deep_array *found, CUarray array);
CUresult cuArrayGetPlane(CUarray *plane, CUarray array, unsigned int number);
CUresult cuArrayGetSparseProperties(void *found, CUarray array);
CUresult cuMipmappedArrayGetSparseProperties(void *found, CUmipmappedArray array);
CUresult cuArrayGetMemoryRequirements(void *found, CUarray array, CUdevice device);
CUresult cuMipmappedArrayGetMemoryRequirements(void *found, CUmipmappedArray array, CUdevice device);
CUresult cuMemcpyHtoA_v2(CUarray to, size_t offset, const void *from, size_t bytes);
CUresult cuMemcpyAtoH_v2(void *to, CUarray from, size_t offset, size_t bytes);
CUresult cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t bytes);
CUresult cuMemcpyAtoA_v2(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes);
CUresult cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void *from, size_t bytes, CUstream stream);
CUresult cuMemcpyAtoHAsync_v2(void *to, CUarray from, size_t offset, size_t bytes, CUstream stream);
CUresult cuTexObjectCreate(uint64_t *object, const shown *shown, const sampled *sampled, const seen *seen);
CUresult cuTexObjectDestroy(uint64_t object);
CUresult cuTexObjectGetResourceDesc(shown *found, uint64_t object);
CUresult cuTexObjectGetTextureDesc(sampled *found, uint64_t object);
CUresult cuTexObjectGetResourceViewDesc(seen *found, uint64_t object);
CUresult cuSurfObjectCreate(uint64_t *object, const shown *shown);
CUresult cuSurfObjectDestroy(uint64_t object);
CUresult cuSurfObjectGetResourceDesc(shown *found, uint64_t object);

#endif
