/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory that the program and its kernels share, memory that is mapped by hand, and kernels that print: what comes
 * out is the same natively. Usage:
 *
 *     shared MODULE
 *
 * MODULE is a file with what nvcc made of kernels.cu. */
#include "common.h"
#include <stdint.h>

struct place {
	int kind, number;
};

struct property {
	int kind, handles;
	struct place place;
	void *security;
	unsigned char flags[8];
};

struct access {
	struct place place;
	int flags;
};

/* Of CUDA's driver API, which is documented. */
result cuMemAllocManaged(pointer *address, size_t bytes, unsigned flags);
result cuMemHostAlloc(void **address, size_t bytes, unsigned flags);
result cuMemHostGetDevicePointer_v2(pointer *address, void *place, unsigned flags);
result cuMemFree_v2(pointer address);
result cuMemAddressReserve(pointer *address, size_t size, size_t alignment, pointer hint, unsigned long long flags);
result cuMemCreate(unsigned long long *handle, size_t size, const struct property *asked, unsigned long long flags);
result cuMemMap(pointer address, size_t size, size_t offset, unsigned long long handle, unsigned long long flags);
result cuMemSetAccess(pointer address, size_t size, const struct access *accesses, size_t count);
result cuMemGetAllocationGranularity(size_t *granularity, const struct property *asked, int option);
result cuMemUnmap(pointer address, size_t size);
result cuMemRelease(unsigned long long handle);
result cuMemAddressFree(pointer address, size_t size);

#define ELEMENTS (1 << 20)
#define NODES 1000
#define ROUNDS 10

struct node {
	struct node *next;
	int value;
};

static unsigned long long checksum(const void *bytes, size_t count)
{
	const unsigned char *at = bytes;
	unsigned long long sum = 14695981039346656037ull;

	for (size_t n = 0; n < count; n++)
		sum = (sum ^ at[n]) * 1099511628211ull;
	return sum;
}

static void *managed(size_t bytes)
{
	pointer address;

	NEED(cuMemAllocManaged(&address, bytes, 1));
	return (void *)(uintptr_t)address;
}

static void launch(void *function, unsigned blocks, unsigned threads, void **values)
{
	NEED(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, NULL, values, NULL));
}

static void sums(void)
{
	size_t bytes = ELEMENTS * sizeof(float);
	float *a = managed(bytes), *b = managed(bytes), *c = managed(bytes);
	int count = ELEMENTS;
	void *add = function("add"), *values[] = { &a, &b, &c, &count };
	double before;

	for (int n = 0; n < ELEMENTS; n++) {
		a[n] = n * 0.5f;
		b[n] = n * 0.25f;
	}
	launch(add, ELEMENTS / 256, 256, values);
	NEED(cuCtxSynchronize());
	printf("managed: sums %016llx\n", checksum(c, bytes));
	before = now();
	for (int round = 0; round < ROUNDS; round++) {
		for (int n = 0; n < ELEMENTS; n += 1000)
			a[n] = round;
		launch(add, ELEMENTS / 256, 256, values);
		NEED(cuCtxSynchronize());
	}
	printf("time: a managed sum of %d elements %.3f ms\n", ELEMENTS, (now() - before) * 1e3 / ROUNDS);
	printf("managed: changed sums %016llx\n", checksum(c, bytes));
	NEED(cuMemFree_v2((uintptr_t)a));
	NEED(cuMemFree_v2((uintptr_t)b));
	NEED(cuMemFree_v2((uintptr_t)c));
}

/* Pointers that the program made, in small allocations. */
static void list(void)
{
	struct node *first = NULL, *last = NULL;
	void *values[] = { &first };

	for (int n = 0; n < NODES; n++) {
		struct node *node = managed(sizeof(*node));

		*node = (struct node){ first, n };
		first = node;
		if (!last)
			last = node;
	}
	launch(function("running"), 1, 1, values);
	NEED(cuCtxSynchronize());
	printf("a list of %d nodes: %d first, %d last\n", NODES, first->value, last->value);
}

/* The program makes no call: it looks at the memory alone. */
static void looked_at(const char *name, volatile int *words, pointer address)
{
	long long cycles = 20000000;
	void *values[] = { &address, &cycles };

	words[0] = 41;
	words[1] = words[2] = words[3] = 0;
	launch(function("answers"), 1, 1, values);
	/* Beside what the kernel writes. */
	words[3] = 7;
	while (!words[2])
		;
	printf("%s: %d, and beside it %d\n", name, words[1], words[3]);
	NEED(cuCtxSynchronize());
}

static void by_hand(void)
{
	struct property asked = { .kind = 1, .place = { 1, 0 } };
	struct access both = { { 1, 0 }, 3 };
	unsigned long long memory;
	pointer address, b, c;
	size_t size, bytes = ELEMENTS * sizeof(float);
	float *host = malloc(bytes);
	int count = ELEMENTS;
	void *values[] = { &address, &b, &c, &count };

	NEED(cuMemGetAllocationGranularity(&size, &asked, 0));
	printf("granularity %zu\n", size);
	size = (3 * bytes + size - 1) / size * size;
	NEED(cuMemAddressReserve(&address, size, 0, 0, 0));
	NEED(cuMemCreate(&memory, size, &asked, 0));
	NEED(cuMemMap(address, size, 0, memory, 0));
	NEED(cuMemSetAccess(address, size, &both, 1));
	b = address + bytes;
	c = b + bytes;
	for (int n = 0; n < ELEMENTS; n++)
		host[n] = n * 0.5f;
	NEED(cuMemcpyHtoD_v2(address, host, bytes));
	NEED(cuMemcpyHtoD_v2(b, host, bytes));
	launch(function("add"), ELEMENTS / 256, 256, values);
	NEED(cuMemcpyDtoH_v2(host, c, bytes));
	printf("mapped by hand: sums %016llx\n", checksum(host, bytes));
	NEED(cuMemUnmap(address, size));
	NEED(cuMemRelease(memory));
	NEED(cuMemAddressFree(address, size));
	free(host);
}

int main(int argc, char **argv)
{
	void *mapped, *plain = calloc(1, 4096);
	pointer address;
	int times = 3;
	void *values[] = { &times };

	if (argc < 2 || !begin(argv[1])) {
		fprintf(stderr, "usage: shared MODULE\n");
		return 2;
	}
	sums();
	list();
	NEED(cuMemHostAlloc(&mapped, 4096, 2));
	NEED(cuMemHostGetDevicePointer_v2(&address, mapped, 0));
	printf("mapped memory has %s address\n", address == (uintptr_t)mapped ? "one" : "another");
	looked_at("mapped", mapped, address);
	NEED(cuMemHostRegister_v2(plain, 4096, 2));
	NEED(cuMemHostGetDevicePointer_v2(&address, plain, 0));
	looked_at("registered", plain, address);
	by_hand();
	fflush(stdout);
	launch(function("says"), 1, 1, values);
	NEED(cuCtxSynchronize());
	fflush(stdout);
	printf("behind the kernel\n");
	return 0;
}
