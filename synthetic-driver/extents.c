// SPDX-License-Identifier: GPL-2.0-only
/*
 * Held memory as chains of physical extents, contiguous ones merged.
 */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>

#include "gil_internal.h"

/* A chain that begins in a block's pages; without a block, all its pages are its own. */
void gil_chain_init(struct gil_chain *chain, struct gil_block *block)
{
	chain->memory = block ? block->memory : NULL;
	chain->used = block ? 0 : GIL_BLOCK_EXTENT_PAGES;
	chain->tail = NULL;
	INIT_LIST_HEAD(&chain->extra);
}

/* One of the block's extent pages, or a new one. */
static struct gil_extent_page *gil_chain_page(struct gil_chain *chain)
{
	struct page *page;

	if (chain->used < GIL_BLOCK_EXTENT_PAGES)
		return &chain->memory->extents[chain->used++];
	page = alloc_page(GFP_KERNEL_ACCOUNT);
	if (!page)
		return NULL;
	list_add(&page->lru, &chain->extra);
	return page_address(page);
}

/* Puts an empty page at the chain's end, or begins a chain. */
static int gil_chain_grow(struct gil_chain *chain)
{
	struct gil_extent_page *page = gil_chain_page(chain);

	if (!page)
		return -ENOMEM;
	page->next = 0;
	page->count = 0;
	page->reserved = 0;
	if (chain->tail)
		chain->tail->next = virt_to_phys(page);
	chain->tail = page;
	return 0;
}

/* Begins a region's chain. */
int gil_chain_begin(struct gil_chain *chain)
{
	chain->tail = NULL;
	return gil_chain_grow(chain);
}

int gil_chain_add(struct gil_chain *chain, u64 gpa, u64 len)
{
	struct gil_extent_page *page = chain->tail;
	struct gil_extent *last;
	int err;

	if (page->count) {
		last = &page->extent[page->count - 1];
		if (last->gpa + last->len == gpa) {
			last->len += len;
			return 0;
		}
	}
	if (page->count == GIL_EXTENTS_PER_PAGE) {
		err = gil_chain_grow(chain);
		if (err)
			return err;
		page = chain->tail;
	}
	page->extent[page->count].gpa = gpa;
	page->extent[page->count].len = len;
	page->count++;
	return 0;
}

/*
 * Writes a held region's chain, if it is no import's, and its entry in the region
 * table. After an error, the caller frees the chain as usual.
 */
int gil_chain_region(struct gil_chain *chain,
		     const struct gil_user_region *region,
		     struct gil_mbox_region *out)
{
	u64 offset = offset_in_page(region->addr);
	u64 left = region->len;
	unsigned int i;
	int err;

	out->len = region->len;
	out->dir = region->dir;
	out->reserved = 0;
	if (region->import) {
		out->extents = gil_import_extents(region->import, region->addr,
						  &out->skip);
		return 0;
	}
	err = gil_chain_begin(chain);
	if (err)
		return err;
	out->extents = virt_to_phys(chain->tail);
	out->skip = 0;
	for (i = 0; i < region->page_count; i++) {
		u64 len = min_t(u64, PAGE_SIZE - offset, left);

		err = gil_chain_add(chain,
				    page_to_phys(gil_page(region->pages[i])) +
					    offset,
				    len);
		if (err)
			return err;
		left -= len;
		offset = 0;
	}
	return 0;
}

/* Frees the pages beyond the block's. The host has read them by now, or no more will. */
void gil_chain_free(struct gil_chain *chain)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, &chain->extra, lru)
		__free_page(page);
	INIT_LIST_HEAD(&chain->extra);
}
