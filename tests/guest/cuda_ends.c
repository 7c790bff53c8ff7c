/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls where a thread or the process ends: functions that run then may free what they have. */
#include <pthread.h>
#include <stdlib.h>
#include "cuda_driver.h"

static CUcontext context;
static CUdeviceptr of_process, of_thread;
static pthread_key_t key;

static void says(const char *who, CUdeviceptr memory)
{
	CUcontext current = NULL;
	int got = cuCtxGetCurrent(&current), freed = cuMemFree_v2(memory), again = cuCtxSetCurrent(context);

	printf("%s: %d %s %d %d\n", who, got, current == context ? "current" : "none", freed, again);
	fflush(stdout);
}

static void thread_ends(void *value)
{
	says("a key of the thread", of_thread);
	(void)value;
}

static void *work(void *nothing)
{
	if (cuCtxSetCurrent(context) || cuMemAlloc_v2(&of_thread, 4096) || pthread_setspecific(key, &key))
		printf("the thread cannot begin\n");
	return nothing;
}

static void process_ends(void)
{
	says("the process", of_process);
}

/* Named to atexit before CUDA is there. */
static void very_last(void)
{
	printf("the very last: %d\n", cuCtxSynchronize());
	fflush(stdout);
}

int main(void)
{
	CUdevice device;
	pthread_t thread;

	atexit(very_last);
	if (pthread_key_create(&key, thread_ends) || cuInit(0) || cuDeviceGet(&device, 0) ||
	    cuCtxCreate_v2(&context, 0, device) || cuMemAlloc_v2(&of_process, 4096))
		return 1;
	atexit(process_ends);
	/* Keys' functions come in the order of the keys, and those of later threads likewise. */
	for (int n = 0; n < 2; n++) {
		if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
			return 1;
	}
	return 0;
}
