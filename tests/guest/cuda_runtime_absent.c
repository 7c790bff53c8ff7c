/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* CUDA's runtime where no board has a device. */
#include "cuda_runtime.h"

static wrapper whole = {0x466243b1, 1, NULL, NULL};

int main(void)
{
	static const dim3 one = {1, 1, 1};
	void **binary, *place;
	int count = 5;

	whole.data = fat_binary(kernels);
	binary = __cudaRegisterFatBinary(&whole);
	__cudaRegisterFunction(binary, (char *)main, "none", "none", -1, NULL, NULL, NULL, NULL, NULL);
	GIVES(CUDA_ERROR_NO_DEVICE, cudaGetDeviceCount(&count));
	IS(count == 0);
	GIVES(CUDA_ERROR_NO_DEVICE, cudaMalloc(&place, 16));
	GIVES(CUDA_ERROR_NO_DEVICE, cudaLaunchKernel((void *)main, one, one, NULL, 0, NULL));
	GIVES(CUDA_ERROR_NO_DEVICE, cudaGetLastError());
	IS(__cudaInitModule(binary) == 0);
	__cudaUnregisterFatBinary(binary);
	printf("%d failures\n", failures);
	return failures != 0;
}
