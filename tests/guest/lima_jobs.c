/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Jobs of lima's with empty streams, by the kernel's own calls: the geometry processor's
 * and then the pixel processors' end when they should, and what the driver refuses has its
 * errno.
 *
 *     lima_jobs GEOMETRY PIXELS   microseconds that each kind of job takes
 *
 * Streams' formats: Mesa's src/gallium/drivers/lima/lima_gpu.h and lima_job.c.
 */
/* Where mmap finds buffers has more than 32 bits. */
#define _FILE_OFFSET_BITS 64
#include "driver_test.h"
#include "drm_fences.h"

#include <drm/drm.h>
#include <drm/lima_drm.h>
#include <sys/mman.h>

#define PAGE 4096
#define LATE (20 * US)

/* Places in the buffer, in words. */
enum { LIST = 0, TILES = 8, STATE = 64, SHADER = 128 };

struct buffer {
	uint32_t handle, address, *words;
};

static int node;
static uint32_t context;
static uint64_t geometry_takes, pixels_take;

static int create(uint32_t size, uint32_t flags, uint32_t *handle)
{
	struct drm_lima_gem_create create = { .size = size, .flags = flags };
	int err = ioctl(node, DRM_IOCTL_LIMA_GEM_CREATE, &create);

	*handle = create.handle;
	return err;
}

/* A buffer with an empty polygon list, and no tiles. */
static struct buffer streams(void)
{
	struct buffer buffer = { 0 };
	struct drm_lima_gem_info info = { 0 };

	CHECK(!create(PAGE, 0, &buffer.handle));
	info.handle = buffer.handle;
	CHECK(!ioctl(node, DRM_IOCTL_LIMA_GEM_INFO, &info));
	buffer.address = info.va;
	buffer.words = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, node, info.offset);
	CHECK(buffer.words != MAP_FAILED);
	buffer.words[LIST + 1] = 0x50000000;
	buffer.words[TILES + 1] = 0xbc000000;
	buffer.words[STATE + 9] = buffer.address + 4 * SHADER;
	buffer.words[SHADER] = 1;
	return buffer;
}

static uint32_t sync_new(void)
{
	struct drm_syncobj_create sync = { 0 };

	CHECK(!ioctl(node, DRM_IOCTL_SYNCOBJ_CREATE, &sync));
	return sync.handle;
}

static int sync_wait(uint32_t sync)
{
	struct drm_syncobj_wait wait = {
		.handles = (uintptr_t)&sync, .count_handles = 1, .timeout_nsec = INT64_MAX
	};

	return ioctl(node, DRM_IOCTL_SYNCOBJ_WAIT, &wait);
}

static int status_of(uint32_t sync)
{
	return fence_of(node, sync).status;
}

static int submit(uint32_t pipe, void *frame, uint32_t size, uint32_t handle, uint32_t sync)
{
	struct drm_lima_gem_submit_bo bo = { .handle = handle, .flags = LIMA_SUBMIT_BO_WRITE };
	struct drm_lima_gem_submit job = { .ctx = context,
					   .pipe = pipe,
					   .nr_bos = 1,
					   .frame_size = size,
					   .bos = (uintptr_t)&bo,
					   .frame = (uintptr_t)frame,
					   .out_sync = sync };

	return ioctl(node, DRM_IOCTL_LIMA_GEM_SUBMIT, &job);
}

static int geometry(const struct buffer *buffer, uint32_t sync)
{
	uint32_t list = buffer->address + 4 * LIST;
	struct drm_lima_gp_frame frame = { { 0, 0, list, list + 8, 0, 0 } };

	return submit(LIMA_PIPE_GP, &frame, sizeof(frame), buffer->handle, sync);
}

static int pixels(const struct buffer *buffer, uint32_t sync)
{
	struct drm_lima_m400_pp_frame frame = { .num_pp = 4 };

	frame.frame[1] = buffer->address + 4 * STATE;
	for (int i = 0; i < 4; i++)
		frame.plbu_array_address[i] = buffer->address + 4 * TILES;
	return submit(LIMA_PIPE_PP, &frame, sizeof(frame), buffer->handle, sync);
}

