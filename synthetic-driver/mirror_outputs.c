// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mode setting: a connector, and frame buffers in the driver's own buffers. At a flip
 * the board sends the buffer's pixels, by the calls by which a program of this driver
 * would read them, and the simulator's display shows them.
 *
 * There is no vertical blank, as virtio_gpu has none: a flip is over as soon as the
 * job that draws the frame has ended, in simulated time, and the display has it. What
 * fails on the way does not hold a flip up: the display then shows what the guest has
 * of the buffer.
 */
#include <drm/drm_atomic.h>
#include <drm/drm_atomic_helper.h>
#include <drm/drm_auth.h>
#include <drm/drm_connector.h>
#include <drm/drm_damage_helper.h>
#include <drm/drm_edid.h>
#include <drm/drm_fourcc.h>
#include <drm/drm_framebuffer.h>
#include <drm/drm_gem_framebuffer_helper.h>
#include <drm/drm_managed.h>
#include <drm/drm_mode_config.h>
#include <drm/drm_modes.h>
#include <drm/drm_probe_helper.h>
#include <drm/drm_simple_kms_helper.h>
#include <linux/slab.h>
#include <asm/unaligned.h>

#include "mirror.h"
#include "mirror_outputs.h"

/* As virtio_gpu has it. */
#define GIL_OUTPUTS_MIN 32
#define GIL_OUTPUTS_HZ 60
#define GIL_PIXEL_BYTES 4

struct gil_outputs {
	struct drm_simple_display_pipe pipe;
	struct drm_connector connector;
	const struct gil_mirror_ioctl *transfer; /* the table's */
};

/* A frame buffer. */
struct gil_frame {
	struct drm_framebuffer base; /* first: drm_gem_fb_destroy() frees it */
	u32 file; /* whose calls fetch it; 0: its pixels are the guest's */
	u32 number; /* the display's; 0: it has not been shown */
	struct gil_display_picture picture;
};

static struct gil_frame *gil_frame_of(struct drm_framebuffer *base)
{
	return container_of(base, struct gil_frame, base);
}

static struct gil_mirror_buffer *gil_frame_buffer(const struct gil_frame *frame)
{
	return gil_mirror_buffer_of(frame->base.obj[0]);
}

/* ---- pixels ---------------------------------------------------------- */

/* The driver's call by which a program reads a box of a buffer, if its table has one. */
static const struct gil_mirror_ioctl *
gil_outputs_transfer(const struct gil_mirror_driver *table)
{
	const struct gil_mirror_ioctl *ioctl = table->ioctls;
	const struct gil_mirror_ioctl *end = ioctl + table->ioctl_count;

	for (; ioctl < end; ioctl++)
		if (ioctl->does == GIL_DOES_FROM_BOARD &&
		    gil_mirror_field(ioctl, GIL_ROLE_WIDTH) &&
		    gil_mirror_field(ioctl, GIL_ROLE_HEIGHT) &&
		    gil_mirror_field(ioctl, GIL_ROLE_BUFFER))
			return ioctl;
	return NULL;
}

static const struct gil_mirror_ioctl *
gil_outputs_wait(const struct gil_mirror_driver *table)
{
	const struct gil_mirror_ioctl *ioctl = table->ioctls;
	const struct gil_mirror_ioctl *end = ioctl + table->ioctl_count;

	for (; ioctl < end; ioctl++)
		if (ioctl->does == GIL_DOES_WAIT &&
		    gil_mirror_field(ioctl, GIL_ROLE_BUFFER))
			return ioctl;
	return NULL;
}

/* A call of the driver's that no program makes. */
struct gil_outputs_call {
	const struct gil_mirror_ioctl *ioctl;
	/* The file's number, the argument's length, the argument. */
	u8 wire[2 * sizeof(u32) + GIL_MIRROR_ARGUMENT_MAX];
};

