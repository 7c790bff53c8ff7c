/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What CUDA's driver API promises of memory, over a driver that runs no kernels. */
#include "cuda_memory.h"

#include <unistd.h>

static CUdevice device;
static CUcontext context;

#define ROWS 7
#define WIDTH 1000 /* bytes */
#define WIDE 1100
#define DEEP 3

/* Whether rows equal those that were sent, with nothing changed between them. */
static int rows_are(const unsigned char *got, const unsigned char *sent, size_t pitch, size_t width, size_t rows)
{
	for (size_t y = 0; y < rows; y++) {
		for (size_t x = 0; x < pitch; x++) {
			unsigned char wanted = x < width ? sent[y * width + x] : 0xee;
			if (got[y * pitch + x] != wanted)
				return 0;
		}
	}
	return 1;
}

static void rectangles(void)
{
	CUdeviceptr rows, plain;
	size_t pitch;
	unsigned char *sent = malloc(WIDTH * ROWS), *got = malloc(WIDE * ROWS);
	unsigned short words[8];
	unsigned int longs[4];
	CUstream stream;
	copy2 up, down, across, bad;

	for (int n = 0; n < WIDTH * ROWS; n++)
		sent[n] = n * 7;
	OK(cuMemAllocPitch_v2(&rows, &pitch, WIDTH, ROWS, 4));
	OK(cuMemAlloc_v2(&plain, WIDTH * ROWS));
	up = (copy2){ { .kind = HOST, .host = sent, .pitch = WIDTH }, { .kind = DEVICE, .device = rows, .pitch = pitch }, WIDTH, ROWS };
	OK(cuMemcpy2D_v2(&up));
	memset(got, 0xee, WIDE * ROWS);
	down = (copy2){ { .kind = DEVICE, .device = rows, .pitch = pitch }, { .kind = HOST, .host = got, .pitch = WIDE }, WIDTH, ROWS };
	OK(cuMemcpy2D_v2(&down));
	IS(rows_are(got, sent, WIDE, WIDTH, ROWS));

	/* A part of it: its origins are of bytes and rows. */
	memset(got, 0xee, WIDE * ROWS);
	down.from.x = 10;
	down.from.y = 2;
	down.to.x = 20;
	down.to.y = 1;
	down.width = 5;
	down.height = 3;
	OK(cuMemcpy2DUnaligned_v2(&down));
	IS(memcmp(got + WIDE + 20, sent + 2 * WIDTH + 10, 5) == 0);
	IS(memcmp(got + 3 * WIDE + 20, sent + 4 * WIDTH + 10, 5) == 0);
	IS(got[WIDE + 19] == 0xee && got[WIDE + 25] == 0xee && got[20] == 0xee && got[4 * WIDE + 20] == 0xee);

	/* Within the device's memory, and back on a stream. */
	OK(cuStreamCreate(&stream, 1));
	across = (copy2){ { .kind = DEVICE, .device = rows, .pitch = pitch }, { .kind = UNIFIED, .device = plain, .pitch = WIDTH }, WIDTH, ROWS };
	OK(cuMemcpy2DAsync_v2(&across, stream));
	memset(got, 0xee, WIDE * ROWS);
	OK(cuMemcpyDtoHAsync_v2(got, plain, WIDTH * ROWS, stream));
	OK(cuStreamSynchronize(stream));
	IS(memcmp(got, sent, WIDTH * ROWS) == 0);
	memset(got, 0xee, WIDE * ROWS);
	down = (copy2){ { .kind = UNIFIED, .device = rows, .pitch = pitch }, { .kind = UNIFIED, .device = (uintptr_t)got, .pitch = WIDE }, WIDTH, ROWS };
	OK(cuMemcpy2DAsync_v2(&down, stream));
	OK(cuStreamSynchronize(stream));
	IS(rows_are(got, sent, WIDE, WIDTH, ROWS));
	for (int n = 0; n < WIDTH * ROWS; n++)
		sent[n] = n * 3;
	OK(cuMemcpy2DAsync_v2(&up, stream));
	OK(cuMemcpy2DAsync_v2(&down, stream));
	OK(cuStreamSynchronize(stream));
	IS(rows_are(got, sent, WIDE, WIDTH, ROWS));

	/* Within the program's. */
	memset(got, 0xee, WIDE * ROWS);
	across = (copy2){ { .kind = HOST, .host = sent, .pitch = WIDTH }, { .kind = HOST, .host = got, .pitch = WIDE }, WIDTH, ROWS };
	OK(cuMemcpy2D_v2(&across));
	IS(rows_are(got, sent, WIDE, WIDTH, ROWS));
	across.width = 0;
	OK(cuMemcpy2D_v2(&across));

	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(NULL));
	bad = up;
	bad.from.pitch = WIDTH - 1;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&bad));
	bad = up;
	bad.to.x = pitch;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&bad));
	bad = up;
	bad.from.host = NULL;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&bad));
	bad = up;
	bad.height = ROWS + 1;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&bad));
	bad = up;
	bad.to.kind = 9;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&bad));
	bad = up;
	bad.to.kind = ARRAY;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&bad));
	bad.to.array = &bad;
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuMemcpy2D_v2(&bad));
	bad = up;
	bad.to.y = (size_t)-1;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&bad));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuMemcpy2DAsync_v2(&up, (CUstream)&up));

	/* Rectangles that are set. */
	OK(cuMemsetD2D8_v2(plain, 8, 5, 3, 2));
	OK(cuMemcpyDtoH_v2(got, plain, 16));
	IS(memcmp(got, "\5\5\5", 3) == 0 && memcmp(got + 8, "\5\5\5", 3) == 0);
	IS(got[3] == 3 * 7 && got[7] == 7 * 7 && got[11] == 11 * 7);
	OK(cuMemsetD2D16_v2(plain, 8, 0x1234, 2, 2));
	OK(cuMemcpyDtoH_v2(words, plain, 16));
	IS(words[1] == 0x1234 && words[5] == 0x1234 && words[2] != 0x1234 && words[6] != 0x1234);
	OK(cuMemsetD2D32_v2(plain, 8, 0xdeadbeef, 1, 2));
	OK(cuMemcpyDtoH_v2(longs, plain, 16));
	IS(longs[0] == 0xdeadbeef && longs[2] == 0xdeadbeef && longs[1] != 0xdeadbeef);
	OK(cuMemsetD2D8Async(plain, 8, 1, 1, 2, stream));
	OK(cuMemsetD2D16Async(plain + 2, 8, 2, 1, 2, stream));
	OK(cuMemsetD2D32Async(plain + 4, 8, 3, 1, 2, stream));
	OK(cuMemcpyDtoHAsync_v2(got, plain, 16, stream));
	OK(cuStreamSynchronize(stream));
	IS(got[8] == 1 && got[10] == 2 && got[12] == 3);
	OK(cuMemsetD2D8_v2(plain, 8, 5, 0, 2));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D8_v2(plain, 2, 5, 3, 2));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D32_v2(plain, WIDTH, 5, WIDTH / 4, ROWS + 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D32_v2(plain, (size_t)-1, 5, 1, 2));
	OK(cuStreamDestroy_v2(stream));
	OK(cuMemFree_v2(plain));
	OK(cuMemFree_v2(rows));
	free(sent);
	free(got);
}

