// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks of guest memory that the host reads and writes, and doorbells.
 */
#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/compat.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <asm/arch_timer.h>
#include <asm/barrier.h>

#include "gil_internal.h"

#ifdef CONFIG_CPU_BIG_ENDIAN
#error "gil's mailbox is little-endian, and so must be the kernel"
#endif
static_assert(sizeof(struct gil_mailbox) == 264);
static_assert(offsetof(struct gil_mailbox, status) == 96);
static_assert(offsetof(struct gil_mailbox, released) == 128);
static_assert(offsetof(struct gil_mailbox, attention_ns) == 256);
static_assert(sizeof(struct gil_extent_page) == GIL_EXTENT_PAGE_BYTES);
static_assert(offsetof(struct gil_block_memory, extents) %
		      GIL_EXTENT_PAGE_BYTES == 0);

#define GIL_BLOCK_ORDER get_order(sizeof(struct gil_block_memory))

struct gil_block *gil_block_alloc(void)
{
	struct gil_block *block = kmalloc(sizeof(*block), GFP_KERNEL_ACCOUNT);
	unsigned long memory;

	if (!block)
		return NULL;
	memory = __get_free_pages(GFP_KERNEL_ACCOUNT | __GFP_ZERO,
				  GIL_BLOCK_ORDER);
	if (!memory) {
		kfree(block);
		return NULL;
	}
	block->memory = (struct gil_block_memory *)memory;
	return block;
}

void gil_block_free(struct gil_block *block)
{
	free_pages((unsigned long)block->memory, GIL_BLOCK_ORDER);
	kfree(block);
}

static struct gil_block *gil_idle_block(struct gil_session *session)
{
	struct gil_block *block;

	mutex_lock(&session->lock);
	block = list_first_entry_or_null(&session->idle, struct gil_block,
					 node);
	if (block) {
		list_del(&block->node);
		session->idle_count--;
	}
	mutex_unlock(&session->lock);
	return block;
}

/*
 * A block for one call; NULL without memory. One thread at a time, which is the
 * usual case, does without the lock.
 */
struct gil_block *gil_block_get(struct gil_session *session)
{
	struct gil_block *block = xchg(&session->spare, NULL);

	return block ?: gil_idle_block(session) ?: gil_block_alloc();
}

static bool gil_keep_idle(struct gil_session *session, struct gil_block *block)
{
	bool keep;

	mutex_lock(&session->lock);
	keep = session->idle_count < GIL_IDLE_BLOCKS_MAX;
	if (keep) {
		list_add(&block->node, &session->idle);
		session->idle_count++;
	}
	mutex_unlock(&session->lock);
	return keep;
}

void gil_block_put(struct gil_session *session, struct gil_block *block)
{
	block = xchg(&session->spare, block);
	if (block && !gil_keep_idle(session, block))
		gil_block_free(block);
}

/* All that the caller and the session say. */
void gil_fill_header(struct gil_session *session, struct gil_mailbox *mailbox,
		     u32 kind)
{
	mailbox->magic = GIL_MAILBOX_MAGIC;
	mailbox->version = GIL_ABI_VERSION;
	mailbox->session = session->id;
	mailbox->kind = kind;
	mailbox->pointer_bits = session->mm && in_compat_syscall() ? 32 : 64;
	mailbox->process = task_tgid_nr(current);
	mailbox->thread = task_pid_nr(current);
	mailbox->counter_hz = arch_timer_get_cntfrq();
}

static void gil_preset_answer(struct gil_mailbox *mailbox)
{
	mailbox->status = GIL_STATUS_UNSEEN;
	mailbox->reply_len = 0;
	mailbox->deadline_ns = 0;
	mailbox->wait_kind = GIL_WAIT_NONE;
	mailbox->flags = 0;
	mailbox->released_count = 0;
	mailbox->reserved = 0;
	mailbox->attention_ns = 0;
}

/*
 * Nothing may come between the two clocks and the doorbell, or the host would
 * deduct it from the program's time wrongly. The counter that belongs to now_ns
 * lies between the two readings around it. Interrupts are off.
 */
