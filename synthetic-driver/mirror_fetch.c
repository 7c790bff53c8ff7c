// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the board changed in buffers comes back with the end of the jobs that use them, in
 * one round trip: a marker behind those of one buffer. What is new of others comes with it.
 */
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <asm/unaligned.h>

#include "mirror.h"

/* Jobs that one marker waits for. */
#define GIL_FETCH_WAITS_MAX 32
/* Buffers of one marker: FETCH_MOST of wire-protocol/src/driver.rs. */
#define GIL_FETCH_MAX 16
/* Nothing else is on this queue of a file's: its processors have the others. */
#define GIL_FETCH_QUEUE (0xffull << 32)
/* Before an ioctl's argument: the file's number, and the argument's length. */
#define GIL_ARGUMENT_HEAD 8
/* Before a fetch's buffers: the file's number, and theirs; before the results: a time,
 * and how many there are. */
#define GIL_FETCH_HEAD 8
#define GIL_FETCHED_HEAD 12

/* Which buffers come beside the one that is waited for. */
enum gil_fetch_others {
	GIL_FETCH_AWAITED, /* those that programs have waited for before */
	GIL_FETCH_ALL,
};

/* A fetch: the first buffer is waited for. Each one's `fetching` is held. */
struct gil_fetch {
	struct gil_mirror_buffer *buffers[GIL_FETCH_MAX];
	u16 count;
	u64 bytes;
	u8 args[GIL_FETCH_HEAD + GIL_FETCH_MAX * sizeof(u32)];
};

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

/* The board may have changed it, or somebody fetches that at this moment. */
static bool gil_fetch_has_news(struct gil_mirror_buffer *buffer)
{
	bool has = READ_ONCE(buffer->changed) ||
		   mutex_is_locked(&buffer->fetching);

	/* One that failed since has said so before it let go. */
	smp_rmb();
	return has || READ_ONCE(buffer->changed);
}

static bool gil_fetch_is_due(const struct gil_mirror *mirror,
			     struct gil_mirror_buffer *buffer)
{
	return READ_ONCE(buffer->mapped) && gil_fetch_has_news(buffer) &&
	       buffer->session_number == READ_ONCE(mirror->session_number);
}

static bool gil_fetch_takes(const struct gil_mirror *mirror, u32 file,
			    const struct gil_fetch *fetch,
			    struct gil_mirror_buffer *buffer,
			    enum gil_fetch_others others)
{
	u64 most = (u64)totalram_pages() << (PAGE_SHIFT - 1);

	return fetch->count < GIL_FETCH_MAX && buffer != fetch->buffers[0] &&
	       gil_fetch_is_due(mirror, buffer) &&
	       READ_ONCE(buffer->used_in) == file &&
	       (others == GIL_FETCH_ALL || READ_ONCE(buffer->awaited)) &&
	       fetch->bytes + buffer->base.base.size <= most;
}

static void gil_fetch_add(struct gil_fetch *fetch,
			  struct gil_mirror_buffer *buffer)
{
	fetch->buffers[fetch->count++] = buffer;
	fetch->bytes += buffer->base.base.size;
}

/* Others of the file's that may have something new; not those that somebody else fetches
 * at this moment. */
static void gil_fetch_add_others(struct gil_mirror *mirror, u32 file,
				 struct gil_fetch *fetch,
				 enum gil_fetch_others others)
{
	struct gil_mirror_buffer *buffer;

	mutex_lock(&mirror->buffers_lock);
	list_for_each_entry(buffer, &mirror->buffers, node) {
		if (!gil_fetch_takes(mirror, file, fetch, buffer, others) ||
		    !mutex_trylock(&buffer->fetching))
			continue;
		if (kref_get_unless_zero(&buffer->base.base.refcount))
			gil_fetch_add(fetch, buffer);
		else
			mutex_unlock(&buffer->fetching);
	}
	mutex_unlock(&mirror->buffers_lock);
}

/* All but the first, which the caller has. */
static void gil_fetch_drop_others(struct gil_fetch *fetch)
{
	while (fetch->count > 1) {
		struct gil_mirror_buffer *buffer =
			fetch->buffers[--fetch->count];

		mutex_unlock(&buffer->fetching);
		gil_mirror_buffer_put(buffer);
	}
}

static u32 gil_fetch_arguments(struct gil_fetch *fetch, u32 file)
{
	u8 *to = fetch->args;
	unsigned int i;

	put_unaligned_le32(file, to);
	put_unaligned_le32(fetch->count, to + sizeof(u32));
	to += GIL_FETCH_HEAD;
	for (i = 0; i < fetch->count; i++, to += sizeof(u32)) {
		put_unaligned_le32(fetch->buffers[i]->number, to);
		/* What changes from here on is for the next one. */
		WRITE_ONCE(fetch->buffers[i]->changed, false);
	}
	return to - fetch->args;
}

/* What the driver's wait for the first buffer returned. Those that did not come still
 * may have something new. */
