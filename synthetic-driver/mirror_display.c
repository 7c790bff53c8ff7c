// SPDX-License-Identifier: GPL-2.0-only
/*
 * The simulator's display: QEMU's virtio GPU, of which only what shows pictures is
 * used. It reads them from the guest's RAM by itself, so that showing one takes the
 * guest's CPU no more than a few commands.
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <uapi/linux/virtio_gpu.h>

#include "gil_internal.h"
#include "mirror_outputs.h"

#undef pr_fmt
#define pr_fmt(fmt) "gil_mirror: " fmt

/* The display's picture while nobody shows one. It is black as the device makes it. */
#define GIL_DISPLAY_BLACK 1

/* As many parts of a picture's memory as QEMU takes. */
#define GIL_DISPLAY_PARTS_MAX 16384

/* Where commands and answers are, which the device reads and writes. */
union gil_display_command {
	struct virtio_gpu_ctrl_hdr header;
	struct virtio_gpu_resource_create_2d create;
	struct virtio_gpu_resource_unref unref;
	struct virtio_gpu_transfer_to_host_2d transfer;
	struct virtio_gpu_set_scanout scanout;
	struct virtio_gpu_resource_flush flush;
};

union gil_display_answer {
	struct virtio_gpu_ctrl_hdr header;
	struct virtio_gpu_resp_display_info info;
};

struct gil_display {
	struct virtqueue *queue;
	struct mutex lock; /* one command at a time */
	struct completion done;
	u32 last; /* the last picture's number */
	u32 width, height; /* that the user asked for */
	union gil_display_command command;
	union gil_display_answer answer;
};

/* A machine has one; set while no node is there. */
static struct gil_display *gil_display;

static void gil_display_done(struct virtqueue *queue)
{
	struct gil_display *display = queue->vdev->priv;

	complete(&display->done);
}

/* Has the device execute a command. The caller holds the lock. */
static int gil_display_execute(struct gil_display *display, void *command,
			       u32 len)
{
	struct scatterlist out, in, *lists[] = { &out, &in };
	u32 type, answered;
	int err;

	sg_init_one(&out, command, len);
	sg_init_one(&in, &display->answer, sizeof(display->answer));
	reinit_completion(&display->done);
	err = virtqueue_add_sgs(display->queue, lists, 1, 1, display,
				GFP_KERNEL);
	if (err)
		return err;
	virtqueue_kick(display->queue);
	do
		wait_for_completion(&display->done);
	while (!virtqueue_get_buf(display->queue, &answered));
	type = le32_to_cpu(display->answer.header.type);
	return type >= VIRTIO_GPU_RESP_ERR_UNSPEC ? -EIO : 0;
}

/* Begins a small command. The caller holds the lock. */
static union gil_display_command *gil_display_begin(struct gil_display *display,
						    u32 type)
{
	memset(&display->command, 0, sizeof(display->command));
	display->command.header.type = cpu_to_le32(type);
	return &display->command;
}

static int gil_display_end(struct gil_display *display)
{
	return gil_display_execute(display, &display->command,
				   sizeof(display->command));
}

static int gil_display_create(struct gil_display *display, u32 number,
			      u32 width, u32 height)
{
	union gil_display_command *command = gil_display_begin(
		display, VIRTIO_GPU_CMD_RESOURCE_CREATE_2D);

	command->create.resource_id = cpu_to_le32(number);
	command->create.format = cpu_to_le32(VIRTIO_GPU_FORMAT_B8G8R8X8_UNORM);
	command->create.width = cpu_to_le32(width);
	command->create.height = cpu_to_le32(height);
	return gil_display_end(display);
}

/* Tells the device where a picture's memory is. */
static int gil_display_attach(struct gil_display *display, u32 number,
			      struct sg_table *memory)
{
	struct virtio_gpu_resource_attach_backing *command;
	struct virtio_gpu_mem_entry *entries;
	size_t len = sizeof(*command) + memory->orig_nents * sizeof(*entries);
	struct scatterlist *part;
	unsigned int i;
	int err;

