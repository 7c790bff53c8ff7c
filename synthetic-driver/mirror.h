/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gil_mirror.ko: a DRM render node whose calls are executed by the board's real driver.
 *
 *   mirror_main.c    the node: open files, the session, the module
 *   mirror_device.c  a character device, of a driver that is no DRM driver
 *   mirror_ioctl.c   a driver's ioctls, by its table: checks, and what is answered here
 *   mirror_args.c    an ioctl's argument as it travels, and back
 *   mirror_buffers.c GEM buffers in guest RAM, and their numbers
 *   mirror_batch.c   envelopes: collected, and handed to the host
 *   mirror_fences.c  fences of jobs, which signal at their simulated ends
 *   mirror_fetch.c   the module's own calls about buffers: what the board changed
 *   mirror_outputs.c mode setting, if the guest has a display
 *   mirror_display.c that display
 *   mirror_tables.c  generated: the drivers' tables
 *
 * The whole node has one session, so that programs share buffers as on any DRM
 * device. No memory of a program's is in it: what ioctls point to is copied, and
 * buffers are the node's own.
 */
#ifndef GIL_MIRROR_H
#define GIL_MIRROR_H

#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_gem_shmem_helper.h>
#include <drm/drm_drv.h>
#include <linux/dma-fence.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include "gil_internal.h"

#undef pr_fmt
#define pr_fmt(fmt) "gil_mirror: " fmt

/* ---- tables ---------------------------------------------------------- */

enum gil_mirror_role {
	GIL_ROLE_ZERO = 1, /* 0, or EINVAL */
	GIL_ROLE_FLAGS, /* known ones, or EINVAL; `polls`: a wait only asks */
	GIL_ROLE_HEAP, /* as FLAGS; those of `polls` make a heap, and need those of `with` */
	GIL_ROLE_WRITES, /* of a buffer in a list: with `known` the job writes it */
	GIL_ROLE_COUNT, /* 0, or what `limits` have not for the processor at `at`: EINVAL */
	GIL_ROLE_HIDDEN, /* a number whose bit is in `known`: EINVAL */
	GIL_ROLE_IS, /* always `known` */
	GIL_ROLE_PROCESSOR, /* the job's; `known`: they are flags, others EINVAL */
	GIL_ROLE_SIZE, /* of the buffer that the call makes */
	GIL_ROLE_WIDTH, /* of the part of a picture that the call moves, in pixels */
	GIL_ROLE_HEIGHT,
	GIL_ROLE_DEPTH,
	GIL_ROLE_BUFFER, /* a GEM handle */
	GIL_ROLE_NEW_BUFFER,
	GIL_ROLE_NEW_RESOURCE,
	GIL_ROLE_ADDRESS, /* 0: EINVAL */
	GIL_ROLE_NEW_ADDRESS,
	GIL_ROLE_MMAP_OFFSET,
	GIL_ROLE_CONTEXT, /* of the file's; others: `error` */
	GIL_ROLE_NEW_CONTEXT,
	GIL_ROLE_SYNC, /* a sync object's handle; 0: none */
	GIL_ROLE_SYNC_OUT, /* of one that the job's end signals; others: `error` */
	GIL_ROLE_DEADLINE, /* CLOCK_MONOTONIC, ns */
	GIL_ROLE_FENCE, /* a descriptor; `at`: flags, of which `known` waits and `polls` signals */
	GIL_ROLE_POINTER,
};

enum gil_mirror_element {
	GIL_ELEMENT_BYTES,
	GIL_ELEMENT_BUFFERS,
	GIL_ELEMENT_SYNCS,
	GIL_ELEMENT_STRUCTS,
};

struct gil_mirror_struct;

/* A number of elements that a processor's jobs may have. */
struct gil_mirror_limit {
	u32 processor;
	u32 count;
};

