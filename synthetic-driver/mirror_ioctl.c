// SPDX-License-Identifier: GPL-2.0-only
/*
 * A driver's ioctls, by its table. What the module knows is answered here; what has no
 * answer is collected; the rest asks the board.
 */
#include <drm/drm_ioctl.h>
#include <drm/drm_vma_manager.h>
#include <linux/compat.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "mirror_run.h"

/* Queries that are remembered: GPUs have few parameters. */
#define GIL_MIRROR_ANSWERS_MAX 256

/* A query that the board answered; it answers the same for every file. */
struct gil_mirror_answer {
	struct list_head node;
	u8 number;
	u32 asked_len;
	u32 result_len;
	u8 bytes[]; /* asked, result */
};

u64 gil_run_get(const struct gil_mirror_run *run,
		const struct gil_mirror_field *field)
{
	return gil_mirror_get(run->args.argument, field->offset, field->size);
}

void gil_run_set(struct gil_mirror_run *run,
		 const struct gil_mirror_field *field, u64 value)
{
	gil_mirror_set(run->args.argument, field->offset, field->size, value);
}

/* The buffer that the ioctl is about, with a reference. */
struct gil_mirror_buffer *gil_run_buffer(const struct gil_mirror_run *run)
{
	const struct gil_mirror_field *field =
		gil_mirror_field(run->args.ioctl, GIL_ROLE_BUFFER);
	struct gil_mirror_buffer *buffer;

	if (!field)
		return ERR_PTR(-EOPNOTSUPP);
	buffer = gil_mirror_buffer_get(run->args.file, gil_run_get(run, field));
	return buffer ?: ERR_PTR(-ENOENT);
}

static int gil_run_build(struct gil_mirror_run *run)
{
	int err = gil_mirror_file_open(run->mirror, run->own);

	return err ?: gil_mirror_args_build(&run->args, run->mirror,
					    run->own->number);
}

/* Begins the ioctl's call, whose arguments are built. */
void gil_run_call(struct gil_mirror_run *run, struct gil_mirror_call *call,
		  u8 class)
{
	gil_mirror_call_init(call, run->args.ioctl->number + GIL_ENTRY_IOCTL,
			     class);
	call->args = run->args.wire;
	call->args_len = run->args.wire_len;
	list_splice_tail_init(&run->args.kept, &call->kept);
}

/* ---- contexts -------------------------------------------------------- */

/* A file knows its contexts: the board made each of them for it. */
static int gil_run_keep_context(struct gil_mirror_run *run)
{
	const struct gil_mirror_field *field =
		gil_mirror_field(run->args.ioctl, GIL_ROLE_NEW_CONTEXT);

	if (!field)
		return 0;
	return xa_err(xa_store(&run->own->contexts, gil_run_get(run, field),
			       xa_mk_value(0), GFP_KERNEL));
}

/* The context that the ioctl names is there. */
static int gil_run_check_context(struct gil_mirror_run *run)
{
	const struct gil_mirror_field *field =
		gil_mirror_field(run->args.ioctl, GIL_ROLE_CONTEXT);

	if (!field || xa_load(&run->own->contexts, gil_run_get(run, field)))
		return 0;
	return -field->error;
}

/* And nobody else takes it away at this moment. */
static int gil_run_forget_context(struct gil_mirror_run *run)
{
	const struct gil_mirror_field *field =
		gil_mirror_field(run->args.ioctl, GIL_ROLE_CONTEXT);

	if (!field || xa_erase(&run->own->contexts, gil_run_get(run, field)))
		return 0;
	return -field->error;
}

/* ---- queries --------------------------------------------------------- */

static const struct gil_mirror_answer *
gil_run_find_answer(const struct gil_mirror_run *run)
{
	const struct gil_mirror_args *args = &run->args;
	const struct gil_mirror_answer *answer;
	/* All but the file's number. */
	u32 len = args->wire_len - sizeof(u32);

	list_for_each_entry(answer, &run->mirror->answers, node)
		if (answer->number == args->ioctl->number &&
		    answer->asked_len == len &&
		    !memcmp(answer->bytes, args->wire + sizeof(u32), len))
			return answer;
	return NULL;
}

