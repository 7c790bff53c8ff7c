// SPDX-License-Identifier: GPL-2.0-only
/*
 * Envelopes: calls without an answer are collected until one needs an answer, or no
 * more fit. wire-protocol/src/envelope/bytes.rs says what their bytes are.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <asm/unaligned.h>

#include "mirror.h"

/* Bytes before an envelope's optional numbers. */
#define GIL_ENVELOPE_FIXED 24
#define GIL_VARINT_MAX 10

/* The third of the bytes at offset 16. */
#define GIL_ENVELOPE_BLOCKING 1
#define GIL_ENVELOPE_OBSERVABLE 2
#define GIL_ENVELOPE_QUEUE 4
#define GIL_ENVELOPE_IN_ORDER 8
#define GIL_ENVELOPE_SIGNALS 16
#define GIL_ENVELOPE_RETIRES 32
#define GIL_ENVELOPE_MARKER 64
/* Beside the engine, the second of them. */
#define GIL_ENVELOPE_MIRROR 128

/* The node has one device. */
#define GIL_MIRROR_DEVICE 1

void gil_mirror_call_init(struct gil_mirror_call *call, u16 entry, u8 class)
{
	memset(call, 0, sizeof(*call));
	call->entry = entry;
	call->class = class;
	call->entered = gil_counter();
	INIT_LIST_HEAD(&call->kept);
}

static void gil_mirror_kept_free(struct list_head *kept)
{
	struct gil_mirror_kept *one, *next;

	list_for_each_entry_safe(one, next, kept, node) {
		if (one->buffer)
			gil_mirror_buffer_put(one->buffer);
		kvfree(one->memory);
		kfree(one);
	}
	INIT_LIST_HEAD(kept);
}

void gil_mirror_call_free(struct gil_mirror_call *call)
{
	gil_mirror_kept_free(&call->kept);
}

static u8 *gil_put_u64(u8 *to, u64 value)
{
	put_unaligned_le64(value, to);
	return to + sizeof(u64);
}

static u8 *gil_put_varint(u8 *to, u64 value)
{
	for (; value >= 0x80; value >>= 7)
		*to++ = value | 0x80;
	*to++ = value;
	return to;
}

static u32 gil_mirror_region_count(const struct gil_mirror_call *call)
{
	const struct gil_mirror_kept *kept;
	u32 count = (call->buffer ? 1 : 0) + call->fetched_count;

	list_for_each_entry(kept, &call->kept, node)
		count += kept->memory ? 1 : 0;
	return count;
}

static u64 gil_mirror_region_bytes(const struct gil_mirror_call *call)
{
	const struct gil_mirror_kept *kept;
	u64 bytes = call->buffer ? call->buffer->base.base.size : 0;
	unsigned int i;

	for (i = 0; i < call->fetched_count; i++)
		bytes += call->fetched[i]->base.base.size;
	list_for_each_entry(kept, &call->kept, node)
		bytes += kept->memory ? kept->len : 0;
	return bytes;
}

/* Whether the call's regions go with those that are collected. One buffer may be named
 * often, and the host takes no more bytes at once than the guest has memory. */
static bool gil_mirror_regions_fit(const struct gil_mirror_batch *batch,
				   const struct gil_mirror_call *call)
{
	u64 most = (u64)totalram_pages() << (PAGE_SHIFT - 1);

	return batch->region_count + gil_mirror_region_count(call) <=
		       GIL_REGIONS_MAX &&
	       (!batch->region_bytes ||
		batch->region_bytes + gil_mirror_region_bytes(call) <= most);
}

/* Bytes that the envelope takes at most. */
static u32 gil_mirror_envelope_max(const struct gil_mirror_call *call)
{
	return GIL_ENVELOPE_FIXED + 5 * sizeof(u64) +
	       call->wait_count * GIL_VARINT_MAX + call->args_len;
}

