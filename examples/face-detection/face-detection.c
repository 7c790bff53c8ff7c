/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Finds faces: an integral image and a cascade of Haar-like features, both on
 * the device, with windows of many sizes.
 *
 *     face-detection [--out FILE] [WIDTH [HEIGHT]] [cpu|device]      (default: 267 189)
 *
 * The scene is drawn from integers, with faces in known places. All arithmetic
 * is in integers; every window's score is compared with the CPU's, unless only
 * one of the two is to find the faces. The output
 * is the scene as a PGM with a frame around every face that was found.
 */
#include "cascade.h"
#include "image.h"

#define MAX_FACES 64
#define MAX_FOUND 4096
#define MAX_SIZES 32
/* Work-items of a group. */
#define GROUP 64

static const char *source =
	"typedef struct { int x, y, width, height, weight; } rect;\n"
	"typedef struct { rect rects[3]; int threshold; } haar;\n"
	"\n"
	"kernel void sum_rows(global const uchar *pixels, int width, global uint *integral)\n"
	"{\n"
	"    size_t y = get_global_id(0), stride = width + 1;\n"
	"    uint sum = 0;\n"
	"    integral[(y + 1) * stride] = 0;\n"
	"    for (int x = 0; x < width; x++) {\n"
	"        sum += pixels[y * width + x];\n"
	"        integral[(y + 1) * stride + x + 1] = sum;\n"
	"    }\n"
	"}\n"
	"\n"
	"kernel void sum_columns(int width, int height, global uint *integral)\n"
	"{\n"
	"    size_t x = get_global_id(0), stride = width + 1;\n"
	"    uint sum = 0;\n"
	"    integral[x] = 0;\n"
	"    for (int y = 1; y <= height; y++) {\n"
	"        sum += integral[y * stride + x];\n"
	"        integral[y * stride + x] = sum;\n"
	"    }\n"
	"}\n"
	"\n"
	"int mean(global const uint *integral, int stride, int x, int y, int window,\n"
	"         constant rect *r)\n"
	"{\n"
	"    int left = x + r->x * window / 24, right = x + (r->x + r->width) * window / 24;\n"
	"    int top = y + r->y * window / 24, bottom = y + (r->y + r->height) * window / 24;\n"
	"    uint sum = integral[bottom * stride + right] - integral[bottom * stride + left] -\n"
	"               integral[top * stride + right] + integral[top * stride + left];\n"
	"    return (int)(16 * sum / (uint)((right - left) * (bottom - top)));\n"
	"}\n"
	"\n"
	"kernel void detect(constant haar *cascade, int features, global const uint *integral,\n"
	"                   int stride, int window, int step, int columns, int windows,\n"
	"                   int first, global int *scores)\n"
	"{\n"
	"    int index = get_global_id(0), score = 1;\n"
	"    int column = index % columns, row = index / columns;\n"
	"    if (index >= windows)\n"
	"        return;\n"
	"    for (int i = 0; i < features && score > 0; i++) {\n"
	"        int value = -16 * cascade[i].threshold;\n"
	"        for (int j = 0; j < 3; j++)\n"
	"            if (cascade[i].rects[j].weight != 0)\n"
	"                value += cascade[i].rects[j].weight *\n"
	"                         mean(integral, stride, column * step, row * step, window,\n"
	"                              &cascade[i].rects[j]);\n"
	"        score = value < 0 ? 0 : score + value;\n"
	"    }\n"
	"    scores[first + index] = score;\n"
	"}\n";

/* Windows of one size: how they lie, and where their scores begin. */
struct size {
	int window, step, columns, rows, first;
};

struct plan {
	struct size sizes[MAX_SIZES];
	int count, windows;
};

static struct plan plan_for(const struct image *image)
{
	struct plan plan = { .count = 0 };
	int least = image->width < image->height ? image->width : image->height;

	for (int window = UNITS; window <= least && plan.count < MAX_SIZES;
	     window = window * 5 / 4) {
		struct size *size = &plan.sizes[plan.count++];

		size->window = window;
		size->step = window / UNITS;
		size->columns = (image->width - window) / size->step + 1;
		size->rows = (image->height - window) / size->step + 1;
		size->first = plan.windows;
		plan.windows += size->columns * size->rows;
	}
	return plan;
}

static void integrate_on_device(struct device *d, cl_program program,
				const struct image *image, cl_mem integral)
{
	size_t rows = (size_t)image->height, columns = (size_t)image->width + 1;
	cl_mem pixels = buffer(d, CL_MEM_READ_ONLY, rows * (size_t)image->width, image->pixels);
	cl_kernel by_rows = kernel_of(program, "sum_rows");
	cl_kernel by_columns = kernel_of(program, "sum_columns");

	argument(by_rows, 0, sizeof(pixels), &pixels);
	argument(by_rows, 1, sizeof(image->width), &image->width);
	argument(by_rows, 2, sizeof(integral), &integral);
	run(d, by_rows, 1, &rows, NULL);
	argument(by_columns, 0, sizeof(image->width), &image->width);
	argument(by_columns, 1, sizeof(image->height), &image->height);
	argument(by_columns, 2, sizeof(integral), &integral);
	run(d, by_columns, 1, &columns, NULL);
	clReleaseKernel(by_rows);
	clReleaseKernel(by_columns);
	clReleaseMemObject(pixels);
}

