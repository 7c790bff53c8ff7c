/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Imports of another driver's dma-bufs: a number each, until it is forgotten or the
 * session ends, and nothing of the buffer is kept afterwards. The buffers are dumb
 * ones of the guest's display driver.
 */
#include "driver_test.h"

#include <drm/drm.h>
#include <drm/drm_mode.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define PAGE 4096ul
/* Imports that a session may have. */
#define MANY 4096
#define EXPORTER "virtio_gpu"

static int card, session;
/* A dma-buf of a page, and one of a hundred. */
static int one_page, hundred_pages;

/* A dumb buffer of so many pages as a dma-buf, which alone keeps it. */
static int dma_buf(unsigned pages)
{
	struct drm_mode_create_dumb dumb = { .width = PAGE / 4, .height = pages, .bpp = 32 };
	struct drm_mode_destroy_dumb destroy;
	struct drm_prime_handle prime = { .flags = O_RDWR | O_CLOEXEC };

	CHECK(!ioctl(card, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	prime.handle = dumb.handle;
	CHECK(!ioctl(card, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	destroy.handle = dumb.handle;
	CHECK(!ioctl(card, DRM_IOCTL_MODE_DESTROY_DUMB, &destroy));
	return prime.fd;
}

static int import(int at, int fd, struct gil_import_arg *arg)
{
	*arg = (struct gil_import_arg){ .fd = fd };
	return ioctl(at, GIL_IOC_IMPORT, arg);
}

static int forget(unsigned long id)
{
	return ioctl(session, GIL_IOC_FORGET, id);
}

/* A region of an import, for a request that does not read it. */
static int names(uint32_t id, uint64_t offset, uint64_t len)
{
	static uint8_t reply[64];
	struct gil_submit arg = submit_of(nothing, NOTHING_LEN, reply, sizeof(reply));
	struct gil_region region = { offset, len, GIL_DIR_IN, id };

	arg.regions = (uintptr_t)&region;
	arg.region_count = 1;
	return ioctl(session, GIL_IOC_SUBMIT, &arg);
}

static void a_number_each(void)
{
	struct gil_import_arg first, second, other;

	CHECK(!import(session, one_page, &first) && first.id && first.len == PAGE);
	CHECK(!import(session, one_page, &second) && second.id && second.id != first.id);
	CHECK(!import(session, hundred_pages, &other) && other.len == 100 * PAGE);
	CHECK(!forget(first.id));
	FAILS(forget(first.id), ENOENT);
	CHECK(!forget(second.id) && !forget(other.id));
}

static void what_is_none(void)
{
	struct gil_import_arg arg;
	int plain = open("/dev/null", O_RDWR), closed = dup(plain);

	close(closed);
	FAILS(import(session, -1, &arg), EBADF);
	FAILS(import(session, closed, &arg), EBADF);
	FAILS(import(session, plain, &arg), EINVAL);
	FAILS(import(session, session, &arg), EINVAL);
	FAILS(import(session, card, &arg), EINVAL);
	arg = (struct gil_import_arg){ .fd = one_page, .flags = 1 };
	FAILS(ioctl(session, GIL_IOC_IMPORT, &arg), EINVAL);
	close(plain);
}

static void numbers_of_none(void)
{
	struct gil_import_arg arg;

	CHECK(!import(session, one_page, &arg));
	FAILS(forget(0), ENOENT);
	FAILS(forget(arg.id + 1), ENOENT);
	FAILS(forget(MANY + 1), ENOENT);
	FAILS(forget(-1ul), ENOENT);
	CHECK(!forget(arg.id));
}

/* What was imported for an answer that cannot be written is forgotten. */
static void an_answer_without_memory(void)
{
	struct gil_import_arg *arg = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct gil_import_arg next;
	long before = users_of(EXPORTER);

	FAILS(ioctl(session, GIL_IOC_IMPORT, NULL), EFAULT);
	FAILS(ioctl(session, GIL_IOC_IMPORT, (void *)1), EFAULT);
	arg->fd = one_page;
	mprotect(arg, PAGE, PROT_READ);
	FAILS(ioctl(session, GIL_IOC_IMPORT, arg), EFAULT);
	CHECK(!import(session, one_page, &next) && !forget(next.id));
	CHECK(users_become(EXPORTER, before));
	munmap(arg, PAGE);
}

static void of_another_process(void)
{
	struct gil_import_arg arg;
	int status = -1;
	pid_t child;

	CHECK(!import(session, one_page, &arg));
	child = fork();
	if (!child) {
		struct gil_import_arg mine;

		failures = 0;
		FAILS(import(session, one_page, &mine), EPERM);
		FAILS(forget(arg.id), EPERM);
		_exit(failures);
	}
	waitpid(child, &status, 0);
	CHECK(status == 0);
	CHECK(!forget(arg.id));
}

static void parts_of_it(void)
{
	struct gil_import_arg arg;

	CHECK(!import(session, hundred_pages, &arg));
	CHECK(!names(arg.id, 0, 100 * PAGE));
	CHECK(!names(arg.id, 100 * PAGE - 1, 1));
	FAILS(names(arg.id, 1, 100 * PAGE), EFAULT);
	FAILS(names(arg.id, 100 * PAGE, 1), EFAULT);
	FAILS(names(arg.id, UINT64_MAX, 1), EFAULT);
	FAILS(names(arg.id, PAGE, UINT64_MAX - PAGE + 1), EFAULT);
	FAILS(names(arg.id + 1, 0, 1), EINVAL);
	CHECK(!forget(arg.id));
	FAILS(names(arg.id, 0, 1), EINVAL);
}

/* The buffer lives as long as an import of it. */
static void without_its_descriptor(void)
{
	long before = users_of(EXPORTER);
	struct gil_import_arg arg;
	int fd = dma_buf(3);

	CHECK(!import(session, fd, &arg));
	close(fd);
	CHECK(users_of(EXPORTER) > before);
	CHECK(!names(arg.id, 0, 3 * PAGE));
	CHECK(!forget(arg.id));
	CHECK(users_become(EXPORTER, before));
}

static void as_many_as_there_may_be(void)
{
	struct gil_import_arg arg;

	for (int i = 0; i < MANY; i++)
		CHECK(!import(session, one_page, &arg));
	FAILS(import(session, one_page, &arg), ENOMEM);
	CHECK(!forget(MANY / 2));
	CHECK(!import(session, one_page, &arg) && arg.id == MANY / 2);
	for (int i = 1; i <= MANY; i++)
		CHECK(!forget(i));
}

static void counted_as_pinned(void)
{
	struct gil_import_arg arg, more;

	set("max_pinned", "409600");
	CHECK(!import(session, hundred_pages, &arg));
	FAILS(import(session, one_page, &more), ENOMEM);
	CHECK(!forget(arg.id));
	CHECK(!import(session, one_page, &more));
	FAILS(import(session, hundred_pages, &arg), ENOMEM);
	CHECK(!forget(more.id));
	set("max_pinned", "1073741824");
}

/* A session that ends by close, and one whose process is killed. */
static void a_session_that_ends(void)
{
	struct gil_import_arg arg;
	long before = users_of(EXPORTER);
	int other = open_session(), status = -1, fd = dma_buf(1);
	pid_t child;

	for (int i = 0; i < 100; i++)
		CHECK(!import(other, fd, &arg));
	close(fd);
	CHECK(users_of(EXPORTER) > before);
	close(other);
	CHECK(users_become(EXPORTER, before));
	child = fork();
	if (!child) {
		fd = dma_buf(1);
		other = open_session();
		for (int i = 0; i < 100; i++)
			import(other, fd, &arg);
		raise(SIGKILL);
	}
	waitpid(child, &status, 0);
	CHECK(WIFSIGNALED(status) && users_become(EXPORTER, before));
}

int main(void)
{
	card = open("/dev/dri/card0", O_RDWR | O_CLOEXEC);
	session = open_session();
	one_page = dma_buf(1);
	hundred_pages = dma_buf(100);
	run_test("each import has a number until it is forgotten", a_number_each);
	run_test("what is no dma-buf is refused", what_is_none);
	run_test("a number without an import is refused", numbers_of_none);
	run_test("an answer that cannot be written leaves nothing", an_answer_without_memory);
	run_test("another process can neither import nor forget", of_another_process);
	run_test("regions are within an import", parts_of_it);
	run_test("an import keeps its buffer without a descriptor", without_its_descriptor);
	run_test("their number is bounded", as_many_as_there_may_be);
	run_test("imports count as pinned memory", counted_as_pinned);
	run_test("a session that ends leaves nothing", a_session_that_ends);
	return failures != 0;
}
