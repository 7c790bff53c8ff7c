// SPDX-License-Identifier: GPL-2.0-only
/*
 * An ioctl's argument as it travels: the structure with numbers of buffers in place of
 * handles, and the memory that it points to. And what comes back.
 */
#include <drm/drm_syncobj.h>
#include <linux/dma-fence.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <asm/unaligned.h>

#include "mirror.h"

/* What is longer is a region of its own. */
#define GIL_MIRROR_INLINE_MAX 512
#define GIL_MIRROR_WIRE_MAX 6144
/* Bytes that the driver may write for one pointer. */
#define GIL_MIRROR_OUT_MAX 4096
#define GIL_PROCESSORS_MAX \
	(GIL_ENGINE_LAST - GIL_ENGINE_PROCESSOR_FIRST + 1)
/* In a length: the bytes are in a region. */
#define GIL_MIRROR_IN_REGION 0x80000000u
/* Bytes before the argument: the file's number, and the argument's length. */
#define GIL_MIRROR_WIRE_HEAD 8

u64 gil_mirror_get(const u8 *argument, u32 offset, u32 size)
{
	return size == sizeof(u64) ? get_unaligned_le64(argument + offset) :
				     get_unaligned_le32(argument + offset);
}

void gil_mirror_set(u8 *argument, u32 offset, u32 size, u64 value)
{
	if (size == sizeof(u64))
		put_unaligned_le64(value, argument + offset);
	else
		put_unaligned_le32(value, argument + offset);
}

static u64 gil_field_get(const u8 *argument,
			 const struct gil_mirror_field *field)
{
	return gil_mirror_get(argument, field->offset, field->size);
}

static void gil_field_set(u8 *argument, const struct gil_mirror_field *field,
			  u64 value)
{
	gil_mirror_set(argument, field->offset, field->size, value);
}

/* The first field of this role; NULL: none. */
const struct gil_mirror_field *
gil_mirror_field(const struct gil_mirror_ioctl *ioctl, u8 role)
{
	unsigned int i;

	for (i = 0; i < ioctl->argument->field_count; i++)
		if (ioctl->argument->fields[i].role == role)
			return &ioctl->argument->fields[i];
	return NULL;
}

/* Whether a job of this processor may have so many elements. */
static bool gil_count_fits(const struct gil_mirror_field *field,
			   const u8 *argument, u64 count)
{
	u32 processor, i;

	if (!field->limit_count)
		return count;
	processor = gil_mirror_get(argument, field->at, sizeof(u32));
	for (i = 0; i < field->limit_count; i++)
		if (field->limits[i].processor == processor &&
		    field->limits[i].count == count)
			return true;
	return false;
}

static bool gil_heap_fits(const struct gil_mirror_field *field, u64 flags)
{
	return !(flags & ~field->known) &&
	       (!(flags & field->polls) ||
		(flags & field->with) == field->with);
}

static int gil_struct_check(const struct gil_mirror_struct *structure,
			    const u8 *argument)
{
	unsigned int i;

	for (i = 0; i < structure->field_count; i++) {
		const struct gil_mirror_field *field = &structure->fields[i];
		u64 value = gil_field_get(argument, field);

		if (field->role == GIL_ROLE_ZERO && value)
			return -EINVAL;
		/* No buffer is there. */
		if (field->role == GIL_ROLE_ADDRESS && !value)
			return -EINVAL;
		if (field->role == GIL_ROLE_FLAGS && value & ~field->known)
			return -EINVAL;
		if (field->role == GIL_ROLE_HEAP &&
		    !gil_heap_fits(field, value))
			return -EINVAL;
		if (field->role == GIL_ROLE_COUNT &&
		    !gil_count_fits(field, argument, value))
			return -EINVAL;
		if (field->role == GIL_ROLE_HIDDEN && value < BITS_PER_LONG_LONG &&
		    field->known & 1ull << value)
			return -EINVAL;
		if (field->role == GIL_ROLE_PROCESSOR &&
		    value > (field->known ?: GIL_PROCESSORS_MAX - 1))
			return -EINVAL;
	}
	return 0;
}