static void gil_outputs_set(struct gil_outputs_call *call, u8 role, u64 value)
{
	const struct gil_mirror_field *field =
		gil_mirror_field(call->ioctl, role);

	if (field)
		gil_mirror_set(call->wire + 2 * sizeof(u32), field->offset,
			       field->size, value);
}

static void gil_outputs_call(struct gil_outputs_call *own,
			     struct gil_mirror_call *call, u8 class,
			     const struct gil_frame *frame)
{
	u32 len = own->ioctl->argument->size;

	put_unaligned_le32(frame->file, own->wire);
	put_unaligned_le32(len, own->wire + sizeof(u32));
	gil_outputs_set(own, GIL_ROLE_BUFFER, gil_frame_buffer(frame)->number);
	gil_mirror_call_init(call, own->ioctl->number + GIL_ENTRY_IOCTL, class);
	call->args = own->wire;
	call->args_len = 2 * sizeof(u32) + len;
}

/* The board's driver copies the frame to where the buffer's bytes are. */
static int gil_frame_transfer(struct gil_mirror *mirror,
			      const struct gil_frame *frame)
{
	struct gil_outputs_call own = { .ioctl = mirror->outputs->transfer };
	struct gil_mirror_call call;

	gil_outputs_set(&own, GIL_ROLE_WIDTH, frame->base.width);
	gil_outputs_set(&own, GIL_ROLE_HEIGHT, frame->base.height);
	gil_outputs_set(&own, GIL_ROLE_DEPTH, 1);
	gil_outputs_call(&own, &call, GIL_CLASS_POST, frame);
	return gil_mirror_post(mirror, &call);
}

/* The frame as the board has it: its job has ended. */
static void gil_frame_fetch(struct gil_mirror *mirror,
			    const struct gil_frame *frame)
{
	struct gil_mirror_buffer *buffer = gil_frame_buffer(frame);
	int err;

	if (!frame->file ||
	    buffer->session_number != READ_ONCE(mirror->session_number))
		return;
	err = gil_frame_transfer(mirror, frame) ?:
	      gil_mirror_fetch(mirror, frame->file, buffer);
	if (err)
		pr_warn_ratelimited("a frame did not come from the board (%d)\n",
				    err);
}

/* ---- frame buffers --------------------------------------------------- */

/* A frame is the display's from when it is first shown. */
static int gil_frame_add(struct gil_frame *frame)
{
	struct sg_table *memory;

	if (frame->number)
		return 0;
	memory = drm_gem_shmem_get_pages_sgt(&gil_frame_buffer(frame)->base);
	if (IS_ERR(memory))
		return PTR_ERR(memory);
	return gil_display_add(&frame->picture, memory, &frame->number);
}

static void gil_frame_show(struct gil_mirror *mirror,
			   const struct drm_plane_state *state)
{
	struct gil_frame *frame = gil_frame_of(state->fb);
	struct gil_display_rect part = {
		state->src_x >> 16,
		state->src_y >> 16,
		state->src_w >> 16,
		state->src_h >> 16,
	};
	int err;

	gil_frame_fetch(mirror, frame);
	err = gil_frame_add(frame) ?:
	      gil_display_show(frame->number, &frame->picture, &part);
	if (err)
		pr_warn_ratelimited("the display does not show a frame (%d)\n",
				    err);
}

static void gil_frame_destroy(struct drm_framebuffer *base)
{
	struct gil_frame *frame = gil_frame_of(base);

	if (frame->number)
		gil_display_drop(frame->number);
	drm_gem_fb_destroy(base);
}

static const struct drm_framebuffer_funcs gil_frame_funcs = {
	.destroy = gil_frame_destroy,
	.create_handle = drm_gem_fb_create_handle,
	.dirty = drm_atomic_helper_dirtyfb,
};