	if (memory->orig_nents > GIL_DISPLAY_PARTS_MAX)
		return -EINVAL;
	command = kzalloc(len, GFP_KERNEL);
	if (!command)
		return -ENOMEM;
	command->hdr.type = cpu_to_le32(VIRTIO_GPU_CMD_RESOURCE_ATTACH_BACKING);
	command->resource_id = cpu_to_le32(number);
	command->nr_entries = cpu_to_le32(memory->orig_nents);
	entries = (struct virtio_gpu_mem_entry *)(command + 1);
	for_each_sgtable_sg(memory, part, i) {
		entries[i].addr = cpu_to_le64(sg_phys(part));
		entries[i].length = cpu_to_le32(part->length);
	}
	err = gil_display_execute(display, command, len);
	kfree(command);
	return err;
}

/* The device forgets a picture, and where its memory is. */
static int gil_display_unref(struct gil_display *display, u32 number)
{
	union gil_display_command *command =
		gil_display_begin(display, VIRTIO_GPU_CMD_RESOURCE_UNREF);

	command->unref.resource_id = cpu_to_le32(number);
	return gil_display_end(display);
}

static void gil_display_put_rect(struct virtio_gpu_rect *to,
				 const struct gil_display_rect *rect)
{
	to->x = cpu_to_le32(rect->x);
	to->y = cpu_to_le32(rect->y);
	to->width = cpu_to_le32(rect->width);
	to->height = cpu_to_le32(rect->height);
}

/* The device reads the whole picture. */
static int gil_display_read(struct gil_display *display, u32 number,
			    const struct gil_display_picture *picture)
{
	union gil_display_command *command = gil_display_begin(
		display, VIRTIO_GPU_CMD_TRANSFER_TO_HOST_2D);
	struct gil_display_rect all = { 0, 0, picture->width, picture->height };

	command->transfer.resource_id = cpu_to_le32(number);
	command->transfer.offset = cpu_to_le64(picture->offset);
	gil_display_put_rect(&command->transfer.r, &all);
	return gil_display_end(display);
}

/* And shows a part of it. */
static int gil_display_scan_out(struct gil_display *display, u32 number,
				const struct gil_display_rect *part)
{
	union gil_display_command *command =
		gil_display_begin(display, VIRTIO_GPU_CMD_SET_SCANOUT);
	int err;

	command->scanout.resource_id = cpu_to_le32(number);
	gil_display_put_rect(&command->scanout.r, part);
	err = gil_display_end(display);
	if (err)
		return err;
	command = gil_display_begin(display, VIRTIO_GPU_CMD_RESOURCE_FLUSH);
	command->flush.resource_id = cpu_to_le32(number);
	gil_display_put_rect(&command->flush.r, part);
	return gil_display_end(display);
}

/* A picture in this memory, which stays until the picture is dropped; its number. */
int gil_display_add(const struct gil_display_picture *picture,
		    struct sg_table *memory, u32 *number)
{
	struct gil_display *display = gil_display;
	u32 next;
	int err;

	mutex_lock(&display->lock);
	next = ++display->last;
	err = gil_display_create(display, next, picture->width,
				 picture->height);
	if (!err) {
		err = gil_display_attach(display, next, memory);
		if (err)
			gil_display_unref(display, next);
		else
			*number = next;
	}
	mutex_unlock(&display->lock);
	return err;
}

void gil_display_drop(u32 number)
{
	mutex_lock(&gil_display->lock);
	gil_display_unref(gil_display, number);
	mutex_unlock(&gil_display->lock);
}

/* Shows a part of a picture, as its memory is now. */
int gil_display_show(u32 number, const struct gil_display_picture *picture,
		     const struct gil_display_rect *part)
{
	int err;

	mutex_lock(&gil_display->lock);
	err = gil_display_read(gil_display, number, picture) ?:
	      gil_display_scan_out(gil_display, number, part);
	mutex_unlock(&gil_display->lock);
	return err;
}

