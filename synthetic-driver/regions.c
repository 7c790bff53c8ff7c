// SPDX-License-Identifier: GPL-2.0-only
/*
 * User memory that the host reads and writes: pinned where it is, or, where
 * that cannot be (mappings without struct pages, such as [vvar] or a device's),
 * staged in pages of ours.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "gil_internal.h"

/* Pages pinned between two looks at whether the program is being killed. */
#define GIL_PIN_BATCH 1024u

static bool gil_is_output(const struct gil_user_region *region)
{
	return region->dir & GIL_DIR_OUT;
}

static int gil_region_init(struct gil_user_region *region,
			   const struct gil_region *from)
{
	u64 end;

	if (!from->len || from->reserved)
		return -EINVAL;
	if (from->dir < GIL_DIR_IN || from->dir > GIL_DIR_INOUT)
		return -EINVAL;
	region->addr = untagged_addr(from->addr);
	region->len = from->len;
	region->dir = from->dir;
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
struct gil_transfer *gil_transfer_create(const struct gil_region *regions,
					 unsigned int count)
{
	struct gil_transfer *transfer;
	unsigned int i;
	int err;

	transfer = kvzalloc(struct_size(transfer, region, count),
			    GFP_KERNEL_ACCOUNT);
	if (!transfer)
		return ERR_PTR(-ENOMEM);
	transfer->count = count;
	for (i = 0; i < count; i++) {
		err = gil_region_init(&transfer->region[i], &regions[i]);
		if (err) {
			kvfree(transfer);
			return ERR_PTR(err);
		}
		/* 64 regions of 2^48 bytes do not overflow. */
		transfer->charged +=
			gil_region_pages(&transfer->region[i]) * PAGE_SIZE;
	}
	return transfer;
}

/*
 * Not FOLL_LONGTERM: an operation's output is outstanding for as long as the
 * operation runs, and what that flag refuses (a writable file mapping) is what
 * programs do read results into.
 */
static int gil_pin(struct gil_user_region *region, unsigned int total)
{
	unsigned int flags = gil_is_output(region) ? FOLL_WRITE : 0;
	unsigned long start = region->addr & PAGE_MASK;
	unsigned int done = 0;
	int got;

	while (done < total) {
		if (fatal_signal_pending(current))
			got = -EINTR;
		else
			got = pin_user_pages_fast(start + done * PAGE_SIZE,
						  min(total - done,
						      GIL_PIN_BATCH),
						  flags, region->pages + done);
		if (got <= 0) {
			unpin_user_pages(region->pages, done);
			return got ?: -EFAULT;
		}
		done += got;
		cond_resched();
	}
	region->page_count = total;
	return 0;
}

/* Whether the program may write there, going by its mappings. */
static bool gil_is_writable(const struct gil_user_region *region)
{
	unsigned long addr = region->addr;
	unsigned long end = addr + region->len;
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;

	if (mmap_read_lock_killable(mm))
		return false;
	while (addr < end) {
		vma = find_vma(mm, addr);
		if (!vma || vma->vm_start > addr || !(vma->vm_flags & VM_WRITE))
			break;
		addr = vma->vm_end;
	}
	mmap_read_unlock(mm);
	return addr >= end;
}

/* Calls `copy` for the part of the region that lies in each of its pages. */
static int gil_copy_staged(const struct gil_user_region *region,
			   int (*copy)(void *kernel, u64 user, size_t len))
{
	u64 addr = region->addr;
	u64 end = addr + region->len;
	unsigned int i;
	size_t offset, len;

	for (i = 0; i < region->page_count; i++) {
		offset = offset_in_page(addr);
		len = min_t(u64, PAGE_SIZE - offset, end - addr);
		if (copy(page_address(region->pages[i]) + offset, addr, len))
			return -EFAULT;
		addr += len;
		cond_resched();
	}
	return 0;
}

static int gil_copy_in(void *kernel, u64 user, size_t len)
{
	return copy_from_user(kernel, u64_to_user_ptr(user), len) ? -EFAULT : 0;
}

static int gil_copy_out(void *kernel, u64 user, size_t len)
{
	return copy_to_user(u64_to_user_ptr(user), kernel, len) ? -EFAULT : 0;
}

static void gil_drop_region(struct gil_user_region *region)
{
	unsigned int i;

	if (!region->staged)
		unpin_user_pages_dirty_lock(region->pages, region->page_count,
					    gil_is_output(region));
	else
		for (i = 0; i < region->page_count; i++)
			__free_page(region->pages[i]);
	region->page_count = 0;
	kvfree(region->pages);
	region->pages = NULL;
}

/*
 * What is there now is copied for outputs too: the host may write less than all
 * of the region, and all of it is copied back.
 */
static int gil_stage(struct gil_user_region *region, unsigned int total)
{
	if (gil_is_output(region) && !gil_is_writable(region))
		return -EFAULT;
	region->staged = true;
	while (region->page_count < total) {
		struct page *page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);

		if (!page)
			return -ENOMEM;
		region->pages[region->page_count++] = page;
	}
	return gil_copy_staged(region, gil_copy_in);
}

static int gil_hold_region(struct gil_user_region *region)
{
	u64 total = gil_region_pages(region);
	int err;

	if (total > INT_MAX / sizeof(*region->pages))
		return -ENOMEM;
	region->pages = kvmalloc_array(total, sizeof(*region->pages),
				       GFP_KERNEL_ACCOUNT);
	if (!region->pages)
		return -ENOMEM;
	err = gil_pin(region, total);
	if (err == -EFAULT)
		err = gil_stage(region, total);
	return err;
}

/*
 * Pins or stages every region. After an error, the caller destroys the
 * transfer as usual. The caller has bounded transfer->charged.
 */
int gil_transfer_hold(struct gil_transfer *transfer)
{
	unsigned int i;
	int err;

	for (i = 0; i < transfer->count; i++) {
		err = gil_hold_region(&transfer->region[i]);
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
			gil_drop_region(&transfer->region[i]);
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

/*
 * Copies staged output to where the program wants it. A program that unmapped
 * that memory meanwhile gets what it gets without staging: nothing.
 */
void gil_transfer_deliver(struct gil_transfer *transfer)
{
	unsigned int i;

	for (i = 0; i < transfer->count; i++) {
		struct gil_user_region *region = &transfer->region[i];

		if (region->staged && gil_is_output(region))
			gil_copy_staged(region, gil_copy_out);
	}
}

/* Lets go of everything. */
void gil_transfer_destroy(struct gil_transfer *transfer)
{
	unsigned int i;

	for (i = 0; i < transfer->count; i++)
		gil_drop_region(&transfer->region[i]);
	kvfree(transfer);
}
