/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gil.ko: what its files share.
 *
 *   main.c     /dev/gil: file operations and the module
 *   session.c  one open file = one session = one address space
 *   account.c  what a user's sessions take together
 *   submit.c   GIL_IOC_SUBMIT
 *   wait.c     GIL_IOC_WAIT
 *   mailbox.c  blocks of guest memory that the host reads and writes; doorbells
 *   attention.c a session's timer: doorbells that nobody has to ring
 *   regions.c  user memory that the host reads and writes: pinned or staged
 *   imports.c  dma-bufs, and memory pinned once, named by regions in its place
 *   kernel.c   sessions of the kernel's own, for other modules
 *   fences.c   sync files that signal at a simulated time
 *   extents.c  that memory as chains of physical extents
 *   clock.c    the GPU's clock in sysfs
 *   device.c   the simulator's device in place of the marker, if it has one
 *   doorbell.S the one instruction sequence that the simulator looks for
 */
#ifndef GIL_INTERNAL_H
#define GIL_INTERNAL_H

#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "uapi/gil.h"

#undef pr_fmt
#define pr_fmt(fmt) "gil: " fmt

/* Idle blocks a session keeps beside the spare one; more exist only while more threads submit. */
#define GIL_IDLE_BLOCKS_MAX 8

/*
 * Pages of ours that a user may have for memory that cannot be pinned. No
 * program's memory is charged with them, so the kernel would end others for
 * want of them.
 */
#define GIL_STAGED_MAX 4096

/*
 * A block is one physically contiguous piece of memory with everything that one
 * doorbell needs: the mailbox, the region table, request and reply, and extent
 * pages enough for most calls. The sizes are the protocol's, not PAGE_SIZE's.
 */
#define GIL_BLOCK_EXTENT_PAGES 3
#define GIL_EXTENT_PAGE_BYTES 4096

struct gil_block_memory {
	struct gil_mailbox mailbox;
	struct gil_mbox_region regions[GIL_REGIONS_MAX];
	u8 request[GIL_REQUEST_MAX] __aligned(GIL_EXTENT_PAGE_BYTES);
	u8 reply[GIL_REPLY_MAX];
	struct gil_extent_page extents[GIL_BLOCK_EXTENT_PAGES];
};

struct gil_block {
	struct list_head node; /* in gil_session.idle */
	struct gil_block_memory *memory;
};

struct gil_import;

/* Pages pinned between two looks at whether the program is being killed. */
#define GIL_PIN_BATCH 1024ul


/*
 * A region of user memory, each page pinned where it is or staged in a page of
 * ours; or a part of an import, which needs neither.
 */
struct gil_user_region {
	struct gil_import *import; /* NULL: user memory */
	u64 addr; /* user virtual address, without a tag; or offset */
	u64 len;
	u32 dir; /* GIL_DIR_* */
	unsigned int page_count; /* 0: not held */
	unsigned int staged_count; /* of the pages */
	unsigned long *pages; /* struct page *, GIL_STAGED set if it is ours */
};

#define GIL_STAGED 1ul

static inline struct page *gil_page(unsigned long entry)
{
	return (struct page *)(entry & ~GIL_STAGED);
}

/* The regions of one submission. */
struct gil_transfer {
	struct list_head node; /* in gil_session.held */
	struct gil_account *account;
	u64 seq;
	u64 bytes; /* what the regions occupy */
	bool charged; /* with the account */
	unsigned int count;
	struct gil_user_region region[];
};

/* See attention.c. */
struct gil_attention {
	struct hrtimer timer;
	u64 at_ns; /* when it rings; 0: not at all */
	bool ended;
	struct gil_mailbox *mailbox;
};

struct gil_session {
	u64 id;
	struct gil_account *account;
	/* Its one address space, for comparison only (mmgrab); NULL: the kernel's. */
	struct mm_struct *mm;
	/* The descriptor table it was opened in, for comparison only. */
	void *files;
	wait_queue_head_t progress_wait;

	/*
	 * Doorbells ring under it, one at a time, so that the host sees
	 * sequence numbers in order. Nothing that another thread must cause
	 * is awaited while it is held.
	 */
	struct mutex lock;
	bool closed;
	bool spins; /* GIL_FLAG_SPIN; set once, before the session is used */
	u64 seq;
	/*
	 * Around each doorbell and what follows from its answer at once: the
	 * timer rings from its interrupt. Inside of the mutex.
	 */
	spinlock_t ring_lock;
	struct gil_attention attention;
	u64 progress; /* written under ring_lock, read anywhere */
	struct list_head held;
	unsigned int held_count;
	struct xarray imports; /* written under lock */
	struct gil_block *control; /* for OPEN, COLLECT and CLOSE */
	struct gil_block *spare; /* idle too; exchanged without the lock */
	struct list_head idle;
	unsigned int idle_count;
};