static int wait_bo(uint32_t handle, uint32_t op)
{
	struct drm_lima_gem_wait wait = { .handle = handle, .op = op, .timeout_ns = INT64_MAX };

	return ioctl(node, DRM_IOCTL_LIMA_GEM_WAIT, &wait);
}

/* A job's fence signalled between the two, and the wait for it ended no earlier. What the
 * kernel has to do before the program goes on is its own matter. */
static void was_in_time(const char *what, uint32_t sync, uint64_t from, uint64_t to)
{
	uint64_t now = now_ns(), at = fence_of(node, sync).timestamp_ns;

	printf("# %s: %lld ns after the earliest, %lld after the latest, waited for %lld more\n", what,
	       (long long)(at - from), (long long)(at - to), (long long)(now - at));
	CHECK(at >= from && at <= to + LATE && now >= at);
}

static void ends_are_those_of_the_script(void)
{
	struct buffer buffer = streams();
	uint32_t sync = sync_new();
	uint64_t before = now_ns(), after;

	CHECK(!geometry(&buffer, sync));
	after = now_ns();
	CHECK(!sync_wait(sync));
	was_in_time("geometry", sync, before + geometry_takes, after + geometry_takes);
	CHECK(status_of(sync) == 1);
	before = now_ns();
	CHECK(!geometry(&buffer, 0));
	after = now_ns();
	CHECK(!pixels(&buffer, sync));
	CHECK(!wait_bo(buffer.handle, LIMA_GEM_WAIT_READ | LIMA_GEM_WAIT_WRITE));
	was_in_time("both", sync, before + geometry_takes + pixels_take,
		    after + geometry_takes + pixels_take);
	CHECK(status_of(sync) == 1);
}

static void buffers_are_refused_as_by_lima(void)
{
	struct drm_lima_gem_create padded = { .size = PAGE, .pad = 1 };
	struct drm_lima_gem_info info = { .handle = 999 };
	uint32_t handle;

	FAILS(create(0, 0, &handle), EINVAL);
	FAILS(create(PAGE, 2, &handle), EINVAL);
	FAILS(ioctl(node, DRM_IOCTL_LIMA_GEM_CREATE, &padded), EINVAL);
	FAILS(ioctl(node, DRM_IOCTL_LIMA_GEM_INFO, &info), ENOENT);
	FAILS(wait_bo(999, LIMA_GEM_WAIT_READ), ENOENT);
	FAILS(wait_bo(999, 4), EINVAL);
	CHECK(!create(PAGE, LIMA_BO_FLAG_HEAP, &handle));
	info.handle = handle;
	CHECK(!ioctl(node, DRM_IOCTL_LIMA_GEM_INFO, &info));
	FAILS(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, node, info.offset) == MAP_FAILED ? -1 : 0,
	      EINVAL);
}

static void questions_are_refused_as_by_lima(void)
{
	struct drm_lima_get_param param = { .param = DRM_LIMA_PARAM_GPU_ID };
	struct drm_lima_ctx_create padded = { ._pad = 1 };

	CHECK(!ioctl(node, DRM_IOCTL_LIMA_GET_PARAM, &param));
	CHECK(param.value == DRM_LIMA_PARAM_GPU_ID_MALI400);
	param.param = DRM_LIMA_PARAM_NUM_PP;
	CHECK(!ioctl(node, DRM_IOCTL_LIMA_GET_PARAM, &param));
	CHECK(param.value == 4);
	param.param = 99;
	FAILS(ioctl(node, DRM_IOCTL_LIMA_GET_PARAM, &param), EINVAL);
	param.param = 0;
	param.pad = 1;
	FAILS(ioctl(node, DRM_IOCTL_LIMA_GET_PARAM, &param), EINVAL);
	FAILS(ioctl(node, DRM_IOW(DRM_COMMAND_BASE + DRM_LIMA_CTX_FREE,
				  struct drm_lima_ctx_create), &padded), EINVAL);
}