static void boxes(void)
{
	CUdeviceptr box;
	unsigned char *sent = malloc(WIDTH * ROWS * DEEP), *got = malloc(WIDTH * ROWS * DEEP);
	CUstream stream;
	copy3 up, down, bad;

	for (int n = 0; n < WIDTH * ROWS * DEEP; n++)
		sent[n] = n * 5 + n / 256;
	/* More rows in a slice than are copied, and more bytes in a row. */
	OK(cuMemAlloc_v2(&box, WIDE * (ROWS + 2) * DEEP));
	OK(cuMemsetD8_v2(box, 0xee, WIDE * (ROWS + 2) * DEEP));
	up = (copy3){ { .kind = HOST, .host = sent, .pitch = WIDTH, .height = ROWS },
		      { .kind = DEVICE, .device = box, .pitch = WIDE, .height = ROWS + 2, .x = 3, .y = 1 },
		      WIDTH, ROWS, DEEP };
	OK(cuMemcpy3D_v2(&up));
	memset(got, 0, WIDTH * ROWS * DEEP);
	down = (copy3){ { .kind = DEVICE, .device = box, .pitch = WIDE, .height = ROWS + 2, .x = 3, .y = 1 },
			{ .kind = HOST, .host = got, .pitch = WIDTH, .height = ROWS },
			WIDTH, ROWS, DEEP };
	OK(cuMemcpy3D_v2(&down));
	IS(memcmp(got, sent, WIDTH * ROWS * DEEP) == 0);
	OK(cuMemcpyDtoH_v2(got, box + 2 * WIDE * (ROWS + 2), WIDE));
	IS(got[0] == 0xee && got[WIDE - 1] == 0xee);

	/* One slice, to where it was not, on a stream. */
	OK(cuStreamCreate(&stream, 0));
	up.from.z = 2;
	up.to.z = 1;
	up.depth = 1;
	OK(cuMemcpy3DAsync_v2(&up, stream));
	down.from.z = 1;
	down.depth = 1;
	down.to.height = 0;
	OK(cuMemcpy3DAsync_v2(&down, stream));
	OK(cuStreamSynchronize(stream));
	IS(memcmp(got, sent + 2 * WIDTH * ROWS, WIDTH * ROWS) == 0);

	/* From one place of the device's memory to another. */
	down.to = (side3){ .kind = DEVICE, .device = box, .pitch = WIDTH, .height = ROWS };
	OK(cuMemcpy3D_v2(&down));
	OK(cuMemcpyDtoH_v2(got, box, WIDTH * ROWS));
	IS(memcmp(got, sent + 2 * WIDTH * ROWS, WIDTH * ROWS) == 0);

	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D_v2(NULL));
	bad = up;
	bad.to.z = DEEP;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D_v2(&bad));
	bad = up;
	bad.from.lod = 1;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D_v2(&bad));
	bad = up;
	bad.to.reserved = &bad;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D_v2(&bad));
	bad = up;
	bad.depth = 2;
	bad.from.height = 0;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D_v2(&bad));
	bad = up;
	bad.height = 0;
	OK(cuMemcpy3D_v2(&bad));
	OK(cuStreamDestroy_v2(stream));
	OK(cuMemFree_v2(box));
	free(sent);
	free(got);
}