/* A row begins where the display's arithmetic has it. */
static int gil_frame_describe(struct gil_frame *frame)
{
	const struct drm_framebuffer *base = &frame->base;

	if (base->pitches[0] % GIL_PIXEL_BYTES)
		return -EINVAL;
	frame->picture.width = base->pitches[0] / GIL_PIXEL_BYTES;
	frame->picture.height = base->height;
	frame->picture.offset = base->offsets[0];
	return 0;
}

/* The board's buffers are fetched by calls of the file that has made the frame of it. */
static int gil_frame_own(struct gil_frame *frame, struct gil_mirror *mirror,
			 struct gil_mirror_file *file)
{
	int err;

	if (!gil_frame_buffer(frame)->number)
		return 0;
	err = gil_mirror_file_open(mirror, file);
	if (!err)
		frame->file = file->number;
	return err;
}

static struct drm_framebuffer *
gil_frame_create(struct drm_device *drm, struct drm_file *file,
		 const struct drm_mode_fb_cmd2 *asked)
{
	struct gil_frame *frame = kzalloc(sizeof(*frame), GFP_KERNEL);
	int err;

	if (!frame)
		return ERR_PTR(-ENOMEM);
	err = drm_gem_fb_init_with_funcs(drm, &frame->base, file, asked,
					 &gil_frame_funcs);
	if (err) {
		kfree(frame);
		return ERR_PTR(err);
	}
	err = gil_frame_describe(frame) ?:
	      gil_frame_own(frame, gil_mirror_of(drm), file->driver_priv);
	if (err) {
		drm_framebuffer_put(&frame->base);
		return ERR_PTR(err);
	}
	return &frame->base;
}

static const struct drm_mode_config_funcs gil_mode_funcs = {
	.fb_create = gil_frame_create,
	.atomic_check = drm_atomic_helper_check,
	.atomic_commit = drm_atomic_helper_commit,
};

/* ---- the connector and what feeds it --------------------------------- */

static int gil_connector_modes(struct drm_connector *connector)
{
	struct drm_display_mode *mode;
	u32 width, height;
	int count = drm_add_modes_noedid(connector, GIL_DISPLAY_MAX,
					 GIL_DISPLAY_MAX);

	gil_display_size(&width, &height);
	mode = drm_cvt_mode(connector->dev, width, height, GIL_OUTPUTS_HZ,
			    false, false, false);
	if (!mode)
		return count;
	mode->type |= DRM_MODE_TYPE_PREFERRED;
	/* It has the size exactly, where the formula rounds. */
	mode->hdisplay = width;
	mode->vdisplay = height;
	drm_mode_set_name(mode);
	drm_mode_probed_add(connector, mode);
	return count + 1;
}

static const struct drm_connector_helper_funcs gil_connector_helpers = {
	.get_modes = gil_connector_modes,
};

static const struct drm_connector_funcs gil_connector_funcs = {
	.reset = drm_atomic_helper_connector_reset,
	.fill_modes = drm_helper_probe_single_connector_modes,
	.destroy = drm_connector_cleanup,
	.atomic_duplicate_state = drm_atomic_helper_connector_duplicate_state,
	.atomic_destroy_state = drm_atomic_helper_connector_destroy_state,
};

static void gil_pipe_enable(struct drm_simple_display_pipe *pipe,
			    struct drm_crtc_state *crtc,
			    struct drm_plane_state *plane)
{
	gil_frame_show(gil_mirror_of(pipe->crtc.dev), plane);
}

static void gil_pipe_disable(struct drm_simple_display_pipe *pipe)
{
	gil_display_blank();
}

/* Where a mode is set, the frame is shown as the pipe is enabled. */
static void gil_pipe_update(struct drm_simple_display_pipe *pipe,
			    struct drm_plane_state *old)
{
	struct drm_plane_state *plane = pipe->plane.state;
	struct drm_crtc_state *crtc = pipe->crtc.state;

	if (plane->fb && crtc->active && !drm_atomic_crtc_needs_modeset(crtc))
		gil_frame_show(gil_mirror_of(pipe->crtc.dev), plane);
}