static void gil_run_remember(struct gil_mirror_run *run,
			     const struct gil_mirror_reply *reply)
{
	struct gil_mirror *mirror = run->mirror;
	u32 len = run->args.wire_len - sizeof(u32);
	struct gil_mirror_answer *answer;

	answer = kmalloc(struct_size(answer, bytes, len + reply->result_len),
			 GFP_KERNEL);
	if (!answer)
		return;
	answer->number = run->args.ioctl->number;
	answer->asked_len = len;
	answer->result_len = reply->result_len;
	memcpy(answer->bytes, run->args.wire + sizeof(u32), len);
	memcpy(answer->bytes + len, reply->result, reply->result_len);
	mutex_lock(&mirror->lock);
	if (mirror->answer_count < GIL_MIRROR_ANSWERS_MAX) {
		list_add(&answer->node, &mirror->answers);
		mirror->answer_count++;
		answer = NULL;
	}
	mutex_unlock(&mirror->lock);
	kfree(answer);
}

/* The caller holds the lock, or is the last. */
void gil_mirror_answers_free(struct gil_mirror *mirror)
{
	struct gil_mirror_answer *answer, *next;

	list_for_each_entry_safe(answer, next, &mirror->answers, node)
		kfree(answer);
	INIT_LIST_HEAD(&mirror->answers);
	mirror->answer_count = 0;
}

/* Answers are added and, while a file is open, never taken away. */
static bool gil_run_recall(struct gil_mirror_run *run,
			   struct gil_mirror_reply *reply)
{
	const struct gil_mirror_answer *answer;

	mutex_lock(&run->mirror->lock);
	answer = gil_run_find_answer(run);
	mutex_unlock(&run->mirror->lock);
	if (!answer)
		return false;
	reply->result = answer->bytes + answer->asked_len;
	reply->result_len = answer->result_len;
	return true;
}

static int gil_run_ask(struct gil_mirror_run *run)
{
	/* What depends on a buffer, or on memory that does not travel in the key, is asked again. */
	bool keeps = run->args.ioctl->does == GIL_DOES_QUERY &&
		     !run->args.buffer_count && list_empty(&run->args.kept);
	struct gil_mirror_reply reply = {};
	struct gil_mirror_call call;
	int err;

	if (keeps && gil_run_recall(run, &reply))
		return gil_mirror_args_return(&run->args, &reply);
	gil_run_call(run, &call, GIL_CLASS_SYNC);
	err = gil_mirror_ask(run->mirror, &call, &reply);
	if (err)
		return err;
	err = gil_mirror_args_return(&run->args, &reply);
	if (keeps && err >= 0)
		gil_run_remember(run, &reply);
	gil_mirror_pass_time(run->mirror, &reply);
	kfree(reply.memory);
	return err;
}

/* ---- buffers --------------------------------------------------------- */

/* Each file has an address space of its own: an address is known for one of them. */
static void gil_run_keep_address(const struct gil_mirror_run *run,
				 struct gil_mirror_buffer *buffer, u64 address)
{
	mutex_lock(&run->mirror->lock);
	buffer->address = address;
	buffer->address_file = run->own->number;
	mutex_unlock(&run->mirror->lock);
}

static u64 gil_run_known_address(const struct gil_mirror_run *run,
				 const struct gil_mirror_buffer *buffer)
{
	u64 address = 0;

	mutex_lock(&run->mirror->lock);
	if (buffer->address_file == run->own->number)
		address = buffer->address;
	mutex_unlock(&run->mirror->lock);
	return address;
}

/* The call that tells where a buffer is, if the one that makes it does not. */
static const struct gil_mirror_ioctl *
gil_run_locating(const struct gil_mirror_run *run)
{
	const struct gil_mirror_driver *table = run->mirror->table;
	unsigned int i;

	if (gil_mirror_field(run->args.ioctl, GIL_ROLE_NEW_ADDRESS))
		return NULL;
	for (i = 0; i < table->ioctl_count; i++)
		if (table->ioctls[i].does == GIL_DOES_MAP &&
		    gil_mirror_field(&table->ioctls[i], GIL_ROLE_NEW_ADDRESS))
			return &table->ioctls[i];
	return NULL;
}

