/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Products of square matrices of doubles: the inputs of each go to the device, are
 * multiplied, and the product comes back.
 *
 *     matmul [--time] [--pinned] [PRODUCTS [SIDE]]      (default: 300 of 320x320)
 *
 * Entries are small integers, so that every sum is exact. Products take turns in a few
 * inputs and outputs; the last of each output is checked by Freivalds' test (1977):
 * A(Br) = Cr for a random vector r. A wrong product passes with a probability of at most
 * 2^-16. With --time, memory is allocated before.
 */
#include "example.h"

/* Threads of a block are a square of so many. */
enum { TILE = 16 };
/* Inputs and outputs. */
enum { TURNS = 4 };

__global__ void __launch_bounds__(TILE *TILE)
	multiply(const double *a, const double *b, double *c, int side)
{
	__shared__ double of_a[TILE][TILE], of_b[TILE][TILE];
	int x = threadIdx.x, y = threadIdx.y;
	int column = (int)blockIdx.x * TILE + x, row = (int)blockIdx.y * TILE + y;
	double sum = 0;

	for (int from = 0; from < side; from += TILE) {
		of_a[y][x] = row < side && from + x < side ? a[row * side + from + x] : 0;
		of_b[y][x] = column < side && from + y < side ? b[(from + y) * side + column] : 0;
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += of_a[y][k] * of_b[k][x];
		__syncthreads();
	}
	if (row < side && column < side)
		c[row * side + column] = sum;
}

struct matrices {
	double *a, *b, *c;
};

static matrices on_device;
static matrices turns[TURNS];

static void multiply_on_device(int products, int side)
{
	size_t entries = (size_t)side * side;
	dim3 block(TILE, TILE), grid(blocks(side, TILE), blocks(side, TILE));

	for (int i = 0; i < products; i++) {
		matrices *turn = &turns[i % TURNS];

		to_device(on_device.a, turn->a, entries);
		to_device(on_device.b, turn->b, entries);
		multiply<<<grid, block>>>(on_device.a, on_device.b, on_device.c, side);
		launched("multiply");
		from_device(turn->c, on_device.c, entries);
	}
}

static void times(const double *matrix, const double *vector, double *out, int side)
{
	for (int row = 0; row < side; row++) {
		out[row] = 0;
		for (int k = 0; k < side; k++)
			out[row] += matrix[row * side + k] * vector[k];
	}
}

static int is_product(const matrices *turn, int side, uint32_t *state)
{
	double *r = allocate(4 * side * sizeof(double));
	double *br = r + side, *abr = br + side, *cr = abr + side;
	int is_right;

	for (int i = 0; i < side; i++)
		r[i] = next_random(state) >> 8;
	times(turn->b, r, br, side);
	times(turn->a, br, abr, side);
	times(turn->c, r, cr, side);
	is_right = memcmp(abr, cr, side * sizeof(*cr)) == 0;
	free(r);
	return is_right;
}

int main(int argc, char **argv)
{
	example_begin("matmul", &argc, argv);

	int products = number(argc, argv, 1, 1, 1000000, 300);
	int side = number(argc, argv, 2, 1, 4096, 320), used = products < TURNS ? products : TURNS;
	size_t entries = (size_t)side * side;
	uint32_t state = 1;
	uint64_t sums[TURNS];
	int is_right = 1;

	for (int i = 0; i < used; i++) {
		turns[i].a = host_memory<double>(entries);
		turns[i].b = host_memory<double>(entries);
		turns[i].c = host_memory<double>(entries);
		for (size_t k = 0; k < entries; k++) {
			turns[i].a[k] = (int)(next_random(&state) >> 12 & 15) - 8;
			turns[i].b[k] = (int)(next_random(&state) >> 12 & 15) - 8;
		}
	}
	on_device.a = device_memory<double>(entries);
	on_device.b = device_memory<double>(entries);
	on_device.c = device_memory<double>(entries);
	/* The first of each output warm up. */
	multiply_on_device(repeats > 0 ? used : products, side);
	for_the_clock([&] { multiply_on_device(products, side); });
	CHECK(cudaFree(on_device.a));
	CHECK(cudaFree(on_device.b));
	CHECK(cudaFree(on_device.c));
	for (int i = 0; i < used; i++) {
		is_right &= is_product(&turns[i], side, &state);
		sums[i] = checksum(turns[i].c, entries * sizeof(double));
	}
	printf("matmul: %d products of %dx%d, of the last the first entry is %g, the last %g\n",
	       products, side, side, turns[used - 1].c[0], turns[used - 1].c[entries - 1]);
	for (int i = 0; i < used; i++) {
		host_free(turns[i].a);
		host_free(turns[i].b);
		host_free(turns[i].c);
	}
	return verdict(is_right, sums, used * sizeof(*sums));
}
