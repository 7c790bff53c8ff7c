// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel that prints and asserts by the functions of C's headers, as the host does.
#include <assert.h>
#include <stdio.h>

// The null driver says what this would.
extern "C" __global__ void says(unsigned int number)
{
	assert(number < 5);
	printf("kernel %u\n", number);
}

int main(int argc, char **)
{
	assert(argc == 1);
	for (unsigned int number = 1; number <= 2; number++) {
		says<<<1, 1>>>(number);
		int error = cudaDeviceSynchronize();
		printf("behind it: %d\n", error);
		fflush(stdout);
	}
	return 0;
}
