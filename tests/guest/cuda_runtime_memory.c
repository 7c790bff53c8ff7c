/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What CUDA's runtime promises of memory, over a driver that runs no kernels. */
#include "cuda_runtime.h"

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
	void *from_array;
	position from_at;
	pitched from;
	void *to_array;
	position to_at;
	pitched to;
	extent extent;
	int kind;
} copy3;

cudaError_t cudaMalloc3D(pitched *place, extent extent);
cudaError_t cudaMemcpy3D(const copy3 *copy);
cudaError_t cudaMemcpy3DAsync(const copy3 *copy, cudaStream_t stream);
cudaError_t cudaMemset2D(void *place, size_t pitch, int value, size_t width, size_t height);
cudaError_t cudaMemset2DAsync(void *place, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream);
cudaError_t cudaMemset3D(pitched place, int value, extent extent);
cudaError_t cudaMemset3DAsync(pitched place, int value, extent extent, cudaStream_t stream);

typedef struct CUmemPoolHandle_st *cudaMemPool_t;
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
typedef struct {
	int kind, device;
	void *on_device, *on_host;
	long reserved[8];
} pointer_attributes;

cudaError_t cudaMallocAsync(void **place, size_t bytes, cudaStream_t stream);
cudaError_t cudaFreeAsync(void *place, cudaStream_t stream);
cudaError_t cudaMallocFromPoolAsync(void **place, size_t bytes, cudaMemPool_t pool, cudaStream_t stream);
cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const pool_props *props);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, int name, void *value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, int name, void *value);
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const pool_access *map, size_t count);
cudaError_t cudaMemPoolGetAccess(int *flags, cudaMemPool_t pool, location *location);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device);
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
cudaError_t cudaPointerGetAttributes(pointer_attributes *attributes, const void *place);
cudaError_t cudaHostGetFlags(unsigned int *flags, void *place);

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaDeviceGetP2PAttribute(int *value, int name, int from, int to);
cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes);
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
				cudaStream_t stream);
cudaError_t cudaDeviceSetLimit(int limit, size_t value);
cudaError_t cudaDeviceGetLimit(size_t *value, int limit);
cudaError_t cudaDeviceSetCacheConfig(int config);
cudaError_t cudaDeviceGetCacheConfig(int *config);
cudaError_t cudaSetDeviceFlags(unsigned int flags);
cudaError_t cudaGetDeviceFlags(unsigned int *flags);
cudaError_t cudaDeviceGetPCIBusId(char *text, int len, int device);
cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *text);
cudaError_t cudaChooseDevice(int *device, const properties *properties);

#define WIDTH 300
#define ROWS 5
#define DEEP 3
#define ALL (WIDTH * ROWS * DEEP)