static void pools(void)
{
	CUmemoryPool own, pool, current;
	CUdeviceptr one, two, three;
	CUstream stream;
	pool_props props = { .allocations = 1, .location = { 1, 0 }, .max = 1 << 20 }, bad;
	pool_access access = { { 1, 0 }, 3 };
	location of = { 1, 0 };
	unsigned char got[100];
	uint64_t long_value, before;
	int number, flags;
	size_t free_bytes, total, free_after;
	CUcontext other;

	OK(cuDeviceGetAttribute(&number, 115, device));
	IS(number == 1);
	OK(cuDeviceGetAttribute(&number, 119, device));
	IS(number == 0);
	OK(cuDeviceGetDefaultMemPool(&own, device));
	OK(cuDeviceGetMemPool(&current, device));
	IS(own != NULL && current == own);
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetDefaultMemPool(&pool, 7));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(own));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&pool, NULL));
	bad = props;
	bad.handles = 1;
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuMemPoolCreate(&pool, &bad));
	bad = props;
	bad.location.kind = 2;
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuMemPoolCreate(&pool, &bad));
	bad = props;
	bad.location.number = 9;
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuMemPoolCreate(&pool, &bad));
	bad = props;
	bad.reserved[53] = 1;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&pool, &bad));
	OK(cuMemPoolCreate(&pool, &props));
	IS(pool != own);

	/* What is allocated on a stream is memory like any other, in that order. */
	OK(cuStreamCreate(&stream, 0));
	OK(cuMemAllocAsync(&one, 100, stream));
	OK(cuMemsetD8Async(one, 7, 100, stream));
	OK(cuMemcpyDtoHAsync_v2(got, one, 100, stream));
	OK(cuMemFreeAsync(one, stream));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(one, stream));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemsetD8Async(one, 7, 100, stream));
	OK(cuStreamSynchronize(stream));
	IS(got[0] == 7 && got[99] == 7);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAllocAsync(&one, 0, stream));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAllocAsync(NULL, 10, stream));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuMemAllocAsync(&one, 10, (CUstream)&one));
	GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&one, (size_t)1 << 40, stream));
	GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&one, (1 << 20) + 1, pool, stream));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync(&one, 10, (CUmemoryPool)stream, stream));

	/* The numbers of a pool, and which one a device has. */
	OK(cuMemPoolGetAttribute(own, 7, &before));
	OK(cuMemAllocFromPoolAsync(&one, 1000, pool, stream));
	OK(cuDeviceSetMemPool(device, pool));
	OK(cuDeviceGetMemPool(&current, device));
	IS(current == pool);
	OK(cuMemAllocAsync(&two, 3000, stream));
	OK(cuMemPoolGetAttribute(pool, 7, &long_value));
	IS(long_value == 4000);
	OK(cuMemPoolGetAttribute(own, 7, &long_value));
	IS(long_value == before);
	OK(cuMemFreeAsync(two, NULL));
	OK(cuMemPoolGetAttribute(pool, 8, &long_value));
	IS(long_value == 4000);
	long_value = 1;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAttribute(pool, 8, &long_value));
	long_value = 0;
	OK(cuMemPoolSetAttribute(pool, 8, &long_value));
	OK(cuMemPoolGetAttribute(pool, 8, &long_value));
	IS(long_value == 1000);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAttribute(pool, 7, &long_value));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAttribute(pool, 4, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPoolGetAttribute(pool, 4, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPoolGetAttribute(pool, 9, &long_value));
	long_value = (uint64_t)5 << 32;
	OK(cuMemPoolSetAttribute(pool, 4, &long_value));
	long_value = 0;
	OK(cuMemPoolGetAttribute(pool, 4, &long_value));
	IS(long_value == (uint64_t)5 << 32);
	number = 0;
	OK(cuMemPoolSetAttribute(pool, 2, &number));
	number = 5;
	OK(cuMemPoolGetAttribute(pool, 2, &number));
	IS(number == 0);
	OK(cuMemPoolGetAttribute(pool, 3, &number));
	IS(number == 1);
	OK(cuMemPoolTrimTo(pool, 2000));
	OK(cuMemPoolGetAttribute(pool, 5, &long_value));
	IS(long_value == 2000);
	OK(cuMemPoolSetAccess(pool, &access, 1));
	OK(cuMemPoolGetAccess(&flags, pool, &of));
	IS(flags == 3);
	access.flags = 0;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAccess(pool, &access, 1));
	access.location.kind = 2;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAccess(pool, &access, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPoolGetAccess(&flags, pool, NULL));

	/* Without the pool, the device has its own again; the pool's memory stays. */
	OK(cuMemPoolDestroy(pool));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(pool));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPoolTrimTo(pool, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuDeviceSetMemPool(device, pool));
	OK(cuDeviceGetMemPool(&current, device));
	IS(current == own);
	OK(cuMemsetD8_v2(one, 1, 1000));
	OK(cuMemFree_v2(one));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(one));

	/* Either way of allocating goes with either way of freeing. */
	OK(cuMemAlloc_v2(&two, 64));
	OK(cuMemFreeAsync(two, stream));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(two));
	OK(cuStreamDestroy_v2(stream));

	/* It goes with its context. */
	OK(cuMemGetInfo_v2(&free_bytes, &total));
	OK(cuCtxCreate_v2(&other, 0, device));
	OK(cuMemAllocAsync(&three, 4096, NULL));
	OK(cuMemGetInfo_v2(&free_after, &total));
	IS(free_after == free_bytes - 4096);
	OK(cuCtxDestroy_v2(other));
	OK(cuMemGetInfo_v2(&free_after, &total));
	IS(free_after == free_bytes);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(three, NULL));
}

