// SPDX-License-Identifier: GPL-2.0-only
/*
 * A session's timer. The host says in every answer when it has to be asked
 * again at the latest: when an operation starts whose duration it does not
 * know, or when output arrives. Unless another doorbell rings before, the timer
 * does, from its interrupt: no thread of the program need be awake.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/version.h>

#include "gil_internal.h"

/*
 * Notes when to ring. The caller holds the session's ring_lock, so that the
 * answer that the host gave last is the one that counts.
 */
void gil_attention_set(struct gil_session *session, u64 at_ns)
{
	struct gil_attention *attention = &session->attention;

	lockdep_assert_held(&session->ring_lock);
	if (attention->ended || at_ns == attention->at_ns)
		return;
	attention->at_ns = at_ns;
	if (at_ns)
		hrtimer_start(&attention->timer,
			      ns_to_ktime(min_t(u64, at_ns, KTIME_MAX)),
			      HRTIMER_MODE_ABS);
	else
		/* If it is ringing already, that is one ring too many. */
		hrtimer_try_to_cancel(&attention->timer);
}

static enum hrtimer_restart gil_attend(struct hrtimer *timer)
{
	struct gil_session *session =
		container_of(timer, struct gil_session, attention.timer);
	struct gil_attention *attention = &session->attention;
	unsigned long flags;
	bool progress = false;

	spin_lock_irqsave(&session->ring_lock, flags);
	if (!attention->ended) {
		attention->at_ns = 0;
		progress = gil_ring_locked(session, attention->mailbox);
	}
	spin_unlock_irqrestore(&session->ring_lock, flags);
	if (progress)
		wake_up_all(&session->progress_wait);
	/* Set again by the answer, if need be. */
	return HRTIMER_NORESTART;
}

int gil_attention_init(struct gil_session *session)
{
	struct gil_attention *attention = &session->attention;

	attention->mailbox =
		kzalloc(sizeof(*attention->mailbox), GFP_KERNEL_ACCOUNT);
	if (!attention->mailbox)
		return -ENOMEM;
	/* The interrupt comes while anybody runs: filled in by the owner. */
	gil_fill_header(session, attention->mailbox, GIL_MBOX_ATTEND);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&attention->timer, gil_attend, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS);
#else
	hrtimer_init(&attention->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	attention->timer.function = gil_attend;
#endif
	return 0;
}

/*
 * No ring is under way when this returns, and none begins any more. The caller
 * may hold the session's mutex, not its ring_lock.
 */
void gil_attention_end(struct gil_session *session)
{
	struct gil_attention *attention = &session->attention;
	unsigned long flags;

	spin_lock_irqsave(&session->ring_lock, flags);
	attention->ended = true;
	spin_unlock_irqrestore(&session->ring_lock, flags);
	hrtimer_cancel(&attention->timer);
}

void gil_attention_free(struct gil_session *session)
{
	gil_attention_end(session);
	kfree(session->attention.mailbox);
}