static void rectangles(void)
{
	unsigned char *sent = malloc(ALL), *got = calloc(1, ALL);
	unsigned char *rows;
	size_t pitch;
	cudaStream_t stream;

	for (int n = 0; n < ALL; n++)
		sent[n] = n * 7;
	OK(cudaStreamCreate(&stream));
	OK(cudaMallocPitch((void **)&rows, &pitch, WIDTH - 10, ROWS));
	OK(cudaMemcpy2D(rows, pitch, sent, WIDTH, WIDTH - 10, ROWS, HOST_TO_DEVICE));
	OK(cudaMemcpy2DAsync(got, WIDTH, rows, pitch, WIDTH - 10, ROWS, DEVICE_TO_HOST, stream));
	OK(cudaStreamSynchronize(stream));
	IS(memcmp(got + 4 * WIDTH, sent + 4 * WIDTH, WIDTH - 10) == 0 && got[WIDTH - 10] == 0);
	memset(got, 0, ALL);
	OK(cudaMemcpy2D(got, WIDTH, rows + pitch, pitch, 20, 2, BY_ADDRESS));
	IS(memcmp(got + WIDTH, sent + 2 * WIDTH, 20) == 0 && got[WIDTH + 20] == 0);
	OK(cudaMemcpy2D(got, WIDTH, sent, WIDTH, 7, ROWS, HOST_TO_HOST));
	IS(memcmp(got + 3 * WIDTH, sent + 3 * WIDTH, 7) == 0);
	OK(cudaMemcpy2D(rows + 100, pitch, rows, pitch, 30, ROWS, DEVICE_TO_DEVICE));
	OK(cudaMemcpy2D(got, WIDTH, rows, pitch, 130, ROWS, DEVICE_TO_HOST));
	IS(memcmp(got + 4 * WIDTH + 100, sent + 4 * WIDTH, 30) == 0);
	GIVES(cudaErrorInvalidPitchValue, cudaMemcpy2D(got, 3, rows, pitch, 4, 2, DEVICE_TO_HOST));
	GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpy2D(got, 4, rows, pitch, 4, 2, 7));
	GIVES(cudaErrorInvalidValue, cudaMemcpy2D(got, WIDTH, rows, pitch, 4, ROWS + 1, DEVICE_TO_HOST));

	OK(cudaMemset2D(rows, pitch, 0x101, 3, 2));
	OK(cudaMemset2DAsync(rows + 3, pitch, 2, 3, 2, stream));
	OK(cudaMemcpy2D(got, WIDTH, rows, pitch, 7, 3, DEVICE_TO_HOST));
	IS(memcmp(got + WIDTH, "\1\1\1\2\2\2", 6) == 0 && got[WIDTH + 6] == sent[WIDTH + 6]);
	IS(got[2 * WIDTH] == sent[2 * WIDTH]);
	GIVES(cudaErrorInvalidPitchValue, cudaMemset2D(rows, 2, 1, 3, 2));
	GIVES(cudaErrorInvalidValue, cudaMemset2D(rows, pitch, 1, 3, ROWS + 1));
	OK(cudaFree(rows));
	OK(cudaStreamDestroy(stream));
	free(sent);
	free(got);
}

static void boxes(void)
{
	unsigned char *sent = malloc(ALL), *got = calloc(1, ALL);
	pitched box, of_box;
	extent all = { WIDTH, ROWS, DEEP }, part = { 2, 3, 2 };
	cudaStream_t stream;
	copy3 up, down, bad;

	for (int n = 0; n < ALL; n++)
		sent[n] = n * 5 + n / 256;
	OK(cudaStreamCreate(&stream));
	OK(cudaMalloc3D(&box, all));
	IS(box.pitch >= WIDTH && box.xsize == WIDTH && box.ysize == ROWS);
	up = (copy3){ .from = { sent, WIDTH, WIDTH, ROWS }, .to = box, .extent = all, .kind = HOST_TO_DEVICE };
	OK(cudaMemcpy3D(&up));
	down = (copy3){ .from = box, .to = { got, WIDTH, WIDTH, ROWS }, .extent = all, .kind = DEVICE_TO_HOST };
	OK(cudaMemcpy3DAsync(&down, stream));
	OK(cudaStreamSynchronize(stream));
	IS(memcmp(got, sent, ALL) == 0);
	memset(got, 0, ALL);
	down.kind = BY_ADDRESS;
	down.from_at = (position){ 10, 1, 1 };
	down.to_at = (position){ 20, 2, 0 };
	down.extent = part;
	OK(cudaMemcpy3D(&down));
	IS(memcmp(got + (ROWS + 4) * WIDTH + 20, sent + (2 * ROWS + 3) * WIDTH + 10, 2) == 0);
	IS(got[(ROWS + 4) * WIDTH + 22] == 0 && got[2 * WIDTH + 19] == 0);
	GIVES(cudaErrorInvalidValue, cudaMemcpy3D(NULL));
	bad = up;
	bad.kind = 9;
	GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpy3D(&bad));
	bad = up;
	bad.from.place = NULL;
	GIVES(cudaErrorInvalidValue, cudaMemcpy3D(&bad));
	bad = up;
	bad.to_at.z = 1;
	GIVES(cudaErrorInvalidValue, cudaMemcpy3D(&bad));
	bad = up;
	bad.from_at.x = 1;
	GIVES(cudaErrorInvalidPitchValue, cudaMemcpy3D(&bad));
	bad = up;
	bad.extent.depth = 0;
	OK(cudaMemcpy3D(&bad));

	/* Some rows of each slice, then all of them. */
	OK(cudaMemset3D(box, 1, part));
	down = (copy3){ .from = box, .to = { got, WIDTH, WIDTH, ROWS }, .extent = all, .kind = DEVICE_TO_HOST };
	OK(cudaMemcpy3D(&down));
	IS(got[0] == 1 && got[(ROWS + 2) * WIDTH + 1] == 1 && got[2] == sent[2]);
	IS(got[3 * WIDTH] == sent[3 * WIDTH] && got[2 * ROWS * WIDTH] == sent[2 * ROWS * WIDTH]);
	part.height = ROWS;
	OK(cudaMemset3DAsync(box, 2, part, stream));
	OK(cudaMemcpy3DAsync(&down, stream));
	OK(cudaStreamSynchronize(stream));
	IS(got[(2 * ROWS - 1) * WIDTH] == 2 && got[2 * ROWS * WIDTH] == sent[2 * ROWS * WIDTH]);
	part.height = ROWS + 1;
	GIVES(cudaErrorInvalidValue, cudaMemset3D(box, 2, part));
	of_box = box;
	of_box.pitch = 1;
	GIVES(cudaErrorInvalidPitchValue, cudaMemset3D(of_box, 2, all));
	OK(cudaFree(box.place));
	all.depth = 0;
	OK(cudaMalloc3D(&box, all));
	IS(box.place == NULL);
	OK(cudaStreamDestroy(stream));
	free(sent);
	free(got);
}