static void pointers(void)
{
	CUdeviceptr one, two, pooled, base;
	CUmemoryPool own, of;
	CUcontext owner;
	unsigned char plain[16], *pinned;
	unsigned int number, other;
	unsigned long long id, id_two;
	size_t bytes;
	int names[] = { 2, 9, 11, 12, 3, 4 }, ordinal;
	void *data[] = { &number, &ordinal, &base, &bytes, &one, &two };
	int bad_name = 99;
	unsigned int yes = 1;
	void *one_place[] = { &number };

	OK(cuMemAlloc_v2(&one, 1000));
	OK(cuMemAlloc_v2(&two, 10));
	OK(cuPointerGetAttribute(&owner, 1, one + 5));
	IS(owner == context);
	OK(cuPointerGetAttribute(&number, 2, one));
	IS(number == DEVICE);
	OK(cuPointerGetAttribute(&base, 3, one + 5));
	IS(base == one + 5);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&base, 4, one));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuPointerGetAttribute(&id, 5, one));
	OK(cuPointerGetAttribute(&id, 7, one + 999));
	OK(cuPointerGetAttribute(&id_two, 7, two));
	IS(id != id_two);
	OK(cuPointerGetAttribute(&id_two, 7, one));
	IS(id == id_two);
	OK(cuPointerGetAttribute(&number, 8, one));
	IS(number == 0);
	OK(cuPointerGetAttribute(&ordinal, 9, one));
	IS(ordinal == device);
	OK(cuPointerGetAttribute(&base, 11, one + 999));
	OK(cuPointerGetAttribute(&bytes, 12, one + 999));
	IS(base == one && bytes == 1000);
	OK(cuPointerGetAttribute(&number, 13, one));
	IS(number == 1);
	OK(cuPointerGetAttribute(&number, 16, one));
	IS(number == 3);
	OK(cuPointerGetAttribute(&of, 17, one));
	IS(of == NULL);
	OK(cuDeviceGetMemPool(&own, device));
	OK(cuMemAllocAsync(&pooled, 10, NULL));
	OK(cuPointerGetAttribute(&of, 17, pooled));
	IS(of == own);
	OK(cuMemFreeAsync(pooled, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&of, 17, pooled));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&number, 2, (uintptr_t)plain));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(NULL, 2, one));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&number, 99, one));

	/* Calls that would return at once wait where the program wants it. */
	OK(cuPointerGetAttribute(&number, 6, one));
	IS(number == 0);
	OK(cuPointerSetAttribute(&yes, 6, one));
	OK(cuPointerGetAttribute(&number, 6, one + 1));
	IS(number == 1);
	OK(cuMemsetD8_v2(one, 1, 1000));
	OK(cuStreamQuery(NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuPointerSetAttribute(&yes, 7, one));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuPointerSetAttribute(&yes, 6, (uintptr_t)plain));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuPointerSetAttribute(NULL, 6, one));

	/* Pinned memory of the program's. */
	OK(cuMemHostAlloc((void **)&pinned, 5000, 1));
	OK(cuPointerGetAttribute(&number, 2, (uintptr_t)pinned + 4999));
	IS(number == HOST);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&number, 2, (uintptr_t)pinned + 5000));
	OK(cuPointerGetAttribute(&base, 4, (uintptr_t)pinned + 1));
	IS(base == (uintptr_t)pinned + 1);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&base, 3, (uintptr_t)pinned));
	OK(cuPointerGetAttribute(&other, 16, (uintptr_t)pinned));
	IS(other == 0);
	OK(cuPointerGetAttributes(4, names, data, (uintptr_t)pinned + 7));
	IS(number == HOST && ordinal == device && base == (uintptr_t)pinned && bytes == 5000);
	OK(cuMemFreeHost(pinned));
	OK(cuMemHostRegister_v2(plain, sizeof(plain), 0));
	OK(cuPointerGetAttribute(&bytes, 12, (uintptr_t)plain));
	IS(bytes == sizeof(plain));
	OK(cuMemHostUnregister(plain));

	/* Of an address of which nothing is known, a list is zeroes. */
	OK(cuPointerGetAttributes(4, names, data, (uintptr_t)plain));
	IS(number == 0 && ordinal == -2 && base == 0 && bytes == 0);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttributes(0, names, data, one));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttributes(1, &bad_name, one_place, one));
	OK(cuMemFree_v2(one));
	OK(cuMemFree_v2(two));
}

