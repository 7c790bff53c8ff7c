// SPDX-License-Identifier: GPL-2.0-only
/*
 * GIL_IOC_SUBMIT: one doorbell, exactly once. Everything that can fail is done
 * before the doorbell; what fails behind it no longer tells the program to try
 * again.
 */
#include <linux/err.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/uaccess.h>

#include "gil_internal.h"

/* What one submission needs while it lasts. */
struct gil_call {
	struct gil_session *session;
	struct gil_submit arg;
	struct gil_block *block;
	struct gil_transfer *transfer; /* NULL without regions */
	struct gil_chain chain;
};

static int gil_check_bounds(const struct gil_submit *arg)
{
	if (arg->reserved)
		return -EINVAL;
	if (!arg->request_len || arg->request_len > GIL_REQUEST_MAX)
		return -EINVAL;
	if (arg->reply_cap > GIL_REPLY_MAX)
		return -EINVAL;
	if (arg->region_count > GIL_REGIONS_MAX)
		return -EINVAL;
	return 0;
}

/*
 * The request's length was compared with the space for it, so this does without
 * the look at the kernel's side that copy_from_user() takes: it would be a tenth
 * of a submission's instructions.
 */
static int gil_copy_request(struct gil_call *call)
{
	struct gil_block_memory *memory = call->block->memory;
	const struct gil_submit *arg = &call->arg;
	const void __user *from = u64_to_user_ptr(arg->request);

	if (!access_ok(from, arg->request_len) ||
	    raw_copy_from_user(memory->request, from, arg->request_len))
		return -EFAULT;
	memory->mailbox.request = virt_to_phys(memory->request);
	memory->mailbox.request_len = arg->request_len;
	memory->mailbox.reply = virt_to_phys(memory->reply);
	memory->mailbox.reply_cap = arg->reply_cap;
	return 0;
}

/*
 * Behind the doorbell it is too late to find that there is nowhere to write the
 * answer to.
 */
static int gil_probe_results(const struct gil_call *call,
			     struct gil_submit __user *user)
{
	const struct gil_submit *arg = &call->arg;

	if (put_user(GIL_STATUS_UNSEEN, &user->status))
		return -EFAULT;
	if (arg->reply_cap &&
	    fault_in_writeable(u64_to_user_ptr(arg->reply), arg->reply_cap))
		return -EFAULT;
	return 0;
}

static int gil_read_regions(struct gil_call *call)
{
	size_t size = call->arg.region_count * sizeof(struct gil_region);
	struct gil_transfer *transfer;
	struct gil_region *regions;

	regions = memdup_user(u64_to_user_ptr(call->arg.regions), size);
	if (IS_ERR(regions))
		return PTR_ERR(regions);
	transfer = gil_transfer_create(call->session, regions,
				       call->arg.region_count);
	kfree(regions);
	if (IS_ERR(transfer))
		return PTR_ERR(transfer);
	call->transfer = transfer;
	return 0;
}

/* Counts the regions' bytes against the user, if need be after collecting. */
static int gil_charge(struct gil_call *call)
{
	struct gil_session *session = call->session;
	int err = 0;

	if (gil_transfer_charge(call->transfer))
		return 0;
	mutex_lock(&session->lock);
	if (session->held_count && !session->closed)
		err = gil_collect(session);
	mutex_unlock(&session->lock);
	if (!err && !gil_transfer_charge(call->transfer))
		err = -ENOMEM;
	return err;
}

static int gil_describe_regions(struct gil_call *call)
{
	struct gil_mbox_region *table = call->block->memory->regions;
	unsigned int i;
	int err;

	for (i = 0; i < call->transfer->count; i++) {
		err = gil_chain_region(&call->chain, &call->transfer->region[i],
				       &table[i]);
		if (err)
			return err;
	}
	return 0;
}

static int gil_prepare_regions(struct gil_call *call)
{
	struct gil_block_memory *memory = call->block->memory;
	int err;

	call->transfer = NULL;
	memory->mailbox.region_count = call->arg.region_count;
	if (!call->arg.region_count) {
		memory->mailbox.regions = 0;
		return 0;
	}
	memory->mailbox.regions = virt_to_phys(memory->regions);
	gil_chain_init(&call->chain, call->block);
	err = gil_read_regions(call);
	if (err)
		return err;
	err = gil_charge(call);
	if (err)
		return err;
	err = gil_transfer_hold(call->transfer);
	if (err)
		return err;
	return gil_describe_regions(call);
}

