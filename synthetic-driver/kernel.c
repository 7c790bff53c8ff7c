// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions of the kernel's own, for other modules of gil's: they build requests and
 * regions themselves, from memory that is theirs.
 */
#include <linux/err.h>
#include <linux/module.h>
#include <asm/arch_timer.h>

#include "gil_internal.h"

#define GIL_EXPORT(symbol) EXPORT_SYMBOL_NS_GPL(symbol, GIL)

struct gil_session *gil_kernel_session_open(void)
{
	return gil_session_open(true);
}
GIL_EXPORT(gil_kernel_session_open);

void gil_kernel_session_close(struct gil_session *session)
{
	gil_session_close(session);
	gil_session_free(session);
}
GIL_EXPORT(gil_kernel_session_close);

/* Rings with a block whose request, reply and regions are set. The answer is in it. */
int gil_kernel_submit(struct gil_session *session, struct gil_block *block)
{
	int err;

	mutex_lock(&session->lock);
	err = session->closed ? -EBADF :
				gil_ring(session, block, GIL_MBOX_SUBMIT);
	if (!err)
		gil_collect_rest(session, &block->memory->mailbox);
	mutex_unlock(&session->lock);
	return err;
}
GIL_EXPORT(gil_kernel_submit);

/*
 * Rings with a mailbox of no session, whose request is set. The caller's lock is its
 * own; interrupts are off. Whether anybody answered.
 */
bool gil_kernel_ring(struct gil_mailbox *mailbox, u32 kind)
{
	mailbox->magic = GIL_MAILBOX_MAGIC;
	mailbox->version = GIL_ABI_VERSION;
	mailbox->kind = kind;
	mailbox->pointer_bits = 64;
	mailbox->counter_hz = arch_timer_get_cntfrq();
	gil_ring_alone(mailbox);
	return READ_ONCE(mailbox->status) != GIL_STATUS_UNSEEN;
}
GIL_EXPORT(gil_kernel_ring);

/* As GIL_IOC_WAIT. */
int gil_kernel_pass_time(struct gil_session *session, u32 kind, u64 deadline_ns)
{
	const struct gil_wait arg = {
		.kind = kind,
		.deadline_ns = deadline_ns,
	};

	return gil_pass_time(session, &arg);
}
GIL_EXPORT(gil_kernel_pass_time);

/* What envelopes have as the moment of a call. */
u64 gil_counter(void)
{
	return __arch_counter_get_cntvct();
}
GIL_EXPORT(gil_counter);

GIL_EXPORT(gil_block_get);
GIL_EXPORT(gil_block_put);
GIL_EXPORT(gil_chain_init);
GIL_EXPORT(gil_chain_begin);
GIL_EXPORT(gil_chain_add);
GIL_EXPORT(gil_chain_free);
