/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A cascade of Haar-like features (Viola and Jones, 2001), by hand, for faces
 * seen from the front. A feature compares mean grey levels of rectangles in a
 * window of 24x24 units; windows of every size have the same features. A window
 * that fails a feature is given up at once.
 */
#ifndef CASCADE_H
#define CASCADE_H

#include <stdint.h>

/* x, y, width, height in units, and the weight of the mean. */
struct rect {
	int32_t x, y, width, height, weight;
};

/* The weighted sum of up to three means must be at least the threshold. */
struct haar {
	struct rect rects[3];
	int32_t threshold;
};

static const struct haar cascade[] = {
	/* Cheeks are lighter than eyes. */
	{ { { 5, 13, 14, 3, 1 }, { 5, 9, 5, 2, -1 }, { 0, 0, 1, 1, 0 } }, 45 },
	{ { { 5, 13, 14, 3, 1 }, { 14, 9, 5, 2, -1 }, { 0, 0, 1, 1, 0 } }, 45 },
	/* The bridge of the nose is lighter than the eyes beside it. */
	{ { { 11, 9, 2, 3, 2 }, { 6, 9, 3, 2, -1 }, { 15, 9, 3, 2, -1 } }, 110 },
	/* The forehead is lighter than the eyes. */
	{ { { 8, 5, 8, 2, 2 }, { 6, 9, 3, 2, -1 }, { 15, 9, 3, 2, -1 } }, 90 },
	/* The mouth is darker than what is above and below. */
	{ { { 9, 21, 6, 1, 1 }, { 8, 18, 8, 1, -1 }, { 0, 0, 1, 1, 0 } }, 40 },
	{ { { 7, 14, 10, 2, 1 }, { 8, 18, 8, 1, -1 }, { 0, 0, 1, 1, 0 } }, 40 },
	/* Both halves are alike. */
	{ { { 5, 9, 5, 2, 1 }, { 14, 9, 5, 2, -1 }, { 0, 0, 1, 1, 0 } }, -35 },
	{ { { 5, 9, 5, 2, -1 }, { 14, 9, 5, 2, 1 }, { 0, 0, 1, 1, 0 } }, -35 },
	{ { { 5, 12, 4, 7, 1 }, { 15, 12, 4, 7, -1 }, { 0, 0, 1, 1, 0 } }, -25 },
	{ { { 5, 12, 4, 7, -1 }, { 15, 12, 4, 7, 1 }, { 0, 0, 1, 1, 0 } }, -25 },
	/* And lighter beside it. */
	{ { { 5, 17, 2, 2, 1 }, { 17, 17, 2, 2, 1 }, { 8, 18, 8, 1, -2 } }, 80 },
	/* From below the eyes down to the nose nothing changes. */
	{ { { 6, 12, 12, 1, 1 }, { 6, 15, 12, 1, -1 }, { 0, 0, 1, 1, 0 } }, -30 },
	{ { { 6, 12, 12, 1, -1 }, { 6, 15, 12, 1, 1 }, { 0, 0, 1, 1, 0 } }, -30 },
	/* Forehead, cheeks and chin are of one colour. */
	{ { { 8, 5, 8, 2, 1 }, { 6, 13, 12, 2, -1 }, { 0, 0, 1, 1, 0 } }, -30 },
	{ { { 8, 5, 8, 2, -1 }, { 6, 13, 12, 2, 1 }, { 0, 0, 1, 1, 0 } }, -30 },
	{ { { 9, 21, 6, 1, 1 }, { 6, 13, 3, 6, -1 }, { 0, 0, 1, 1, 0 } }, -30 },
	{ { { 9, 21, 6, 1, -1 }, { 15, 13, 3, 6, 1 }, { 0, 0, 1, 1, 0 } }, -30 },
	/* The face is lighter than what is at its corners. */
	{ { { 6, 12, 12, 4, 2 }, { 0, 20, 3, 4, -1 }, { 21, 20, 3, 4, -1 } }, 40 },
	{ { { 6, 12, 12, 4, 2 }, { 0, 0, 3, 3, -1 }, { 21, 0, 3, 3, -1 } }, 40 },
};

#define FEATURES ((int)(sizeof(cascade) / sizeof(cascade[0])))
#define UNITS 24

#endif
