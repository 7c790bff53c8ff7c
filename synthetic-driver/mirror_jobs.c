// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs that ioctls start, and waits for them. A job is collected with what it waits for;
 * its fence signals when the board says that it ends.
 */
#include <drm/drm_syncobj.h>
#include <linux/dma-resv.h>
#include <linux/file.h>
#include <linux/ktime.h>
#include <linux/sync_file.h>

#include "mirror_run.h"

/* As virtio_gpu waits for a buffer. */
#define GIL_MIRROR_WAIT_MAX (15 * HZ)
/* Events that a job waits for on the timeline; for more, the program waits. */
#define GIL_MIRROR_WAITS_MAX 32

/* ---- jobs ------------------------------------------------------------ */

/* A job waits for a fence by its descriptor. */
static int gil_run_wait_for_file(struct gil_mirror_run *run)
{
	const struct gil_mirror_field *field =
		gil_mirror_field(run->args.ioctl, GIL_ROLE_FENCE);
	struct dma_fence *fence;

	if (!field || !(gil_mirror_get(run->args.argument, field->at,
				       sizeof(u32)) &
			field->known))
		return 0;
	fence = sync_file_get_fence(gil_run_get(run, field));
	return fence ? gil_mirror_args_wait(&run->args, fence) : -EINVAL;
}

/* The events that a job waits for; the fences of others are waited for here. */
static int gil_run_events(struct gil_mirror_run *run, u64 *events, u16 *count)
{
	unsigned int i;
	u64 event;
	int err;

	*count = 0;
	for (i = 0; i < run->args.fence_count; i++) {
		event = gil_mirror_fence_event(run->mirror,
					       run->args.fences[i]);
		if (event && *count < GIL_MIRROR_WAITS_MAX) {
			events[(*count)++] = event;
			continue;
		}
		err = dma_fence_wait(run->args.fences[i], true);
		if (err)
			return err;
	}
	return 0;
}

static bool gil_run_waits_for(const struct gil_mirror_run *run,
			      const struct dma_fence *fence)
{
	unsigned int i;

	for (i = 0; i < run->args.fence_count; i++)
		if (run->args.fences[i] == fence)
			return true;
	return false;
}

/* A job waits for those that write to one of its buffers, and if it writes there
 * itself, for all that use it. */
static int gil_run_wait_for_buffer(struct gil_mirror_run *run,
				   struct gil_mirror_buffer *buffer,
				   bool written)
{
	struct dma_fence **fences;
	unsigned int i, count;
	int err = dma_resv_get_fences(buffer->base.base.resv,
				      dma_resv_usage_rw(written), &count,
				      &fences);

	if (err)
		return err;
	for (i = 0; i < count; i++) {
		if (err || dma_fence_is_signaled(fences[i]) ||
		    gil_run_waits_for(run, fences[i]))
			dma_fence_put(fences[i]);
		else
			err = gil_mirror_args_wait(&run->args, fences[i]);
	}
	kfree(fences);
	return err;
}

/* Drivers that have more than one processor see to that; the others have one queue. */
static int gil_run_wait_for_buffers(struct gil_mirror_run *run)
{
	unsigned int i;
	int err = 0;

	if (!gil_mirror_field(run->args.ioctl, GIL_ROLE_PROCESSOR))
		return 0;
	for (i = 0; i < run->args.buffer_count && !err; i++)
		err = gil_run_wait_for_buffer(run, run->args.buffers[i],
					      gil_mirror_written(&run->args,
								 i));
	return err;
}

/* A buffer is in use until the job ends, which may change it if it writes there. */
static int gil_buffer_use(struct gil_mirror_buffer *buffer,
			  struct dma_fence *fence, u64 event, bool written)
{
	struct dma_resv *resv = buffer->base.base.resv;
	int err = dma_resv_lock(resv, NULL);

	if (err)
		return err;
	err = dma_resv_reserve_fences(resv, 1);
	if (!err)
		dma_resv_add_fence(resv, fence,
				   written ? DMA_RESV_USAGE_WRITE :
					     DMA_RESV_USAGE_READ);
	dma_resv_unlock(resv);
	if (!err && written) {
		WRITE_ONCE(buffer->last_job, event);
		WRITE_ONCE(buffer->changed, true);
	}
	return err;
}

