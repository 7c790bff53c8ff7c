// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that regions name by a number. Dma-bufs of other drivers: what a display
 * shows or another process made is read and written where it is, without a mapping
 * of the program's. Memory of the program's that it pins once, since to find and pin
 * each page at each submission takes long. An import keeps its pages where they are
 * until it is forgotten, the session ends, or the last submission that names it is
 * done.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/platform_device.h>
#include <linux/scatterlist.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/xarray.h>

#include "gil_internal.h"

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
MODULE_IMPORT_NS("DMA_BUF");
#else
MODULE_IMPORT_NS(DMA_BUF);
#endif

/* Before 6.2 the plain functions took the buffer's lock themselves. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define dma_buf_map_attachment_unlocked dma_buf_map_attachment
#define dma_buf_unmap_attachment_unlocked dma_buf_unmap_attachment
#endif

/* Imports that a session may have. */
#define GIL_IMPORTS_MAX 4096

/* What a page of an import's extents describes. */
struct gil_part {
	u64 offset; /* in the import, of the page's first extent */
	struct gil_extent_page *page;
};

struct gil_import {
	struct kref kref;
	struct gil_account *account;
	struct dma_buf *buffer; /* NULL: memory of the program's */
	struct dma_buf_attachment *attachment;
	struct sg_table *table;
	struct page **pages; /* of the program's memory */
	unsigned long page_count;
	u64 size;
	u64 charged;
	/* Written once: the host reads it at each submission, and nobody writes it again. */
	struct gil_chain chain;
	struct gil_extent_page *first;
	unsigned int part_count;
	struct gil_part *parts;
};

/* What buffers are attached to. */
static struct platform_device *gil_importer;

int __init gil_imports_init(void)
{
	int err;

	gil_importer = platform_device_register_simple(
		GIL_DEVICE_NAME "-imports", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(gil_importer))
		return PTR_ERR(gil_importer);
	err = dma_coerce_mask_and_coherent(&gil_importer->dev,
					   DMA_BIT_MASK(64));
	if (err)
		platform_device_unregister(gil_importer);
	return err;
}

void gil_imports_exit(void)
{
	platform_device_unregister(gil_importer);
}

/* Notes where in the import each page of its chain begins. */
static int gil_import_index(struct gil_import *import)
{
	struct gil_extent_page *page;
	unsigned int i, count = 1;
	u64 offset = 0;

	for (page = import->first; page->next; page = phys_to_virt(page->next))
		count++;
	import->parts = kvmalloc_array(count, sizeof(*import->parts),
				       GFP_KERNEL_ACCOUNT);
	if (!import->parts)
		return -ENOMEM;
	import->part_count = count;
	for (page = import->first, count = 0;; page = phys_to_virt(page->next)) {
		import->parts[count].offset = offset;
		import->parts[count++].page = page;
		if (!page->next)
			return 0;
		for (i = 0; i < page->count; i++)
			offset += page->extent[i].len;
	}
}

static int gil_import_begin(struct gil_import *import)
{
	int err = gil_chain_begin(&import->chain);

	import->first = import->chain.tail;
	return err;
}

/* Writes the chain of a mapped buffer. */
static int gil_import_buffer_chain(struct gil_import *import)
{
	struct scatterlist *sg;
	unsigned int i;
	u64 len = 0;
	int err = gil_import_begin(import);

	if (err)
		return err;
	for_each_sgtable_sg(import->table, sg, i) {
		/* A device's own memory has no pages that the host could name. */
		if (!sg_page(sg))
			return -EOPNOTSUPP;
		err = gil_chain_add(&import->chain, sg_phys(sg), sg->length);
		if (err)
			return err;
		len += sg->length;
	}
	return len < import->size ? -EOPNOTSUPP : gil_import_index(import);
}

static int gil_import_map(struct gil_import *import)
{
	/* There, importers get tables whose pages are made up on purpose. */
	if (IS_ENABLED(CONFIG_DMABUF_DEBUG))
		return -EOPNOTSUPP;
	import->attachment =
		dma_buf_attach(import->buffer, &gil_importer->dev);
	if (IS_ERR(import->attachment)) {
		int err = PTR_ERR(import->attachment);

		import->attachment = NULL;
		return err;
	}
	import->table = dma_buf_map_attachment_unlocked(import->attachment,
							DMA_BIDIRECTIONAL);
	if (IS_ERR(import->table)) {
		int err = PTR_ERR(import->table);

		import->table = NULL;
		return err;
	}
	return gil_import_buffer_chain(import);
}

