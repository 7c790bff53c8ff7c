/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What CUDA's runtime promises of arrays, textures and surfaces, over a driver that samples none. */
#include "cuda_runtime_arrays.h"

#define WIDTH 30 /* elements, of which each has 8 bytes */
#define ROW (WIDTH * 8)
#define HEIGHT 7
#define DEPTH 3

static unsigned char sent[ROW * HEIGHT * DEPTH], got[ROW * HEIGHT * DEPTH];
static const channels pairs = { 32, 32, 0, 0, FLOATS };

static void fill(int factor)
{
	for (size_t n = 0; n < sizeof(sent); n++)
		sent[n] = n * factor + (n >> 8);
	memset(got, 0xee, sizeof(got));
}

static void flat_arrays(void)
{
	channels of = cudaCreateChannelDesc(32, 32, 0, 0, FLOATS), found;
	cudaArray_t array, other, none = (cudaArray_t)&of;
	cudaStream_t stream;
	unsigned int flags;
	extent size;

	fill(7);
	IS(of.x == 32 && of.y == 32 && of.z == 0 && of.w == 0 && of.kind == FLOATS);
	OK(cudaMallocArray(&array, &of, WIDTH, HEIGHT, SURFACES));
	OK(cudaMallocArray(&other, &of, WIDTH, HEIGHT, 0));
	OK(cudaArrayGetInfo(&found, &size, &flags, array));
	IS(memcmp(&found, &of, sizeof(of)) == 0 && size.width == WIDTH && size.height == HEIGHT && size.depth == 0);
	IS(flags == SURFACES);
	OK(cudaArrayGetInfo(NULL, NULL, NULL, array));
	OK(cudaGetChannelDesc(&found, other));
	IS(memcmp(&found, &of, sizeof(of)) == 0);

	OK(cudaMemcpy2DToArray(array, 0, 0, sent, ROW, ROW, HEIGHT, UP));
	OK(cudaMemcpy2DFromArray(got, ROW, array, 0, 0, ROW, HEIGHT, DOWN));
	IS(memcmp(got, sent, ROW * HEIGHT) == 0);
	OK(cudaMemcpy2DArrayToArray(other, 16, 1, array, 32, 3, 64, 4, ACROSS));
	memset(got, 0xee, sizeof(got));
	OK(cudaMemcpy2DFromArray(got, 100, other, 16, 1, 64, 4, ANY));
	IS(memcmp(got, sent + 3 * ROW + 32, 64) == 0 && memcmp(got + 300, sent + 6 * ROW + 32, 64) == 0 && got[64] == 0xee);
	OK(cudaStreamCreate(&stream));
	OK(cudaMemcpy2DToArrayAsync(other, 8, 2, sent, ROW, 40, 3, UP, stream));
	OK(cudaMemcpy2DFromArrayAsync(got, 40, other, 8, 2, 40, 3, DOWN, stream));
	OK(cudaStreamSynchronize(stream));
	IS(memcmp(got, sent, 40) == 0 && memcmp(got + 80, sent + 2 * ROW, 40) == 0);

	/* Bytes that go on in the next row. */
	fill(3);
	OK(cudaMemcpyToArray(array, 16, 1, sent, 3 * ROW + 100, UP));
	OK(cudaMemcpy2DFromArray(got, ROW, array, 0, 0, ROW, HEIGHT, DOWN));
	IS(memcmp(got + ROW + 16, sent, 3 * ROW + 100) == 0);
	memset(got, 0xee, sizeof(got));
	OK(cudaMemcpyFromArray(got, array, 24, 2, ROW + 10, DOWN));
	IS(memcmp(got, sent + ROW + 8, ROW + 10) == 0 && got[ROW + 10] == 0xee);
	OK(cudaMemcpyArrayToArray(other, 8, 0, array, 16, 1, 2 * ROW, ACROSS));
	OK(cudaMemcpyFromArrayAsync(got, other, 8, 0, 2 * ROW, DOWN, stream));
	OK(cudaStreamSynchronize(stream));
	IS(memcmp(got, sent, 2 * ROW) == 0);
	OK(cudaMemcpyToArrayAsync(other, 0, 0, sent + 5, 3, UP, stream));
	OK(cudaMemcpyFromArray(got, other, 0, 0, 3, DOWN));
	IS(memcmp(got, sent + 5, 3) == 0);
	GIVES(cudaErrorInvalidValue, cudaMemcpyToArray(array, 16, HEIGHT - 1, sent, ROW, UP));
	GIVES(cudaErrorInvalidValue, cudaMemcpyToArray(array, ROW, 0, sent, 1, UP));
	GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpyToArray(array, 0, 0, sent, 8, DOWN));
	GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpy2DToArray(array, 0, 0, sent, ROW, ROW, 1, 9));
	GIVES(cudaErrorInvalidPitchValue, cudaMemcpy2DToArray(array, 0, 0, sent, ROW - 1, ROW, 2, UP));
	GIVES(cudaErrorInvalidValue, cudaMemcpy2DToArray(array, 0, 1, sent, ROW, ROW, HEIGHT, UP));
	GIVES(cudaErrorInvalidValue, cudaMemcpy2DToArray(array, 0, 0, NULL, ROW, ROW, 1, UP));
	OK(cudaMemcpy2DToArray(array, 0, 0, sent, ROW, 0, 1, UP));
	GIVES(cudaErrorInvalidResourceHandle, cudaMemcpy2DToArray(none, 0, 0, sent, ROW, ROW, 1, UP));

	for (int n = 0; n < 4; n++) {
		static const channels wrong[] = { { 8, 8, 8, 0, UNSIGNED }, { 8, 16, 0, 0, SIGNED }, { 8, 0, 0, 0, FLOATS }, { 8, 0, 0, 0, NONE } };
		GIVES(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&none, &wrong[n], 8, 8, 0));
	}
	GIVES(cudaErrorInvalidValue, cudaMallocArray(NULL, &of, 8, 8, 0));
	GIVES(cudaErrorInvalidValue, cudaMallocArray(&none, NULL, 8, 8, 0));
	GIVES(cudaErrorInvalidValue, cudaMallocArray(&none, &of, 0, 8, 0));
	OK(cudaFreeArray(other));
	GIVES(cudaErrorInvalidResourceHandle, cudaFreeArray(other));
	OK(cudaFreeArray(array));
	OK(cudaFreeArray(NULL));
	OK(cudaStreamDestroy(stream));
}