struct gil_mirror_field {
	u8 role;
	u8 size; /* 4 or 8 */
	u8 element; /* of a pointer's memory */
	u8 at_size; /* of the count; 0: `count` */
	u16 offset;
	u16 at; /* offset of the field that this one depends on */
	u16 element_size;
	bool is_out; /* the driver writes there */
	u32 count;
	u64 known;
	u64 polls;
	u64 with;
	u8 error; /* with which another number is refused */
	u8 limit_count;
	const struct gil_mirror_limit *limits;
	const struct gil_mirror_struct *inner;
};

struct gil_mirror_struct {
	u16 size;
	u16 field_count;
	const struct gil_mirror_field *fields;
};

enum gil_mirror_does {
	GIL_DOES_QUERY = 1,
	GIL_DOES_HINT,
	GIL_DOES_CREATE,
	GIL_DOES_FREE,
	GIL_DOES_MAP,
	GIL_DOES_START,
	GIL_DOES_WAIT,
	GIL_DOES_TO_BOARD,
	GIL_DOES_FROM_BOARD,
};

struct gil_mirror_ioctl {
	u8 number;
	u8 does;
	const struct gil_mirror_struct *argument;
};

struct gil_mirror_driver {
	const char *name; /* NULL ends the list */
	const char *device; /* of a driver that is no DRM driver; in /dev */
	char letter; /* of its ioctls */
	const char *description;
	u32 major, minor, patch;
	u16 api;
	u16 ioctl_count;
	const struct gil_mirror_ioctl *ioctls;
};

extern const struct gil_mirror_driver gil_mirror_drivers[];

/* ---- the node -------------------------------------------------------- */

/* Entry numbers of gil's own calls; an ioctl's is its number + GIL_ENTRY_IOCTL. */
#define GIL_ENTRY_OPEN 1
#define GIL_ENTRY_CLOSE 2
#define GIL_ENTRY_FREE 3
#define GIL_ENTRY_CHANGED 4
#define GIL_ENTRY_WAIT 5 /* for a job; answered by the host */
#define GIL_ENTRY_FETCH 6
#define GIL_ENTRY_IOCTL 16

/* Calls that go to the host together. */
struct gil_mirror_batch {
	struct gil_block *block; /* NULL: nothing is collected */
	struct gil_chain chain;
	u32 len; /* of the request */
	u32 region_count;
	u64 region_bytes;
	struct list_head kept; /* struct gil_mirror_kept: until the doorbell is answered */
};

struct gil_outputs;

struct gil_mirror {
	struct drm_device drm;
	const struct gil_mirror_driver *table;
	struct gil_outputs *outputs; /* NULL: none */

	struct mutex lock; /* what follows; held while a doorbell rings */
	struct gil_session *session; /* NULL: no file is open */
	bool lost; /* the session's board is gone */
	u32 session_number; /* which session it is: buffers of earlier ones are dead */
	unsigned int file_count;
	u32 last_file, last_buffer;
	u64 last_event;
	struct gil_mirror_batch batch;
	spinlock_t retired_lock;
	struct list_head retired; /* events that nobody will ask for any more */
	struct list_head answers; /* struct gil_mirror_answer: queries that were answered */
	unsigned int answer_count;
	bool has_fences; /* of a fence or a buffer a program had a descriptor: it may wait by that alone */

	struct mutex buffers_lock;
	struct list_head buffers; /* all, struct gil_mirror_buffer */
};

struct gil_mirror_file {
	u32 number; /* 0: the board has no such file yet */
	struct mutex lock; /* while it is opened there */
	u64 fence_context; /* the first of GIL_PROCESSORS */
	u64 fence_seq;
	atomic_t ioctls; /* that programs called: the report has their number */
	struct xarray contexts; /* the driver's, by their numbers */
};

static inline struct gil_mirror *gil_mirror_of(struct drm_device *drm)
{
	return container_of(drm, struct gil_mirror, drm);
}

/* ---- buffers --------------------------------------------------------- */

