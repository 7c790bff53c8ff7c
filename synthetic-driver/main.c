// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/gil: file operations and the module.
 */
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "gil_internal.h"

static long gil_info(struct gil_session *session, struct gil_info __user *user)
{
	struct gil_info info = {
		.abi_version = GIL_ABI_VERSION,
		.session = session->id,
	};

	return copy_to_user(user, &info, sizeof(info)) ? -EFAULT : 0;
}

static long gil_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct gil_session *session = file->private_data;
	void __user *user = (void __user *)arg;

	/* A forked child has the descriptor, and an address space of its own. */
	if (!gil_session_is_owners(session))
		return -EPERM;
	switch (cmd) {
	case GIL_IOC_INFO:
		return gil_info(session, user);
	case GIL_IOC_SUBMIT:
		return gil_submit(session, user);
	case GIL_IOC_WAIT:
		return gil_wait(session, user);
	case GIL_IOC_IMPORT:
		return gil_import(session, user);
	case GIL_IOC_PIN:
		return gil_pin(session, user);
	case GIL_IOC_FORGET:
		return gil_forget(session, arg);
	case GIL_IOC_FENCE:
		return gil_fence(user);
	default:
		return -ENOTTY;
	}
}

static int gil_open(struct inode *inode, struct file *file)
{
	struct gil_session *session = gil_session_open(false);

	if (IS_ERR(session))
		return PTR_ERR(session);
	file->private_data = session;
	return nonseekable_open(inode, file);
}

static int gil_is_file(const void *wanted, struct file *file, unsigned int fd)
{
	return file == wanted;
}

/*
 * Called for every descriptor that is closed, by whatever process. The session
 * ends when the table it was opened in has no descriptor of it left: a forked
 * child that still has one must not keep its parent's memory pinned. The
 * owner's exit comes here too, by then without an address space.
 */
static int gil_flush(struct file *file, fl_owner_t owner)
{
	struct gil_session *session = file->private_data;

	if (owner != session->files)
		return 0;
	if (iterate_fd(owner, 0, gil_is_file, file))
		return 0;
	gil_session_close(session);
	return 0;
}

static int gil_release(struct inode *inode, struct file *file)
{
	struct gil_session *session = file->private_data;

	gil_session_close(session);
	gil_session_free(session);
	return 0;
}

static const struct file_operations gil_fops = {
	.owner = THIS_MODULE,
	.open = gil_open,
	.flush = gil_flush,
	.release = gil_release,
	.unlocked_ioctl = gil_ioctl,
	/* Layouts are those of 64-bit programs; only the pointer is converted. */
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice gil_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = GIL_DEVICE_NAME,
	.fops = &gil_fops,
	/* Like a render node: for every user. */
	.mode = 0666,
	.groups = gil_clock_groups,
};

static int __init gil_init(void)
{
	int err;

	gil_sessions_init();
	err = gil_device_init();
	if (err)
		return err;
	err = gil_imports_init();
	if (err)
		goto device;
	err = misc_register(&gil_device);
	if (!err)
		return 0;
	gil_imports_exit();
device:
	gil_device_exit();
	return err;
}

static void __exit gil_exit(void)
{
	misc_deregister(&gil_device);
	gil_imports_exit();
	gil_device_exit();
}

module_init(gil_init);
module_exit(gil_exit);

MODULE_DESCRIPTION("GPU in the loop: hands GPU requests to the simulator");
MODULE_LICENSE("GPL");