static void gil_import_release(struct kref *kref)
{
	struct gil_import *import =
		container_of(kref, struct gil_import, kref);

	kvfree(import->parts);
	gil_chain_free(&import->chain);
	if (import->page_count)
		unpin_user_pages_dirty_lock(import->pages, import->page_count,
					    true);
	kvfree(import->pages);
	if (import->table)
		dma_buf_unmap_attachment_unlocked(import->attachment,
						  import->table,
						  DMA_BIDIRECTIONAL);
	if (import->attachment)
		dma_buf_detach(import->buffer, import->attachment);
	if (import->buffer) {
		dma_buf_put(import->buffer);
		gil_account_unpin(import->account, import->charged);
	} else {
		gil_account_unkeep(import->account, import->charged);
	}
	kfree(import);
}

void gil_import_put(struct gil_import *import)
{
	kref_put(&import->kref, gil_import_release);
}

static struct gil_import *gil_import_create(struct gil_session *session, int fd)
{
	struct gil_import *import;
	int err;

	import = kzalloc(sizeof(*import), GFP_KERNEL_ACCOUNT);
	if (!import)
		return ERR_PTR(-ENOMEM);
	import->buffer = dma_buf_get(fd);
	if (IS_ERR(import->buffer)) {
		err = PTR_ERR(import->buffer);
		kfree(import);
		return ERR_PTR(err);
	}
	if (!gil_account_pin(session->account, import->buffer->size)) {
		dma_buf_put(import->buffer);
		kfree(import);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&import->kref);
	gil_chain_init(&import->chain, NULL);
	import->account = session->account;
	import->size = import->buffer->size;
	import->charged = import->size;
	err = gil_import_map(import);
	if (err) {
		gil_import_put(import);
		return ERR_PTR(err);
	}
	return import;
}

/*
 * Pins all pages from `addr` on. For long, and to be written, as other drivers pin
 * such memory: a forked child gets copies of these pages, not the program itself.
 */
static int gil_import_pin(struct gil_import *import, unsigned long addr,
			  unsigned long total)
{
	int got;

	while (import->page_count < total) {
		if (fatal_signal_pending(current))
			return -EINTR;
		got = pin_user_pages_fast(
			(addr & PAGE_MASK) + import->page_count * PAGE_SIZE,
			min(total - import->page_count, GIL_PIN_BATCH),
			FOLL_WRITE | FOLL_LONGTERM,
			import->pages + import->page_count);
		if (got <= 0)
			return got ?: -EFAULT;
		import->page_count += got;
		cond_resched();
	}
	return 0;
}

/* Writes the chain of pinned pages, the first byte `skip` bytes into the first page. */
static int gil_import_user_chain(struct gil_import *import, u64 skip)
{
	u64 left = import->size;
	unsigned long i;
	int err = gil_import_begin(import);

	for (i = 0; !err && i < import->page_count; i++) {
		u64 len = min_t(u64, PAGE_SIZE - skip, left);

		err = gil_chain_add(&import->chain,
				    page_to_phys(import->pages[i]) + skip, len);
		left -= len;
		skip = 0;
	}
	return err ?: gil_import_index(import);
}