static void deep_arrays(void)
{
	extent size = { WIDTH, HEIGHT, DEPTH }, found;
	cudaArray_t array, other, plane;
	unsigned int flags;
	copy3 up = { 0 }, down = { 0 }, across = { 0 };
	char properties[64];
	channels words = { 16, 0, 0, 0, SIGNED };

	fill(11);
	OK(cudaMalloc3DArray(&array, &pairs, size, 0));
	OK(cudaMalloc3DArray(&other, &pairs, size, LAYERS));
	OK(cudaArrayGetInfo(NULL, &found, &flags, other));
	IS(found.width == WIDTH && found.height == HEIGHT && found.depth == DEPTH && flags == LAYERS);
	up.from = (pitched){ sent, ROW, ROW, HEIGHT };
	up.to_array = array;
	up.extent = size;
	up.kind = UP;
	OK(cudaMemcpy3D(&up));
	/* With arrays the extent and the places in them are of elements, in memory of bytes. */
	across.from_array = array;
	across.from_at = (position){ 4, 1, 1 };
	across.to_array = other;
	across.to_at = (position){ 2, 3, 0 };
	across.extent = (extent){ 5, 2, 2 };
	across.kind = ACROSS;
	OK(cudaMemcpy3D(&across));
	down.from_array = other;
	down.from_at = (position){ 2, 3, 1 };
	down.to = (pitched){ got, 64, 64, 4 };
	down.to_at = (position){ 8, 1, 0 };
	down.extent = (extent){ 5, 2, 1 };
	down.kind = DOWN;
	OK(cudaMemcpy3DAsync(&down, NULL));
	OK(cudaDeviceSynchronize());
	IS(memcmp(got + 64 + 8, sent + (2 * HEIGHT + 1) * ROW + 32, 40) == 0);
	IS(memcmp(got + 128 + 8, sent + (2 * HEIGHT + 2) * ROW + 32, 40) == 0);
	IS(got[64 + 7] == 0xee && got[64 + 48] == 0xee);
	down.from_at.x = WIDTH - 4;
	GIVES(cudaErrorInvalidValue, cudaMemcpy3D(&down));
	down.from_at.x = (size_t)-1;
	GIVES(cudaErrorInvalidValue, cudaMemcpy3D(&down));
	down.from_at.x = 0;
	down.kind = UP;
	GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpy3D(&down));
	down.kind = DOWN;
	down.from = up.from;
	GIVES(cudaErrorInvalidValue, cudaMemcpy3D(&down));
	down.from = (pitched){ 0 };
	down.to_at.x = 32;
	GIVES(cudaErrorInvalidPitchValue, cudaMemcpy3D(&down));
	OK(cudaFreeArray(other));
	OK(cudaMalloc3DArray(&other, &words, size, 0));
	across.to_array = other;
	GIVES(cudaErrorInvalidValue, cudaMemcpy3D(&across));

	GIVES(cudaErrorInvalidValue, cudaArrayGetPlane(&plane, array, 0));
	GIVES(cudaErrorInvalidValue, cudaArrayGetSparseProperties(properties, array));
	GIVES(cudaErrorInvalidValue, cudaArrayGetMemoryRequirements(properties, array, 0));
	GIVES(cudaErrorNotSupported, cudaMalloc3DArray(&plane, &words, size, SPARSE));
	OK(cudaFreeArray(other));
	OK(cudaFreeArray(array));
}