static void pools(void)
{
	cudaMemPool_t own, pool, current;
	pool_props props = { .allocations = 1, .location = { 1, 0 } };
	pool_access access = { { 1, 0 }, 3 };
	location of = { 1, 0 };
	void *one, *two;
	unsigned char got[64];
	uint64_t used, threshold = 1 << 20;
	int flags;
	cudaStream_t stream;

	OK(cudaDeviceGetDefaultMemPool(&own, 0));
	OK(cudaMemPoolCreate(&pool, &props));
	GIVES(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, NULL));
	props.handles = 1;
	GIVES(cudaErrorNotSupported, cudaMemPoolCreate(&current, &props));
	OK(cudaStreamCreate(&stream));
	OK(cudaMallocAsync(&one, 64, stream));
	OK(cudaMemsetAsync(one, 9, 64, stream));
	OK(cudaMemcpyAsync(got, one, 64, BY_ADDRESS, stream));
	OK(cudaFreeAsync(one, stream));
	OK(cudaStreamSynchronize(stream));
	IS(got[63] == 9);
	GIVES(cudaErrorInvalidValue, cudaFreeAsync(one, stream));
	OK(cudaMallocAsync(&one, 0, stream));
	IS(one == NULL);
	OK(cudaMallocFromPoolAsync(&one, 500, pool, stream));
	OK(cudaDeviceSetMemPool(0, pool));
	OK(cudaDeviceGetMemPool(&current, 0));
	IS(current == pool);
	OK(cudaMallocAsync(&two, 100, NULL));
	OK(cudaMemPoolGetAttribute(pool, 7, &used));
	IS(used == 600);
	OK(cudaMemPoolSetAttribute(pool, 4, &threshold));
	threshold = 0;
	OK(cudaMemPoolGetAttribute(pool, 4, &threshold));
	IS(threshold == 1 << 20);
	OK(cudaMemPoolTrimTo(pool, 0));
	OK(cudaMemPoolSetAccess(pool, &access, 1));
	OK(cudaMemPoolGetAccess(&flags, pool, &of));
	IS(flags == 3);
	OK(cudaFree(two));
	OK(cudaFreeAsync(one, stream));
	OK(cudaMemPoolDestroy(pool));
	GIVES(cudaErrorInvalidValue, cudaMemPoolDestroy(own));
	OK(cudaDeviceGetMemPool(&current, 0));
	IS(current == own);
	OK(cudaStreamDestroy(stream));
}