/* Writes the envelope to the request's end. There is room for it. */
static void gil_mirror_envelope(struct gil_mirror *mirror,
				const struct gil_mirror_call *call)
{
	struct gil_mirror_batch *batch = &mirror->batch;
	u8 *start = batch->block->memory->request + batch->len;
	u64 retired = gil_mirror_retired(mirror);
	u8 *to = start + GIL_ENVELOPE_FIXED;
	u8 engine = 0, flags = 0;
	unsigned int i;

	if (call->class == GIL_CLASS_ENQUEUE) {
		engine = call->engine;
		flags |= GIL_ENVELOPE_QUEUE | GIL_ENVELOPE_IN_ORDER |
			 GIL_ENVELOPE_SIGNALS;
		flags |= call->marker ? GIL_ENVELOPE_MARKER |
						GIL_ENVELOPE_BLOCKING :
					GIL_ENVELOPE_OBSERVABLE;
		to = gil_put_u64(to, call->queue);
		to = gil_put_u64(to, GIL_MIRROR_DEVICE);
		to = gil_put_u64(to, call->signals);
	}
	if (retired) {
		flags |= GIL_ENVELOPE_RETIRES;
		to = gil_put_u64(to, retired);
	}
	if (call->buffer) {
		engine |= GIL_ENVELOPE_MIRROR;
		to = gil_put_u64(to, call->buffer->number);
	}
	for (i = 0; i < call->wait_count; i++)
		to = gil_put_varint(to, call->waits[i]);
	memcpy(to, call->args, call->args_len);
	to += call->args_len;
	put_unaligned_le32(to - start - sizeof(u32), start);
	put_unaligned_le32((u32)mirror->table->api << 16 | call->entry,
			   start + 4);
	put_unaligned_le64(call->entered, start + 8);
	start[16] = call->class;
	start[17] = engine;
	start[18] = flags;
	start[19] = 0;
	put_unaligned_le16(gil_mirror_region_count(call), start + 20);
	put_unaligned_le16(call->wait_count, start + 22);
	batch->len += to - start;
}

static struct gil_mbox_region *gil_mirror_region(struct gil_mirror_batch *batch,
						 u64 len, u32 dir)
{
	struct gil_mbox_region *region =
		&batch->block->memory->regions[batch->region_count];

	if (gil_chain_begin(&batch->chain))
		return NULL;
	region->len = len;
	region->extents = virt_to_phys(batch->chain.tail);
	region->skip = 0;
	region->dir = dir;
	region->reserved = 0;
	batch->region_count++;
	batch->region_bytes += len;
	return region;
}

/* kvmalloc'ed memory, which may be pages anywhere. */
static int gil_mirror_memory_chain(struct gil_chain *chain, void *memory,
				   u32 len)
{
	int err = 0;

	while (len && !err) {
		u32 part = min_t(u32, len, PAGE_SIZE - offset_in_page(memory));
		u64 gpa = is_vmalloc_addr(memory) ?
				  page_to_phys(vmalloc_to_page(memory)) +
					  offset_in_page(memory) :
				  virt_to_phys(memory);

		err = gil_chain_add(chain, gpa, part);
		memory += part;
		len -= part;
	}
	return err;
}

static int gil_mirror_buffer_region(struct gil_mirror_batch *batch,
				    struct gil_mirror_buffer *buffer, u32 dir)
{
	if (!gil_mirror_region(batch, buffer->base.base.size, dir))
		return -ENOMEM;
	return gil_mirror_buffer_chain(buffer, &batch->chain);
}

static int gil_mirror_regions(struct gil_mirror_batch *batch,
			      struct gil_mirror_call *call)
{
	struct gil_mirror_kept *kept;
	unsigned int i;
	int err = 0;

