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

int main(void)
{
	rectangles();
	boxes();
	printf("%d failures\n", failures);
	return failures != 0;
}