static int gil_prepare(struct gil_call *call, struct gil_submit __user *user)
{
	int err;

	err = gil_copy_request(call);
	if (err)
		return err;
	return gil_probe_results(call, user);
}

/*
 * The host will write to this submission's output later: keep it. The session
 * owns the transfer from here on, charge included.
 */
static void gil_keep_output(struct gil_call *call, u64 seq)
{
	struct gil_transfer *transfer = call->transfer;
	struct gil_session *session = call->session;

	gil_transfer_drop_inputs(transfer);
	transfer->seq = seq;
	list_add_tail(&transfer->node, &session->held);
	session->held_count++;
	gil_account_hold(session->account);
	call->transfer = NULL;
}

static int gil_execute(struct gil_call *call)
{
	struct gil_mailbox *mailbox = &call->block->memory->mailbox;
	struct gil_session *session = call->session;
	int err;

	mutex_lock(&session->lock);
	if (session->closed) {
		err = -EBADF;
		goto unlock;
	}
	call->arg.progress = session->progress;
	err = gil_ring(session, call->block, GIL_MBOX_SUBMIT);
	if (err)
		goto unlock;
	if (mailbox->flags & GIL_FLAG_HOLD && call->transfer &&
	    gil_transfer_has_output(call->transfer))
		gil_keep_output(call, mailbox->seq);
	gil_collect_rest(session, mailbox);
unlock:
	mutex_unlock(&session->lock);
	return err;
}

/* As for the request: the length is no more than the space on either side. */
static int gil_copy_reply(const struct gil_submit *arg, const u8 *reply)
{
	void __user *to = u64_to_user_ptr(arg->reply);

	if (!arg->reply_len)
		return 0;
	if (!access_ok(to, arg->reply_len) ||
	    raw_copy_to_user(to, reply, arg->reply_len))
		return -EFAULT;
	return 0;
}

/*
 * Hands the answer to the program. Its memory was there before the doorbell; if
 * another of its threads has taken it away since, EFAULT is all there is left
 * to say.
 */
static int gil_return_answer(struct gil_call *call,
			     struct gil_submit __user *user)
{
	const struct gil_block_memory *memory = call->block->memory;
	const struct gil_mailbox *mailbox = &memory->mailbox;
	struct gil_submit *arg = &call->arg;

	if (call->transfer)
		gil_transfer_deliver(call->transfer);
	arg->status = mailbox->status;
	arg->reply_len = min(mailbox->reply_len, arg->reply_cap);
	arg->deadline_ns = mailbox->deadline_ns;
	arg->now_ns = mailbox->now_ns;
	arg->wait_kind = mailbox->wait_kind;
	arg->flags = mailbox->flags & (GIL_FLAG_COLLECT | GIL_FLAG_PENDING);
	if (gil_copy_reply(arg, memory->reply))
		return -EFAULT;
	/* The rest is what the program gave. */
	return copy_to_user(&user->status, &arg->status,
			    sizeof(*arg) - offsetof(struct gil_submit, status)) ?
		       -EFAULT :
		       0;
}

static void gil_cleanup_regions(struct gil_call *call)
{
	gil_chain_free(&call->chain);
	if (call->transfer)
		gil_transfer_destroy(call->transfer);
}

static int gil_run(struct gil_call *call, struct gil_submit __user *user)
{
	int err = gil_prepare_regions(call);

	if (!err)
		err = gil_execute(call);
	if (!err)
		err = gil_return_answer(call, user);
	if (call->arg.region_count)
		gil_cleanup_regions(call);
	return err;
}

long gil_submit(struct gil_session *session, struct gil_submit __user *user)
{
	/* Filled field by field; zeroing it first would cost more than that. */
	struct gil_call call __uninitialized;
	int err;

	call.session = session;
	if (copy_from_user(&call.arg, user, sizeof(call.arg)))
		return -EFAULT;
	err = gil_check_bounds(&call.arg);
	if (err)
		return err;
	call.block = gil_block_get(session);
	if (!call.block)
		return -ENOMEM;
	err = gil_prepare(&call, user);
	if (!err)
		err = gil_run(&call, user);
	gil_block_put(session, call.block);
	return err;
}