static void detect_on_device(const struct image *image, const struct plan *plan, int32_t *scores)
{
	size_t area = (size_t)(image->width + 1) * (size_t)(image->height + 1);
	size_t bytes = (size_t)plan->windows * sizeof(*scores);
	struct haar features[FEATURES];
	cl_int count = FEATURES, stride = image->width + 1;
	struct device d;
	cl_program program;
	cl_kernel detect;
	cl_mem integral, haar, out;

	memcpy(features, cascade, sizeof(features));
	device_open(&d);
	program = build(&d, source);
	detect = kernel_of(program, "detect");
	integral = buffer(&d, CL_MEM_READ_WRITE, area * sizeof(cl_uint), NULL);
	haar = buffer(&d, CL_MEM_READ_ONLY, sizeof(features), features);
	out = buffer(&d, CL_MEM_WRITE_ONLY, bytes, NULL);
	integrate_on_device(&d, program, image, integral);
	argument(detect, 0, sizeof(haar), &haar);
	argument(detect, 1, sizeof(count), &count);
	argument(detect, 2, sizeof(integral), &integral);
	argument(detect, 3, sizeof(stride), &stride);
	argument(detect, 9, sizeof(out), &out);
	for (int i = 0; i < plan->count; i++) {
		const struct size *size = &plan->sizes[i];
		cl_int windows = size->columns * size->rows;
		size_t local = GROUP, global = ((size_t)windows + GROUP - 1) / GROUP * GROUP;

		argument(detect, 4, sizeof(size->window), &size->window);
		argument(detect, 5, sizeof(size->step), &size->step);
		argument(detect, 6, sizeof(size->columns), &size->columns);
		argument(detect, 7, sizeof(windows), &windows);
		argument(detect, 8, sizeof(size->first), &size->first);
		run(&d, detect, 1, &global, &local);
	}
	read_back(&d, out, bytes, scores);
	printf("face-detection: %dx%d, %d windows of %d sizes on %s\n", image->width,
	       image->height, plan->windows, plan->count, d.name);
	clReleaseMemObject(integral);
	clReleaseMemObject(haar);
	clReleaseMemObject(out);
	clReleaseKernel(detect);
	clReleaseProgram(program);
	device_close(&d);
}

static uint32_t *integrate_here(const struct image *image)
{
	size_t stride = (size_t)image->width + 1;
	uint32_t *integral = allocate(stride * (size_t)(image->height + 1) * sizeof(*integral));

	for (size_t y = 0; y < (size_t)image->height; y++) {
		uint32_t row = 0;

		for (size_t x = 0; x + 1 < stride; x++) {
			row += image->pixels[y * (stride - 1) + x];
			integral[(y + 1) * stride + x + 1] = integral[y * stride + x + 1] + row;
		}
	}
	return integral;
}

static int32_t mean_here(const uint32_t *integral, int stride, int x, int y, int window,
			 const struct rect *r)
{
	int left = x + r->x * window / UNITS, right = x + (r->x + r->width) * window / UNITS;
	int top = y + r->y * window / UNITS, bottom = y + (r->y + r->height) * window / UNITS;
	uint32_t sum = integral[bottom * stride + right] - integral[bottom * stride + left] -
		       integral[top * stride + right] + integral[top * stride + left];

	return (int32_t)(16 * sum / (uint32_t)((right - left) * (bottom - top)));
}

static int32_t score_here(const uint32_t *integral, int stride, int x, int y, int window)
{
	int32_t score = 1;

	for (int i = 0; i < FEATURES; i++) {
		int32_t value = -16 * cascade[i].threshold;

		for (int j = 0; j < 3; j++)
			if (cascade[i].rects[j].weight != 0)
				value += cascade[i].rects[j].weight *
					 mean_here(integral, stride, x, y, window,
						   &cascade[i].rects[j]);
		if (value < 0)
			return 0;
		score += value;
	}
	return score;
}

static void detect_here(const struct image *image, const struct plan *plan, int32_t *scores)
{
	uint32_t *integral = integrate_here(image);

	for (int i = 0; i < plan->count; i++) {
		const struct size *size = &plan->sizes[i];

		for (int row = 0; row < size->rows; row++)
			for (int column = 0; column < size->columns; column++)
				scores[size->first + row * size->columns + column] =
					score_here(integral, image->width + 1,
						   column * size->step, row * size->step,
						   size->window);
	}
	free(integral);
}