/* account.c */
struct gil_account *gil_account_get(void);
void gil_account_put(struct gil_account *account);
bool gil_account_pin(struct gil_account *account, u64 bytes);
bool gil_account_names(u64 bytes);
void gil_account_unpin(struct gil_account *account, u64 bytes);
bool gil_account_keep(struct gil_account *account, u64 bytes);
void gil_account_unkeep(struct gil_account *account, u64 bytes);
bool gil_account_stage(struct gil_account *account);
void gil_account_unstage(struct gil_account *account);
void gil_account_hold(struct gil_account *account);
void gil_account_unhold(struct gil_account *account);

/* doorbell.S: tells the simulator where a mailbox is. */
asmlinkage void gil_doorbell(u64 mailbox_gpa);

/* device.c */
int gil_device_init(void);
void gil_device_exit(void);
void gil_knock(u64 mailbox_gpa);
bool gil_device_wakes(void);
int gil_device_sleep(ktime_t deadline);

/* session.c */
void gil_sessions_init(void);
struct gil_session *gil_session_open(bool is_kernel);
void gil_session_close(struct gil_session *session);
void gil_session_free(struct gil_session *session);
bool gil_session_is_owners(const struct gil_session *session);

/* submit.c */
long gil_submit(struct gil_session *session, struct gil_submit __user *user);

/* wait.c */
int gil_pass_time(struct gil_session *session, const struct gil_wait *arg);
long gil_wait(struct gil_session *session,
	      const struct gil_wait __user *user);

/* mailbox.c */
struct gil_block *gil_block_get(struct gil_session *session);
void gil_block_put(struct gil_session *session, struct gil_block *block);
struct gil_block *gil_block_alloc(void);
void gil_block_free(struct gil_block *block);
int gil_ring(struct gil_session *session, struct gil_block *block, u32 kind);
int gil_collect(struct gil_session *session);
void gil_collect_rest(struct gil_session *session,
		      const struct gil_mailbox *mailbox);

void gil_fill_header(struct gil_session *session, struct gil_mailbox *mailbox,
		     u32 kind);
bool gil_ring_locked(struct gil_session *session, struct gil_mailbox *mailbox);
void gil_ring_alone(struct gil_mailbox *mailbox);

/* attention.c */
int gil_attention_init(struct gil_session *session);
void gil_attention_set(struct gil_session *session, u64 at_ns);
void gil_attention_end(struct gil_session *session);
void gil_attention_free(struct gil_session *session);

/* regions.c */
struct gil_transfer *gil_transfer_create(struct gil_session *session,
					 const struct gil_region *regions,
					 unsigned int count);
bool gil_transfer_charge(struct gil_transfer *transfer);
int gil_transfer_hold(struct gil_transfer *transfer);
void gil_transfer_drop_inputs(struct gil_transfer *transfer);
bool gil_transfer_has_output(const struct gil_transfer *transfer);
void gil_transfer_deliver(struct gil_transfer *transfer);
void gil_transfer_destroy(struct gil_transfer *transfer);

/* extents.c */
struct gil_chain {
	struct gil_block_memory *memory;
	unsigned int used; /* of memory->extents */
	struct list_head extra; /* pages beyond them */
	struct gil_extent_page *tail;
};

void gil_chain_init(struct gil_chain *chain, struct gil_block *block);
int gil_chain_begin(struct gil_chain *chain);
int gil_chain_region(struct gil_chain *chain,
		     const struct gil_user_region *region,
		     struct gil_mbox_region *out);
int gil_chain_add(struct gil_chain *chain, u64 gpa, u64 len);
void gil_chain_free(struct gil_chain *chain);

/* imports.c */
int gil_imports_init(void);
void gil_imports_exit(void);
long gil_import(struct gil_session *session,
		struct gil_import_arg __user *user);
long gil_pin(struct gil_session *session, struct gil_pin_arg __user *user);
long gil_forget(struct gil_session *session, u64 id);
struct gil_import *gil_import_get(struct gil_session *session, u32 id);
void gil_import_put(struct gil_import *import);
bool gil_import_has(const struct gil_import *import, u64 offset, u64 len);
u64 gil_import_extents(const struct gil_import *import, u64 offset, u64 *skip);
void gil_imports_free(struct gil_session *session);

/* kernel.c: for other modules, with what of the above they need */
struct gil_session *gil_kernel_session_open(void);
void gil_kernel_session_close(struct gil_session *session);
int gil_kernel_submit(struct gil_session *session, struct gil_block *block);
bool gil_kernel_ring(struct gil_mailbox *mailbox, u32 kind);
int gil_kernel_pass_time(struct gil_session *session, u32 kind, u64 deadline_ns);
u64 gil_counter(void);

/* clock.c */
extern const struct attribute_group *gil_clock_groups[];

/* fences.c */
long gil_fence(struct gil_fence_arg __user *user);

#endif
