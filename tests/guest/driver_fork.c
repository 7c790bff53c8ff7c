/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A session belongs to one address space: a forked child is refused, harms
 * nothing, and does not keep its parent's session alive.
 */
#include "driver_test.h"
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

static int exit_code(pid_t child)
{
	int status = -1;

	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void child_is_refused(void)
{
	int fd = open_session();
	struct gil_info info;
	pid_t child;

	CHECK(works(fd));
	child = fork();
	if (child == 0) {
		uint32_t status;

		FAILS(ioctl(fd, GIL_IOC_INFO, &info), EPERM);
		FAILS(submit_nothing(fd, &status), EPERM);
		FAILS(wait_for(fd, GIL_WAIT_SLEEP, 0), EPERM);
		fflush(stdout);
		_exit(failures != 0);
	}
	CHECK(exit_code(child) == 0);
	CHECK(works(fd));
	CHECK(ioctl(fd, GIL_IOC_INFO, &info) == 0);
	close(fd);
}

static void child_has_a_session_of_its_own(void)
{
	struct gil_info mine = { 0 };
	int fd = open_session();
	pid_t child;

	CHECK(ioctl(fd, GIL_IOC_INFO, &mine) == 0);
	CHECK(mine.abi_version == GIL_ABI_VERSION && mine.session != 0);
	child = fork();
	if (child == 0) {
		struct gil_info its = { 0 };
		int own = open_session();

		CHECK(ioctl(own, GIL_IOC_INFO, &its) == 0);
		CHECK(its.session != mine.session);
		CHECK(works(own));
		fflush(stdout);
		_exit(failures != 0);
	}
	CHECK(exit_code(child) == 0);
	CHECK(works(fd));
	close(fd);
}

static void another_descriptor_keeps_it(void)
{
	int fd = open_session(), other = dup(fd);

	close(fd);
	CHECK(works(other));
	close(other);
}

struct waiter {
	int fd;
	int result;
	int error;
};

static void *wait_for_ever(void *arg)
{
	struct waiter *waiter = arg;

	waiter->result = wait_progress(waiter->fd, NEVER);
	waiter->error = errno;
	return NULL;
}

/* The child's descriptor stays open; the parent's thread sees the end. */
static void child_does_not_keep_it(void)
{
	struct waiter waiter = { .fd = open_session() };
	pthread_t thread;
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	pthread_create(&thread, NULL, wait_for_ever, &waiter);
	usleep(5000);
	close(waiter.fd);
	pthread_join(thread, NULL);
	CHECK(waiter.result == -1 && waiter.error == EBADF);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* The owner exits while its own child still has the descriptor. */
static void owner_exits_first(void)
{
	pid_t owner = fork();
	int fd;

	if (owner == 0) {
		int own = open_session();

		if (fork() == 0) {
			uint32_t status;

			usleep(20000);
			_exit(submit_nothing(own, &status) == 0);
		}
		_exit(!works(own));
	}
	CHECK(exit_code(owner) == 0);
	usleep(40000);
	fd = open_session();
	CHECK(works(fd));
	close(fd);
}

int main(void)
{
	run_test("child_is_refused", child_is_refused);
	run_test("child_has_a_session_of_its_own",
		 child_has_a_session_of_its_own);
	run_test("another_descriptor_keeps_it", another_descriptor_keeps_it);
	run_test("child_does_not_keep_it", child_does_not_keep_it);
	run_test("owner_exits_first", owner_exits_first);
	return failures != 0;
}