/* Makes the buffer and asks where it is, in one round trip. */
static int gil_run_make_located(struct gil_mirror_run *run,
				const struct gil_mirror_ioctl *locating)
{
	struct gil_mirror_call call;
	u64 address;
	int err;

	gil_run_call(run, &call, GIL_CLASS_POST);
	err = gil_mirror_post(run->mirror, &call);
	if (err)
		return err;
	err = gil_mirror_locate(run->mirror, locating, run->own->number,
				run->args.made, &address);
	if (!err)
		gil_run_keep_address(run, run->args.made, address);
	return err;
}

static int gil_run_make(struct gil_mirror_run *run)
{
	const struct gil_mirror_ioctl *locating = gil_run_locating(run);

	/* If that failed, the call's own answer says why. */
	if (locating && run->args.made && !gil_run_make_located(run, locating))
		return 0;
	return gil_run_ask(run);
}

static int gil_run_create(struct gil_mirror_run *run)
{
	const struct gil_mirror_field *field =
		gil_mirror_field(run->args.ioctl, GIL_ROLE_NEW_BUFFER);
	u32 handle;
	int err = gil_run_make(run);

	if (!field)
		return err < 0 ? err : gil_run_keep_context(run);
	if (err < 0) {
		/* The board has none: there is nothing to free. */
		run->args.made->number = 0;
		return err;
	}
	err = drm_gem_handle_create(run->args.file,
				    &run->args.made->base.base, &handle);
	if (err)
		return err;
	gil_run_set(run, field, handle);
	field = gil_mirror_field(run->args.ioctl, GIL_ROLE_NEW_ADDRESS);
	if (field) /* the call itself says it */
		gil_run_keep_address(run, run->args.made,
				     gil_run_get(run, field));
	return 0;
}

/* Where the board's GPU has a buffer: asked once a file, while no other asks. */
static int gil_run_address(struct gil_mirror_run *run,
			   struct gil_mirror_buffer *buffer)
{
	const struct gil_mirror_field *field =
		gil_mirror_field(run->args.ioctl, GIL_ROLE_NEW_ADDRESS);
	u64 address;
	int err;

	if (!field)
		return 0;
	address = gil_run_known_address(run, buffer);
	if (!address) {
		err = gil_run_build(run) ?: gil_run_ask(run);
		if (err)
			return err;
		address = gil_run_get(run, field);
		gil_run_keep_address(run, buffer, address);
	}
	gil_run_set(run, field, address);
	return 0;
}

/* Where mmap() finds it: the guest's own matter. */
static int gil_run_offset(struct gil_mirror_run *run,
			  struct gil_mirror_buffer *buffer)
{
	const struct gil_mirror_field *field =
		gil_mirror_field(run->args.ioctl, GIL_ROLE_MMAP_OFFSET);
	int err;

	if (!field)
		return 0;
	err = drm_gem_create_mmap_offset(&buffer->base.base);
	if (!err)
		gil_run_set(run, field,
			    drm_vma_node_offset_addr(
				    &buffer->base.base.vma_node));
	return err;
}

static int gil_run_map(struct gil_mirror_run *run)
{
	struct gil_mirror_buffer *buffer = gil_run_buffer(run);
	int err;

	if (IS_ERR(buffer))
		return PTR_ERR(buffer);
	/* A driver that says no address with it refuses a heap here, others at mmap(). */
	err = buffer->heap && !gil_mirror_field(run->args.ioctl,
						GIL_ROLE_NEW_ADDRESS) ?
		      -EINVAL :
		      0;
	err = err ?: gil_run_address(run, buffer) ?: gil_run_offset(run, buffer);
	gil_mirror_buffer_put(buffer);
	return err;
}

/* The board gets the buffers that the call names as they are now. */
int gil_run_send_buffers(struct gil_mirror_run *run)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < run->args.buffer_count && !err; i++)
		err = gil_mirror_buffer_changed(run->mirror,
						run->args.buffers[i]);
	return err;
}

