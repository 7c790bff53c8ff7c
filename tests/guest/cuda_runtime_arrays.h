/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the tests of arrays, textures and surfaces use of CUDA's runtime beside cuda_runtime.h. */
#ifndef CUDA_RUNTIME_ARRAYS_H
#define CUDA_RUNTIME_ARRAYS_H

#include "cuda_runtime.h"

typedef struct cudaArray *cudaArray_t;
typedef struct cudaMipmappedArray *cudaMipmappedArray_t;

typedef struct {
	int x, y, z, w, kind;
} channels;

typedef struct {
	size_t width, height, depth;
} extent;

typedef struct {
	size_t x, y, z;
} position;

typedef struct {
	void *place;
	size_t pitch, xsize, ysize;
} pitched;

typedef struct {
	cudaArray_t from_array;
	position from_at;
	pitched from;
	cudaArray_t to_array;
	position to_at;
	pitched to;
	extent extent;
	int kind;
} copy3;

typedef struct {
	int kind;
	union {
		void *array;
		struct {
			void *at;
			channels of;
			size_t bytes;
		} linear;
		struct {
			void *at;
			channels of;
			size_t width, height, pitch;
		} rows;
		uint64_t words[16];
	} res;
	unsigned int flags;
} shown;

typedef struct {
	int modes[3], filter, read, srgb;
	float border[4];
	int normalized;
	unsigned int anisotropy;
	int levels;
	float bias, least, most;
	int no_optimization, seamless;
} sampled;

typedef struct {
	int format;
	size_t size[3];
	unsigned int ranges[4], reserved[16];
} seen;

enum { SIGNED, UNSIGNED, FLOATS, NONE };
enum { ARRAYS, MIPMAPPED, LINEAR, PITCHED };
enum { LAYERS = 1, SURFACES = 2, SPARSE = 0x40 };
enum { UP = 1, DOWN, ACROSS, ANY };
enum { cudaErrorInvalidChannelDescriptor = 20 };

cudaError_t cudaMallocArray(cudaArray_t *array, const channels *of, size_t width, size_t height, unsigned int flags);
cudaError_t cudaMalloc3DArray(cudaArray_t *array, const channels *of, extent extent, unsigned int flags);
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *array, const channels *of, extent extent,
				     unsigned int levels, unsigned int flags);
cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *level, cudaMipmappedArray_t array, unsigned int number);
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array);
cudaError_t cudaArrayGetInfo(channels *of, extent *extent, unsigned int *flags, cudaArray_t array);
cudaError_t cudaArrayGetPlane(cudaArray_t *plane, cudaArray_t array, unsigned int number);
cudaError_t cudaArrayGetSparseProperties(void *found, cudaArray_t array);
cudaError_t cudaMipmappedArrayGetSparseProperties(void *found, cudaMipmappedArray_t array);
cudaError_t cudaArrayGetMemoryRequirements(void *found, cudaArray_t array, int device);
cudaError_t cudaMipmappedArrayGetMemoryRequirements(void *found, cudaMipmappedArray_t array, int device);
cudaError_t cudaGetChannelDesc(channels *of, cudaArray_t array);
channels cudaCreateChannelDesc(int x, int y, int z, int w, int kind);
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
				size_t height, int kind);
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
				     size_t height, int kind, cudaStream_t stream);
cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_t from, size_t x, size_t y, size_t width,
				  size_t height, int kind);
cudaError_t cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_t from, size_t x, size_t y, size_t width,
				       size_t height, int kind, cudaStream_t stream);
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_t from, size_t from_x,
				     size_t from_y, size_t width, size_t height, int kind);
cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t count, int kind);
cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t count, int kind,
				   cudaStream_t stream);
cudaError_t cudaMemcpyFromArray(void *to, cudaArray_t from, size_t x, size_t y, size_t count, int kind);
cudaError_t cudaMemcpyFromArrayAsync(void *to, cudaArray_t from, size_t x, size_t y, size_t count, int kind,
				     cudaStream_t stream);
cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_t from, size_t from_x,
				   size_t from_y, size_t count, int kind);
cudaError_t cudaMemcpy3D(const copy3 *copy);
cudaError_t cudaMemcpy3DAsync(const copy3 *copy, cudaStream_t stream);
cudaError_t cudaCreateTextureObject(uint64_t *object, const shown *shown, const sampled *sampled, const seen *seen);
cudaError_t cudaDestroyTextureObject(uint64_t object);
cudaError_t cudaGetTextureObjectResourceDesc(shown *found, uint64_t object);
cudaError_t cudaGetTextureObjectTextureDesc(sampled *found, uint64_t object);
cudaError_t cudaGetTextureObjectResourceViewDesc(seen *found, uint64_t object);
cudaError_t cudaCreateSurfaceObject(uint64_t *object, const shown *shown);
cudaError_t cudaDestroySurfaceObject(uint64_t object);
cudaError_t cudaGetSurfaceObjectResourceDesc(shown *found, uint64_t object);
cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *width, const channels *of, int device);

#endif
