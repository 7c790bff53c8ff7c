/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What kernels see through textures and surfaces, as sums over it, which are the same natively. Usage:
 *
 *     textures MODULE
 *
 * MODULE is a file with what nvcc made of kernels.cu. */
#include "common.h"
#include <stdint.h>

struct shape {
	size_t width, height, depth;
	int format;
	unsigned channels, flags;
};

struct shown {
	int kind;
	union {
		void *array;
		struct {
			pointer at;
			int format;
			unsigned channels;
			size_t bytes;
		} line;
		struct {
			pointer at;
			int format;
			unsigned channels;
			size_t width, height, pitch;
		} rows;
		uint64_t words[16];
	} of;
	unsigned flags;
};

struct sampled {
	int modes[3], filter;
	unsigned flags, anisotropy;
	int levels;
	float bias, least, most, border[4];
	int reserved[12];
};

struct side {
	size_t x, y, z, lod;
	int kind;
	const void *host;
	pointer device;
	void *array, *reserved;
	size_t pitch, height;
};

struct copy {
	struct side from, to;
	size_t width, height, depth;
};

/* Of CUDA's driver API, which is documented. */
result cuArray3DCreate_v2(void **array, const struct shape *shape);
result cuArrayDestroy(void *array);
result cuMipmappedArrayCreate(void **array, const struct shape *shape, unsigned levels);
result cuMipmappedArrayGetLevel(void **level, void *array, unsigned number);
result cuMemcpy3D_v2(const struct copy *copy);
result cuTexObjectCreate(uint64_t *object, const struct shown *shown, const struct sampled *sampled, const void *view);
result cuTexObjectDestroy(uint64_t object);
result cuSurfObjectCreate(uint64_t *object, const struct shown *shown);
result cuSurfObjectDestroy(uint64_t object);

enum { ARRAY, MIPMAPPED, LINE, ROWS };
enum { BYTES = 1, WORDS = 3, FLOATS = 0x20 };
enum { LAYERS = 1, SURFACES = 2 };
enum { AS_INTEGER = 1, NORMALIZED = 2 };

#define SIDE 64
#define SLICES 4
/* What the kernels write at most. */
#define SEEN (SIDE * SIDE * SLICES)

static float seen[SEEN];
static unsigned char bytes[SEEN * 4];
static pointer out;

static void fill(void)
{
	unsigned state = 1;

	for (size_t n = 0; n < sizeof(bytes); n++) {
		state = state * 1664525 + 1013904223;
		bytes[n] = state >> 24;
	}
}

/* Bytes as numbers, exact ones: compilers may fuse what they compute here. */
static float *floats(void)
{
	static float all[SEEN];

	for (int n = 0; n < SEEN; n++)
		all[n] = bytes[n] * 0.25f - 20;
	return all;
}

static void said(const char *name, int count)
{
	uint64_t sum = 0xcbf29ce484222325;
	const unsigned char *all = (const unsigned char *)seen;

	NEED(cuMemcpyDtoH_v2(seen, out, count * sizeof(*seen)));
	for (size_t n = 0; n < count * sizeof(*seen); n++)
		sum = (sum ^ all[n]) * 0x100000001b3;
	printf("%s %016llx, the first %g, the last %g\n", name, (unsigned long long)sum, seen[0], seen[count - 1]);
}

static void run(const char *kernel, uint64_t object, int slices)
{
	int side = SIDE;
	void *parameters[] = { &object, &out, &side };

	NEED(cuLaunchKernel(function(kernel), SIDE / 16, SIDE / 16, slices, 16, 16, 1, 0, NULL, parameters, NULL));
}

static void *array_of(struct shape shape, const void *from, size_t element)
{
	size_t height = shape.height ? shape.height : 1, depth = shape.depth ? shape.depth : 1;
	struct copy copy = { 0 };
	void *array;

	NEED(cuArray3DCreate_v2(&array, &shape));
	copy.from.kind = 1;
	copy.from.host = from;
	copy.from.pitch = shape.width * element;
	copy.from.height = height;
	copy.to.kind = 3;
	copy.to.array = array;
	copy.width = shape.width * element;
	copy.height = height;
	copy.depth = depth;
	NEED(cuMemcpy3D_v2(&copy));
	return array;
}

static uint64_t texture(struct shown shown, struct sampled sampled)
{
	uint64_t object;

	NEED(cuTexObjectCreate(&object, &shown, &sampled, NULL));
	return object;
}

