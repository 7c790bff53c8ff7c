// SPDX-License-Identifier: GPL-2.0-only
/*
 * User memory that the host reads and writes: pinned where it is, or, page by
 * page where that cannot be (mappings without struct pages, such as [vvar] or a
 * device's), staged in pages of ours. A part of an import needs neither.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "gil_internal.h"

static bool gil_is_output(const struct gil_user_region *region)
{
	return region->dir & GIL_DIR_OUT;
}

/* A part of an import. */
static int gil_region_import(struct gil_session *session,
			     struct gil_user_region *region,
			     const struct gil_region *from)
{
	struct gil_import *import = gil_import_get(session, from->import);

	if (!import)
		return -EINVAL;
	region->import = import;
	region->addr = from->addr;
	return gil_import_has(import, region->addr, region->len) ? 0 : -EFAULT;
}

static int gil_region_init(struct gil_session *session,
			   struct gil_user_region *region,
			   const struct gil_region *from)
{
	u64 end;

	if (!from->len)
		return -EINVAL;
	if (from->dir < GIL_DIR_IN || from->dir > GIL_DIR_INOUT)
		return -EINVAL;
	region->len = from->len;
	region->dir = from->dir;
	if (from->import)
		return gil_region_import(session, region, from);
	region->addr = untagged_addr(from->addr);
	if (check_add_overflow(region->addr, region->len, &end) ||
	    end > TASK_SIZE_MAX)
		return -EFAULT;
	return 0;
}

static u64 gil_region_pages(const struct gil_user_region *region)
{
	return DIV_ROUND_UP_ULL(offset_in_page(region->addr) + region->len,
				PAGE_SIZE);
}

/* Checks the regions and adds up what they will occupy. */
struct gil_transfer *gil_transfer_create(struct gil_session *session,
					 const struct gil_region *regions,
					 unsigned int count)
{
	struct gil_transfer *transfer;
	u64 imported = 0;
	unsigned int i;
	int err;

	transfer = kvzalloc(struct_size(transfer, region, count),
			    GFP_KERNEL_ACCOUNT);
	if (!transfer)
		return ERR_PTR(-ENOMEM);
	transfer->account = session->account;
	transfer->count = count;
	for (i = 0; i < count; i++) {
		err = gil_region_init(session, &transfer->region[i],
				      &regions[i]);
		if (err) {
			gil_transfer_destroy(transfer);
			return ERR_PTR(err);
		}
		/*
		 * An import's pages are counted already, but the host makes a
		 * list of each region's extents.
		 */
		if (transfer->region[i].import) {
			imported += transfer->region[i].len;
			if (gil_account_names(imported))
				continue;
			gil_transfer_destroy(transfer);
			return ERR_PTR(-ENOMEM);
		}
		/* 64 regions of 2^48 bytes do not overflow. */
		transfer->bytes +=
			gil_region_pages(&transfer->region[i]) * PAGE_SIZE;
	}
	return transfer;
}

/* Counts the regions' bytes until the transfer is destroyed. */
bool gil_transfer_charge(struct gil_transfer *transfer)
{
	transfer->charged = gil_account_pin(transfer->account, transfer->bytes);
	return transfer->charged;
}

/*
 * Pins the next pages, as many as can be. Not FOLL_LONGTERM: an operation's
 * output is outstanding for as long as the operation runs, and what that flag
 * refuses (a writable file mapping) is what programs do read results into.
 */
static int gil_pin_some(struct gil_user_region *region, unsigned int total)
{
	unsigned int flags = gil_is_output(region) ? FOLL_WRITE : 0;
	unsigned long start = region->addr & PAGE_MASK;
	unsigned int done = region->page_count;
	int got;

	/* A page's address is its entry: the bit for ours is not set. */
	got = pin_user_pages_fast(start + done * PAGE_SIZE,
				  min_t(unsigned int, total - done, GIL_PIN_BATCH), flags,
				  (struct page **)(region->pages + done));
	if (got > 0)
		region->page_count += got;
	return got ?: -EFAULT;
}

/* Whether the program may write to a page, going by its mappings. */
static bool gil_is_writable(unsigned long addr)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	bool writable;

	if (mmap_read_lock_killable(mm))
		return false;
	vma = find_vma(mm, addr);
	writable = vma && vma->vm_start <= addr && vma->vm_flags & VM_WRITE;
	mmap_read_unlock(mm);
	return writable;
}

/* The part of a region that lies in one of its pages. */
static u64 gil_part(const struct gil_user_region *region, unsigned int i,
		    size_t *len)
{
	u64 page = (region->addr & PAGE_MASK) + (u64)i * PAGE_SIZE;
	u64 start = max(page, region->addr);

	*len = min(page + PAGE_SIZE, region->addr + region->len) - start;
	return start;
}

