/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A signal in the middle of a wait interrupts the wait and nothing else; the
 * wait called again ends at the same deadline. Killing ends any wait.
 */
#include "driver_test.h"
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

static volatile sig_atomic_t alarms;

static void on_alarm(int signal)
{
	(void)signal;
	alarms++;
}

static void alarm_after(uint64_t ns, int flags)
{
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = flags };
	struct itimerval timer = { .it_value.tv_usec = ns / US };

	sigaction(SIGALRM, &action, NULL);
	alarms = 0;
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void interrupted(uint32_t kind)
{
	int fd = open_session();
	uint64_t start = now_ns(), deadline = start + 50 * MS;

	alarm_after(20 * MS, 0);
	FAILS(wait_for(fd, kind, deadline), EINTR);
	CHECK(alarms == 1);
	CHECK(now_ns() >= start + 19 * MS && now_ns() < start + 25 * MS);
	CHECK(wait_for(fd, kind, deadline) == 0);
	CHECK(now_ns() >= deadline && now_ns() < deadline + 1 * MS);
	close(fd);
}

static void restarted(uint32_t kind)
{
	int fd = open_session();
	uint64_t deadline = now_ns() + 50 * MS;

	alarm_after(20 * MS, SA_RESTART);
	CHECK(wait_for(fd, kind, deadline) == 0);
	CHECK(alarms == 1);
	CHECK(now_ns() >= deadline && now_ns() < deadline + 1 * MS);
	close(fd);
}

static void sleep_is_interrupted(void)
{
	interrupted(GIL_WAIT_SLEEP);
}

static void occupation_is_interrupted(void)
{
	interrupted(GIL_WAIT_OCCUPY);
}

static void sleep_is_restarted(void)
{
	restarted(GIL_WAIT_SLEEP);
}

static void occupation_is_restarted(void)
{
	restarted(GIL_WAIT_OCCUPY);
}

static void progress_wait_is_interrupted(void)
{
	int fd = open_session();

	alarm_after(5 * MS, 0);
	FAILS(wait_progress(fd, NEVER), EINTR);
	CHECK(alarms == 1);
	CHECK(works(fd));
	close(fd);
}

/* A child with a session of its own, killed in the middle of a wait. */
static void killed(uint32_t kind)
{
	uint64_t start = now_ns();
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		int fd = open_session();
		struct gil_wait wait = { .deadline_ns = NEVER,
					 .progress = NEVER,
					 .kind = kind };

		ioctl(fd, GIL_IOC_WAIT, &wait);
		_exit(1);
	}
	usleep(10000);
	CHECK(waitpid(child, &status, WNOHANG) == 0);
	kill(child, SIGKILL);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK(now_ns() < start + 100 * MS);
}

static void any_wait_can_be_killed(void)
{
	int fd;

	killed(GIL_WAIT_SLEEP);
	killed(GIL_WAIT_OCCUPY);
	killed(GIL_WAIT_PROGRESS);
	fd = open_session();
	CHECK(works(fd));
	close(fd);
}

int main(void)
{
	run_test("sleep_is_interrupted", sleep_is_interrupted);
	run_test("occupation_is_interrupted", occupation_is_interrupted);
	run_test("sleep_is_restarted", sleep_is_restarted);
	run_test("occupation_is_restarted", occupation_is_restarted);
	run_test("progress_wait_is_interrupted", progress_wait_is_interrupted);
	run_test("any_wait_can_be_killed", any_wait_can_be_killed);
	return failures != 0;
}