	list_for_each_entry(kept, &call->kept, node) {
		if (!kept->memory)
			continue;
		if (!gil_mirror_region(batch, kept->len, GIL_DIR_IN))
			return -ENOMEM;
		err = gil_mirror_memory_chain(&batch->chain, kept->memory,
					      kept->len);
		if (err)
			return err;
	}
	if (call->buffer)
		err = gil_mirror_buffer_region(batch, call->buffer, GIL_DIR_IN);
	for (i = 0; i < call->fetched_count && !err; i++)
		err = gil_mirror_buffer_region(batch, call->fetched[i],
					       GIL_DIR_OUT);
	return err;
}

/* The caller holds the node's lock. */
static int gil_mirror_begin(struct gil_mirror *mirror)
{
	struct gil_mirror_batch *batch = &mirror->batch;

	if (batch->block)
		return 0;
	batch->block = gil_block_get(mirror->session);
	if (!batch->block)
		return -ENOMEM;
	gil_chain_init(&batch->chain, batch->block);
	batch->len = 0;
	batch->region_count = 0;
	batch->region_bytes = 0;
	return 0;
}

/* Takes the batch apart. What it kept is in `kept`, to be freed without the lock. */
static void gil_mirror_end(struct gil_mirror *mirror, struct list_head *kept)
{
	struct gil_mirror_batch *batch = &mirror->batch;

	if (batch->block) {
		gil_chain_free(&batch->chain);
		gil_block_put(mirror->session, batch->block);
		batch->block = NULL;
	}
	batch->len = 0;
	batch->region_count = 0;
	batch->region_bytes = 0;
	list_splice_tail_init(&batch->kept, kept);
}

static int gil_mirror_status(struct gil_mirror *mirror, u32 status)
{
	switch (status) {
	case GIL_STATUS_OK:
		return 0;
	case GIL_STATUS_LOST:
		if (!mirror->lost)
			pr_warn("the board is gone: %s answers EIO until its last file is closed\n",
				mirror->table->name);
		mirror->lost = true;
		return -EIO;
	case GIL_STATUS_UNSERVED:
		pr_warn_once("the board has no %s render node: give one that `gil ping` lists\n",
			     mirror->table->name);
		return -ENODEV;
	default:
		pr_warn_ratelimited("the host refused a call of %s (status %u)\n",
				    mirror->table->name, status);
		return -EINVAL;
	}
}

/* Rings with what is collected. The caller holds the lock. */
static int gil_mirror_ring(struct gil_mirror *mirror)
{
	struct gil_mirror_batch *batch = &mirror->batch;
	struct gil_block_memory *memory = batch->block->memory;
	struct gil_mailbox *mailbox = &memory->mailbox;
	int err;

	mailbox->request = virt_to_phys(memory->request);
	mailbox->request_len = batch->len;
	mailbox->reply = virt_to_phys(memory->reply);
	mailbox->reply_cap = GIL_REPLY_MAX;
	mailbox->regions =
		batch->region_count ? virt_to_phys(memory->regions) : 0;
	mailbox->region_count = batch->region_count;
	err = gil_kernel_submit(mirror->session, batch->block);
	return err ?: gil_mirror_status(mirror, mailbox->status);
}

/* Room for a call; what is collected goes to the host first if there is none. */
static int gil_mirror_room(struct gil_mirror *mirror,
			   const struct gil_mirror_call *call,
			   struct list_head *kept)
{
	struct gil_mirror_batch *batch = &mirror->batch;
	u32 len = gil_mirror_envelope_max(call);
	u32 regions = gil_mirror_region_count(call);
	int err;

	if (len > GIL_REQUEST_MAX || regions > GIL_REGIONS_MAX)
		return -EINVAL;
	if (batch->block && (batch->len + len > GIL_REQUEST_MAX ||
			     !gil_mirror_regions_fit(batch, call))) {
		err = gil_mirror_ring(mirror);
		gil_mirror_end(mirror, kept);
		if (err)
			return err;
	}
	return gil_mirror_begin(mirror);
}

/* Adds a call to the batch, which has its memory and references from here on. */
static int gil_mirror_add(struct gil_mirror *mirror,
			  struct gil_mirror_call *call, struct list_head *kept)
{
	u32 region_count;
	int err;