static int gil_fetch_results(struct gil_fetch *fetch, int err,
			     const struct gil_mirror_reply *reply)
{
	u32 wanted = GIL_FETCHED_HEAD + fetch->count * sizeof(u32);
	const u8 *results = reply->result + GIL_FETCHED_HEAD;
	unsigned int i;
	int result = 0;

	if (!err && reply->result_len != wanted)
		err = -EPROTO;
	for (i = fetch->count; i-- > 0;) {
		result = err ?: (s32)get_unaligned_le32(results +
							i * sizeof(u32));
		if (result < 0)
			WRITE_ONCE(fetch->buffers[i]->changed, true);
	}
	return clamp(result, -MAX_ERRNO, 0);
}

static int gil_fetch_ask(struct gil_mirror *mirror, u32 file,
			 struct gil_fetch *fetch)
{
	u64 waits[GIL_FETCH_WAITS_MAX];
	struct gil_mirror_reply reply;
	struct gil_mirror_call call;
	u16 wait_count;
	int err = gil_fetch_events(mirror, fetch->buffers[0], waits,
				   &wait_count);

	if (err)
		return err;
	gil_mirror_call_init(&call, GIL_ENTRY_FETCH, GIL_CLASS_ENQUEUE);
	call.marker = true;
	call.queue = GIL_FETCH_QUEUE | file;
	call.signals = gil_fetch_event(mirror);
	call.waits = waits;
	call.wait_count = wait_count;
	call.args_len = gil_fetch_arguments(fetch, file);
	call.args = fetch->args;
	call.fetched = fetch->buffers;
	call.fetched_count = fetch->count;
	err = gil_mirror_ask(mirror, &call, &reply);
	err = gil_fetch_results(fetch, err, &reply);
	kfree(reply.memory);
	return err;
}

/* The caller holds the buffer's `fetching`. */
static int gil_fetch(struct gil_mirror *mirror, u32 file,
		     struct gil_mirror_buffer *buffer,
		     enum gil_fetch_others others)
{
	struct gil_fetch fetch = {};
	int err;

	gil_fetch_add(&fetch, buffer);
	gil_fetch_add_others(mirror, file, &fetch, others);
	err = gil_fetch_ask(mirror, file, &fetch);
	gil_fetch_drop_others(&fetch);
	return err;
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
	err = gil_fetch(mirror, file, buffer, GIL_FETCH_AWAITED);
	mutex_unlock(&buffer->fetching);
	return err;
}

/* As that, if the board may have changed it. Nobody goes on while another fetches it. */
static int gil_fetch_changed(struct gil_mirror *mirror, u32 file,
			     struct gil_mirror_buffer *buffer,
			     enum gil_fetch_others others)
{
	int err = 0;

	mutex_lock(&buffer->fetching);
	if (READ_ONCE(buffer->changed))
		err = gil_fetch(mirror, file, buffer, others);
	mutex_unlock(&buffer->fetching);
	return err;
}

/* A program waits for the buffer, and will again: from then on it comes with others. */
int gil_mirror_fetch_awaited(struct gil_mirror *mirror, u32 file,
			     struct gil_mirror_buffer *buffer)
{
	WRITE_ONCE(buffer->awaited, true);
	/* A fence of the same job that has signalled by then is waited for without a call. */
	return gil_fetch_changed(mirror, file, buffer,
				 READ_ONCE(mirror->has_fences) ?
					 GIL_FETCH_ALL :
					 GIL_FETCH_AWAITED);
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
			     struct gil_mirror_buffer *buffer,
			     enum gil_fetch_others others)
{
	u32 before = 0, file = READ_ONCE(buffer->used_in);

	for (;;) {
		file = gil_fetch_file(mirror, file);
		if (!file || file == before ||
		    gil_fetch_changed(mirror, file, buffer, others) != -EBADF)
			return;
		before = file;
	}
}

/* A program maps a buffer whose jobs have ended: it may not wait any more. */
void gil_mirror_fetch_mapped(struct gil_mirror *mirror,
			     struct gil_mirror_buffer *buffer)
{
	if (gil_fetch_has_news(buffer) &&
	    dma_resv_test_signaled(buffer->base.base.resv, DMA_RESV_USAGE_READ))
		gil_fetch_by_any(mirror, buffer, GIL_FETCH_AWAITED);
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

static int gil_fetch_later(const void *left, const void *right)
{
	const struct gil_mirror_buffer *const *a = left, *const *b = right;
	u64 mine = READ_ONCE((*a)->last_job), theirs = READ_ONCE((*b)->last_job);

	return mine < theirs ? 1 : mine > theirs ? -1 : 0;
}

/* Who waits for a job by its fence may read any buffer then without a call. */
void gil_mirror_fetch_all(struct gil_mirror *mirror)
{
	struct gil_mirror_buffer **due;
	unsigned int i, count;

	if (!gil_fetch_is_of_jobs(mirror))
		return;
	due = gil_fetch_due(mirror, &count);
	/* When the last job has ended, the others have, and most buffers come at once. */
	sort(due, count, sizeof(*due), gil_fetch_later, NULL);
	for (i = 0; i < count; i++) {
		gil_fetch_by_any(mirror, due[i], GIL_FETCH_ALL);
		gil_mirror_buffer_put(due[i]);
	}
	kvfree(due);
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