static int gil_display_show_black(struct gil_display *display)
{
	struct gil_display_rect all = { 0, 0, display->width, display->height };

	return gil_display_scan_out(display, GIL_DISPLAY_BLACK, &all);
}

void gil_display_blank(void)
{
	mutex_lock(&gil_display->lock);
	gil_display_show_black(gil_display);
	mutex_unlock(&gil_display->lock);
}

/* The size that the user asked for. */
void gil_display_size(u32 *width, u32 *height)
{
	*width = gil_display->width;
	*height = gil_display->height;
}

static int gil_display_ask_size(struct gil_display *display)
{
	const struct virtio_gpu_display_one *first = display->answer.info.pmodes;
	int err;

	gil_display_begin(display, VIRTIO_GPU_CMD_GET_DISPLAY_INFO);
	err = gil_display_end(display);
	if (err)
		return err;
	display->width = le32_to_cpu(first->r.width);
	display->height = le32_to_cpu(first->r.height);
	if (!display->width || display->width > GIL_DISPLAY_MAX ||
	    !display->height || display->height > GIL_DISPLAY_MAX)
		return -EPROTO;
	return 0;
}

/* The device only shows what has memory. This is never read. */
static int gil_display_attach_zeros(struct gil_display *display)
{
	struct scatterlist zeros;
	struct sg_table memory = { .sgl = &zeros, .nents = 1, .orig_nents = 1 };

	sg_init_table(&zeros, 1);
	sg_set_page(&zeros, ZERO_PAGE(0), PAGE_SIZE, 0);
	return gil_display_attach(display, GIL_DISPLAY_BLACK, &memory);
}

static int gil_display_begin_black(struct gil_display *display)
{
	int err;

	mutex_lock(&display->lock);
	display->last = GIL_DISPLAY_BLACK;
	err = gil_display_ask_size(display) ?:
	      gil_display_create(display, GIL_DISPLAY_BLACK, display->width,
				 display->height) ?:
	      gil_display_attach_zeros(display) ?:
	      gil_display_show_black(display);
	mutex_unlock(&display->lock);
	return err;
}

static void gil_display_leave(struct virtio_device *device)
{
	virtio_reset_device(device);
	device->config->del_vqs(device);
	kfree(device->priv);
	device->priv = NULL;
}

static int gil_display_probe(struct virtio_device *device)
{
	struct gil_display *display;
	int err;

	if (gil_display)
		return -EBUSY;
	display = kzalloc(sizeof(*display), GFP_KERNEL);
	if (!display)
		return -ENOMEM;
	mutex_init(&display->lock);
	init_completion(&display->done);
	device->priv = display;
	display->queue = virtio_find_single_vq(device, gil_display_done,
					       "control");
	if (IS_ERR(display->queue)) {
		err = PTR_ERR(display->queue);
		kfree(display);
		return err;
	}
	virtio_device_ready(device);
	err = gil_display_begin_black(display);
	if (err) {
		pr_err("the display does not answer as it has to (%d)\n", err);
		gil_display_leave(device);
		return err;
	}
	gil_display = display;
	return 0;
}

static void gil_display_remove(struct virtio_device *device)
{
	gil_display = NULL;
	gil_display_leave(device);
}

static const struct virtio_device_id gil_display_ids[] = {
	{ VIRTIO_ID_GPU, VIRTIO_DEV_ANY_ID },
	{},
};

/* Nobody but this module takes the device from it. */
static struct virtio_driver gil_display_driver = {
	.driver.name = "gil-display",
	.driver.owner = THIS_MODULE,
	.driver.suppress_bind_attrs = true,
	.id_table = gil_display_ids,
	.probe = gil_display_probe,
	.remove = gil_display_remove,
};

/* Takes the machine's display. */
int gil_display_register(void)
{
	int err = register_virtio_driver(&gil_display_driver);

	if (err || gil_display)
		return err;
	unregister_virtio_driver(&gil_display_driver);
	return -ENODEV;
}

void gil_display_unregister(void)
{
	unregister_virtio_driver(&gil_display_driver);
}
