// SPDX-License-Identifier: GPL-2.0-only
/*
 * The driver's own calls about a buffer that the module makes by itself.
 *
 * What the board changed in a buffer comes back with the end of the jobs that use it, in
 * one round trip: a marker behind them, whose call is the driver's wait.
 */
#include <linux/dma-resv.h>
#include <linux/slab.h>
#include <asm/unaligned.h>

#include "mirror.h"

/* Jobs that one marker waits for. */
#define GIL_FETCH_WAITS_MAX 32
/* Nothing else is on this queue of a file's: its processors have the others. */
#define GIL_FETCH_QUEUE (0xffull << 32)
/* Before the argument: the file's number, and the argument's length. */
#define GIL_ARGUMENT_HEAD 8

static const struct gil_mirror_ioctl *
gil_fetch_ioctl(const struct gil_mirror *mirror)
{
	unsigned int i;

	for (i = 0; i < mirror->table->ioctl_count; i++)
		if (mirror->table->ioctls[i].does == GIL_DOES_WAIT)
			return &mirror->table->ioctls[i];
	return NULL;
}

/* The events of the jobs that use the buffer and have not ended. */
static int gil_fetch_events(struct gil_mirror *mirror,
			    struct gil_mirror_buffer *buffer, u64 *events,
			    u16 *count)
{
	struct dma_fence **fences;
	unsigned int i, all;
	int err = dma_resv_get_fences(buffer->base.base.resv,
				      DMA_RESV_USAGE_READ, &all, &fences);

	*count = 0;
	if (err)
		return err;
	for (i = 0; i < all; i++) {
		u64 event = dma_fence_is_signaled(fences[i]) ?
				    0 :
				    gil_mirror_fence_event(mirror, fences[i]);

		if (event && *count < GIL_FETCH_WAITS_MAX)
			events[(*count)++] = event;
		dma_fence_put(fences[i]);
	}
	kfree(fences);
	return 0;
}

static u64 gil_fetch_event(struct gil_mirror *mirror)
{
	u64 event;

	mutex_lock(&mirror->lock);
	event = ++mirror->last_event;
	mutex_unlock(&mirror->lock);
	return event;
}

/* The argument that names the buffer; all else is the board's to set. */
static u32 gil_buffer_argument(const struct gil_mirror_ioctl *ioctl, u8 *to,
			      u32 file, const struct gil_mirror_buffer *buffer)
{
	const struct gil_mirror_field *field =
		gil_mirror_field(ioctl, GIL_ROLE_BUFFER);
	u32 size = ioctl->argument->size;

	put_unaligned_le32(file, to);
	put_unaligned_le32(size, to + sizeof(u32));
	gil_mirror_set(to + GIL_ARGUMENT_HEAD, field->offset, field->size,
		       buffer->number);
	return GIL_ARGUMENT_HEAD + size;
}

static int gil_fetch(struct gil_mirror *mirror, u32 file,
		     struct gil_mirror_buffer *buffer)
{
	const struct gil_mirror_ioctl *ioctl = gil_fetch_ioctl(mirror);
	u8 args[GIL_ARGUMENT_HEAD + GIL_MIRROR_ARGUMENT_MAX] = {};
	u64 waits[GIL_FETCH_WAITS_MAX];
	struct gil_mirror_reply reply;
	struct gil_mirror_call call;
	u16 wait_count;
	int err;

	if (!ioctl || !gil_mirror_field(ioctl, GIL_ROLE_BUFFER))
		return -EOPNOTSUPP;
	err = gil_fetch_events(mirror, buffer, waits, &wait_count);
	if (err)
		return err;
	WRITE_ONCE(buffer->changed, false);
	gil_mirror_call_init(&call, ioctl->number + GIL_ENTRY_IOCTL,
			     GIL_CLASS_ENQUEUE);
	call.marker = true;
	call.queue = GIL_FETCH_QUEUE | file;
	call.signals = gil_fetch_event(mirror);
	call.waits = waits;
	call.wait_count = wait_count;
	call.args = args;
	call.args_len = gil_buffer_argument(ioctl, args, file, buffer);
	call.buffer = buffer;
	call.buffer_dir = GIL_DIR_OUT;
	err = gil_mirror_ask(mirror, &call, &reply);
	if (!err)
		err = reply.result_len < sizeof(u32) ?
			      -EPROTO :
			      (s32)get_unaligned_le32(reply.result);
	kfree(reply.memory);
	if (err < 0)
		WRITE_ONCE(buffer->changed, true);
	return max_t(int, err, -MAX_ERRNO);
}

/*
 * Returns what the board's driver returned. Jobs that use the buffer have ended on the
 * board then; in simulated time their fences signal when they end.
 */
int gil_mirror_fetch(struct gil_mirror *mirror, u32 file,
		     struct gil_mirror_buffer *buffer)
{
	int err;

	mutex_lock(&buffer->fetching);
	err = gil_fetch(mirror, file, buffer);
	mutex_unlock(&buffer->fetching);
	return err;
}

/* As that, if the board may have changed it. Nobody goes on while another fetches it. */
int gil_mirror_fetch_changed(struct gil_mirror *mirror, u32 file,
			     struct gil_mirror_buffer *buffer)
{
	int err = 0;