struct gil_mirror_buffer {
	struct drm_gem_shmem_object base;
	u32 number; /* 0: the board has none */
	u32 session_number;
	u64 address; /* the GPU's, in the file of the number below; 0: not known here */
	u32 address_file;
	u32 used_in; /* the number of a file that named it */
	bool heap; /* programs cannot map it */
	bool mapped; /* a program may have changed it */
	bool changed; /* the board may have changed it, since the last look */
	bool awaited; /* a program has waited for it */
	u64 last_job; /* the event of the last one that may write there */
	struct mutex fetching; /* held while it is looked at */
	struct list_head node; /* of the node's buffers */
};

static inline struct gil_mirror_buffer *
gil_mirror_buffer_of(struct drm_gem_object *object)
{
	return container_of(object, struct gil_mirror_buffer, base.base);
}

struct drm_gem_object *gil_mirror_gem_create(struct drm_device *drm,
					     size_t size);
struct gil_mirror_buffer *gil_mirror_buffer_create(struct gil_mirror *mirror,
						   u64 size);
struct gil_mirror_buffer *gil_mirror_buffer_get(struct drm_file *file,
						u32 handle);
void gil_mirror_buffer_put(struct gil_mirror_buffer *buffer);
int gil_mirror_buffer_chain(struct gil_mirror_buffer *buffer,
			    struct gil_chain *chain);
int gil_mirror_buffer_changed(struct gil_mirror *mirror,
			      struct gil_mirror_buffer *buffer);

/* ---- calls ----------------------------------------------------------- */

/* wire-protocol/src/envelope.rs: Class, and flags of the bytes. */
enum gil_mirror_class {
	GIL_CLASS_QUERY,
	GIL_CLASS_SYNC,
	GIL_CLASS_POST,
	GIL_CLASS_ENQUEUE,
	GIL_CLASS_WAIT,
};

/* wire-protocol/src/envelope.rs: Engine. */
#define GIL_ENGINE_GRAPHICS 4
#define GIL_ENGINE_PROCESSOR_FIRST 8
#define GIL_ENGINE_LAST 15
#define GIL_PROCESSORS (GIL_ENGINE_LAST - GIL_ENGINE_PROCESSOR_FIRST + 1)

/* A call, on its way to the host. */
struct gil_mirror_call {
	u16 entry;
	u8 class;
	u64 entered; /* the counter when the program called */
	u64 queue; /* GIL_CLASS_ENQUEUE: the file, and its processor in the upper half */
	u8 engine; /* GIL_CLASS_ENQUEUE */
	u64 signals; /* GIL_CLASS_ENQUEUE: its event */
	bool marker; /* GIL_CLASS_ENQUEUE: it only ends, and is waited for */
	const u64 *waits;
	u16 wait_count;
	const void *args;
	u32 args_len;
	struct gil_mirror_buffer *buffer; /* a region that is all of it, for the board */
	struct gil_mirror_buffer **fetched; /* as many regions, from the board */
	u16 fetched_count;
	struct list_head kept; /* struct gil_mirror_kept: regions, in order */
};

/* Memory of ours that is a region, or a reference to a buffer: until the doorbell. */
struct gil_mirror_kept {
	struct list_head node;
	struct gil_mirror_buffer *buffer; /* NULL: a region */
	u32 len;
	void *memory; /* kvmalloc */
};

/* What came back. */
struct gil_mirror_reply {
	u8 *memory; /* kmalloc; NULL: nothing */
	const u8 *result;
	u32 result_len;
	u32 memory_len;
	u32 wait_kind;
	u64 deadline_ns;
};

void gil_mirror_call_init(struct gil_mirror_call *call, u16 entry, u8 class);
void gil_mirror_call_free(struct gil_mirror_call *call);
int gil_mirror_post(struct gil_mirror *mirror, struct gil_mirror_call *call);
int gil_mirror_ask(struct gil_mirror *mirror, struct gil_mirror_call *call,
		   struct gil_mirror_reply *reply);
void gil_mirror_pass_time(struct gil_mirror *mirror,
			  const struct gil_mirror_reply *reply);
void gil_mirror_batch_flush(struct gil_mirror *mirror);

