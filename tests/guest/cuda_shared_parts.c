/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Copies of a few bytes of much managed memory: right, and the rest of it stays where it is. */
#include "cuda_shared.h"

#define SIZE (8u << 20)
#define STEP 40000u /* bytes from one copy to the next, so that some cross a page's end */
#define FEW 200u

static unsigned char byte_of(unsigned int at)
{
	return (unsigned char)(at * 7 + at / 251);
}

static int are(const volatile unsigned char *bytes, unsigned int from, unsigned int count, unsigned int offset)
{
	for (unsigned int n = 0; n < count; n++) {
		if (bytes[n] != (unsigned char)(byte_of(from + n) + offset))
			return 0;
	}
	return 1;
}

int main(void)
{
	CUdevice device;
	CUcontext context;
	CUdeviceptr memory, other;
	unsigned char few[FEW];
	volatile unsigned char *bytes;

	OK(cuInit(0));
	OK(cuDeviceGet(&device, 0));
	OK(cuCtxCreate_v2(&context, 0, device));
	OK(cuMemAllocManaged(&memory, SIZE, 1));
	OK(cuMemAlloc_v2(&other, FEW));
	bytes = (volatile unsigned char *)(uintptr_t)memory;
	for (unsigned int n = 0; n < SIZE; n++)
		bytes[n] = byte_of(n);
	/* The program's bytes to the device's memory, and to its own. */
	for (unsigned int at = 0; at + FEW <= SIZE; at += STEP) {
		OK(cuMemcpyDtoH_v2(few, memory + at, FEW));
		IS(are(few, at, FEW, 0));
	}
	OK(cuMemcpyDtoH_v2(few, memory + SIZE - FEW, FEW));
	IS(are(few, SIZE - FEW, FEW, 0));
	OK(cuMemcpyDtoD_v2(other, memory + 2 * STEP + 1, FEW));
	OK(cuMemcpyDtoH_v2(few, other, FEW));
	IS(are(few, 2 * STEP + 1, FEW, 0));
	/* Bytes that the device gets are the program's, and those beside them stay the program's. */
	for (unsigned int at = 0; at + FEW <= SIZE; at += STEP) {
		for (unsigned int n = 0; n < FEW; n++)
			few[n] = byte_of(at + n) + 1;
		bytes[at + FEW] = 99;
		bytes[at] = 98;
		OK(cuMemcpyHtoD_v2(memory + at, few, FEW));
		IS(are(bytes + at, at, FEW, 1));
		IS(bytes[at + FEW] == 99);
		bytes[at + FEW] = byte_of(at + FEW);
	}
	OK(cuMemcpyDtoD_v2(memory + STEP + 5000, memory + 3 * STEP, FEW));
	OK(cuCtxSynchronize());
	IS(are(bytes + STEP + 5000, 3 * STEP, FEW, 1));
	OK(cuMemsetD32_v2(memory + 4096 * 3 - 8, 0x04030201, 4));
	OK(cuCtxSynchronize());
	for (unsigned int n = 0; n < 16; n++)
		IS(bytes[4096 * 3 - 8 + n] == n % 4 + 1);
	IS(are(bytes + 4096 * 3 + 8, 4096 * 3 + 8, FEW, 0));
	/* Copies of nothing, and to the very end. */
	OK(cuMemcpyDtoH_v2(few, memory + SIZE, 0));
	OK(cuMemsetD8_v2(memory + SIZE - 1, 5, 1));
	OK(cuMemcpyDtoH_v2(few, memory + SIZE - 2, 2));
	IS(few[1] == 5 && bytes[SIZE - 1] == 5);
	OK(cuMemFree_v2(memory));
	OK(cuMemFree_v2(other));
	OK(cuCtxDestroy_v2(context));
	printf("%d failures\n", failures);
	return failures != 0;
}
