/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Finds faces: an integral image and a cascade of Haar-like features, with windows of many
 * sizes. The scene, and the cascade, are those of ../face-detection.
 *
 *     face-detection [--time] [--pinned] [WIDTH [HEIGHT]]      (default: 267 189)
 *
 * All arithmetic is in integers; every window's score is compared with the CPU's. --time
 * prints what allocations, copies and kernels took, too: kernels by the device's events, the
 * others by the clock.
 */
#include "example.h"
#include "../face-detection/cascade.h"
#include "../face-detection/image.h"

enum { MAX_FACES = 64, MAX_SIZES = 32, BLOCK = 64 };

__constant__ haar features[FEATURES];

/* Windows of one size: how they lie, and where their scores begin. */
struct window_size {
	int window, step, columns, rows, first;
};

struct plan {
	window_size sizes[MAX_SIZES];
	int count, windows;
};

static plan plan_for(const image *of)
{
	plan plan = {};
	int least = of->width < of->height ? of->width : of->height;

	for (int window = UNITS; window <= least && plan.count < MAX_SIZES; window = window * 5 / 4) {
		window_size *size = &plan.sizes[plan.count++];

		size->window = window;
		size->step = window / UNITS;
		size->columns = (of->width - window) / size->step + 1;
		size->rows = (of->height - window) / size->step + 1;
		size->first = plan.windows;
		plan.windows += size->columns * size->rows;
	}
	return plan;
}

__global__ void sum_rows(const unsigned char *pixels, int width, int height, uint32_t *integral)
{
	int y = (int)(blockIdx.x * blockDim.x + threadIdx.x), stride = width + 1;
	uint32_t sum = 0;

	if (y >= height)
		return;
	integral[(y + 1) * stride] = 0;
	for (int x = 0; x < width; x++) {
		sum += pixels[y * width + x];
		integral[(y + 1) * stride + x + 1] = sum;
	}
}

__global__ void sum_columns(int width, int height, uint32_t *integral)
{
	int x = (int)(blockIdx.x * blockDim.x + threadIdx.x), stride = width + 1;
	uint32_t sum = 0;

	if (x >= stride)
		return;
	integral[x] = 0;
	for (int y = 1; y <= height; y++) {
		sum += integral[y * stride + x];
		integral[y * stride + x] = sum;
	}
}

static __host__ __device__ int mean(const uint32_t *integral, int stride, int x, int y, int window,
				    const rect *r)
{
	int left = x + r->x * window / UNITS, right = x + (r->x + r->width) * window / UNITS;
	int top = y + r->y * window / UNITS, bottom = y + (r->y + r->height) * window / UNITS;
	uint32_t sum = integral[bottom * stride + right] - integral[bottom * stride + left] -
		       integral[top * stride + right] + integral[top * stride + left];

	return (int)(16 * sum / (uint32_t)((right - left) * (bottom - top)));
}

static __host__ __device__ int score(const haar *features, const uint32_t *integral, int stride,
				     int x, int y, int window)
{
	int score = 1;

	for (int i = 0; i < FEATURES && score > 0; i++) {
		int value = -16 * features[i].threshold;

		for (int j = 0; j < 3; j++)
			if (features[i].rects[j].weight != 0)
				value += features[i].rects[j].weight *
					 mean(integral, stride, x, y, window, &features[i].rects[j]);
		score = value < 0 ? 0 : score + value;
	}
	return score;
}

__global__ void detect(const uint32_t *integral, int stride, window_size size, int *scores)
{
	int index = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	int column = index % size.columns, row = index / size.columns;

	if (row < size.rows)
		scores[size.first + index] = score(features, integral, stride, column * size.step,
						   row * size.step, size.window);
}

/* In milliseconds. */
struct times {
	double allocations, copies;
	float kernels;
};

static void run_kernels(const image *of, const plan *plan, const unsigned char *pixels,
			uint32_t *integral, int *scores, times *took)
{
	cudaEvent_t begin, end;

	CHECK(cudaEventCreate(&begin));
	CHECK(cudaEventCreate(&end));
	CHECK(cudaEventRecord(begin));
	sum_rows<<<blocks(of->height, BLOCK), BLOCK>>>(pixels, of->width, of->height, integral);
	launched("sum_rows");
	sum_columns<<<blocks(of->width + 1, BLOCK), BLOCK>>>(of->width, of->height, integral);
	launched("sum_columns");
	for (int i = 0; i < plan->count; i++) {
		const window_size *size = &plan->sizes[i];

		detect<<<blocks(size->columns * size->rows, BLOCK), BLOCK>>>(integral, of->width + 1,
									     *size, scores);
		launched("detect");
	}
	CHECK(cudaEventRecord(end));
	CHECK(cudaEventSynchronize(end));
	CHECK(cudaEventElapsedTime(&took->kernels, begin, end));
	CHECK(cudaEventDestroy(begin));
	CHECK(cudaEventDestroy(end));
}

