// SPDX-License-Identifier: GPL-2.0-only
/*
 * The node: open files, the session that they share, and the module.
 */
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>
#include <drm/drm_prime.h>
#include <linux/dma-fence.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <asm/unaligned.h>

#include "mirror.h"
#include "mirror_outputs.h"

MODULE_IMPORT_NS(GIL);

static char *driver = "virtio_gpu";
module_param(driver, charp, 0444);
MODULE_PARM_DESC(driver, "the driver whose calls the node takes");

static bool outputs;
module_param(outputs, bool, 0444);
MODULE_PARM_DESC(outputs, "the node sets modes of the simulator's display");

/* What OPEN answers: an errno, and the version of the board's driver. */
#define GIL_OPENED_LEN 16

static int gil_mirror_opened(struct gil_mirror *mirror,
			     const struct gil_mirror_reply *reply)
{
	s32 result;

	if (reply->result_len < GIL_OPENED_LEN)
		return -EPROTO;
	result = get_unaligned_le32(reply->result);
	if (result)
		pr_warn("the board does not open a render node of %s (%d): `gil ping` says what it has\n",
			mirror->table->name, result);
	return result > 0 ? -EPROTO : result;
}

/* The board opens its node for this file, at the first call that it has to execute. */
int gil_mirror_file_open(struct gil_mirror *mirror,
			 struct gil_mirror_file *file)
{
	struct gil_mirror_reply reply;
	struct gil_mirror_call call;
	__le32 number;
	int err = 0;

	if (READ_ONCE(file->number))
		return 0;
	mutex_lock(&file->lock);
	if (file->number)
		goto unlock;
	mutex_lock(&mirror->lock);
	number = cpu_to_le32(++mirror->last_file);
	mutex_unlock(&mirror->lock);
	gil_mirror_call_init(&call, GIL_ENTRY_OPEN, GIL_CLASS_SYNC);
	call.args = &number;
	call.args_len = sizeof(number);
	err = gil_mirror_ask(mirror, &call, &reply);
	if (!err)
		err = gil_mirror_opened(mirror, &reply);
	kfree(reply.memory);
	if (!err)
		WRITE_ONCE(file->number, le32_to_cpu(number));
unlock:
	mutex_unlock(&file->lock);
	return err;
}

/* The first file begins the session. */
static int gil_mirror_attach(struct gil_mirror *mirror)
{
	struct gil_session *session;
	int err = 0;

	mutex_lock(&mirror->lock);
	if (!mirror->file_count) {
		session = gil_kernel_session_open();
		if (IS_ERR(session)) {
			err = PTR_ERR(session);
			goto unlock;
		}
		mirror->session = session;
		mirror->lost = false;
		WRITE_ONCE(mirror->session_number, mirror->session_number + 1);
	}
	mirror->file_count++;
unlock:
	mutex_unlock(&mirror->lock);
	return err;
}

/* And the last one ends it. What was collected is handed over first. */
static void gil_mirror_detach(struct gil_mirror *mirror)
{
	struct gil_session *session = NULL;

	gil_mirror_batch_flush(mirror);
	mutex_lock(&mirror->lock);
	if (!--mirror->file_count) {
		session = mirror->session;
		mirror->session = NULL;
		gil_mirror_answers_free(mirror);
		gil_mirror_retired_free(mirror);
	}
	mutex_unlock(&mirror->lock);
	if (session)
		gil_kernel_session_close(session);
}

static int gil_mirror_open(struct drm_device *drm, struct drm_file *file)
{
	struct gil_mirror_file *own = kzalloc(sizeof(*own), GFP_KERNEL);
	int err;

	if (!own)
		return -ENOMEM;
	err = gil_mirror_attach(gil_mirror_of(drm));
	if (err) {
		kfree(own);
		return err;
	}
	mutex_init(&own->lock);
	xa_init(&own->contexts);
	own->fence_context = dma_fence_context_alloc(GIL_PROCESSORS);
	file->driver_priv = own;
	return 0;
}

static void gil_mirror_postclose(struct drm_device *drm, struct drm_file *file)
{
	struct gil_mirror *mirror = gil_mirror_of(drm);
	struct gil_mirror_file *own = file->driver_priv;
	__le32 closed[] = {
		cpu_to_le32(own->number),
		cpu_to_le32(atomic_read(&own->ioctls)),
	};
	struct gil_mirror_call call;

	if (own->number) {
		gil_mirror_call_init(&call, GIL_ENTRY_CLOSE, GIL_CLASS_POST);
		call.args = closed;
		call.args_len = sizeof(closed);
		gil_mirror_post(mirror, &call);
	}
	gil_mirror_detach(mirror);
	xa_destroy(&own->contexts);
	kfree(own);
}

static struct platform_device *gil_mirror_parent;
static struct gil_mirror *gil_mirror_node;

/* A driver that is no DRM driver has a device of its own. */
static int gil_mirror_node_open(struct inode *inode, struct file *filp)
{
	struct gil_mirror *mirror = READ_ONCE(gil_mirror_node);

	return mirror && !mirror->table->device ? drm_open(inode, filp) :
						  -ENODEV;
}

static int gil_mirror_release(struct inode *inode, struct file *filp)
{
	struct drm_file *file = filp->private_data;

	gil_outputs_settle(gil_mirror_of(file->minor->dev), file);
	return drm_release(inode, filp);
}

static const struct file_operations gil_mirror_fops = {
	.owner = THIS_MODULE,
	.open = gil_mirror_node_open,
	.release = gil_mirror_release,
	.unlocked_ioctl = gil_mirror_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl = gil_mirror_compat_ioctl,
#endif
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.mmap = drm_gem_mmap,
};

