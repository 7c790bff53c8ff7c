// SPDX-License-Identifier: GPL-2.0-only
/*
 * GIL_IOC_FENCE: sync files that signal at a simulated time, for native fence
 * descriptors. A fence belongs to whoever has a descriptor of it, whatever becomes of
 * the session; the last one that is closed takes its timer along.
 */
#include <linux/dma-fence.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/sync_file.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#include "gil_internal.h"

struct gil_fence {
	struct dma_fence base;
	spinlock_t lock;
	struct hrtimer timer;
};

static struct gil_fence *gil_fence_of(struct dma_fence *base)
{
	return container_of(base, struct gil_fence, base);
}

static const char *gil_fence_name(struct dma_fence *base)
{
	return GIL_DEVICE_NAME;
}

/*
 * The timer holds no reference: nothing would end one whose deadline is far. If it
 * runs just now, it finds that there is no reference left, or it was the last to have
 * one; until it returns, RCU keeps memory and module.
 */
static void gil_fence_release(struct dma_fence *base)
{
	hrtimer_try_to_cancel(&gil_fence_of(base)->timer);
	kfree_rcu(base, rcu);
	module_put(THIS_MODULE);
}

static const struct dma_fence_ops gil_fence_ops = {
	.get_driver_name = gil_fence_name,
	.get_timeline_name = gil_fence_name,
	.release = gil_fence_release,
};

static enum hrtimer_restart gil_fence_due(struct hrtimer *timer)
{
	struct gil_fence *fence = container_of(timer, struct gil_fence, timer);

	if (!kref_get_unless_zero(&fence->base.refcount))
		return HRTIMER_NORESTART;
	dma_fence_signal(&fence->base);
	dma_fence_put(&fence->base);
	return HRTIMER_NORESTART;
}

static void gil_fence_start(struct gil_fence *fence, ktime_t deadline)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&fence->timer, gil_fence_due, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_HARD);
#else
	hrtimer_init(&fence->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	fence->timer.function = gil_fence_due;
#endif
	if (ktime_compare(ktime_get(), deadline) >= 0)
		dma_fence_signal(&fence->base);
	else
		hrtimer_start(&fence->timer, deadline, HRTIMER_MODE_ABS_HARD);
}

/* A fence that signals at the deadline, with one reference. */
static struct dma_fence *gil_fence_new(ktime_t deadline)
{
	struct gil_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL_ACCOUNT);

	if (!fence)
		return ERR_PTR(-ENOMEM);
	/* Called by a program that has the module's device open. */
	__module_get(THIS_MODULE);
	spin_lock_init(&fence->lock);
	/* Deadlines come in any order: each fence is a timeline of its own. */
	dma_fence_init(&fence->base, &gil_fence_ops, &fence->lock,
		       dma_fence_context_alloc(1), 1);
	gil_fence_start(fence, deadline);
	return &fence->base;
}

/* Its sync file, which has the reference from here on. */
static struct sync_file *gil_fence_file(u64 deadline_ns)
{
	struct dma_fence *fence =
		gil_fence_new(ns_to_ktime(deadline_ns));
	struct sync_file *file;

	if (IS_ERR(fence))
		return ERR_CAST(fence);
	file = sync_file_create(fence);
	dma_fence_put(fence);
	return file ? file : ERR_PTR(-ENOMEM);
}

long gil_fence(struct gil_fence_arg __user *user)
{
	struct gil_fence_arg arg;
	struct sync_file *file;
	u64 now;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (arg.flags)
		return -EINVAL;
	/* Whoever waits for a fence, such as a display, relies on its end. */
	now = ktime_get_ns();
	if (arg.deadline_ns > now && arg.deadline_ns - now > GIL_FENCE_MAX_NS)
		return -EINVAL;
	arg.fd = get_unused_fd_flags(O_CLOEXEC);
	if (arg.fd < 0)
		return arg.fd;
	file = gil_fence_file(arg.deadline_ns);
	if (IS_ERR(file)) {
		put_unused_fd(arg.fd);
		return PTR_ERR(file);
	}
	if (copy_to_user(user, &arg, sizeof(arg))) {
		put_unused_fd(arg.fd);
		fput(file->file);
		return -EFAULT;
	}
	fd_install(arg.fd, file->file);
	return 0;
}