/* Adds the time since then; returns now. */
static int64_t passed(double *milliseconds, int64_t since)
{
	int64_t now = now_ns();

	*milliseconds += (double)(now - since) / 1e6;
	return now;
}

static times detect_on_device(const image *of, const plan *plan, int *scores)
{
	size_t pixel_count = (size_t)of->width * of->height;
	times took = {};
	int64_t at = now_ns();
	unsigned char *pixels = device_memory<unsigned char>(pixel_count);
	uint32_t *integral = device_memory<uint32_t>((size_t)(of->width + 1) * (of->height + 1));
	int *out = device_memory<int>(plan->windows);

	at = passed(&took.allocations, at);
	CHECK(cudaMemcpyToSymbol(features, cascade, sizeof(cascade)));
	to_device(pixels, of->pixels, pixel_count);
	passed(&took.copies, at);
	run_kernels(of, plan, pixels, integral, out, &took);
	at = now_ns();
	from_device(scores, out, plan->windows);
	at = passed(&took.copies, at);
	CHECK(cudaFree(pixels));
	CHECK(cudaFree(integral));
	CHECK(cudaFree(out));
	passed(&took.allocations, at);
	return took;
}

static void detect_here(const image *of, const plan *plan, int *scores)
{
	int stride = of->width + 1;
	uint32_t *integral = allocate((size_t)stride * (of->height + 1) * sizeof(*integral));

	for (int y = 0; y < of->height; y++) {
		uint32_t row = 0;

		for (int x = 0; x < of->width; x++) {
			row += of->pixels[y * of->width + x];
			integral[(y + 1) * stride + x + 1] = integral[y * stride + x + 1] + row;
		}
	}
	for (int i = 0; i < plan->count; i++) {
		const window_size *size = &plan->sizes[i];

		for (int w = 0; w < size->columns * size->rows; w++)
			scores[size->first + w] = score(cascade, integral, stride,
							w % size->columns * size->step,
							w / size->columns * size->step, size->window);
	}
	free(integral);
}

/* How many faces have a window with a score near them. */
static int found(const place *faces, int face_count, const plan *plan, const int *scores)
{
	int count = 0;

	for (int f = 0; f < face_count; f++) {
		int is_found = 0;

		for (int i = 0; i < plan->count; i++) {
			const window_size *size = &plan->sizes[i];
			int far = faces[f].size / 3, bigger = size->window - faces[f].size;

			for (int w = 0; w < size->columns * size->rows; w++) {
				int x = w % size->columns * size->step - faces[f].x;
				int y = w / size->columns * size->step - faces[f].y;

				is_found |= scores[size->first + w] > 0 && x > -far && x < far &&
					    y > -far && y < far && bigger > -far && bigger < far;
			}
		}
		count += is_found;
	}
	return count;
}

int main(int argc, char **argv)
{
	example_begin("face-detection", &argc, argv);

	int width = number(argc, argv, 1, 96, 4096, 267);
	int height = number(argc, argv, 2, 96, 4096, argc > 1 ? width * 7 / 10 : 189);
	image of = {width, height, host_memory<unsigned char>((size_t)width * height)};
	place faces[MAX_FACES];
	int face_count = scene(&of, faces, MAX_FACES), code;
	plan plan = plan_for(&of);
	size_t bytes = plan.windows * sizeof(int);
	int *scores = host_memory<int>(plan.windows), *here = allocate(bytes);
	times took;

	timed([&] { took = detect_on_device(&of, &plan, scores); });
	if (repeats > 0)
		fprintf(stderr, "allocations %.3f ms\ncopies %.3f ms\nkernels %.3f ms\n",
			took.allocations, took.copies, took.kernels);
	detect_here(&of, &plan, here);
	printf("face-detection: %dx%d, %d windows of %d sizes, %d of %d faces found\n", width, height,
	       plan.windows, plan.count, found(faces, face_count, &plan, scores), face_count);
	code = verdict(memcmp(scores, here, bytes) == 0, scores, bytes);
	host_free(of.pixels);
	host_free(scores);
	free(here);
	return code;
}