/* What the real driver refuses at once. */
int gil_mirror_args_check(const struct gil_mirror_ioctl *ioctl,
			  const u8 *argument)
{
	return gil_struct_check(ioctl->argument, argument);
}

static int gil_wire_put(struct gil_mirror_args *args, const void *bytes,
			u32 len)
{
	if (len > args->wire_cap - args->wire_len)
		return -E2BIG;
	memcpy(args->wire + args->wire_len, bytes, len);
	args->wire_len += len;
	return 0;
}

static int gil_wire_u32(struct gil_mirror_args *args, u32 value)
{
	__le32 bytes = cpu_to_le32(value);

	return gil_wire_put(args, &bytes, sizeof(bytes));
}

/* Adds to a list of pointers that grows. */
static int gil_list_add(void ***list, unsigned int *count, unsigned int *cap,
			void *item)
{
	if (*count == *cap) {
		unsigned int more = max(16u, 2 * *cap);
		void **longer;

		longer = kvmalloc_array(more, sizeof(*longer), GFP_KERNEL);
		if (!longer)
			return -ENOMEM;
		if (*count)
			memcpy(longer, *list, *count * sizeof(*longer));
		kvfree(*list);
		*list = longer;
		*cap = more;
	}
	(*list)[(*count)++] = item;
	return 0;
}

/* The number of a handle's buffer, which the call then names. */
static int gil_args_name(struct gil_mirror_args *args, u32 handle, u32 *number)
{
	struct gil_mirror_buffer *buffer =
		gil_mirror_buffer_get(args->file, handle);
	int err;

	if (!buffer)
		return -ENOENT;
	err = gil_list_add((void ***)&args->buffers, &args->buffer_count,
			   &args->buffer_cap, buffer);
	if (err)
		gil_mirror_buffer_put(buffer);
	*number = buffer->number;
	WRITE_ONCE(buffer->used_in,
		   ((struct gil_mirror_file *)args->file->driver_priv)->number);
	return err;
}

/* The job waits for this fence, whose reference is the list's from here on. */
int gil_mirror_args_wait(struct gil_mirror_args *args, struct dma_fence *fence)
{
	int err = gil_list_add((void ***)&args->fences, &args->fence_count,
			       &args->fence_cap, fence);

	if (err)
		dma_fence_put(fence);
	return err;
}

/* And for this sync object's. */
static int gil_args_sync(struct gil_mirror_args *args, u32 handle)
{
	struct dma_fence *fence;
	int err;

	if (!handle)
		return 0;
	err = drm_syncobj_find_fence(args->file, handle, 0, 0, &fence);
	return err ?: gil_mirror_args_wait(args, fence);
}

/* The buffer that was named last is one that the job only reads. */
static int gil_args_read(struct gil_mirror_args *args)
{
	unsigned int cap = args->buffer_cap;
	u8 *longer;

	if (args->read_cap < cap) {
		longer = kvzalloc(cap, GFP_KERNEL);
		if (!longer)
			return -ENOMEM;
		if (args->reads)
			memcpy(longer, args->reads, args->read_cap);
		kvfree(args->reads);
		args->reads = longer;
		args->read_cap = cap;
	}
	args->reads[args->buffer_count - 1] = true;
	return 0;
}

/*
 * Whether the job may write the buffer args->buffers[i]. Where a driver's table does not
 * say, it may.
 */
bool gil_mirror_written(const struct gil_mirror_args *args, unsigned int i)
{
	return i >= args->read_cap || !args->reads[i];
}

/* Names the buffers of an element of a list. */
static int gil_args_element(struct gil_mirror_args *args,
			    const struct gil_mirror_struct *inner, u8 *memory)
{
	const struct gil_mirror_field *field;
	unsigned int i;
	u32 number;
	int err = gil_struct_check(inner, memory);

	for (i = 0; i < inner->field_count && !err; i++) {
		field = &inner->fields[i];
		if (field->role != GIL_ROLE_BUFFER)
			continue;
		err = gil_args_name(args, gil_field_get(memory, field), &number);
		if (!err)
			gil_field_set(memory, field, number);
	}
	for (i = 0; i < inner->field_count && !err; i++) {
		field = &inner->fields[i];
		if (field->role == GIL_ROLE_WRITES &&
		    !(gil_field_get(memory, field) & field->known))
			err = gil_args_read(args);
	}
	return err;
}