static void pointers(void)
{
	pointer_attributes known;
	unsigned char plain[16];
	void *place;
	unsigned int flags;

	OK(cudaMalloc(&place, 100));
	OK(cudaPointerGetAttributes(&known, (char *)place + 50));
	IS(known.kind == 2 && known.device == 0 && known.on_device == (char *)place + 50 && known.on_host == NULL);
	OK(cudaFree(place));
	OK(cudaPointerGetAttributes(&known, place));
	IS(known.kind == 0);
	OK(cudaPointerGetAttributes(&known, plain));
	IS(known.kind == 0 && known.device == -2 && known.on_device == NULL && known.on_host == plain);
	OK(cudaHostAlloc(&place, 100, 1));
	OK(cudaPointerGetAttributes(&known, place));
	IS(known.kind == 1 && known.device == 0 && known.on_device == NULL && known.on_host == place);
	OK(cudaHostGetFlags(&flags, place));
	IS(flags == 1);
	OK(cudaFreeHost(place));
	GIVES(cudaErrorInvalidValue, cudaHostGetFlags(&flags, place));
	GIVES(cudaErrorInvalidValue, cudaPointerGetAttributes(NULL, plain));
	OK(cudaHostRegister(plain, sizeof(plain), 0));
	OK(cudaPointerGetAttributes(&known, plain + 3));
	IS(known.kind == 1 && known.on_host == plain + 3);
	OK(cudaHostUnregister(plain));
	OK(cudaPointerGetAttributes(&known, plain));
	IS(known.kind == 0);
}

static void devices(void)
{
	char *one, *two, got[16], text[32];
	int value = 9, config;
	unsigned int flags;
	size_t limit;
	properties asked;

	OK(cudaDeviceCanAccessPeer(&value, 0, 0));
	IS(value == 0);
	GIVES(cudaErrorInvalidDevice, cudaDeviceCanAccessPeer(&value, 0, 3));
	GIVES(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(0, 0));
	GIVES(cudaErrorInvalidValue, cudaDeviceEnablePeerAccess(0, 1));
	GIVES(705, cudaDeviceDisablePeerAccess(0));
	GIVES(cudaErrorInvalidDevice, cudaDeviceDisablePeerAccess(4));
	GIVES(cudaErrorInvalidDevice, cudaDeviceGetP2PAttribute(&value, 1, 0, 0));
	OK(cudaMalloc((void **)&one, 16));
	OK(cudaMalloc((void **)&two, 16));
	OK(cudaMemset(one, 6, 16));
	OK(cudaMemset(two, 1, 16));
	OK(cudaMemcpyPeer(two, 0, one, 0, 8));
	OK(cudaMemcpyPeerAsync(two + 8, 0, one, 0, 4, NULL));
	OK(cudaMemcpy(got, two, 16, DEVICE_TO_HOST));
	IS(got[7] == 6 && got[11] == 6 && got[12] == 1);
	GIVES(cudaErrorInvalidDevice, cudaMemcpyPeer(two, 1, one, 0, 8));
	OK(cudaFree(one));
	OK(cudaFree(two));
	OK(cudaDeviceSetLimit(1, 4 << 20));
	OK(cudaDeviceGetLimit(&limit, 1));
	IS(limit == 4 << 20);
	OK(cudaDeviceSetCacheConfig(1));
	OK(cudaDeviceGetCacheConfig(&config));
	IS(config == 1);
	OK(cudaDeviceGetPCIBusId(text, sizeof(text), 0));
	OK(cudaDeviceGetByPCIBusId(&value, text));
	IS(value == 0);
	GIVES(cudaErrorInvalidDevice, cudaDeviceGetByPCIBusId(&value, "0000:99:00.0"));
	memset(&asked, 0, sizeof(asked));
	value = 9;
	OK(cudaChooseDevice(&value, &asked));
	IS(value == 0);
	GIVES(cudaErrorInvalidValue, cudaChooseDevice(&value, NULL));
	/* They are those of the primary context, and of the next one. */
	OK(cudaSetDeviceFlags(1));
	OK(cudaGetDeviceFlags(&flags));
	IS(flags == 1);
	OK(cudaSetDeviceFlags(4));
	OK(cudaGetDeviceFlags(&flags));
	IS(flags == 4);
	OK(cudaDeviceReset());
	OK(cudaSetDevice(0));
	OK(cudaGetDeviceFlags(&flags));
	IS(flags == 4);
	GIVES(cudaErrorInvalidValue, cudaSetDeviceFlags(3));
}

int main(void)
{
	rectangles();
	boxes();
	pools();
	pointers();
	devices();
	printf("%d failures\n", failures);
	return failures != 0;
}
