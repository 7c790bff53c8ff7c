/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Bodies that attract each other, all pairs, step by step.
 *
 *     n-body [--out FILE] [BODIES [STEPS]]      (default: 256 bodies, 8 steps)
 *
 * Positions, velocities and masses are integers, and so is every operation:
 * the result is the same on every device, to the bit. The output is the last
 * positions and velocities: eight 32-bit integers a body.
 */
#include "../common/example.h"

struct body {
	int32_t position[3], mass, velocity[3], unused;
};

/*
 * Space is a cube of 2^20 units around the origin. A body at distance r with
 * mass m pulls with m * 2^36 / (r^2 + 2^16) along the unit vector; a step adds
 * the sum's 2^-8 to the velocity, and the velocity's 2^-4 to the position.
 */
static const char *source =
	"typedef struct { int position[3], mass, velocity[3], unused; } body;\n"
	"\n"
	"uint root(ulong number)\n"
	"{\n"
	"    ulong result = 0, bit = 1UL << 42;\n"
	"    for (; bit; bit >>= 2) {\n"
	"        if (number >= result + bit) {\n"
	"            number -= result + bit;\n"
	"            result = (result >> 1) + bit;\n"
	"        } else {\n"
	"            result >>= 1;\n"
	"        }\n"
	"    }\n"
	"    return (uint)result;\n"
	"}\n"
	"\n"
	"kernel void advance(global const body *now, uint count, global body *next)\n"
	"{\n"
	"    size_t i = get_global_id(0);\n"
	"    body me = now[i];\n"
	"    long sum[3] = { 0, 0, 0 };\n"
	"    for (uint j = 0; j < count; j++) {\n"
	"        long apart[3];\n"
	"        ulong square = 1UL << 16;\n"
	"        for (int axis = 0; axis < 3; axis++) {\n"
	"            apart[axis] = (long)now[j].position[axis] - me.position[axis];\n"
	"            square += (ulong)(apart[axis] * apart[axis]);\n"
	"        }\n"
	"        long pull = (long)(((ulong)now[j].mass << 36) / square);\n"
	"        long distance = root(square);\n"
	"        for (int axis = 0; axis < 3; axis++)\n"
	"            sum[axis] += pull * apart[axis] / distance;\n"
	"    }\n"
	"    for (int axis = 0; axis < 3; axis++) {\n"
	"        me.velocity[axis] += (int)(sum[axis] / 256);\n"
	"        me.position[axis] += me.velocity[axis] / 16;\n"
	"    }\n"
	"    next[i] = me;\n"
	"}\n";

static uint32_t root(uint64_t number)
{
	uint64_t result = 0;

	for (uint64_t bit = UINT64_C(1) << 42; bit; bit >>= 2) {
		if (number >= result + bit) {
			number -= result + bit;
			result = (result >> 1) + bit;
		} else {
			result >>= 1;
		}
	}
	return (uint32_t)result;
}

static void pull(const struct body *me, const struct body *other, int64_t *sum)
{
	int64_t apart[3], strength, distance;
	uint64_t square = 1 << 16;

	for (int axis = 0; axis < 3; axis++) {
		apart[axis] = (int64_t)other->position[axis] - me->position[axis];
		square += (uint64_t)(apart[axis] * apart[axis]);
	}
	strength = (int64_t)(((uint64_t)other->mass << 36) / square);
	distance = root(square);
	for (int axis = 0; axis < 3; axis++)
		sum[axis] += strength * apart[axis] / distance;
}

static void step_here(const struct body *now, size_t count, struct body *next)
{
	for (size_t i = 0; i < count; i++) {
		int64_t sum[3] = { 0, 0, 0 };

		next[i] = now[i];
		for (size_t j = 0; j < count; j++)
			pull(&now[i], &now[j], sum);
		for (int axis = 0; axis < 3; axis++) {
			next[i].velocity[axis] += (int32_t)(sum[axis] / 256);
			next[i].position[axis] += next[i].velocity[axis] / 16;
		}
	}
}

static void run_on_device(struct body *bodies, size_t count, long steps)
{
	size_t bytes = count * sizeof(*bodies);
	cl_uint items = (cl_uint)count;
	struct device d;
	cl_program program;
	cl_kernel step;
	cl_mem both[2];
	int now = 0;

	device_open(&d);
	program = build(&d, source);
	step = kernel_of(program, "advance");
	both[0] = buffer(&d, CL_MEM_READ_WRITE, bytes, bodies);
	both[1] = buffer(&d, CL_MEM_READ_WRITE, bytes, NULL);
	for (long i = 0; i < steps; i++) {
		argument(step, 0, sizeof(both[now]), &both[now]);
		argument(step, 1, sizeof(items), &items);
		argument(step, 2, sizeof(both[!now]), &both[!now]);
		run(&d, step, 1, &count, NULL);
		now = !now;
	}
	read_back(&d, both[now], bytes, bodies);
	printf("n-body: %zu bodies, %ld steps on %s\n", count, steps, d.name);
	clReleaseMemObject(both[0]);
	clReleaseMemObject(both[1]);
	clReleaseKernel(step);
	clReleaseProgram(program);
	device_close(&d);
}

static void make_bodies(struct body *bodies, size_t count)
{
	uint32_t state = 4;

	for (size_t i = 0; i < count; i++) {
		bodies[i].mass = 1 + (int32_t)(next_random(&state) % 64);
		for (int axis = 0; axis < 3; axis++) {
			bodies[i].position[axis] =
				(int32_t)(next_random(&state) % (1 << 20)) - (1 << 19);
			bodies[i].velocity[axis] = (int32_t)(next_random(&state) % 4096) - 2048;
		}
	}
}

int main(int argc, char **argv)
{
	const char *out = output_option(&argc, argv);
	size_t count = (size_t)number(argc, argv, 1, 1, 1 << 16, 256);
	long steps = number(argc, argv, 2, 1, 1000, 8);
	size_t bytes = count * sizeof(struct body);
	struct body *bodies = allocate(bytes), *here[2] = { allocate(bytes), allocate(bytes) };

	make_bodies(bodies, count);
	memcpy(here[0], bodies, bytes);
	run_on_device(bodies, count, steps);
	for (long i = 0; i < steps; i++)
		step_here(here[i % 2], count, here[(i + 1) % 2]);
	write_output(out, bodies, bytes);
	return verdict("n-body", memcmp(bodies, here[steps % 2], bytes) == 0, bodies, bytes);
}