static u64 gil_run_processor(const struct gil_mirror_run *run)
{
	const struct gil_mirror_field *field =
		gil_mirror_field(run->args.ioctl, GIL_ROLE_PROCESSOR);

	return field ? gil_run_get(run, field) : 0;
}

/* Each of a file's processors has a queue of its own. */
static void gil_run_place(const struct gil_mirror_run *run,
			  struct gil_mirror_call *call)
{
	const struct gil_mirror_field *field =
		gil_mirror_field(run->args.ioctl, GIL_ROLE_PROCESSOR);
	u64 processor = gil_run_processor(run);

	call->queue = processor << 32 | run->own->number;
	call->engine = field ? GIL_ENGINE_PROCESSOR_FIRST + processor :
			       GIL_ENGINE_GRAPHICS;
}

/* A fetch may have gone to the host since the job's fence was there, but before the job. */
static void gil_run_changes_buffers(const struct gil_mirror_run *run)
{
	unsigned int i;

	for (i = 0; i < run->args.buffer_count; i++)
		if (gil_mirror_written(&run->args, i))
			WRITE_ONCE(run->args.buffers[i]->changed, true);
}

static int gil_run_submit(struct gil_mirror_run *run, struct dma_fence *fence,
			  u64 signals)
{
	u64 waits[GIL_MIRROR_WAITS_MAX];
	struct gil_mirror_call call;
	u16 wait_count;
	unsigned int i;
	int err = gil_run_wait_for_buffers(run) ?:
		  gil_run_events(run, waits, &wait_count);

	for (i = 0; i < run->args.buffer_count && !err; i++)
		err = gil_buffer_use(run->args.buffers[i], fence, signals,
				     gil_mirror_written(&run->args, i));
	if (err)
		return err;
	gil_run_call(run, &call, GIL_CLASS_ENQUEUE);
	gil_run_place(run, &call);
	call.signals = signals;
	call.waits = waits;
	call.wait_count = wait_count;
	err = gil_mirror_post(run->mirror, &call);
	gil_run_changes_buffers(run);
	return err;
}

static int gil_run_start_with(struct gil_mirror_run *run,
			      struct dma_fence *fence, u64 signals)
{
	const struct gil_mirror_field *field =
		gil_mirror_field(run->args.ioctl, GIL_ROLE_FENCE);
	u64 flags = field ? gil_mirror_get(run->args.argument, field->at,
					   sizeof(u32)) :
			    0;
	struct sync_file *sync;
	int fd, err;

	if (!field || !(flags & field->polls))
		return gil_run_submit(run, fence, signals);
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	sync = sync_file_create(fence);
	err = sync ? gil_run_submit(run, fence, signals) : -ENOMEM;
	if (err) {
		put_unused_fd(fd);
		if (sync)
			fput(sync->file);
		return err;
	}
	gil_run_set(run, field, fd);
	WRITE_ONCE(run->mirror->has_fences, true);
	fd_install(fd, sync->file);
	return 0;
}

/* The sync object that the job's end signals; NULL: none. */
static int gil_run_sync_out(struct gil_mirror_run *run,
			    struct drm_syncobj **sync)
{
	const struct gil_mirror_field *field =
		gil_mirror_field(run->args.ioctl, GIL_ROLE_SYNC_OUT);
	u32 handle = field ? gil_run_get(run, field) : 0;

	*sync = handle ? drm_syncobj_find(run->args.file, handle) : NULL;
	return handle && !*sync ? -field->error : 0;
}

static int gil_run_start_job(struct gil_mirror_run *run,
			     struct drm_syncobj *sync)
{
	struct gil_mirror *mirror = run->mirror;
	struct dma_fence *fence;
	u64 signals;
	int err = gil_run_wait_for_file(run) ?: gil_run_send_buffers(run);

