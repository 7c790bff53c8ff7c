// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fences of jobs. When somebody waits for one, the host says when its job ends in
 * simulated time, and a timer signals it then.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <asm/unaligned.h>

#include "mirror.h"

/* An event that nobody will ask for: the next envelope says so. */
struct gil_mirror_retired {
	struct list_head node;
	u64 event;
};

struct gil_mirror_fence {
	struct dma_fence base;
	spinlock_t lock;
	struct gil_mirror *mirror;
	u32 session_number;
	struct gil_mirror_retired *retired; /* for its end */
	/* Arming, once. */
	struct mutex arming;
	bool armed;
	struct work_struct work;
	struct hrtimer timer;
};

static const struct dma_fence_ops gil_mirror_fence_ops;

static struct gil_mirror_fence *gil_mirror_fence_of(struct dma_fence *base)
{
	return base->ops == &gil_mirror_fence_ops ?
		       container_of(base, struct gil_mirror_fence, base) :
		       NULL;
}

static const char *gil_mirror_fence_driver(struct dma_fence *base)
{
	return gil_mirror_fence_of(base)->mirror->table->name;
}

static const char *gil_mirror_fence_timeline(struct dma_fence *base)
{
	return "job";
}

static enum hrtimer_restart gil_mirror_fence_due(struct hrtimer *timer)
{
	struct gil_mirror_fence *fence =
		container_of(timer, struct gil_mirror_fence, timer);

	dma_fence_signal(&fence->base);
	/* The timer's own, of gil_mirror_fence_start(). */
	dma_fence_put(&fence->base);
	return HRTIMER_NORESTART;
}

/* The timer has a reference: at the latest GIL_FENCE_MAX_NS from now it is gone. */
static void gil_mirror_fence_start(struct gil_mirror_fence *fence, u64 end_ns)
{
	u64 now = ktime_get_ns();

	if (end_ns <= now) {
		dma_fence_signal(&fence->base);
		return;
	}
	dma_fence_get(&fence->base);
	hrtimer_start(&fence->timer,
		      ns_to_ktime(min(end_ns, now + GIL_FENCE_MAX_NS)),
		      HRTIMER_MODE_ABS);
}

/* wire-protocol/src/envelope/observation.rs */
#define GIL_OBSERVATION_LEN 45
#define GIL_OBSERVATION_CODE 40
#define GIL_OBSERVATION_LAST 44
#define GIL_OBSERVATION_FAILED 4

/* How the one job failed that the host was asked for: behind the result there are the
 * number of observations, and the length and the bytes of each. 0: it did not. */
static int gil_mirror_failure(const struct gil_mirror_reply *reply)
{
	const u8 *rest = reply->result + reply->result_len;
	int code;

	if (!reply->memory ||
	    reply->memory + reply->memory_len < rest + 2 + GIL_OBSERVATION_LEN ||
	    rest[0] != 1 || rest[1] != GIL_OBSERVATION_LEN)
		return 0;
	rest += 2;
	if (!(rest[GIL_OBSERVATION_LAST] & GIL_OBSERVATION_FAILED))
		return 0;
	code = get_unaligned_le32(rest + GIL_OBSERVATION_CODE);
	return code < 0 && code >= -MAX_ERRNO ? code : -EIO;
}

/* Asks the host when the job ends. */
static int gil_mirror_fence_end(struct gil_mirror_fence *fence, u64 *end_ns)
{
	struct gil_mirror *mirror = fence->mirror;
	struct gil_mirror_reply reply;
	struct gil_mirror_call call;
	u64 event = fence->retired->event;
	int err;

	if (READ_ONCE(mirror->session_number) != fence->session_number)
		return -EIO;
	gil_mirror_call_init(&call, GIL_ENTRY_WAIT, GIL_CLASS_WAIT);
	call.waits = &event;
	call.wait_count = 1;
	err = gil_mirror_ask(mirror, &call, &reply) ?:
	      gil_mirror_failure(&reply);
	kfree(reply.memory);
	*end_ns = reply.deadline_ns;
	return err;
}

