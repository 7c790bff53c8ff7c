// SPDX-License-Identifier: GPL-2.0-only
/*
 * A driver that is no DRM driver: a character device, with the ioctls of its table and
 * nothing else. Behind it is the same node, which cannot be opened as one of DRM's.
 */
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <linux/compat.h>
#include <linux/miscdevice.h>

#include "mirror.h"

static const struct file_operations gil_mirror_device_fops = {
	.owner = THIS_MODULE,
	.open = drm_open,
	.release = drm_release,
	.unlocked_ioctl = gil_mirror_device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
	.mmap = drm_gem_mmap,
};

static struct miscdevice gil_mirror_device = {
	.fops = &gil_mirror_device_fops,
	.mode = 0666,
};

/* drm_open() finds the node by the minor number, which is the render node's. */
int gil_mirror_device_register(struct gil_mirror *mirror)
{
	if (!mirror->table->device)
		return 0;
	gil_mirror_device.name = mirror->table->device;
	gil_mirror_device.minor = mirror->drm.render->index;
	return misc_register(&gil_mirror_device);
}

void gil_mirror_device_unregister(struct gil_mirror *mirror)
{
	if (mirror->table->device)
		misc_deregister(&gil_mirror_device);
}
