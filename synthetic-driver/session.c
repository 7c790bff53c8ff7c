// SPDX-License-Identifier: GPL-2.0-only
/*
 * One open file = one session = one address space.
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "gil_internal.h"

/* The last session's number. */
static atomic64_t gil_sessions;

/*
 * Numbers are unique since boot even if the module is loaded again: they go on
 * from the time of loading in nanoseconds, and a session takes longer than one
 * to begin.
 */
void gil_sessions_init(void)
{
	atomic64_set(&gil_sessions, ktime_get_ns());
}

bool gil_session_is_owners(const struct gil_session *session)
{
	return current->mm == session->mm;
}

static struct gil_session *gil_session_create(bool is_kernel)
{
	struct gil_session *session =
		kzalloc(sizeof(*session), GFP_KERNEL_ACCOUNT);

	if (!session)
		return NULL;
	session->control = gil_block_alloc();
	if (!session->control) {
		kfree(session);
		return NULL;
	}
	session->id = atomic64_inc_return(&gil_sessions);
	spin_lock_init(&session->ring_lock);
	if (gil_attention_init(session)) {
		gil_block_free(session->control);
		kfree(session);
		return NULL;
	}
	session->mm = is_kernel ? NULL : current->mm;
	if (session->mm)
		mmgrab(session->mm);
	session->files = current->files;
	init_waitqueue_head(&session->progress_wait);
	mutex_init(&session->lock);
	INIT_LIST_HEAD(&session->held);
	INIT_LIST_HEAD(&session->idle);
	xa_init_flags(&session->imports, XA_FLAGS_ALLOC1);
	return session;
}

static int gil_session_announce(struct gil_session *session)
{
	const struct gil_mailbox *mailbox = &session->control->memory->mailbox;
	int err;

	mutex_lock(&session->lock);
	err = gil_ring(session, session->control, GIL_MBOX_OPEN);
	mutex_unlock(&session->lock);
	if (err)
		return err;
	if (mailbox->status != GIL_STATUS_OK) {
		pr_warn_once("the simulator refuses this driver (ABI version %u, status %u)\n",
			     GIL_ABI_VERSION, mailbox->status);
		return -EPROTO;
	}
	session->spins = mailbox->flags & GIL_FLAG_SPIN;
	return 0;
}

/* Begins a session of the current address space, or says why there is none. One of the
 * kernel's belongs to no program, and has no memory of theirs. */
struct gil_session *gil_session_open(bool is_kernel)
{
	struct gil_account *account;
	struct gil_session *session;
	int err;

	if (!current->mm)
		return ERR_PTR(-EPERM);
	account = gil_account_get();
	if (IS_ERR(account))
		return ERR_CAST(account);
	session = gil_session_create(is_kernel);
	if (!session) {
		gil_account_put(account);
		return ERR_PTR(-ENOMEM);
	}
	session->account = account;
	err = gil_session_announce(session);
	if (err) {
		gil_session_free(session);
		return ERR_PTR(err);
	}
	return session;
}

/*
 * Ends it: first the host forgets every region, only then are they unpinned.
 * Waits for no GPU. Calling it again does nothing.
 */
void gil_session_close(struct gil_session *session)
{
	struct gil_transfer *transfer, *next;

	mutex_lock(&session->lock);
	if (session->closed)
		goto unlock;
	session->closed = true;
	gil_attention_end(session);
	gil_ring(session, session->control, GIL_MBOX_CLOSE);
	list_for_each_entry_safe(transfer, next, &session->held, node) {
		gil_account_unhold(session->account);
		gil_transfer_destroy(transfer);
	}
	gil_imports_free(session);
	INIT_LIST_HEAD(&session->held);
	session->held_count = 0;
	wake_up_all(&session->progress_wait);
unlock:
	mutex_unlock(&session->lock);
}

/* Only after gil_session_close(), or if no host ever heard of it. */
void gil_session_free(struct gil_session *session)
{
	struct gil_block *block, *next;

	list_for_each_entry_safe(block, next, &session->idle, node)
		gil_block_free(block);
	if (session->spare)
		gil_block_free(session->spare);
	gil_attention_free(session);
	gil_block_free(session->control);
	gil_imports_free(session);
	gil_account_put(session->account);
	if (session->mm)
		mmdrop(session->mm);
	kfree(session);
}
