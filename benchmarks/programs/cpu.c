/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How fast a CPU does what drivers and compilers do. Prints a line for each piece of work and
 * repetition: its name and nanoseconds of CPU time. The argument is the number of repetitions. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BYTES (1 << 18)
#define NODES (1 << 13)

static unsigned char from[BYTES], room[BYTES];
/* Known to no compiler. */
static unsigned char *volatile to = room;
static uint32_t numbers[NODES], next[NODES];
/* What was computed, so that no compiler leaves it out. */
static volatile uint32_t sink;

static uint32_t mix(uint32_t x)
{
	x ^= x << 13;
	x ^= x >> 17;
	return x ^ x << 5;
}

/* Bytes of commands, moved. */
static void copy(void)
{
	for (int n = 0; n < 8; n++) {
		from[n] ^= 1;
		memcpy(to, from, BYTES);
		sink += to[n];
	}
}

/* The key of what is in a cache. */
static void hash(void)
{
	uint32_t sum = 2166136261u;

	for (int n = 0; n < BYTES; n++)
		sum = (sum ^ from[n]) * 16777619u;
	sink += sum;
}

/* Numbers in a table, by bits that nobody predicts. */
static void lookups(void)
{
	uint32_t x = 1;

	for (int n = 0; n < NODES * 8; n++) {
		x = mix(x);
		sink += x & 1 ? numbers[x % NODES] : x;
	}
}

static int by_value(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

static void sort(void)
{
	uint32_t copied[NODES];

	memcpy(copied, numbers, sizeof(copied));
	qsort(copied, NODES, sizeof(*copied), by_value);
	sink += copied[NODES / 2];
}

/* A graph, from one node to the next. */
static void walk(void)
{
	uint32_t at = 0;

	for (int n = 0; n < NODES * 8; n++)
		at = next[at];
	sink += at;
}

/* Words of a source. */
static void words(void)
{
	uint32_t count = 0, is_in = 0;

	for (int n = 0; n < BYTES; n++) {
		int is_letter = (from[n] & 31) > 5;

		count += is_letter && !is_in;
		is_in = is_letter;
	}
	sink += count;
}

/* Objects that come and go. */
static void objects(void)
{
	static void *all[256];
	uint32_t x = 7;

	for (int n = 0; n < NODES; n++) {
		void **one = &all[(x = mix(x)) % 256];

		free(*one);
		*one = malloc(16 + x % 512);
		if (!*one)
			exit(1);
		memset(*one, 1, 16);
	}
	sink += x;
}

/* Doubles of matrices. */
static void products(void)
{
	static double a[48][48], b[48][48], c[48][48];

	for (int i = 0; i < 48; i++)
		for (int j = 0; j < 48; j++) {
			double sum = 0;

			for (int k = 0; k < 48; k++)
				sum += (a[i][k] + i) * (b[k][j] + j);
			c[i][j] = sum;
		}
	sink += (uint32_t)c[47][47];
}

static long long executed(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*body)(void);
	} works[] = {
		{ "copy", copy }, { "hash", hash }, { "lookups", lookups }, { "sort", sort },
		{ "walk", walk }, { "words", words }, { "objects", objects },
		{ "products", products },
	};
	int repetitions = argc > 1 ? atoi(argv[1]) : 0;
	uint32_t x = 1;

	if (repetitions < 1) {
		fprintf(stderr, "usage: cpu REPETITIONS\n");
		return 2;
	}
	for (int n = 0; n < BYTES; n++)
		from[n] = (unsigned char)(x = mix(x));
	for (uint32_t n = 0; n < NODES; n++) {
		numbers[n] = x = mix(x);
		next[n] = (n * 4093 + 1) % NODES;
	}
	/* The first does not count: caches are cold. */
	for (int r = -1; r < repetitions; r++)
		for (size_t n = 0; n < sizeof(works) / sizeof(works[0]); n++) {
			long long began = executed();

			works[n].body();
			if (r >= 0)
				printf("%s %lld\n", works[n].name, executed() - began);
		}
	return 0;
}