static void levels(void)
{
	channels bytes = { 8, 8, 8, 8, UNSIGNED };
	extent size = { 40, 20, 0 }, found;
	cudaMipmappedArray_t array;
	cudaArray_t third;
	char properties[64];

	fill(5);
	OK(cudaMallocMipmappedArray(&array, &bytes, size, 4, 0));
	OK(cudaGetMipmappedArrayLevel(&third, array, 2));
	OK(cudaArrayGetInfo(NULL, &found, NULL, third));
	IS(found.width == 10 && found.height == 5 && found.depth == 0);
	OK(cudaMemcpy2DToArray(third, 0, 0, sent, 40, 40, 5, UP));
	OK(cudaMemcpy2DFromArray(got, 40, third, 0, 0, 40, 5, DOWN));
	IS(memcmp(got, sent, 200) == 0);
	GIVES(cudaErrorInvalidValue, cudaGetMipmappedArrayLevel(&third, array, 4));
	GIVES(cudaErrorInvalidValue, cudaMipmappedArrayGetSparseProperties(properties, array));
	GIVES(cudaErrorInvalidValue, cudaMipmappedArrayGetMemoryRequirements(properties, array, 0));
	OK(cudaFreeMipmappedArray(array));
	GIVES(cudaErrorInvalidResourceHandle, cudaFreeMipmappedArray(array));
	OK(cudaFreeMipmappedArray(NULL));
}

