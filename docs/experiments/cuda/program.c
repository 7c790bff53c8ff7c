/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program of CUDA's driver API, for the guest and for this machine: what it computes, and what
 * that takes by the clock of the machine that it runs on. Usage:
 *
 *     program MODULE add
 *     program MODULE multiply SIDE TIMES [registered]
 *     program MODULE launches NUMBER
 *     program MODULE overlap
 *     program MODULE illegal
 *
 * MODULE is a file with what nvcc made of kernels.cu. */
#include "common.h"

/* Elements that are added. */
#define ELEMENTS (1 << 20)
/* Cycles for which `overlap` keeps a few processors busy. */
#define CYCLES 20000000LL

static void *some(size_t bytes)
{
	void *memory = malloc(bytes);

	if (!memory)
		exit(1);
	return memory;
}

static void add(void)
{
	size_t bytes = ELEMENTS * sizeof(float);
	float *a = some(bytes), *b = some(bytes), *c = some(bytes);
	pointer to[] = { on_device(bytes), on_device(bytes), on_device(bytes) };
	int number = ELEMENTS, wrong = 0;
	void *parameters[] = { &to[0], &to[1], &to[2], &number };

	for (int n = 0; n < ELEMENTS; n++) {
		a[n] = n * 0.5f;
		b[n] = n * 0.25f;
	}
	NEED(cuMemcpyHtoD_v2(to[0], a, bytes));
	NEED(cuMemcpyHtoD_v2(to[1], b, bytes));
	NEED(cuLaunchKernel(function("add"), ELEMENTS / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
	NEED(cuMemcpyDtoH_v2(c, to[2], bytes));
	for (int n = 0; n < ELEMENTS; n++)
		wrong += c[n] != a[n] + b[n];
	printf("add: %d of %d sums are wrong\n", wrong, ELEMENTS);
}

static void multiply(int side, int times, int is_registered)
{
	size_t bytes = sizeof(double) * side * side;
	double *a = some(bytes), *b = some(bytes), *c = some(bytes), began = 0;
	pointer to[] = { on_device(bytes), on_device(bytes), on_device(bytes) };
	void *parameters[] = { &to[0], &to[1], &to[2], &side }, *kernel = function("multiply");
	unsigned state = 1, groups = (side + 15) / 16;
	unsigned long long sum = 0;

	for (int n = 0; n < side * side; n++) {
		state = state * 1664525 + 1013904223;
		a[n] = (state >> 8) / 1e6;
		state = state * 1664525 + 1013904223;
		b[n] = (state >> 8) / 1e6;
	}
	if (is_registered) {
		NEED(cuMemHostRegister_v2(a, bytes, 0));
		NEED(cuMemHostRegister_v2(b, bytes, 0));
		NEED(cuMemHostRegister_v2(c, bytes, 0));
	}
	/* Two that do not count: drivers allocate what copies need. */
	for (int n = -2; n < times; n++) {
		if (n == 0)
			began = now();
		a[0] = n;
		NEED(cuMemcpyHtoD_v2(to[0], a, bytes));
		NEED(cuMemcpyHtoD_v2(to[1], b, bytes));
		NEED(cuLaunchKernel(kernel, groups, groups, 1, 16, 16, 1, 0, NULL, parameters, NULL));
		NEED(cuMemcpyDtoH_v2(c, to[2], bytes));
	}
	began = now() - began;
	for (int n = 0; n < side * side; n++) {
		unsigned long long word;

		memcpy(&word, &c[n], sizeof(word));
		sum = sum * 31 + word;
	}
	printf("multiply: checksum %016llx\n", sum);
	printf("time: %d products of %dx%d %.3f ms\n", times, side, side, began * 1e3);
}

static void launches(int number)
{
	char bytes[64] = { 0 };
	pointer to = on_device(sizeof(bytes));
	void *parameters[] = { &to }, *kernel = function("nothing");

	for (int turn = 0; turn < 2; turn++) {
		double began = now();

		for (int n = 0; n < number; n++)
			NEED(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
		NEED(cuCtxSynchronize());
		printf("time: a launch of %d %.3f us\n", number, (now() - began) * 1e6 / number);
	}
	for (int back = 0; back < 2; back++) {
		double began = now();

		for (int n = 0; n < 1000; n++)
			NEED(back ? cuMemcpyDtoH_v2(bytes, to, sizeof(bytes)) :
				    cuMemcpyHtoD_v2(to, bytes, sizeof(bytes)));
		printf("time: 64 bytes %s %.3f us\n", back ? "back" : "there", (now() - began) * 1e3);
	}
}

static void overlap(void)
{
	pointer to = on_device(64);
	long long cycles = CYCLES;
	void *parameters[] = { &to, &cycles }, *streams[2], *kernel = function("spin");

	for (int n = 0; n < 2; n++)
		NEED(cuStreamCreate(&streams[n], STREAM_NON_BLOCKING));
	for (int number = 1; number <= 2; number++) {
		double began = now();

		for (int n = 0; n < number; n++)
			NEED(cuLaunchKernel(kernel, 8, 1, 1, 128, 1, 1, 0, streams[n], parameters, NULL));
		for (int n = 0; n < number; n++)
			NEED(cuStreamSynchronize(streams[n]));
		printf("time: %d kernels in as many streams %.3f ms\n", number, (now() - began) * 1e3);
	}
}

static void illegal(void)
{
	pointer to = on_device(64), more;
	void *parameters[] = { &to };
	result launched, waited;

	launched = cuLaunchKernel(function("illegal"), 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
	waited = cuCtxSynchronize();
	/* The launch or the wait says it, and then every call. */
	printf("illegal: %s, then %s\n", name_of(launched ? launched : waited),
	       name_of(cuMemAlloc_v2(&more, 64)));
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "";

	if (!begin(argv[1])) {
		fprintf(stderr, "usage: program MODULE add|multiply SIDE TIMES [registered]|launches NUMBER|overlap|illegal\n");
		return 2;
	}
	if (!strcmp(what, "add"))
		add();
	else if (!strcmp(what, "multiply") && argc > 4 && atoi(argv[3]) > 0 && atoi(argv[4]) > 0)
		multiply(atoi(argv[3]), atoi(argv[4]), argc > 5);
	else if (!strcmp(what, "launches") && argc > 3 && atoi(argv[3]) > 0)
		launches(atoi(argv[3]));
	else if (!strcmp(what, "overlap"))
		overlap();
	else if (!strcmp(what, "illegal"))
		illegal();
	else
		return 2;
	return 0;
}