static void peers(void)
{
	CUdeviceptr one, two;
	CUcontext other;
	unsigned char got[16];
	int value = 7;

	OK(cuDeviceCanAccessPeer(&value, device, device));
	IS(value == 0);
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuDeviceCanAccessPeer(&value, device, device + 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuDeviceCanAccessPeer(NULL, device, device));
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetP2PAttribute(&value, 2, device, device));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuDeviceGetP2PAttribute(&value, 77, device, device));
	OK(cuMemAlloc_v2(&one, 16));
	OK(cuMemsetD8_v2(one, 3, 16));
	OK(cuCtxCreate_v2(&other, 0, device));
	GIVES(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cuCtxEnablePeerAccess(context, 0));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(other, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuCtxEnablePeerAccess(context, 1));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess((CUcontext)&one, 0));
	GIVES(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(context));
	OK(cuMemAlloc_v2(&two, 16));
	OK(cuMemcpyPeer(two, other, one, context, 16));
	OK(cuMemcpyDtoH_v2(got, two, 16));
	IS(got[0] == 3 && got[15] == 3);
	OK(cuMemsetD8_v2(two, 4, 16));
	OK(cuMemcpyPeerAsync(one, context, two, other, 8, NULL));
	OK(cuMemcpyDtoH_v2(got, one, 16));
	IS(got[7] == 4 && got[8] == 3);
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuMemcpyPeer(two, NULL, one, context, 16));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyPeer(two, other, one, context, 17));
	OK(cuCtxDestroy_v2(other));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuMemcpyPeer(one, other, one, context, 1));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxDisablePeerAccess(other));
	OK(cuMemFree_v2(one));
}

CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void *), void *data);

static void fills(void *rows)
{
	usleep(20000);
	memset(rows, 7, 64);
}

/* A rectangle behind a function of the program's has what that wrote. */
static void behind_functions(void)
{
	unsigned char rows[64] = { 0 }, got[64];
	CUdeviceptr memory;
	CUstream stream;
	copy2 copy = { { 0 }, { 0 }, 16, 4 };

	OK(cuStreamCreate(&stream, 1));
	OK(cuMemAlloc_v2(&memory, sizeof(rows)));
	copy.from.kind = HOST;
	copy.from.host = rows;
	copy.from.pitch = 16;
	copy.to.kind = DEVICE;
	copy.to.device = memory;
	copy.to.pitch = 16;
	OK(cuLaunchHostFunc(stream, fills, rows));
	OK(cuMemcpy2DAsync_v2(&copy, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuMemcpyDtoH_v2(got, memory, sizeof(got)));
	IS(got[0] == 7 && got[63] == 7);
	OK(cuMemFree_v2(memory));
	OK(cuStreamDestroy_v2(stream));
}

int main(void)
{
	copy2 none = { .width = 1, .height = 1 };

	GIVES(CUDA_ERROR_NOT_INITIALIZED, cuMemcpy2D_v2(&none));
	OK(cuInit(0));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuMemcpy2D_v2(&none));
	OK(cuDeviceGet(&device, 0));
	OK(cuCtxCreate_v2(&context, 0, device));
	rectangles();
	boxes();
	pools();
	pointers();
	peers();
	behind_functions();
	OK(cuCtxDestroy_v2(context));
	printf("%d failures\n", failures);
	return failures != 0;
}