/* Sees to it that a fence signals. Does nothing to those of others. */
void gil_mirror_fence_arm(struct dma_fence *base)
{
	struct gil_mirror_fence *fence = gil_mirror_fence_of(base);
	u64 end_ns = 0;
	int err;

	if (!fence)
		return;
	mutex_lock(&fence->arming);
	if (!fence->armed && !dma_fence_is_signaled(base)) {
		err = gil_mirror_fence_end(fence, &end_ns);
		if (err)
			dma_fence_set_error(base, err);
		gil_mirror_fence_start(fence, end_ns);
	}
	fence->armed = true;
	mutex_unlock(&fence->arming);
}

static void gil_mirror_fence_work(struct work_struct *work)
{
	struct gil_mirror_fence *fence =
		container_of(work, struct gil_mirror_fence, work);

	/* Who waits for it by a descriptor makes no call of the driver's then. */
	gil_mirror_fetch_all(fence->mirror);
	gil_mirror_fence_arm(&fence->base);
	dma_fence_put(&fence->base);
}

/* Called with the fence's lock held, from anywhere. */
static bool gil_mirror_fence_enable(struct dma_fence *base)
{
	struct gil_mirror_fence *fence = gil_mirror_fence_of(base);

	if (READ_ONCE(fence->armed))
		return true;
	dma_fence_get(base);
	if (!queue_work(system_highpri_wq, &fence->work))
		dma_fence_put(base);
	return true;
}

static void gil_mirror_fence_release(struct dma_fence *base)
{
	struct gil_mirror_fence *fence = gil_mirror_fence_of(base);
	struct gil_mirror *mirror = fence->mirror;
	unsigned long flags;

	spin_lock_irqsave(&mirror->retired_lock, flags);
	if (mirror->session_number == fence->session_number)
		list_add_tail(&fence->retired->node, &mirror->retired);
	else
		kfree(fence->retired);
	spin_unlock_irqrestore(&mirror->retired_lock, flags);
	kfree_rcu(base, rcu);
	drm_dev_put(&mirror->drm);
	module_put(THIS_MODULE);
}

static const struct dma_fence_ops gil_mirror_fence_ops = {
	.get_driver_name = gil_mirror_fence_driver,
	.get_timeline_name = gil_mirror_fence_timeline,
	.enable_signaling = gil_mirror_fence_enable,
	.release = gil_mirror_fence_release,
};

/* The fence of a job that signals this event. */
struct dma_fence *gil_mirror_fence_new(struct gil_mirror *mirror,
				       struct gil_mirror_file *file,
				       u8 processor, u64 event)
{
	struct gil_mirror_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);

	if (!fence)
		return NULL;
	fence->retired = kzalloc(sizeof(*fence->retired), GFP_KERNEL);
	if (!fence->retired) {
		kfree(fence);
		return NULL;
	}
	/* Called by a program that has the node open. */
	__module_get(THIS_MODULE);
	drm_dev_get(&mirror->drm);
	fence->mirror = mirror;
	fence->session_number = mirror->session_number;
	fence->retired->event = event;
	mutex_init(&fence->arming);
	spin_lock_init(&fence->lock);
	INIT_WORK(&fence->work, gil_mirror_fence_work);
	hrtimer_init(&fence->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	fence->timer.function = gil_mirror_fence_due;
	dma_fence_init(&fence->base, &gil_mirror_fence_ops, &fence->lock,
		       file->fence_context + processor, ++file->fence_seq);
	return &fence->base;
}

/* The event of one of this node's fences that has not signalled; 0 of others. */
u64 gil_mirror_fence_event(struct gil_mirror *mirror, struct dma_fence *base)
{
	struct gil_mirror_fence *fence = gil_mirror_fence_of(base);

	if (!fence || fence->mirror != mirror ||
	    fence->session_number != mirror->session_number)
		return 0;
	return fence->retired->event;
}

/* The next event to forget; 0: none. */
u64 gil_mirror_retired(struct gil_mirror *mirror)
{
	struct gil_mirror_retired *first;
	unsigned long flags;
	u64 event = 0;

	spin_lock_irqsave(&mirror->retired_lock, flags);
	first = list_first_entry_or_null(&mirror->retired,
					 struct gil_mirror_retired, node);
	if (first)
		list_del(&first->node);
	spin_unlock_irqrestore(&mirror->retired_lock, flags);
	if (first)
		event = first->event;
	kfree(first);
	return event;
}

/* The session is over: nobody is told. */
void gil_mirror_retired_free(struct gil_mirror *mirror)
{
	while (gil_mirror_retired(mirror))
		;
}