static void flat(void)
{
	void *array = array_of((struct shape){ SIDE, SIDE, 0, FLOATS, 1, 0 }, floats(), 4);
	struct shown shown = { .kind = ARRAY, .of.array = array };
	/* Wraps, clamps, mirrors, a border; between elements or not; both read flags, of which floats know none. */
	for (int mode = 0; mode < 4; mode++) {
		for (int filter = 0; filter < 2; filter++) {
			struct sampled how = { .modes = { mode, mode, mode }, .filter = filter, .flags = NORMALIZED, .border = { 7 } };
			uint64_t object = texture(shown, how);
			char name[32];

			snprintf(name, sizeof(name), "floats %d %d", mode, filter);
			run("sampled", object, 1);
			said(name, SIDE * SIDE);
			NEED(cuTexObjectDestroy(object));
		}
	}
	struct sampled plain = { .modes = { 1, 1, 1 }, .flags = NORMALIZED | AS_INTEGER };
	uint64_t object = texture(shown, plain);

	run("sampled", object, 1);
	said("floats as they are", SIDE * SIDE);
	NEED(cuTexObjectDestroy(object));
	NEED(cuArrayDestroy(array));
}

static void deep(void)
{
	void *layers = array_of((struct shape){ SIDE, SIDE, SLICES, BYTES, 4, LAYERS }, bytes, 4);
	void *box = array_of((struct shape){ SIDE, SIDE, SLICES, FLOATS, 1, 0 }, floats(), 4);
	struct sampled how = { .modes = { 1, 1, 1 }, .filter = 1 };
	uint64_t object = texture((struct shown){ .kind = ARRAY, .of.array = layers }, how);

	run("layered", object, SLICES);
	said("layers", SEEN);
	NEED(cuTexObjectDestroy(object));
	object = texture((struct shown){ .kind = ARRAY, .of.array = box }, how);
	run("boxed", object, SLICES);
	said("box", SEEN);
	NEED(cuTexObjectDestroy(object));
	NEED(cuArrayDestroy(layers));
	NEED(cuArrayDestroy(box));
}

static void levels(void)
{
	struct shape shape = { SIDE, SIDE, 0, BYTES, 4, 0 };
	struct sampled how = { .modes = { 1, 1, 1 }, .filter = 1, .flags = NORMALIZED, .levels = 1, .most = 10 };
	void *array;

	NEED(cuMipmappedArrayCreate(&array, &shape, 5));
	for (unsigned level = 0; level < 5; level++) {
		size_t side = SIDE >> level;
		struct copy copy = { 0 };

		NEED(cuMipmappedArrayGetLevel(&copy.to.array, array, level));
		copy.from.kind = 1;
		copy.from.host = bytes + level * 1000;
		copy.from.pitch = side * 4;
		copy.from.height = side;
		copy.to.kind = 3;
		copy.width = side * 4;
		copy.height = side;
		copy.depth = 1;
		NEED(cuMemcpy3D_v2(&copy));
	}
	uint64_t object = texture((struct shown){ .kind = MIPMAPPED, .of.array = array }, how);

	run("levels", object, 1);
	said("levels", SIDE * SIDE);
}

static void linear(void)
{
	pointer at = on_device(sizeof(bytes));
	struct sampled how = { .modes = { 1, 1, 1 } };
	struct shown line = { .kind = LINE }, rows = { .kind = ROWS };
	uint64_t object;

	NEED(cuMemcpyHtoD_v2(at, bytes, sizeof(bytes)));
	line.of.line.at = at;
	line.of.line.format = BYTES;
	line.of.line.channels = 4;
	line.of.line.bytes = SIDE * SIDE * 4;
	object = texture(line, how);
	run("line", object, 1);
	said("line", SIDE * SIDE);
	rows.of.rows.at = at;
	rows.of.rows.format = FLOATS;
	rows.of.rows.channels = 1;
	rows.of.rows.width = SIDE - 3;
	rows.of.rows.height = SIDE - 5;
	rows.of.rows.pitch = SIDE * 4;
	NEED(cuMemcpyHtoD_v2(at, floats(), SIDE * SIDE * 4));
	how.filter = 1;
	object = texture(rows, how);
	run("unnormalized", object, 1);
	said("rows", SIDE * SIDE);
}

static void surface(void)
{
	void *array = array_of((struct shape){ SIDE, SIDE, 0, WORDS, 1, SURFACES }, bytes, 4);
	struct shown shown = { .kind = ARRAY, .of.array = array };
	struct sampled how = { .modes = { 1, 1, 1 }, .flags = AS_INTEGER };
	uint64_t object, after;

	NEED(cuSurfObjectCreate(&object, &shown));
	run("surface", object, 1);
	said("surface", SIDE * SIDE);
	NEED(cuSurfObjectDestroy(object));
	/* What the kernel wrote through the surface, a texture shows. */
	after = texture(shown, how);
	run("integers", after, 1);
	said("integers", SIDE * SIDE);
}

int main(int argc, char **argv)
{
	double from;

	if (argc != 2 || !begin(argv[1])) {
		fprintf(stderr, "usage: textures MODULE\n");
		return 2;
	}
	fill();
	out = on_device(sizeof(seen));
	from = now();
	flat();
	deep();
	levels();
	linear();
	surface();
	printf("time %.3f ms\n", (now() - from) * 1e3);
	return 0;
}
