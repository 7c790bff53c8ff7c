/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Bodies that attract each other, all pairs, step by step, in doubles. Each body's sum has
 * the same order on the CPU, and square roots and quotients are rounded alike: positions
 * equal the CPU's to the bit.
 *
 *     n-body [--time] [--pinned] [BODIES [STEPS]]      (default: 512 4)
 */
#include "example.h"
#include <math.h>

enum { BLOCK = 128 };
#define STEP 0.01
#define SOFTENING 0.05

struct body {
	double x, y, z, mass, vx, vy, vz, unused;
};

/* What one body does to another's acceleration. */
static __host__ __device__ void attract(const body *of, double x, double y, double z, double mass,
					double *sum)
{
	double dx = x - of->x, dy = y - of->y, dz = z - of->z;
	double square = dx * dx + dy * dy + dz * dz + SOFTENING;
	double pull = mass / (square * sqrt(square));

	sum[0] += dx * pull;
	sum[1] += dy * pull;
	sum[2] += dz * pull;
}

static __host__ __device__ body moved(body of, const double *sum)
{
	of.vx += sum[0] * STEP;
	of.vy += sum[1] * STEP;
	of.vz += sum[2] * STEP;
	of.x += of.vx * STEP;
	of.y += of.vy * STEP;
	of.z += of.vz * STEP;
	return of;
}

__global__ void step(const body *from, body *to, int count)
{
	__shared__ double tile[BLOCK][4];
	int i = (int)(blockIdx.x * BLOCK + threadIdx.x);
	body own = from[i < count ? i : 0];
	double sum[3] = {0, 0, 0};

	for (int first = 0; first < count; first += BLOCK) {
		int other = first + (int)threadIdx.x, here = min(BLOCK, count - first);

		if (other < count) {
			tile[threadIdx.x][0] = from[other].x;
			tile[threadIdx.x][1] = from[other].y;
			tile[threadIdx.x][2] = from[other].z;
			tile[threadIdx.x][3] = from[other].mass;
		}
		__syncthreads();
		for (int k = 0; k < here; k++)
			attract(&own, tile[k][0], tile[k][1], tile[k][2], tile[k][3], sum);
		__syncthreads();
	}
	if (i < count)
		to[i] = moved(own, sum);
}

static void simulate_on_device(const body *begin, body *end, int count, int steps)
{
	body *from = device_memory<body>(count), *to = device_memory<body>(count), *other;

	to_device(from, begin, count);
	for (int i = 0; i < steps; i++) {
		step<<<blocks(count, BLOCK), BLOCK>>>(from, to, count);
		launched("step");
		other = from;
		from = to;
		to = other;
	}
	from_device(end, from, count);
	CHECK(cudaFree(from));
	CHECK(cudaFree(to));
}

static void simulate_here(body *bodies, int count, int steps)
{
	body *next = allocate(count * sizeof(body));

	for (int s = 0; s < steps; s++) {
		for (int i = 0; i < count; i++) {
			double sum[3] = {0, 0, 0};

			for (int k = 0; k < count; k++)
				attract(&bodies[i], bodies[k].x, bodies[k].y, bodies[k].z,
					bodies[k].mass, sum);
			next[i] = moved(bodies[i], sum);
		}
		memcpy(bodies, next, count * sizeof(body));
	}
	free(next);
}

static double coordinate(uint32_t *state)
{
	return (int)(next_random(state) % 2000) / 1000.0 - 1;
}

int main(int argc, char **argv)
{
	example_begin("n-body", &argc, argv);

	int count = number(argc, argv, 1, 1, 1 << 17, 512), steps = number(argc, argv, 2, 1, 10000, 4);
	body *begin = host_memory<body>(count), *end = host_memory<body>(count);
	uint32_t state = 1;
	int is_right, code;

	for (int i = 0; i < count; i++) {
		begin[i].x = coordinate(&state);
		begin[i].y = coordinate(&state);
		begin[i].z = coordinate(&state);
		begin[i].mass = (1 + next_random(&state) % 1000) / 1000.0 / count;
	}
	timed([&] { simulate_on_device(begin, end, count, steps); });
	simulate_here(begin, count, steps);
	is_right = memcmp(begin, end, count * sizeof(body)) == 0;
	printf("n-body: %d bodies, %d steps, the first at %.9f %.9f %.9f\n", count, steps, end[0].x,
	       end[0].y, end[0].z);
	code = verdict(is_right, end, count * sizeof(body));
	host_free(begin);
	host_free(end);
	return code;
}