/* Numbers in place of handles in what a pointer leads to. */
static int gil_args_translate(struct gil_mirror_args *args,
			      const struct gil_mirror_field *field, u8 *memory,
			      u32 count)
{
	const struct gil_mirror_struct *inner = field->inner;
	u32 i, number;
	int err = 0;

	for (i = 0; field->element == GIL_ELEMENT_SYNCS && i < count && !err;
	     i++)
		err = gil_args_sync(args, get_unaligned_le32(memory + 4 * i));
	for (i = 0; field->element == GIL_ELEMENT_BUFFERS && i < count && !err;
	     i++) {
		err = gil_args_name(args, get_unaligned_le32(memory + 4 * i),
				    &number);
		if (!err)
			put_unaligned_le32(number, memory + 4 * i);
	}
	for (i = 0; field->element == GIL_ELEMENT_STRUCTS && i < count && !err;
	     i++, memory += inner->size)
		err = gil_args_element(args, inner, memory);
	return err;
}

static u64 gil_args_count(const struct gil_mirror_args *args,
			  const struct gil_mirror_field *field)
{
	if (!gil_field_get(args->argument, field))
		return 0;
	return field->at_size ? gil_mirror_get(args->argument, field->at,
					       field->at_size) :
				field->count;
}

static int gil_args_size(const struct gil_mirror_args *args,
			 const struct gil_mirror_field *field, u32 *count,
			 u32 *len)
{
	u64 wanted = gil_args_count(args, field);

	if (wanted > (field->element == GIL_ELEMENT_BYTES ?
			      GIL_MIRROR_BYTES_MAX :
			      GIL_MIRROR_ELEMENTS_MAX))
		return -EINVAL;
	*count = wanted;
	*len = wanted * field->element_size;
	return 0;
}

/* Hands memory over: behind the length, or as a region. */
static int gil_args_hand_over(struct gil_mirror_args *args, void *memory,
			      u32 len)
{
	struct gil_mirror_kept *kept;
	int err;

	if (len <= GIL_MIRROR_INLINE_MAX) {
		err = gil_wire_u32(args, len) ?: gil_wire_put(args, memory, len);
		kvfree(memory);
		return err;
	}
	kept = kzalloc(sizeof(*kept), GFP_KERNEL);
	if (!kept) {
		kvfree(memory);
		return -ENOMEM;
	}
	kept->memory = memory;
	kept->len = len;
	list_add_tail(&kept->node, &args->kept);
	return gil_wire_u32(args, len | GIL_MIRROR_IN_REGION);
}

static int gil_args_pointer(struct gil_mirror_args *args,
			    const struct gil_mirror_field *field)
{
	void *memory;
	u32 count, len;
	int err = gil_args_size(args, field, &count, &len);

	if (err)
		return err;
	if (field->is_out && field->at_size && count > GIL_MIRROR_OUT_MAX) {
		/* The answer has to fit; drivers write as much as they have. */
		len = GIL_MIRROR_OUT_MAX;
		gil_mirror_set(args->wire + GIL_MIRROR_WIRE_HEAD, field->at,
			       field->at_size, len);
	}
	if (field->is_out || !len)
		return gil_wire_u32(args, len);
	memory = kvmalloc(len, GFP_KERNEL_ACCOUNT);
	if (!memory)
		return -ENOMEM;
	if (copy_from_user(memory,
			   u64_to_user_ptr(gil_field_get(args->argument, field)),
			   len))
		err = -EFAULT;
	if (!err)
		err = gil_args_translate(args, field, memory, count);
	if (err) {
		kvfree(memory);
		return err;
	}
	if (field->element == GIL_ELEMENT_SYNCS) {
		/* Fences are the guest's own matter. */
		kvfree(memory);
		gil_mirror_set(args->wire + GIL_MIRROR_WIRE_HEAD, field->at,
			       field->at_size, 0);
		return gil_wire_u32(args, 0);
	}
	return gil_args_hand_over(args, memory, len);
}

