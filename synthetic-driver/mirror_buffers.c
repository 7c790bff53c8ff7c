// SPDX-License-Identifier: GPL-2.0-only
/*
 * GEM buffers in guest RAM, as the kernel's helpers have them, and the numbers that
 * the board knows them by.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "mirror.h"

/* The board forgets the buffer. */
static void gil_mirror_buffer_forget(struct gil_mirror *mirror,
				     struct gil_mirror_buffer *buffer)
{
	struct gil_mirror_call call;
	__le32 number = cpu_to_le32(buffer->number);

	if (!buffer->number ||
	    READ_ONCE(mirror->session_number) != buffer->session_number)
		return;
	gil_mirror_call_init(&call, GIL_ENTRY_FREE, GIL_CLASS_POST);
	call.args = &number;
	call.args_len = sizeof(number);
	/* If the board is gone, so are its buffers. */
	gil_mirror_post(mirror, &call);
}

static void gil_mirror_gem_free(struct drm_gem_object *object)
{
	struct gil_mirror_buffer *buffer = gil_mirror_buffer_of(object);
	struct gil_mirror *mirror = gil_mirror_of(object->dev);

	mutex_lock(&mirror->buffers_lock);
	list_del(&buffer->node);
	mutex_unlock(&mirror->buffers_lock);
	gil_mirror_buffer_forget(mirror, buffer);
	drm_gem_shmem_free(&buffer->base);
}

static int gil_mirror_gem_mmap(struct drm_gem_object *object,
			       struct vm_area_struct *vma)
{
	struct gil_mirror_buffer *buffer = gil_mirror_buffer_of(object);
	int err;

	if (buffer->heap)
		return -EINVAL;
	err = drm_gem_shmem_object_mmap(object, vma);
	if (err)
		return err;
	WRITE_ONCE(buffer->mapped, true);
	gil_mirror_fetch_mapped(gil_mirror_of(object->dev), buffer);
	return 0;
}

static int gil_mirror_gem_vmap(struct drm_gem_object *object,
			       struct iosys_map *map)
{
	struct gil_mirror_buffer *buffer = gil_mirror_buffer_of(object);

	WRITE_ONCE(buffer->mapped, true);
	gil_mirror_fetch_mapped(gil_mirror_of(object->dev), buffer);
	return drm_gem_shmem_object_vmap(object, map);
}

static const struct drm_gem_object_funcs gil_mirror_gem_funcs = {
	.free = gil_mirror_gem_free,
	.print_info = drm_gem_shmem_object_print_info,
	.pin = drm_gem_shmem_object_pin,
	.unpin = drm_gem_shmem_object_unpin,
	.get_sg_table = drm_gem_shmem_object_get_sg_table,
	.vmap = gil_mirror_gem_vmap,
	.vunmap = drm_gem_shmem_object_vunmap,
	.mmap = gil_mirror_gem_mmap,
	.vm_ops = &drm_gem_shmem_vm_ops,
};

/* For the kernel's helpers, which make the objects. */
struct drm_gem_object *gil_mirror_gem_create(struct drm_device *drm,
					     size_t size)
{
	struct gil_mirror_buffer *buffer = kzalloc(sizeof(*buffer), GFP_KERNEL);

	if (!buffer)
		return ERR_PTR(-ENOMEM);
	buffer->base.base.funcs = &gil_mirror_gem_funcs;
	mutex_init(&buffer->fetching);
	INIT_LIST_HEAD(&buffer->node);
	return &buffer->base.base;
}

/* A buffer with a number, and pages. */
struct gil_mirror_buffer *gil_mirror_buffer_create(struct gil_mirror *mirror,
						   u64 size)
{
	struct drm_gem_shmem_object *object;
	struct gil_mirror_buffer *buffer;
	int err;

	size = roundup(max_t(u64, size, 1), PAGE_SIZE);
	if (size > GIL_MIRROR_BUFFER_MAX)
		return ERR_PTR(-ENOMEM);
	object = drm_gem_shmem_create(&mirror->drm, size);
	if (IS_ERR(object))
		return ERR_CAST(object);
	buffer = gil_mirror_buffer_of(&object->base);
	mutex_lock(&mirror->buffers_lock);
	list_add_tail(&buffer->node, &mirror->buffers);
	mutex_unlock(&mirror->buffers_lock);
	/* They stay as long as the buffer: drm_gem_shmem_free() lets go of them. */
	err = PTR_ERR_OR_ZERO(drm_gem_shmem_get_pages_sgt(object));
	if (err) {
		gil_mirror_buffer_put(buffer);
		return ERR_PTR(err);
	}
	return buffer;
}

/* The buffer of a handle, with a reference; NULL: none, or of an earlier session. */
struct gil_mirror_buffer *gil_mirror_buffer_get(struct drm_file *file,
						u32 handle)
{
	struct drm_gem_object *object = drm_gem_object_lookup(file, handle);
	struct gil_mirror_buffer *buffer;
	struct gil_mirror *mirror;

	if (!object)
		return NULL;
	buffer = gil_mirror_buffer_of(object);
	mirror = gil_mirror_of(object->dev);
	if (buffer->number &&
	    buffer->session_number == READ_ONCE(mirror->session_number))
		return buffer;
	drm_gem_object_put(object);
	return NULL;
}

void gil_mirror_buffer_put(struct gil_mirror_buffer *buffer)
{
	drm_gem_object_put(&buffer->base.base);
}

/* All of its pages. */
int gil_mirror_buffer_chain(struct gil_mirror_buffer *buffer,
			    struct gil_chain *chain)
{
	u64 i, count = buffer->base.base.size >> PAGE_SHIFT;
	int err = 0;

	for (i = 0; i < count && !err; i++)
		err = gil_chain_add(chain, page_to_phys(buffer->base.pages[i]),
				    PAGE_SIZE);
	return err;
}

/* The board gets what a program may have changed. The host compares. */
int gil_mirror_buffer_changed(struct gil_mirror *mirror,
			      struct gil_mirror_buffer *buffer)
{
	struct gil_mirror_kept *kept;
	struct gil_mirror_call call;
	__le32 number = cpu_to_le32(buffer->number);

	if (!READ_ONCE(buffer->mapped))
		return 0;
	kept = kzalloc(sizeof(*kept), GFP_KERNEL);
	if (!kept)
		return -ENOMEM;
	drm_gem_object_get(&buffer->base.base);
	kept->buffer = buffer;
	gil_mirror_call_init(&call, GIL_ENTRY_CHANGED, GIL_CLASS_POST);
	list_add_tail(&kept->node, &call.kept);
	call.args = &number;
	call.args_len = sizeof(number);
	call.buffer = buffer;
	return gil_mirror_post(mirror, &call);
}