/* How many windows have another score than here. */
static int differences(const struct image *image, const struct plan *plan, const int32_t *scores)
{
	int32_t *here = allocate((size_t)plan->windows * sizeof(*here));
	int wrong = 0;

	detect_here(image, plan, here);
	for (int i = 0; i < plan->windows; i++)
		wrong += scores[i] != here[i];
	printf("face-detection: %d windows have another score than on the CPU\n", wrong);
	free(here);
	return wrong;
}

static int shared_side(int a, int a_size, int b, int b_size)
{
	int begin = a > b ? a : b, end = a + a_size < b + b_size ? a + a_size : b + b_size;

	return end > begin ? end - begin : 0;
}

/* What two squares have in common, in percent of both together. */
static int64_t overlap(struct place a, struct place b)
{
	int64_t common = (int64_t)shared_side(a.x, a.size, b.x, b.size) *
			 shared_side(a.y, a.size, b.y, b.size);
	int64_t both = (int64_t)a.size * a.size + (int64_t)b.size * b.size - common;

	return 100 * common / both;
}

struct found {
	struct place at;
	int32_t score;
};

static int by_score(const void *left, const void *right)
{
	const struct found *a = left, *b = right;

	if (a->score != b->score)
		return a->score < b->score ? 1 : -1;
	if (a->at.size != b->at.size)
		return a->at.size < b->at.size ? 1 : -1;
	return a->at.y != b->at.y ? a->at.y - b->at.y : a->at.x - b->at.x;
}

/* The best of the windows that lie over each other. */
static int best(const struct plan *plan, const int32_t *scores, struct found *all)
{
	int count = 0, kept = 0;

	for (int i = 0; i < plan->count; i++)
		for (int w = 0; w < plan->sizes[i].columns * plan->sizes[i].rows; w++) {
			const struct size *size = &plan->sizes[i];
			struct place at = { w % size->columns * size->step,
					    w / size->columns * size->step, size->window };
			struct found found = { at, scores[size->first + w] };

			if (found.score > 0 && count < MAX_FOUND)
				all[count++] = found;
		}
	qsort(all, (size_t)count, sizeof(*all), by_score);
	for (int i = 0; i < count; i++) {
		int is_new = 1;

		for (int j = 0; j < kept; j++)
			is_new &= overlap(all[i].at, all[j].at) < 10;
		if (is_new)
			all[kept++] = all[i];
	}
	return kept;
}

/* Whether each face was found, and nothing else. */
static int finds_the_faces(const struct place *faces, int face_count, const struct found *found,
			   int found_count)
{
	int right = 0;

	for (int i = 0; i < found_count; i++)
		for (int j = 0; j < face_count; j++)
			right += overlap(found[i].at, faces[j]) >= 50;
	printf("face-detection: %d of %d faces found, %d other things taken for faces\n", right,
	       face_count, found_count - right);
	return right == face_count && found_count == face_count;
}

/* Where the faces are found, which may be the last argument. */
static const char *place_option(int *argc, char **argv)
{
	const char *last = argv[*argc - 1];

	if (*argc < 2 || (strcmp(last, "cpu") && strcmp(last, "device")))
		return "both";
	--*argc;
	return last;
}

int main(int argc, char **argv)
{
	const char *out = output_option(&argc, argv);
	const char *where = place_option(&argc, argv);
	int width = (int)number(argc, argv, 1, 96, 4096, 267);
	int height = (int)number(argc, argv, 2, 96, 4096, argc > 1 ? width * 7 / 10 : 189);
	struct image image = image_new(width, height);
	struct place faces[MAX_FACES];
	int face_count = scene(&image, faces, MAX_FACES);
	struct plan plan = plan_for(&image);
	int32_t *scores = allocate((size_t)plan.windows * sizeof(*scores));
	struct found *found = allocate(MAX_FOUND * sizeof(*found));
	int found_count, wrong = 0, is_right;
	unsigned char *file;
	size_t bytes;

	if (strcmp(where, "cpu"))
		detect_on_device(&image, &plan, scores);
	else
		detect_here(&image, &plan, scores);
	if (!strcmp(where, "both"))
		wrong = differences(&image, &plan, scores);
	found_count = best(&plan, scores, found);
	for (int i = 0; i < found_count; i++) {
		struct place at = found[i].at;

		printf("face-detection: face at %d,%d, %d pixels wide, score %" PRId32 "\n", at.x,
		       at.y, at.size, found[i].score);
		frame(&image, at);
	}
	is_right = finds_the_faces(faces, face_count, found, found_count) && wrong == 0;
	file = pgm(&image, &bytes);
	write_output(out, file, bytes);
	return verdict("face-detection", is_right, file, bytes);
}