static void gil_stamp_and_ring(struct gil_mailbox *mailbox)
{
	u64 gpa = virt_to_phys(mailbox);
	u64 before, after;

	before = __arch_counter_get_cntvct();
	mailbox->now_ns = ktime_get_ns();
	after = __arch_counter_get_cntvct();
	mailbox->now_counter = before + (after - before) / 2;
	/* The host sees all of the mailbox and of the regions: "dsb sy". */
	mb();
	gil_knock(gpa);
	/* What the host wrote is not what the compiler remembers. */
	barrier();
}

/* Rings for nobody's session. Interrupts are off. */
void gil_ring_alone(struct gil_mailbox *mailbox)
{
	gil_preset_answer(mailbox);
	gil_stamp_and_ring(mailbox);
}

/*
 * Rings the doorbell and sets the timer as the answer says. The caller holds
 * the session's ring_lock. Returns whether to wake those who wait for progress.
 */
bool gil_ring_locked(struct gil_session *session, struct gil_mailbox *mailbox)
{
	u32 status;

	lockdep_assert_held(&session->ring_lock);
	gil_preset_answer(mailbox);
	gil_stamp_and_ring(mailbox);
	status = READ_ONCE(mailbox->status);
	if (status == GIL_STATUS_UNSEEN || status == GIL_STATUS_BAD_MAILBOX)
		return false;
	gil_attention_set(session, mailbox->attention_ns);
	if (!(mailbox->flags & GIL_FLAG_PROGRESS))
		return false;
	WRITE_ONCE(session->progress, session->progress + 1);
	return true;
}

static struct gil_transfer *gil_find_held(struct gil_session *session, u64 seq)
{
	struct gil_transfer *transfer;

	list_for_each_entry(transfer, &session->held, node)
		if (transfer->seq == seq)
			return transfer;
	return NULL;
}

static void gil_release_held(struct gil_session *session,
			     const struct gil_mailbox *mailbox)
{
	u32 count = min(mailbox->released_count, GIL_RELEASED_MAX);
	struct gil_transfer *transfer;
	u32 i;

	for (i = 0; i < count; i++) {
		transfer = gil_find_held(session, mailbox->released[i]);
		if (!transfer)
			continue;
		list_del(&transfer->node);
		session->held_count--;
		gil_account_unhold(session->account);
		/* At the owner's exit there is nobody left to deliver to. */
		if (gil_session_is_owners(session))
			gil_transfer_deliver(transfer);
		gil_transfer_destroy(transfer);
	}
}

/*
 * Rings the doorbell and does what the host asks for in return. The caller
 * holds the session's lock. Returns -ENODEV if nobody answered.
 */
int gil_ring(struct gil_session *session, struct gil_block *block, u32 kind)
{
	struct gil_mailbox *mailbox = &block->memory->mailbox;
	unsigned long flags;
	bool progress;

	lockdep_assert_held(&session->lock);
	gil_fill_header(session, mailbox, kind);
	mailbox->seq = ++session->seq;
	spin_lock_irqsave(&session->ring_lock, flags);
	progress = gil_ring_locked(session, mailbox);
	spin_unlock_irqrestore(&session->ring_lock, flags);
	if (progress)
		wake_up_all(&session->progress_wait);
	if (READ_ONCE(mailbox->status) == GIL_STATUS_UNSEEN)
		return -ENODEV;
	gil_release_held(session, mailbox);
	return 0;
}

/*
 * Collects while the host has more numbers to release than fit, as `mailbox`,
 * its latest answer, says. Every round must release something.
 */
void gil_collect_rest(struct gil_session *session,
		      const struct gil_mailbox *mailbox)
{
	while (mailbox->flags & GIL_FLAG_MORE && mailbox->released_count) {
		if (gil_ring(session, session->control, GIL_MBOX_COLLECT))
			return;
		mailbox = &session->control->memory->mailbox;
	}
}

/* Makes the host deliver output that is ready. The caller holds the session's lock. */
int gil_collect(struct gil_session *session)
{
	int err = gil_ring(session, session->control, GIL_MBOX_COLLECT);

	if (!err)
		gil_collect_rest(session, &session->control->memory->mailbox);
	return err;
}