static bool gil_args_is_heap(const struct gil_mirror_args *args)
{
	const struct gil_mirror_field *flags =
		gil_mirror_field(args->ioctl, GIL_ROLE_HEAP);

	return flags && gil_field_get(args->argument, flags) & flags->polls;
}

/* A buffer of the call's size, with a number that no other had. */
static int gil_args_make(struct gil_mirror_args *args, struct gil_mirror *mirror)
{
	const struct gil_mirror_field *size =
		gil_mirror_field(args->ioctl, GIL_ROLE_SIZE);
	struct gil_mirror_buffer *buffer;

	if (!size || args->made)
		return -EINVAL;
	buffer = gil_mirror_buffer_create(mirror,
					  gil_field_get(args->argument, size));
	if (IS_ERR(buffer))
		return PTR_ERR(buffer);
	buffer->heap = gil_args_is_heap(args);
	mutex_lock(&mirror->lock);
	buffer->session_number = mirror->session_number;
	buffer->number = ++mirror->last_buffer;
	mutex_unlock(&mirror->lock);
	args->made = buffer;
	return 0;
}

/* One field of the structure, in the copy that travels. */
static int gil_args_field(struct gil_mirror_args *args,
			  struct gil_mirror *mirror,
			  const struct gil_mirror_field *field)
{
	u8 *copy = args->wire + GIL_MIRROR_WIRE_HEAD;
	u64 value = gil_field_get(args->argument, field);
	u32 number;
	int err;

	switch (field->role) {
	case GIL_ROLE_BUFFER:
		err = gil_args_name(args, value, &number);
		if (!err)
			gil_field_set(copy, field, number);
		return err;
	case GIL_ROLE_NEW_BUFFER:
		err = gil_args_make(args, mirror);
		if (!err)
			gil_field_set(copy, field, args->made->number);
		return err;
	case GIL_ROLE_FENCE:
		gil_field_set(copy, field, 0);
		gil_mirror_set(copy, field->at, sizeof(u32),
			       gil_mirror_get(copy, field->at, sizeof(u32)) &
				       ~(field->known | field->polls));
		return 0;
	case GIL_ROLE_SYNC:
		gil_field_set(copy, field, 0);
		return gil_args_sync(args, value);
	case GIL_ROLE_SYNC_OUT:
		gil_field_set(copy, field, 0);
		return 0;
	case GIL_ROLE_POINTER:
		gil_field_set(copy, field, 0);
		return gil_args_pointer(args, field);
	default:
		return 0;
	}
}

/* Builds what travels. After an error too, gil_mirror_args_free() follows. */
int gil_mirror_args_build(struct gil_mirror_args *args,
			  struct gil_mirror *mirror, u32 file_number)
{
	const struct gil_mirror_struct *structure = args->ioctl->argument;
	unsigned int i;
	int err;

	INIT_LIST_HEAD(&args->kept);
	args->wire_cap = GIL_MIRROR_WIRE_MAX;
	args->wire = kmalloc(args->wire_cap, GFP_KERNEL);
	if (!args->wire)
		return -ENOMEM;
	err = gil_wire_u32(args, file_number) ?:
	      gil_wire_u32(args, structure->size) ?:
	      gil_wire_put(args, args->argument, structure->size);
	for (i = 0; i < structure->field_count && !err; i++)
		err = gil_args_field(args, mirror, &structure->fields[i]);
	return err;
}

void gil_mirror_args_free(struct gil_mirror_args *args)
{
	struct gil_mirror_kept *kept, *next;
	unsigned int i;

	for (i = 0; i < args->buffer_count; i++)
		gil_mirror_buffer_put(args->buffers[i]);
	kvfree(args->buffers);
	kvfree(args->reads);
	for (i = 0; i < args->fence_count; i++)
		dma_fence_put(args->fences[i]);
	kvfree(args->fences);
	if (args->made)
		gil_mirror_buffer_put(args->made);
	if (args->kept.next)
		list_for_each_entry_safe(kept, next, &args->kept, node) {
			kvfree(kept->memory);
			kfree(kept);
		}
	kfree(args->wire);
}

