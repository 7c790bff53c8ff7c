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


typedef struct CUmemPoolHandle_st *CUmemoryPool;

typedef struct {
	int kind, number;
} location;

typedef struct {
	int allocations, handles;
	location location;
	void *security;
	size_t max;
	unsigned short usage;
	unsigned char reserved[54];
} pool_props;

typedef struct {
	location location;
	int flags;
} pool_access;

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream);
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream);
CUresult cuMemPoolCreate(CUmemoryPool *pool, const pool_props *props);
CUresult cuMemPoolDestroy(CUmemoryPool pool);
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int name, void *value);
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, int name, void *value);
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes);
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const pool_access *map, size_t count);
CUresult cuMemPoolGetAccess(int *flags, CUmemoryPool pool, location *location);
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device);
CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device);
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool);
CUresult cuPointerGetAttribute(void *data, int name, CUdeviceptr address);
CUresult cuPointerGetAttributes(unsigned int count, int *names, void **data, CUdeviceptr address);
CUresult cuPointerSetAttribute(const void *value, int name, CUdeviceptr address);
CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer);
CUresult cuDeviceGetP2PAttribute(int *value, int name, CUdevice from, CUdevice to);
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags);
CUresult cuCtxDisablePeerAccess(CUcontext peer);
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes);
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
			   size_t bytes, CUstream stream);

#endif