static void textures(void)
{
	sampled how = { .modes = { 1, 2, 3 }, .filter = 1, .read = 0, .srgb = 1, .border = { 0.25f, 0.5f, 0.75f, 1 },
		.normalized = 1, .anisotropy = 8, .levels = 1, .bias = 0.5f, .least = 1, .most = 7, .seamless = 1 }, how_found;
	seen as = { .format = 0x17, .size = { WIDTH, HEIGHT, 0 } }, as_found;
	channels bytes = { 8, 8, 8, 8, UNSIGNED };
	shown of = { 0 }, found;
	uint64_t object, second;
	cudaArray_t array;
	void *memory;
	size_t width;

	OK(cudaMallocArray(&array, &pairs, WIDTH, HEIGHT, SURFACES));
	of.res.array = array;
	OK(cudaCreateTextureObject(&object, &of, &how, &as));
	OK(cudaGetTextureObjectResourceDesc(&found, object));
	IS(found.kind == ARRAYS && found.res.array == array && found.flags == 0);
	OK(cudaGetTextureObjectTextureDesc(&how_found, object));
	IS(memcmp(&how_found, &how, sizeof(how)) == 0);
	OK(cudaGetTextureObjectResourceViewDesc(&as_found, object));
	IS(as_found.format == 0x17 && as_found.size[1] == HEIGHT);
	how.read = 1;
	how.no_optimization = 1;
	OK(cudaCreateTextureObject(&second, &of, &how, NULL));
	OK(cudaGetTextureObjectTextureDesc(&how_found, second));
	IS(memcmp(&how_found, &how, sizeof(how)) == 0);
	GIVES(cudaErrorInvalidValue, cudaGetTextureObjectResourceViewDesc(&as_found, second));
	OK(cudaDestroyTextureObject(second));
	GIVES(cudaErrorInvalidValue, cudaDestroyTextureObject(second));
	OK(cudaDestroyTextureObject(0));

	OK(cudaMalloc(&memory, 4096));
	memset(&of, 0, sizeof(of));
	of.kind = LINEAR;
	of.res.linear.at = memory;
	of.res.linear.of = bytes;
	of.res.linear.bytes = 4096;
	OK(cudaCreateTextureObject(&second, &of, &how, NULL));
	OK(cudaGetTextureObjectResourceDesc(&found, second));
	IS(found.kind == of.kind && memcmp(&found.res, &of.res, sizeof(of.res)) == 0);
	OK(cudaDestroyTextureObject(second));
	of.res.linear.bytes = 4097;
	GIVES(cudaErrorInvalidValue, cudaCreateTextureObject(&second, &of, &how, NULL));
	of.res.linear.of.w = 0;
	GIVES(cudaErrorInvalidChannelDescriptor, cudaCreateTextureObject(&second, &of, &how, NULL));
	memset(&of, 0, sizeof(of));
	of.kind = PITCHED;
	of.res.rows.at = memory;
	of.res.rows.of = bytes;
	of.res.rows.width = 32;
	of.res.rows.height = 8;
	of.res.rows.pitch = 512;
	OK(cudaCreateTextureObject(&second, &of, &how, NULL));
	OK(cudaGetTextureObjectResourceDesc(&found, second));
	IS(found.kind == of.kind && memcmp(&found.res, &of.res, sizeof(of.res)) == 0);
	OK(cudaDestroyTextureObject(second));
	GIVES(cudaErrorInvalidValue, cudaCreateTextureObject(&second, NULL, &how, NULL));
	GIVES(cudaErrorInvalidValue, cudaCreateTextureObject(&second, &of, NULL, NULL));
	GIVES(cudaErrorInvalidValue, cudaCreateTextureObject(NULL, &of, &how, NULL));

	memset(&of, 0, sizeof(of));
	of.res.array = array;
	OK(cudaCreateSurfaceObject(&second, &of));
	OK(cudaGetSurfaceObjectResourceDesc(&found, second));
	IS(found.res.array == array);
	OK(cudaDestroySurfaceObject(second));
	GIVES(cudaErrorInvalidValue, cudaDestroySurfaceObject(second));
	OK(cudaDestroySurfaceObject(0));
	GIVES(cudaErrorInvalidValue, cudaCreateSurfaceObject(&second, NULL));
	OK(cudaDeviceGetTexture1DLinearMaxWidth(&width, &bytes, 0));
	IS(width == (1u << 31) / 4);
	GIVES(cudaErrorInvalidDevice, cudaDeviceGetTexture1DLinearMaxWidth(&width, &bytes, 5));
	OK(cudaDestroyTextureObject(object));
	OK(cudaFreeArray(array));
	OK(cudaFree(memory));
}

int main(void)
{
	flat_arrays();
	deep_arrays();
	levels();
	textures();
	OK(cudaDeviceReset());
	printf("%d failures\n", failures);
	return failures != 0;
}
