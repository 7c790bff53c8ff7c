/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the tests of memory use of CUDA's driver API beside cuda_driver.h. */
#ifndef CUDA_MEMORY_H
#define CUDA_MEMORY_H

#include "cuda_driver.h"

typedef struct {
	size_t x, y;
	int kind;
	const void *host;
	CUdeviceptr device;
	void *array;
	size_t pitch;
} side2;

typedef struct {
	side2 from, to;
	size_t width, height;
} copy2;

typedef struct {
	size_t x, y, z, lod;
	int kind;
	const void *host;
	CUdeviceptr device;
	void *array, *reserved;
	size_t pitch, height;
} side3;

typedef struct {
	side3 from, to;
	size_t width, height, depth;
} copy3;

enum { HOST = 1, DEVICE, ARRAY, UNIFIED };

CUresult cuMemcpy2D_v2(const copy2 *copy);
CUresult cuMemcpy2DUnaligned_v2(const copy2 *copy);
CUresult cuMemcpy2DAsync_v2(const copy2 *copy, CUstream stream);
CUresult cuMemcpy3D_v2(const copy3 *copy);
CUresult cuMemcpy3DAsync_v2(const copy3 *copy, CUstream stream);
CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height);
CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height);
CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height);
CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
			   CUstream stream);
CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
			    CUstream stream);
CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height,
			    CUstream stream);

#endif