	if (mirror->lost || !mirror->session)
		return -EIO;
	err = gil_mirror_room(mirror, call, kept);
	if (err)
		return err;
	region_count = mirror->batch.region_count;
	err = gil_mirror_regions(&mirror->batch, call);
	if (err) {
		mirror->batch.region_count = region_count;
		return err;
	}
	gil_mirror_envelope(mirror, call);
	list_splice_tail_init(&call->kept, &mirror->batch.kept);
	return 0;
}

/* A call without an answer. Its memory is freed when it is with the host. */
int gil_mirror_post(struct gil_mirror *mirror, struct gil_mirror_call *call)
{
	LIST_HEAD(kept);
	int err;

	mutex_lock(&mirror->lock);
	err = gil_mirror_add(mirror, call, &kept);
	mutex_unlock(&mirror->lock);
	gil_mirror_kept_free(&kept);
	gil_mirror_call_free(call);
	return err;
}

/* The answer is postcard's: the result's length, its bytes, and more. */
static int gil_mirror_parse(struct gil_mirror_reply *reply, u32 len)
{
	u32 at = 0, shift = 0;
	u64 size = 0;

	while (at < len && shift < 64) {
		u8 byte = reply->memory[at++];

		size |= (u64)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80)) {
			if (size > len - at)
				return -EPROTO;
			reply->result = reply->memory + at;
			reply->result_len = size;
			return 0;
		}
	}
	return -EPROTO;
}

static int gil_mirror_take(struct gil_mirror *mirror,
			   struct gil_mirror_reply *reply)
{
	struct gil_block_memory *memory = mirror->batch.block->memory;
	const struct gil_mailbox *mailbox = &memory->mailbox;
	u32 len = min(mailbox->reply_len, GIL_REPLY_MAX);

	reply->wait_kind = mailbox->wait_kind;
	reply->deadline_ns = mailbox->deadline_ns;
	if (!len)
		return 0;
	reply->memory = kmemdup(memory->reply, len, GFP_KERNEL);
	if (!reply->memory)
		return -ENOMEM;
	reply->memory_len = len;
	return gil_mirror_parse(reply, len);
}

/* A call with an answer, behind all that is collected. The caller frees reply->memory. */
int gil_mirror_ask(struct gil_mirror *mirror, struct gil_mirror_call *call,
		   struct gil_mirror_reply *reply)
{
	LIST_HEAD(kept);
	int err;

	memset(reply, 0, sizeof(*reply));
	mutex_lock(&mirror->lock);
	err = gil_mirror_add(mirror, call, &kept);
	if (!err) {
		err = gil_mirror_ring(mirror);
		if (!err)
			err = gil_mirror_take(mirror, reply);
		gil_mirror_end(mirror, &kept);
	}
	mutex_unlock(&mirror->lock);
	gil_mirror_kept_free(&kept);
	gil_mirror_call_free(call);
	return err;
}

/* The time that a call took on the board. The call is done if a signal comes. */
void gil_mirror_pass_time(struct gil_mirror *mirror,
			  const struct gil_mirror_reply *reply)
{
	if (reply->wait_kind == GIL_WAIT_SLEEP ||
	    reply->wait_kind == GIL_WAIT_OCCUPY)
		gil_kernel_pass_time(mirror->session, reply->wait_kind,
				     reply->deadline_ns);
}

/* Hands what is collected to the host. */
void gil_mirror_batch_flush(struct gil_mirror *mirror)
{
	LIST_HEAD(kept);

	mutex_lock(&mirror->lock);
	if (mirror->batch.block) {
		if (mirror->batch.len && !mirror->lost)
			gil_mirror_ring(mirror);
		gil_mirror_end(mirror, &kept);
	}
	mutex_unlock(&mirror->lock);
	gil_mirror_kept_free(&kept);
}