static const struct drm_simple_display_pipe_funcs gil_pipe_funcs = {
	.enable = gil_pipe_enable,
	.disable = gil_pipe_disable,
	.update = gil_pipe_update,
};

static const u32 gil_pipe_formats[] = { DRM_FORMAT_XRGB8888 };

static int gil_outputs_config(struct drm_device *drm)
{
	int err = drmm_mode_config_init(drm);

	if (err)
		return err;
	drm->mode_config.min_width = GIL_OUTPUTS_MIN;
	drm->mode_config.min_height = GIL_OUTPUTS_MIN;
	drm->mode_config.max_width = GIL_DISPLAY_MAX;
	drm->mode_config.max_height = GIL_DISPLAY_MAX;
	drm->mode_config.fb_modifiers_not_supported = true;
	drm->mode_config.funcs = &gil_mode_funcs;
	return 0;
}

static int gil_outputs_pipe(struct drm_device *drm, struct gil_outputs *outputs)
{
	int err = drm_connector_init(drm, &outputs->connector,
				     &gil_connector_funcs,
				     DRM_MODE_CONNECTOR_VIRTUAL);

	if (err)
		return err;
	drm_connector_helper_add(&outputs->connector, &gil_connector_helpers);
	err = drm_simple_display_pipe_init(drm, &outputs->pipe, &gil_pipe_funcs,
					   gil_pipe_formats,
					   ARRAY_SIZE(gil_pipe_formats), NULL,
					   &outputs->connector);
	if (err)
		return err;
	drm_plane_enable_fb_damage_clips(&outputs->pipe.plane);
	drm_mode_config_reset(drm);
	return 0;
}

/* ---- the node -------------------------------------------------------- */

/* Whether the driver's table says how frames are fetched. */
bool gil_outputs_possible(const struct gil_mirror_driver *table)
{
	return gil_outputs_transfer(table) && gil_outputs_wait(table);
}

/* What a node with outputs has in addition. */
void gil_outputs_offer(struct drm_driver *driver)
{
	driver->driver_features |= DRIVER_MODESET | DRIVER_ATOMIC;
	driver->dumb_create = drm_gem_shmem_dumb_create;
}

int gil_outputs_init(struct gil_mirror *mirror)
{
	struct drm_device *drm = &mirror->drm;
	struct gil_outputs *outputs =
		drmm_kzalloc(drm, sizeof(*outputs), GFP_KERNEL);

	if (!outputs)
		return -ENOMEM;
	outputs->transfer = gil_outputs_transfer(mirror->table);
	mirror->outputs = outputs;
	return gil_outputs_config(drm) ?: gil_outputs_pipe(drm, outputs);
}

/* Nothing is shown any more. */
void gil_outputs_end(struct gil_mirror *mirror)
{
	if (mirror->outputs)
		drm_atomic_helper_shutdown(&mirror->drm);
}

/* A flip of the frame that is shown next, if one is on its way. */
static struct drm_crtc_commit *gil_outputs_commit(struct drm_crtc *crtc)
{
	struct drm_crtc_commit *last;

	spin_lock(&crtc->commit_lock);
	last = list_first_entry_or_null(&crtc->commit_list,
					struct drm_crtc_commit, commit_entry);
	if (last)
		drm_crtc_commit_get(last);
	spin_unlock(&crtc->commit_lock);
	return last;
}

/*
 * Before a program closes the display, what it flipped to is shown: the picture of a
 * program's end is taken then (screen.c).
 */
void gil_outputs_settle(struct gil_mirror *mirror, struct drm_file *file)
{
	struct drm_crtc_commit *last;

	if (!mirror->outputs || !drm_is_current_master(file))
		return;
	last = gil_outputs_commit(&mirror->outputs->pipe.crtc);
	if (!last)
		return;
	drm_crtc_commit_wait(last);
	drm_crtc_commit_put(last);
}