	if (err)
		return err;
	mutex_lock(&mirror->lock);
	signals = ++mirror->last_event;
	fence = gil_mirror_fence_new(mirror, run->own,
				     min_t(u64, gil_run_processor(run),
					   GIL_PROCESSORS - 1),
				     signals);
	mutex_unlock(&mirror->lock);
	if (!fence)
		return -ENOMEM;
	err = gil_run_start_with(run, fence, signals);
	if (err) {
		/* Nobody waits for a job that is not there. */
		dma_fence_set_error(fence, err);
		dma_fence_signal(fence);
	} else if (sync) {
		drm_syncobj_replace_fence(sync, fence);
	}
	dma_fence_put(fence);
	return err;
}

int gil_run_start(struct gil_mirror_run *run)
{
	struct drm_syncobj *sync;
	int err = gil_run_sync_out(run, &sync);

	if (err)
		return err;
	err = gil_run_start_job(run, sync);
	if (sync)
		drm_syncobj_put(sync);
	return err;
}

/* ---- waits ----------------------------------------------------------- */

/* Asks the host for the ends of a buffer's jobs. */
static int gil_buffer_arm(struct gil_mirror_buffer *buffer)
{
	struct dma_fence **fences;
	unsigned int i, count;
	int err = dma_resv_get_fences(buffer->base.base.resv,
				      DMA_RESV_USAGE_READ, &count, &fences);

	if (err)
		return err;
	for (i = 0; i < count; i++) {
		gil_mirror_fence_arm(fences[i]);
		dma_fence_put(fences[i]);
	}
	kfree(fences);
	return 0;
}

static long gil_run_timeout(const struct gil_mirror_run *run)
{
	const struct gil_mirror_field *field =
		gil_mirror_field(run->args.ioctl, GIL_ROLE_DEADLINE);
	s64 left;

	if (!field)
		return GIL_MIRROR_WAIT_MAX;
	left = gil_run_get(run, field) - ktime_get_ns();
	return left <= 0 ? 0 : min_t(u64, nsecs_to_jiffies64(left) + 1,
				     MAX_SCHEDULE_TIMEOUT - 1);
}

static bool gil_run_polls(const struct gil_mirror_run *run)
{
	const struct gil_mirror_field *field =
		gil_mirror_field(run->args.ioctl, GIL_ROLE_FLAGS);

	return field && field->polls && gil_run_get(run, field) & field->polls;
}

static int gil_run_wait_jobs(struct gil_mirror_run *run,
			     struct gil_mirror_buffer *buffer)
{
	struct dma_resv *resv = buffer->base.base.resv;
	long timeout = gil_run_timeout(run);
	long left;
	int err;

	if (dma_resv_test_signaled(resv, DMA_RESV_USAGE_READ))
		return 0;
	err = gil_buffer_arm(buffer);
	if (err)
		return err;
	if (gil_run_polls(run) || !timeout)
		return dma_resv_test_signaled(resv, DMA_RESV_USAGE_READ) ?
			       0 :
			       -EBUSY;
	left = dma_resv_wait_timeout(resv, DMA_RESV_USAGE_READ, true, timeout);
	if (left < 0)
		return left;
	if (left)
		return 0;
	/* Drivers whose program says how long have an errno of their own for it. */
	return gil_mirror_field(run->args.ioctl, GIL_ROLE_DEADLINE) ?
		       -ETIMEDOUT :
		       -EBUSY;
}

/* What the board may have changed comes back, with the end of its jobs. */
static int gil_run_fetch(struct gil_mirror_run *run,
			 struct gil_mirror_buffer *buffer)
{
	int err = gil_mirror_file_open(run->mirror, run->own);

	return err ?: gil_mirror_fetch_awaited(run->mirror, run->own->number,
					       buffer);
}

int gil_run_wait(struct gil_mirror_run *run)
{
	struct gil_mirror_buffer *buffer = gil_run_buffer(run);
	int err, fetched = 0;

	if (IS_ERR(buffer))
		return PTR_ERR(buffer);
	if (READ_ONCE(buffer->mapped))
		fetched = gil_run_fetch(run, buffer);
	err = gil_run_wait_jobs(run, buffer) ?: fetched;
	gil_mirror_buffer_put(buffer);
	return err;
}
