/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Grey images: a scene with faces in known places, made from integers; PGM
 * bytes; frames drawn around what was found.
 */
#ifndef IMAGE_H
#define IMAGE_H

#include "../common/example.h"

struct image {
	int width, height;
	unsigned char *pixels;
};

/* A square around a face. */
struct place {
	int x, y, size;
};

static inline struct image image_new(int width, int height)
{
	struct image made = { width, height, allocate((size_t)width * (size_t)height) };

	return made;
}

static inline void put(struct image *image, int x, int y, int level)
{
	if (x >= 0 && y >= 0 && x < image->width && y < image->height)
		image->pixels[(size_t)y * (size_t)image->width + (size_t)x] =
			(unsigned char)(level < 0 ? 0 : level > 255 ? 255 : level);
}

/* A filled ellipse; everything in 256ths of a pixel, the level with noise. */
static inline void ellipse(struct image *image, int64_t cx, int64_t cy, int64_t rx, int64_t ry,
			   int level, uint32_t *state)
{
	for (int64_t y = (cy - ry) / 256; y <= (cy + ry) / 256; y++)
		for (int64_t x = (cx - rx) / 256; x <= (cx + rx) / 256; x++) {
			int64_t dx = x * 256 + 128 - cx, dy = y * 256 + 128 - cy;

			if (dx * dx * ry * ry + dy * dy * rx * rx <= rx * rx * ry * ry)
				put(image, (int)x, (int)y,
				    level + (int)(next_random(state) % 9) - 4);
		}
}

static inline void rectangle(struct image *image, int x, int y, int w, int h, int level,
			     uint32_t *state)
{
	for (int j = y; j < y + h; j++)
		for (int i = x; i < x + w; i++)
			put(image, i, j, level + (int)(next_random(state) % 9) - 4);
}

/* A part of a face: its centre and radii in 100ths of the face's size. */
static inline void feature(struct image *image, struct place at, int x, int y, int rx, int ry,
			   int level, uint32_t *state)
{
	int64_t size = (int64_t)at.size * 256;

	ellipse(image, at.x * 256 + size * x / 100, at.y * 256 + size * y / 100,
		size * rx / 100, size * ry / 100, level, state);
}

/* Hair, skin, brows, eyes, nose and mouth. */
static inline void face(struct image *image, struct place at, uint32_t *state)
{
	int skin = 175 + (int)(next_random(state) % 40);

	feature(image, at, 50, 40, 44, 42, 45, state);
	feature(image, at, 50, 54, 38, 46, skin, state);
	feature(image, at, 31, 38, 11, 5, skin - 110, state);
	feature(image, at, 69, 38, 11, 5, skin - 110, state);
	feature(image, at, 31, 42, 9, 5, skin - 130, state);
	feature(image, at, 69, 42, 9, 5, skin - 130, state);
	feature(image, at, 50, 62, 5, 3, skin - 35, state);
	feature(image, at, 50, 76, 17, 5, skin - 100, state);
}

static inline void background(struct image *image, uint32_t *state)
{
	for (int y = 0; y < image->height; y++)
		for (int x = 0; x < image->width; x++)
			put(image, x, y,
			    70 + 50 * x / image->width + 30 * y / image->height +
				    (int)(next_random(state) % 13) - 6);
}

/* Things that are no faces: boxes, discs, stripes. */
static inline void clutter(struct image *image, uint32_t *state)
{
	for (int i = 0; i < 40; i++) {
		int size = 8 + (int)(next_random(state) % (uint32_t)(image->height / 5));
		int x = (int)(next_random(state) % (uint32_t)image->width);
		int y = (int)(next_random(state) % (uint32_t)image->height);
		int level = (int)(next_random(state) % 256);

		switch (i % 4) {
		case 0:
			rectangle(image, x, y, size, size / 2, level, state);
			break;
		case 1:
			ellipse(image, x * 256, y * 256, size * 128, size * 128, level, state);
			break;
		case 2:
			for (int stripe = 0; stripe < 5; stripe++)
				rectangle(image, x, y + stripe * size / 5, size, size / 10, level,
					  state);
			break;
		default:
			for (int stripe = 0; stripe < 5; stripe++)
				rectangle(image, x + stripe * size / 5, y, size / 10, size, level,
					  state);
		}
	}
}

/* Draws a scene; returns the number of faces, at most `most`. */
static inline int scene(struct image *image, struct place *faces, int most)
{
	uint32_t state = (uint32_t)(image->width * 10007 + image->height);
	int count = 0, columns = 2 + image->width / 300, rows = 1 + image->height / 250;

	background(image, &state);
	clutter(image, &state);
	/* One face in each field of a grid that has room for it. */
	for (int field = 0; field < columns * rows && count < most; field++) {
		int w = image->width / columns, h = image->height / rows;
		int room = (w < h ? w : h) - 8;
		int size = 28 + (int)(next_random(&state) % (uint32_t)(room * 3 / 4 - 20));

		if (size > room)
			size = room;
		faces[count].size = size;
		faces[count].x = field % columns * w +
				 (int)(next_random(&state) % (uint32_t)(w - size));
		faces[count].y = field / columns * h +
				 (int)(next_random(&state) % (uint32_t)(h - size));
		face(image, faces[count++], &state);
	}
	return count;
}

/* A frame two pixels wide, white within black. */
static inline void frame(struct image *image, struct place at)
{
	for (int i = 0; i < at.size; i++)
		for (int inner = 0; inner < 2; inner++) {
			int level = inner ? 255 : 0, far = at.size - 1 - inner;

			put(image, at.x + i, at.y + inner, level);
			put(image, at.x + i, at.y + far, level);
			put(image, at.x + inner, at.y + i, level);
			put(image, at.x + far, at.y + i, level);
		}
}

/* The image as a PGM file's bytes. */
static inline unsigned char *pgm(const struct image *image, size_t *bytes)
{
	size_t pixels = (size_t)image->width * (size_t)image->height;
	unsigned char *file = allocate(pixels + 64);
	int header = snprintf((char *)file, 64, "P5\n%d %d\n255\n", image->width, image->height);

	memcpy(file + header, image->pixels, pixels);
	*bytes = (size_t)header + pixels;
	return file;
}

#endif
