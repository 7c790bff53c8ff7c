/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What goes wrong in one process, and that others go on: each fault in a process of its own, beside or before one
 * that adds and compares. Usage, in a guest whose board's answers may take a few seconds (--board-timeout):
 *
 *     faults MODULE
 *
 * MODULE is a file with what nvcc made of kernels.cu. */
#include "common.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define ELEMENTS (1 << 16)
#define ROUNDS 100
#define GIB (1ULL << 30)
/* More GiB than any device has. */
#define MANY 1000

static const char *path;

static void start(void)
{
	if (!freopen("/dev/null", "w", stdout) || !begin(path))
		_exit(2);
}

/* Sums that are wrong. */
static int sums(void)
{
	static float a[ELEMENTS], c[ELEMENTS];
	pointer to[3];
	int number = ELEMENTS, wrong = 0;
	void *parameters[] = { &to[0], &to[1], &to[2], &number };

	start();
	for (int n = 0; n < 3; n++)
		to[n] = on_device(sizeof(a));
	for (int round = 0; round < ROUNDS; round++) {
		for (int n = 0; n < ELEMENTS; n++)
			a[n] = n + round;
		NEED(cuMemcpyHtoD_v2(to[0], a, sizeof(a)));
		NEED(cuMemcpyHtoD_v2(to[1], a, sizeof(a)));
		NEED(cuLaunchKernel(function("add"), ELEMENTS / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
		NEED(cuMemcpyDtoH_v2(c, to[2], sizeof(a)));
		for (int n = 0; n < ELEMENTS; n++)
			wrong += c[n] != 2 * a[n];
	}
	return wrong != 0;
}

static int is(result error, const char *wanted)
{
	if (!strcmp(name_of(error), wanted))
		return 0;
	fprintf(stderr, "faults: %s instead of %s\n", name_of(error), wanted);
	return 1;
}

static int too_much(void)
{
	pointer to;

	start();
	return is(cuMemAlloc_v2(&to, MANY * GIB), "CUDA_ERROR_OUT_OF_MEMORY") ||
	       is(cuMemAlloc_v2(&to, 1 << 20), "CUDA_SUCCESS");
}

static int never_frees(void)
{
	result error = 0;
	pointer to;

	start();
	for (int n = 0; n < MANY && !error; n++)
		error = cuMemAlloc_v2(&to, GIB);
	return is(error, "CUDA_ERROR_OUT_OF_MEMORY");
}

static int forks(void)
{
	int status, device;

	start();
	if (fork() == 0)
		_exit(is(cuDeviceGet(&device, 0), "CUDA_ERROR_NOT_INITIALIZED"));
	return wait(&status) < 0 || status != 0 || is(cuDeviceGet(&device, 0), "CUDA_SUCCESS");
}

static int illegal(void)
{
	pointer to, more;
	void *parameters[] = { &to };
	result launched;

	start();
	to = on_device(64);
	/* The launch or the wait says it. */
	launched = cuLaunchKernel(function("illegal"), 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
	return is(launched ? launched : cuCtxSynchronize(), "CUDA_ERROR_ILLEGAL_ADDRESS") ||
	       is(cuMemAlloc_v2(&more, 64), "CUDA_ERROR_ILLEGAL_ADDRESS");
}

static result spin(long long cycles)
{
	pointer to = on_device(64);
	void *parameters[] = { &to, &cycles };

	return cuLaunchKernel(function("spin"), 8, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL);
}

static int dies(void)
{
	start();
	NEED(spin(1LL << 31));
	kill(getpid(), SIGKILL);
	return 1;
}

static int endless(void)
{
	result launched;

	start();
	launched = spin(1LL << 62);
	return is(launched ? launched : cuCtxSynchronize(), "CUDA_ERROR_DEVICE_UNAVAILABLE");
}

static int status_of(int (*work)(void), pid_t *process)
{
	*process = fork();
	if (*process == 0)
		_exit(work());
	return *process < 0;
}

static int meets(const char *name, int (*fault)(void), int is_killed)
{
	pid_t faulty, other;
	int status, failed = status_of(fault, &faulty);

	/* Memory that is used up fails others, too, while the process lives. */
	if (fault == never_frees)
		failed |= waitpid(faulty, &status, 0) < 0;
	failed |= status_of(sums, &other);
	if (fault != never_frees)
		failed |= waitpid(faulty, &status, 0) < 0;
	failed |= is_killed ? !WIFSIGNALED(status) : status != 0;
	failed |= waitpid(other, &status, 0) < 0 || status != 0;
	printf("%s: %s\n", name, failed ? "wrong" : "as it should be, and the other process went on");
	fflush(stdout);
	return failed;
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: faults MODULE\n");
		return 2;
	}
	path = argv[1];
	failed |= meets("more memory than there is", too_much, 0);
	failed |= meets("memory that is never freed", never_frees, 0);
	failed |= meets("a fork after cuInit", forks, 0);
	failed |= meets("an illegal address", illegal, 0);
	failed |= meets("a process that dies with a kernel under way", dies, 1);
	failed |= meets("a kernel that does not end", endless, 0);
	return failed;
}