	mutex_lock(&buffer->fetching);
	if (READ_ONCE(buffer->changed))
		err = gil_fetch(mirror, file, buffer);
	mutex_unlock(&buffer->fetching);
	return err;
}

/* A file that is open on the board: this one, or another if it was closed; 0: none. */
static u32 gil_fetch_file(struct gil_mirror *mirror, u32 wanted)
{
	struct gil_mirror_file *own;
	struct drm_file *file;
	u32 number, found = 0;

	mutex_lock(&mirror->drm.filelist_mutex);
	list_for_each_entry(file, &mirror->drm.filelist, lhead) {
		own = file->driver_priv;
		number = READ_ONCE(own->number);
		if (!found || number == wanted)
			found = number;
	}
	mutex_unlock(&mirror->drm.filelist_mutex);
	return found;
}

/* By any file's call: the one that used the buffer may be closed, also at this moment. */
static void gil_fetch_by_any(struct gil_mirror *mirror,
			     struct gil_mirror_buffer *buffer)
{
	u32 before = 0, file = READ_ONCE(buffer->used_in);

	for (;;) {
		file = gil_fetch_file(mirror, file);
		if (!file || file == before ||
		    gil_mirror_fetch_changed(mirror, file, buffer) != -EBADF)
			return;
		before = file;
	}
}

/* A program maps a buffer whose jobs have ended: it may not wait any more. */
void gil_mirror_fetch_mapped(struct gil_mirror *mirror,
			     struct gil_mirror_buffer *buffer)
{
	if (READ_ONCE(buffer->changed) &&
	    dma_resv_test_signaled(buffer->base.base.resv, DMA_RESV_USAGE_READ))
		gil_fetch_by_any(mirror, buffer);
}

/* Whether jobs write what programs read. Where a call brings it, they wait for that. */
static bool gil_fetch_is_of_jobs(const struct gil_mirror *mirror)
{
	unsigned int i;

	for (i = 0; i < mirror->table->ioctl_count; i++)
		if (mirror->table->ioctls[i].does == GIL_DOES_FROM_BOARD)
			return false;
	return true;
}

static bool gil_fetch_is_due(const struct gil_mirror *mirror,
			     const struct gil_mirror_buffer *buffer)
{
	return READ_ONCE(buffer->mapped) && READ_ONCE(buffer->changed) &&
	       buffer->session_number == READ_ONCE(mirror->session_number);
}

/* The buffers that programs have mapped and the board may have changed, referenced. */
static struct gil_mirror_buffer **gil_fetch_due(struct gil_mirror *mirror,
						unsigned int *count)
{
	struct gil_mirror_buffer *buffer, **due = NULL;
	unsigned int all = 0;

	*count = 0;
	mutex_lock(&mirror->buffers_lock);
	list_for_each_entry(buffer, &mirror->buffers, node)
		all += gil_fetch_is_due(mirror, buffer);
	if (all)
		due = kvmalloc_array(all, sizeof(*due), GFP_KERNEL);
	if (due)
		list_for_each_entry(buffer, &mirror->buffers, node)
			if (*count < all && gil_fetch_is_due(mirror, buffer) &&
			    kref_get_unless_zero(&buffer->base.base.refcount))
				due[(*count)++] = buffer;
	mutex_unlock(&mirror->buffers_lock);
	return due;
}

/* Who waits for a job by its fence may read any buffer then without a call. */
void gil_mirror_fetch_all(struct gil_mirror *mirror)
{
	struct gil_mirror_buffer **due;
	unsigned int i, count;

	if (!gil_fetch_is_of_jobs(mirror))
		return;
	due = gil_fetch_due(mirror, &count);
	for (i = 0; i < count; i++) {
		gil_fetch_by_any(mirror, due[i]);
		gil_mirror_buffer_put(due[i]);
	}
	kvfree(due);
}

/*
 * Asks where the board's GPU has a buffer, whose creation is collected: an answer says
 * that it is there.
 */
int gil_mirror_locate(struct gil_mirror *mirror,
		      const struct gil_mirror_ioctl *ioctl, u32 file,
		      struct gil_mirror_buffer *buffer, u64 *address)
{
	const struct gil_mirror_field *field =
		gil_mirror_field(ioctl, GIL_ROLE_NEW_ADDRESS);
	u8 args[GIL_ARGUMENT_HEAD + GIL_MIRROR_ARGUMENT_MAX] = {};
	struct gil_mirror_reply reply;
	struct gil_mirror_call call;
	int err;

	gil_mirror_call_init(&call, ioctl->number + GIL_ENTRY_IOCTL,
			     GIL_CLASS_SYNC);
	call.args = args;
	call.args_len = gil_buffer_argument(ioctl, args, file, buffer);
	err = gil_mirror_ask(mirror, &call, &reply);
	if (err)
		return err;
	/* The result, the argument's length, the argument. */
	if (reply.result_len < GIL_ARGUMENT_HEAD + ioctl->argument->size)
		err = -EPROTO;
	else
		err = (s32)get_unaligned_le32(reply.result);
	if (!err)
		*address = gil_mirror_get(reply.result + GIL_ARGUMENT_HEAD,
					  field->offset, field->size);
	gil_mirror_pass_time(mirror, &reply);
	kfree(reply.memory);
	return err;
}