static struct gil_import *gil_import_of_user(struct gil_session *session,
					     u64 addr, u64 len)
{
	struct gil_import *import;
	u64 end, total;
	int err;

	if (!len)
		return ERR_PTR(-EINVAL);
	addr = untagged_addr(addr);
	if (check_add_overflow(addr, len, &end) || end > TASK_SIZE_MAX)
		return ERR_PTR(-EFAULT);
	total = DIV_ROUND_UP_ULL(offset_in_page(addr) + len, PAGE_SIZE);
	if (total > INT_MAX / sizeof(*import->pages))
		return ERR_PTR(-ENOMEM);
	import = kzalloc(sizeof(*import), GFP_KERNEL_ACCOUNT);
	if (!import)
		return ERR_PTR(-ENOMEM);
	if (!gil_account_keep(session->account, total * PAGE_SIZE)) {
		kfree(import);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&import->kref);
	gil_chain_init(&import->chain, NULL);
	import->account = session->account;
	import->charged = total * PAGE_SIZE;
	import->size = len;
	import->pages = kvmalloc_array(total, sizeof(*import->pages),
				       GFP_KERNEL_ACCOUNT);
	err = import->pages ? gil_import_pin(import, addr, total) : -ENOMEM;
	if (!err)
		err = gil_import_user_chain(import, offset_in_page(addr));
	if (err) {
		gil_import_put(import);
		return ERR_PTR(err);
	}
	return import;
}

/* Gives an import a number; it is put if there is none. */
static int gil_import_number(struct gil_session *session,
			     struct gil_import *import, u32 *id)
{
	int err;

	mutex_lock(&session->lock);
	err = session->closed ? -EBADF :
				xa_alloc(&session->imports, id, import,
					 XA_LIMIT(1, GIL_IMPORTS_MAX),
					 GFP_KERNEL_ACCOUNT);
	mutex_unlock(&session->lock);
	if (err)
		gil_import_put(import);
	/* Every number is in use. */
	return err == -EBUSY ? -ENOMEM : err;
}

long gil_pin(struct gil_session *session, struct gil_pin_arg __user *user)
{
	struct gil_pin_arg arg;
	struct gil_import *import;
	int err;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (arg.flags)
		return -EINVAL;
	import = gil_import_of_user(session, arg.addr, arg.len);
	if (IS_ERR(import))
		return PTR_ERR(import);
	err = gil_import_number(session, import, &arg.id);
	if (err)
		return err;
	if (!copy_to_user(user, &arg, sizeof(arg)))
		return 0;
	gil_forget(session, arg.id);
	return -EFAULT;
}

long gil_import(struct gil_session *session,
		struct gil_import_arg __user *user)
{
	struct gil_import_arg arg;
	struct gil_import *import;
	int err;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (arg.flags)
		return -EINVAL;
	import = gil_import_create(session, arg.fd);
	if (IS_ERR(import))
		return PTR_ERR(import);
	arg.len = import->size;
	err = gil_import_number(session, import, &arg.id);
	if (err)
		return err;
	if (!copy_to_user(user, &arg, sizeof(arg)))
		return 0;
	gil_forget(session, arg.id);
	return -EFAULT;
}

long gil_forget(struct gil_session *session, u64 id)
{
	struct gil_import *import;

	if (id > GIL_IMPORTS_MAX)
		return -ENOENT;
	mutex_lock(&session->lock);
	import = xa_erase(&session->imports, id);
	mutex_unlock(&session->lock);
	if (!import)
		return -ENOENT;
	gil_import_put(import);
	return 0;
}

/* The import of a number, for a submission that names it; NULL if there is none. */
struct gil_import *gil_import_get(struct gil_session *session, u32 id)
{
	struct gil_import *import;

	mutex_lock(&session->lock);
	import = xa_load(&session->imports, id);
	if (import)
		kref_get(&import->kref);
	mutex_unlock(&session->lock);
	return import;
}

/* Whether all of these bytes are in it. */
bool gil_import_has(const struct gil_import *import, u64 offset, u64 len)
{
	u64 end;

	return !check_add_overflow(offset, len, &end) && end <= import->size;
}

/* Where the extents begin that have the byte at `offset`, and how many bytes are before it. */
u64 gil_import_extents(const struct gil_import *import, u64 offset, u64 *skip)
{
	unsigned int low = 0, high = import->part_count;

	while (high - low > 1) {
		unsigned int mid = low + (high - low) / 2;

		if (import->parts[mid].offset <= offset)
			low = mid;
		else
			high = mid;
	}
	*skip = offset - import->parts[low].offset;
	return virt_to_phys(import->parts[low].page);
}

/* The session is gone: nothing of it is named any more. */
void gil_imports_free(struct gil_session *session)
{
	struct gil_import *import;
	unsigned long id;

	xa_for_each(&session->imports, id, import)
		gil_import_put(import);
	xa_destroy(&session->imports);
}