/*
 * Stages the next page, which cannot be pinned: nothing is taken for memory
 * that is not there. What is there now is copied for outputs too: the host may
 * write less than all of the region, and all of it is copied back.
 */
static int gil_stage(struct gil_account *account,
		     struct gil_user_region *region)
{
	unsigned int i = region->page_count;
	struct page *page;
	size_t len;
	u64 user = gil_part(region, i, &len);

	if (gil_is_output(region) && !gil_is_writable(user))
		return -EFAULT;
	if (!gil_account_stage(account))
		return -ENOMEM;
	page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!page) {
		gil_account_unstage(account);
		return -ENOMEM;
	}
	region->pages[i] = (unsigned long)page | GIL_STAGED;
	region->page_count++;
	region->staged_count++;
	if (copy_from_user(page_address(page) + offset_in_page(user),
			   u64_to_user_ptr(user), len))
		return -EFAULT;
	return 0;
}

static int gil_hold_pages(struct gil_account *account,
			  struct gil_user_region *region, unsigned int total)
{
	int err;

	while (region->page_count < total) {
		if (fatal_signal_pending(current))
			return -EINTR;
		err = gil_pin_some(region, total);
		if (err == -EFAULT)
			err = gil_stage(account, region);
		if (err < 0)
			return err;
		cond_resched();
	}
	return 0;
}

static void gil_drop_region(struct gil_account *account,
			    struct gil_user_region *region)
{
	unsigned int i, staged = region->staged_count;

	if (region->import) {
		gil_import_put(region->import);
		region->import = NULL;
		return;
	}
	if (!staged)
		unpin_user_pages_dirty_lock((struct page **)region->pages,
					    region->page_count,
					    gil_is_output(region));
	for (i = 0; staged && i < region->page_count; i++) {
		struct page *page = gil_page(region->pages[i]);

		if (region->pages[i] & GIL_STAGED) {
			__free_page(page);
			gil_account_unstage(account);
		} else {
			unpin_user_pages_dirty_lock(&page, 1,
						    gil_is_output(region));
		}
	}
	region->page_count = 0;
	region->staged_count = 0;
	kvfree(region->pages);
	region->pages = NULL;
}

static int gil_hold_region(struct gil_account *account,
			   struct gil_user_region *region)
{
	u64 total = gil_region_pages(region);

	if (region->import)
		return 0;
	if (total > INT_MAX / sizeof(*region->pages))
		return -ENOMEM;
	region->pages = kvmalloc_array(total, sizeof(*region->pages),
				       GFP_KERNEL_ACCOUNT);
	if (!region->pages)
		return -ENOMEM;
	return gil_hold_pages(account, region, total);
}

/*
 * Pins or stages every region. After an error, the caller destroys the
 * transfer as usual. The caller has charged it.
 */
int gil_transfer_hold(struct gil_transfer *transfer)
{
	unsigned int i;
	int err;

	for (i = 0; i < transfer->count; i++) {
		err = gil_hold_region(transfer->account,
				      &transfer->region[i]);
		if (err)
			return err;
	}
	return 0;
}

/* Lets go of what the host only reads. */
void gil_transfer_drop_inputs(struct gil_transfer *transfer)
{
	unsigned int i;

	for (i = 0; i < transfer->count; i++)
		if (!gil_is_output(&transfer->region[i]))
			gil_drop_region(transfer->account,
					&transfer->region[i]);
}

/* Whether the host may write anything. */
bool gil_transfer_has_output(const struct gil_transfer *transfer)
{
	unsigned int i;

	for (i = 0; i < transfer->count; i++)
		if (gil_is_output(&transfer->region[i]))
			return true;
	return false;
}

static void gil_deliver_region(const struct gil_user_region *region)
{
	unsigned int i;
	size_t len;

	for (i = 0; i < region->page_count; i++) {
		u64 user = gil_part(region, i, &len);

		if (!(region->pages[i] & GIL_STAGED))
			continue;
		if (copy_to_user(u64_to_user_ptr(user),
				 page_address(gil_page(region->pages[i])) +
					 offset_in_page(user),
				 len))
			return;
		cond_resched();
	}
}

/*
 * Copies staged output to where the program wants it. A program that unmapped
 * that memory meanwhile gets what it gets without staging: nothing.
 */
void gil_transfer_deliver(struct gil_transfer *transfer)
{
	unsigned int i;

	for (i = 0; i < transfer->count; i++) {
		struct gil_user_region *region = &transfer->region[i];

		if (region->staged_count && gil_is_output(region))
			gil_deliver_region(region);
	}
}

/* Lets go of everything. */
void gil_transfer_destroy(struct gil_transfer *transfer)
{
	unsigned int i;

	for (i = 0; i < transfer->count; i++)
		gil_drop_region(transfer->account, &transfer->region[i]);
	if (transfer->charged)
		gil_account_unpin(transfer->account, transfer->bytes);
	kvfree(transfer);
}