static void jobs_are_refused_as_by_lima(void)
{
	struct buffer buffer = streams();
	struct drm_lima_gp_frame frame = { { 0 } };
	struct drm_lima_gem_submit job = { .ctx = context, .nr_bos = 1, .frame_size = sizeof(frame) };

	FAILS(submit(LIMA_PIPE_GP, &frame, 4, buffer.handle, 0), EINVAL);
	FAILS(submit(LIMA_PIPE_PP, &frame, sizeof(frame), buffer.handle, 0), EINVAL);
	FAILS(submit(2, &frame, sizeof(frame), buffer.handle, 0), EINVAL);
	job.nr_bos = 0;
	FAILS(ioctl(node, DRM_IOCTL_LIMA_GEM_SUBMIT, &job), EINVAL);
	job.nr_bos = 1;
	job.flags = 2;

	FAILS(ioctl(node, DRM_IOCTL_LIMA_GEM_SUBMIT, &job), EINVAL);
	FAILS(submit(LIMA_PIPE_GP, &frame, sizeof(frame), 999, 0), ENOENT);
	FAILS(submit(LIMA_PIPE_GP, &frame, sizeof(frame), buffer.handle, 999), ENOENT);
	FAILS(submit(LIMA_PIPE_GP, (void *)8, sizeof(frame), buffer.handle, 0), EFAULT);
	job.flags = 0;
	job.bos = 8;
	FAILS(ioctl(node, DRM_IOCTL_LIMA_GEM_SUBMIT, &job), EFAULT);
}

static int context_free(uint32_t id)
{
	/* The header has the call with a pointer's size. */
	struct drm_lima_ctx_free free = { .id = id };

	return ioctl(node, DRM_IOW(DRM_COMMAND_BASE + DRM_LIMA_CTX_FREE, struct drm_lima_ctx_free),
		     &free);
}

static void contexts_are_a_files_own(void)
{
	struct buffer buffer = streams();
	struct drm_lima_ctx_create made = { 0 };
	uint32_t own = context, sync = sync_new();
	int other = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC), first = node;

	FAILS(context_free(77), EINVAL);
	CHECK(!ioctl(node, DRM_IOCTL_LIMA_CTX_CREATE, &made));
	CHECK(made.id != own);
	node = other;
	FAILS(context_free(made.id), EINVAL);
	node = first;
	close(other);
	context = made.id;
	CHECK(!geometry(&buffer, sync));
	CHECK(!sync_wait(sync));
	CHECK(!context_free(made.id));
	FAILS(context_free(made.id), EINVAL);
	FAILS(geometry(&buffer, sync), ENOENT);
	context = own;
}

/* What only the board knows is said by the job's fence. */
static void jobs_that_the_board_refuses_fail(void)
{
	struct buffer buffer = streams();
	uint32_t sync = sync_new();
	struct drm_lima_gp_frame frame = { { 0 } };

	/* A stream that is nowhere. */
	frame.frame[2] = 0x1000;
	frame.frame[3] = 0x1008;
	CHECK(!submit(LIMA_PIPE_GP, &frame, sizeof(frame), buffer.handle, sync));
	CHECK(!sync_wait(sync));
	CHECK(status_of(sync) == -ECANCELED);
	CHECK(!geometry(&buffer, sync));
	CHECK(!sync_wait(sync));
	CHECK(status_of(sync) == 1);
}

int main(int argc, char **argv)
{
	struct drm_lima_ctx_create create = { 0 };

	node = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
	if (node < 0 || argc != 3 || ioctl(node, DRM_IOCTL_LIMA_CTX_CREATE, &create))
		return 2;
	context = create.id;
	geometry_takes = strtoull(argv[1], NULL, 10) * US;
	pixels_take = strtoull(argv[2], NULL, 10) * US;
	run_test("ends are those of the script", ends_are_those_of_the_script);
	run_test("buffers are refused as by lima", buffers_are_refused_as_by_lima);
	run_test("questions are refused as by lima", questions_are_refused_as_by_lima);
	run_test("jobs are refused as by lima", jobs_are_refused_as_by_lima);
	run_test("contexts are a file's own", contexts_are_a_files_own);
	run_test("jobs that the board refuses fail", jobs_that_the_board_refuses_fail);
	return failures != 0;
}