/* A call of which nothing comes back. */
static int gil_run_post(struct gil_mirror_run *run)
{
	struct gil_mirror_call call;
	unsigned int i;
	int err;

	if (run->args.ioctl->does == GIL_DOES_TO_BOARD) {
		err = gil_run_send_buffers(run);
		if (err)
			return err;
	}
	gil_run_call(run, &call, GIL_CLASS_POST);
	err = gil_mirror_post(run->mirror, &call);
	for (i = 0; i < run->args.buffer_count && !err; i++)
		if (run->args.ioctl->does == GIL_DOES_FROM_BOARD)
			WRITE_ONCE(run->args.buffers[i]->changed, true);
	return err;
}

/* A handle is given back; the board hears of it when nothing has the buffer any more. */
static int gil_run_free_handle(struct gil_mirror_run *run)
{
	const struct gil_mirror_field *field =
		gil_mirror_field(run->args.ioctl, GIL_ROLE_BUFFER);
	struct gil_mirror_buffer *buffer = gil_run_buffer(run);

	if (IS_ERR(buffer))
		return PTR_ERR(buffer);
	gil_mirror_buffer_put(buffer);
	return drm_gem_handle_delete(run->args.file, gil_run_get(run, field));
}

/* What has no consequence here, if its buffer is there. */
static int gil_run_hint(struct gil_mirror_run *run)
{
	const struct gil_mirror_field *buffer =
		gil_mirror_field(run->args.ioctl, GIL_ROLE_BUFFER);
	const struct gil_mirror_field *is =
		gil_mirror_field(run->args.ioctl, GIL_ROLE_IS);
	struct gil_mirror_buffer *found;

	if (buffer) {
		found = gil_mirror_buffer_get(run->args.file,
					      gil_run_get(run, buffer));
		if (!found)
			return -ENOENT;
		gil_mirror_buffer_put(found);
	}
	if (is)
		gil_run_set(run, is, is->known);
	return 0;
}

/* ---- dispatch -------------------------------------------------------- */

static int gil_run_remote(struct gil_mirror_run *run)
{
	bool frees_buffer = run->args.ioctl->does == GIL_DOES_FREE &&
			    gil_mirror_field(run->args.ioctl, GIL_ROLE_BUFFER);
	int err;

	if (frees_buffer)
		return gil_run_free_handle(run);
	err = gil_run_build(run);
	if (err)
		return err;
	switch (run->args.ioctl->does) {
	case GIL_DOES_CREATE:
		return gil_run_create(run);
	case GIL_DOES_START:
		return gil_run_check_context(run) ?: gil_run_start(run);
	case GIL_DOES_FREE:
		return gil_run_forget_context(run) ?: gil_run_post(run);
	case GIL_DOES_TO_BOARD:
	case GIL_DOES_FROM_BOARD:
		return gil_run_post(run);
	default:
		return gil_run_ask(run);
	}
}

/*
 * Every ioctl passes here, as the program made it: `gil run --watch-driver` finds this
 * function by its name (host-iface/detect/src/watch/ioctl.rs), and the number and the
 * argument in its first two arguments.
 */
static noinline void gil_mirror_called(unsigned int number, const u8 *argument)
{
	/* The compiler must believe that both are used. */
	asm volatile("" : : "r"(number), "r"(argument) : "memory");
}

static int gil_run(struct gil_mirror_run *run)
{
	int err;

	gil_mirror_called(run->args.ioctl->number, run->args.argument);
	err = gil_mirror_args_check(run->args.ioctl, run->args.argument);
	if (err)
		return err;
	if (READ_ONCE(run->mirror->lost))
		return -EIO;
	switch (run->args.ioctl->does) {
	case GIL_DOES_HINT:
		return gil_run_hint(run);
	case GIL_DOES_MAP:
		err = gil_run_map(run);
		break;
	case GIL_DOES_WAIT:
		err = gil_run_wait(run);
		break;
	default:
		err = gil_run_remote(run);
	}
	gil_mirror_args_free(&run->args);
	return err;
}

static const struct gil_mirror_ioctl *
gil_mirror_find(const struct gil_mirror *mirror, unsigned int number)
{
	unsigned int i;

	for (i = 0; i < mirror->table->ioctl_count; i++)
		if (mirror->table->ioctls[i].number == number)
			return &mirror->table->ioctls[i];
	return NULL;
}