/* The names and the version are the table's. */
static struct drm_driver gil_mirror_drm = {
	.driver_features = DRIVER_GEM | DRIVER_RENDER,
	.open = gil_mirror_open,
	.postclose = gil_mirror_postclose,
	.gem_create_object = gil_mirror_gem_create,
	.prime_handle_to_fd = drm_gem_prime_handle_to_fd,
	.prime_fd_to_handle = drm_gem_prime_fd_to_handle,
	.gem_prime_mmap = drm_gem_prime_mmap,
	.fops = &gil_mirror_fops,
	.date = "0",
};

static const struct gil_mirror_driver *__init gil_mirror_table(void)
{
	const struct gil_mirror_driver *table;

	for (table = gil_mirror_drivers; table->name; table++)
		if (!strcmp(table->name, driver))
			return table;
	return NULL;
}

/* Whether every argument fits where one is copied to. */
static bool __init gil_mirror_fits(const struct gil_mirror_driver *table)
{
	unsigned int i;

	for (i = 0; i < table->ioctl_count; i++)
		if (table->ioctls[i].argument->size > GIL_MIRROR_ARGUMENT_MAX)
			return false;
	return true;
}

/* Whether its jobs signal sync objects. */
static bool __init gil_mirror_has_syncs(const struct gil_mirror_driver *table)
{
	unsigned int i;

	for (i = 0; i < table->ioctl_count; i++)
		if (gil_mirror_field(&table->ioctls[i], GIL_ROLE_SYNC_OUT))
			return true;
	return false;
}

/* What the device is to programs. */
static void __init gil_mirror_describe(const struct gil_mirror_driver *table)
{
	gil_mirror_drm.name = (char *)table->name;
	gil_mirror_drm.desc = (char *)table->description;
	gil_mirror_drm.major = table->major;
	gil_mirror_drm.minor = table->minor;
	gil_mirror_drm.patchlevel = table->patch;
	if (gil_mirror_has_syncs(table))
		gil_mirror_drm.driver_features |= DRIVER_SYNCOBJ;
	if (outputs)
		gil_outputs_offer(&gil_mirror_drm);
}

static int __init gil_mirror_register(const struct gil_mirror_driver *table)
{
	struct device *parent = &gil_mirror_parent->dev;
	struct gil_mirror *mirror;
	int err = 0;

	gil_mirror_describe(table);
	mirror = devm_drm_dev_alloc(parent, &gil_mirror_drm, struct gil_mirror,
				    drm);
	if (IS_ERR(mirror))
		return PTR_ERR(mirror);
	mirror->table = table;
	mutex_init(&mirror->lock);
	spin_lock_init(&mirror->retired_lock);
	INIT_LIST_HEAD(&mirror->retired);
	INIT_LIST_HEAD(&mirror->answers);
	mutex_init(&mirror->buffers_lock);
	INIT_LIST_HEAD(&mirror->buffers);
	INIT_LIST_HEAD(&mirror->batch.kept);
	if (outputs)
		err = gil_outputs_init(mirror);
	if (err)
		return err;
	WRITE_ONCE(gil_mirror_node, mirror);
	err = drm_dev_register(&mirror->drm, 0);
	if (err)
		return err;
	err = gil_mirror_device_register(mirror);
	if (err)
		drm_dev_unregister(&mirror->drm);
	return err;
}

/* The node on a parent of its own. */
static int __init gil_mirror_place(const struct gil_mirror_driver *table)
{
	struct device *parent;
	int err;

	gil_mirror_parent = platform_device_register_simple(
		"gil-mirror", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(gil_mirror_parent))
		return PTR_ERR(gil_mirror_parent);
	parent = &gil_mirror_parent->dev;
	/* Its managed resources are released as one, since no driver is bound. */
	if (!devres_open_group(parent, NULL, GFP_KERNEL)) {
		platform_device_unregister(gil_mirror_parent);
		return -ENOMEM;
	}
	err = dma_coerce_mask_and_coherent(parent, DMA_BIT_MASK(64)) ?:
	      gil_mirror_register(table);
	if (err) {
		devres_release_group(parent, NULL);
		platform_device_unregister(gil_mirror_parent);
	}
	return err;
}

static int __init gil_mirror_init(void)
{
	const struct gil_mirror_driver *table = gil_mirror_table();
	int err;

	if (!table || !gil_mirror_fits(table)) {
		pr_err("no driver %s has a table that fits\n", driver);
		return -EINVAL;
	}
	if (!outputs)
		return gil_mirror_place(table);
	if (!gil_outputs_possible(table)) {
		pr_err("the table of %s does not say how a frame is read\n",
		       driver);
		return -EINVAL;
	}
	err = gil_display_register();
	if (err)
		return err;
	err = gil_mirror_place(table);
	if (err)
		gil_display_unregister();
	return err;
}

static void __exit gil_mirror_exit(void)
{
	gil_mirror_device_unregister(gil_mirror_node);
	drm_dev_unregister(&gil_mirror_node->drm);
	gil_outputs_end(gil_mirror_node);
	devres_release_group(&gil_mirror_parent->dev, NULL);
	platform_device_unregister(gil_mirror_parent);
	if (outputs)
		gil_display_unregister();
}

module_init(gil_mirror_init);
module_exit(gil_mirror_exit);

MODULE_DESCRIPTION("GPU in the loop: a render node whose calls the board executes");
MODULE_LICENSE("GPL");
