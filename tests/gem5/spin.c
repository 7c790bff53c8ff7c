/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* `spin N`: keeps the CPU and its caches busy for N rounds, and nothing else. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS 4096

int main(int argc, char **argv)
{
	static uint32_t words[WORDS];
	long rounds = argc == 2 ? atol(argv[1]) : 0;
	uint32_t sum = 1;

	for (long i = 0; i < rounds; i++) {
		sum = sum * 1664525u + 1013904223u;
		words[sum % WORDS] += sum;
	}
	printf("%u\n", words[sum % WORDS]);
	return 0;
}
