/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a node has beside its render node, if the guest has a display.
 */
#ifndef GIL_MIRROR_OUTPUTS_H
#define GIL_MIRROR_OUTPUTS_H

#include <linux/scatterlist.h>
#include <linux/types.h>

struct drm_driver;
struct drm_file;
struct gil_mirror;
struct gil_mirror_driver;

/* ---- mirror_display.c: the simulator's display ----------------------- */

/* Most pixels either way. */
#define GIL_DISPLAY_MAX 8192

/* Where in its memory a picture is. */
struct gil_display_picture {
	u32 width, height; /* of the whole; a row is 4 * width bytes */
	u64 offset; /* of its first row */
};

struct gil_display_rect {
	u32 x, y, width, height;
};

int gil_display_register(void);
void gil_display_unregister(void);
void gil_display_size(u32 *width, u32 *height);
int gil_display_add(const struct gil_display_picture *picture,
		    struct sg_table *memory, u32 *number);
void gil_display_drop(u32 number);
int gil_display_show(u32 number, const struct gil_display_picture *picture,
		     const struct gil_display_rect *part);
void gil_display_blank(void);

/* ---- mirror_outputs.c: mode setting ---------------------------------- */

bool gil_outputs_possible(const struct gil_mirror_driver *table);
void gil_outputs_offer(struct drm_driver *driver);
int gil_outputs_init(struct gil_mirror *mirror);
void gil_outputs_end(struct gil_mirror *mirror);
void gil_outputs_settle(struct gil_mirror *mirror, struct drm_file *file);

#endif