/* mirror_fetch.c */
int gil_mirror_fetch(struct gil_mirror *mirror, u32 file,
		     struct gil_mirror_buffer *buffer);
int gil_mirror_fetch_awaited(struct gil_mirror *mirror, u32 file,
			     struct gil_mirror_buffer *buffer);
void gil_mirror_fetch_mapped(struct gil_mirror *mirror,
			     struct gil_mirror_buffer *buffer);
void gil_mirror_fetch_all(struct gil_mirror *mirror);

int gil_mirror_locate(struct gil_mirror *mirror,
		      const struct gil_mirror_ioctl *ioctl, u32 file,
		      struct gil_mirror_buffer *buffer, u64 *address);

/* mirror_main.c */
int gil_mirror_file_open(struct gil_mirror *mirror,
			 struct gil_mirror_file *file);

/* mirror_device.c */
int gil_mirror_device_register(struct gil_mirror *mirror);
void gil_mirror_device_unregister(struct gil_mirror *mirror);

/* mirror_ioctl.c */
long gil_mirror_device_ioctl(struct file *filp, unsigned int cmd,
			     unsigned long arg);
long gil_mirror_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);
#ifdef CONFIG_COMPAT
long gil_mirror_compat_ioctl(struct file *filp, unsigned int cmd,
			     unsigned long arg);
#endif
void gil_mirror_answers_free(struct gil_mirror *mirror);

/* ---- arguments ------------------------------------------------------- */

/* Most bytes of a buffer. */
#define GIL_MIRROR_BUFFER_MAX (1ull << 30)

/* Most bytes of the argument of any ioctl. */
#define GIL_MIRROR_ARGUMENT_MAX 256

/* As the decoder on the host has it. */
#define GIL_MIRROR_BYTES_MAX (64u << 20)
#define GIL_MIRROR_ELEMENTS_MAX (1u << 16)

struct gil_mirror_args {
	const struct gil_mirror_ioctl *ioctl;
	struct drm_file *file;
	u8 *argument; /* as the program has it */
	u8 *wire; /* what travels; kvmalloc */
	u32 wire_len;
	u32 wire_cap;
	struct list_head kept; /* of a call */
	unsigned int buffer_count;
	unsigned int buffer_cap;
	struct gil_mirror_buffer **buffers; /* that the call names, referenced */
	u8 *reads; /* of each whether the job only reads it; NULL: none is known */
	unsigned int read_cap;
	struct gil_mirror_buffer *made; /* that it makes */
	unsigned int fence_count;
	unsigned int fence_cap;
	struct dma_fence **fences; /* that a job waits for, referenced */
};

u64 gil_mirror_get(const u8 *argument, u32 offset, u32 size);
void gil_mirror_set(u8 *argument, u32 offset, u32 size, u64 value);
const struct gil_mirror_field *
gil_mirror_field(const struct gil_mirror_ioctl *ioctl, u8 role);
int gil_mirror_args_check(const struct gil_mirror_ioctl *ioctl,
			  const u8 *argument);
int gil_mirror_args_build(struct gil_mirror_args *args,
			  struct gil_mirror *mirror, u32 file_number);
int gil_mirror_args_return(struct gil_mirror_args *args,
			   const struct gil_mirror_reply *reply);
bool gil_mirror_written(const struct gil_mirror_args *args, unsigned int i);
int gil_mirror_args_wait(struct gil_mirror_args *args,
			 struct dma_fence *fence);
void gil_mirror_args_free(struct gil_mirror_args *args);

/* ---- fences ---------------------------------------------------------- */

struct dma_fence *gil_mirror_fence_new(struct gil_mirror *mirror,
				       struct gil_mirror_file *file,
				       u8 processor, u64 event);
u64 gil_mirror_fence_event(struct gil_mirror *mirror, struct dma_fence *fence);
void gil_mirror_fence_arm(struct dma_fence *fence);
u64 gil_mirror_retired(struct gil_mirror *mirror);
void gil_mirror_retired_free(struct gil_mirror *mirror);

#endif