/* A reader of the answer. */
struct gil_mirror_rest {
	const u8 *bytes;
	u32 len;
};

static int gil_rest_u32(struct gil_mirror_rest *rest, u32 *value)
{
	if (rest->len < sizeof(u32))
		return -EPROTO;
	*value = get_unaligned_le32(rest->bytes);
	rest->bytes += sizeof(u32);
	rest->len -= sizeof(u32);
	return 0;
}

static const u8 *gil_rest_bytes(struct gil_mirror_rest *rest, u32 len)
{
	const u8 *bytes = rest->bytes;

	if (len > rest->len)
		return NULL;
	rest->bytes += len;
	rest->len -= len;
	return bytes;
}

static void gil_args_keep(const struct gil_mirror_args *args, u8 *merged,
			  u32 offset, u32 size)
{
	gil_mirror_set(merged, offset, size,
		       gil_mirror_get(args->argument, offset, size));
}

/* The fields that are the guest's own stay as the program gave them. */
static void gil_args_merge(struct gil_mirror_args *args, const u8 *from)
{
	const struct gil_mirror_struct *structure = args->ioctl->argument;
	u8 merged[GIL_MIRROR_ARGUMENT_MAX];
	unsigned int i;

	memcpy(merged, from, structure->size);
	for (i = 0; i < structure->field_count; i++) {
		const struct gil_mirror_field *field = &structure->fields[i];

		if (field->role == GIL_ROLE_FENCE)
			gil_args_keep(args, merged, field->at, sizeof(u32));
		if (field->role == GIL_ROLE_POINTER && field->at_size)
			gil_args_keep(args, merged, field->at, field->at_size);
		switch (field->role) {
		case GIL_ROLE_FENCE:
		case GIL_ROLE_BUFFER:
		case GIL_ROLE_NEW_BUFFER:
		case GIL_ROLE_POINTER:
		case GIL_ROLE_SYNC:
		case GIL_ROLE_SYNC_OUT:
			gil_field_set(merged, field,
				      gil_field_get(args->argument, field));
		}
	}
	memcpy(args->argument, merged, structure->size);
}

static int gil_args_return_memory(struct gil_mirror_args *args,
				  const struct gil_mirror_field *field,
				  struct gil_mirror_rest *rest)
{
	u64 to = gil_field_get(args->argument, field);
	const u8 *bytes;
	u32 count, wanted, len;
	int err = gil_rest_u32(rest, &len) ?:
		  gil_args_size(args, field, &count, &wanted);

	if (err)
		return err;
	bytes = gil_rest_bytes(rest, len);
	if (!bytes || len > wanted)
		return -EPROTO;
	return copy_to_user(u64_to_user_ptr(to), bytes, len) ? -EFAULT : 0;
}

/* Takes an answer apart. Returns what the board's driver returned. */
int gil_mirror_args_return(struct gil_mirror_args *args,
			   const struct gil_mirror_reply *reply)
{
	const struct gil_mirror_struct *structure = args->ioctl->argument;
	struct gil_mirror_rest rest = { reply->result, reply->result_len };
	u32 result, len;
	const u8 *bytes;
	unsigned int i;
	int err = gil_rest_u32(&rest, &result) ?: gil_rest_u32(&rest, &len);

	if (err)
		return err;
	if ((s32)result < 0)
		return max_t(s32, result, -MAX_ERRNO);
	bytes = gil_rest_bytes(&rest, len);
	if (!bytes || len != structure->size)
		return -EPROTO;
	gil_args_merge(args, bytes);
	for (i = 0; i < structure->field_count; i++) {
		const struct gil_mirror_field *field = &structure->fields[i];

		if (field->role != GIL_ROLE_POINTER || !field->is_out)
			continue;
		err = gil_args_return_memory(args, field, &rest);
		if (err)
			return err;
	}
	return result;
}