/* As drm_ioctl() does: a shorter argument ends in zeros, a longer one is not seen. */
static long gil_mirror_table_ioctl(struct file *filp,
				   const struct gil_mirror_ioctl *ioctl,
				   unsigned int cmd, void __user *user)
{
	struct drm_file *file = filp->private_data;
	struct gil_mirror *mirror = gil_mirror_of(file->minor->dev);
	u8 argument[GIL_MIRROR_ARGUMENT_MAX] __aligned(8) = {};
	struct gil_mirror_run run = {
		.mirror = mirror,
		.own = file->driver_priv,
		.args.file = file,
		.args.argument = argument,
		.args.ioctl = ioctl,
	};
	u32 len = min_t(u32, _IOC_SIZE(cmd), ioctl->argument->size);
	long result;

	if (cmd & IOC_IN && copy_from_user(argument, user, len))
		return -EFAULT;
	result = gil_run(&run);
	if (cmd & IOC_OUT && copy_to_user(user, argument, len))
		return -EFAULT;
	return result;
}

static long gil_mirror_own_ioctl(struct file *filp, unsigned int cmd,
				 void __user *user)
{
	struct drm_file *file = filp->private_data;
	const struct gil_mirror_ioctl *ioctl =
		gil_mirror_find(gil_mirror_of(file->minor->dev),
				DRM_IOCTL_NR(cmd) - DRM_COMMAND_BASE);

	return ioctl ? gil_mirror_table_ioctl(filp, ioctl, cmd, user) : -EINVAL;
}

/* Those that the kernel's helpers answer, too. */
static void gil_mirror_count(struct file *filp)
{
	struct drm_file *file = filp->private_data;
	struct gil_mirror_file *own = file->driver_priv;

	atomic_inc(&own->ioctls);
}

/* Of a device that is no DRM's: the table's ioctls alone. */
long gil_mirror_device_ioctl(struct file *filp, unsigned int cmd,
			     unsigned long arg)
{
	struct drm_file *file = filp->private_data;
	struct gil_mirror *mirror = gil_mirror_of(file->minor->dev);
	const struct gil_mirror_ioctl *ioctl =
		gil_mirror_find(mirror, _IOC_NR(cmd));

	gil_mirror_count(filp);
	if (_IOC_TYPE(cmd) != mirror->table->letter || !ioctl)
		return -ENOTTY;
	return gil_mirror_table_ioctl(filp, ioctl, cmd, (void __user *)arg);
}

/* Who waited for sync objects reads what their jobs wrote, and need not wait again. */
static long gil_mirror_waited(struct file *filp, unsigned int cmd, long result)
{
	struct drm_file *file = filp->private_data;
	unsigned int number = DRM_IOCTL_NR(cmd);

	if (!result && (number == DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD) ||
			number == DRM_IOCTL_NR(DRM_IOCTL_PRIME_HANDLE_TO_FD)))
		WRITE_ONCE(gil_mirror_of(file->minor->dev)->has_fences, true);
	if (!result && (number == DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_WAIT) ||
			number == DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT)))
		gil_mirror_fetch_all(gil_mirror_of(file->minor->dev));
	return result;
}

long gil_mirror_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	unsigned int number = DRM_IOCTL_NR(cmd);

	gil_mirror_count(filp);
	if (DRM_IOCTL_TYPE(cmd) != DRM_IOCTL_BASE ||
	    number < DRM_COMMAND_BASE || number >= DRM_COMMAND_END)
		return gil_mirror_waited(filp, cmd,
					 drm_ioctl(filp, cmd, arg));
	return gil_mirror_own_ioctl(filp, cmd, (void __user *)arg);
}

#ifdef CONFIG_COMPAT
/* The drivers' own structures are the same for programs of 32 bits. */
long gil_mirror_compat_ioctl(struct file *filp, unsigned int cmd,
			     unsigned long arg)
{
	unsigned int number = DRM_IOCTL_NR(cmd);

	gil_mirror_count(filp);
	if (DRM_IOCTL_TYPE(cmd) != DRM_IOCTL_BASE ||
	    number < DRM_COMMAND_BASE || number >= DRM_COMMAND_END)
		return gil_mirror_waited(filp, cmd,
					 drm_compat_ioctl(filp, cmd, arg));
	return gil_mirror_own_ioctl(filp, cmd, compat_ptr(arg));
}
#endif
