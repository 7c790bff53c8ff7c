/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Addresses and memory apart: virtual memory management of CUDA's driver API. */
#include "cuda_driver.h"

typedef struct {
	int kind, number;
} location;

typedef struct {
	int kind, handles;
	location place;
	void *security;
	unsigned char compression, reaches;
	unsigned short usage;
	unsigned char reserved[4];
} property;

typedef struct {
	location place;
	int flags;
} access;

CUresult cuMemAddressReserve(CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr hint,
			     unsigned long long flags);
CUresult cuMemAddressFree(CUdeviceptr address, size_t size);
CUresult cuMemCreate(unsigned long long *handle, size_t size, const property *asked, unsigned long long flags);
CUresult cuMemRelease(unsigned long long handle);
CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset, unsigned long long handle, unsigned long long flags);
CUresult cuMemUnmap(CUdeviceptr address, size_t size);
CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const access *accesses, size_t count);
CUresult cuMemGetAccess(unsigned long long *flags, const location *place, CUdeviceptr address);
CUresult cuMemGetAllocationGranularity(size_t *granularity, const property *asked, int option);
CUresult cuMemGetAllocationPropertiesFromHandle(property *asked, unsigned long long handle);
CUresult cuMemRetainAllocationHandle(unsigned long long *handle, void *address);
CUresult cuPointerGetAttribute(void *data, int attribute, CUdeviceptr address);

int main(void)
{
	CUdevice device;
	CUcontext context, known;
	CUdeviceptr address, other, plain;
	CUdeviceptr base;
	size_t size, least, better, large;
	unsigned long long memory, second, flags, id, other_id;
	property asked = { .kind = 1, .place = { 1, 0 } }, found, bad;
	access both = { { 1, 0 }, 3 }, read = { { 1, 0 }, 1 };
	location gpu = { 1, 0 };
	unsigned int sent[1000], got[1000], kind;
	int number;

	OK(cuInit(0));
	OK(cuDeviceGet(&device, 0));
	OK(cuDeviceGetAttribute(&number, 102, device));
	IS(number == 1);
	OK(cuMemGetAllocationGranularity(&least, &asked, 0));
	OK(cuMemGetAllocationGranularity(&better, &asked, 1));
	IS(least >= 4096 && better >= least && better % least == 0);
	bad = asked;
	bad.usage = 1;
	OK(cuMemGetAllocationGranularity(&large, &bad, 0));
	IS(large >= least);
	bad = asked;
	bad.reaches = 1;
	OK(cuMemGetAllocationGranularity(&large, &bad, 0));
	IS(large >= least);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemGetAllocationGranularity(&least, &asked, 2));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemGetAllocationGranularity(NULL, &asked, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemGetAllocationGranularity(&least, NULL, 0));

	/* Addresses and memory are there without a context. */
	OK(cuMemAddressReserve(&address, 4 * better, 0, 0, 0));
	IS(address % least == 0);
	OK(cuMemAddressReserve(&other, better, 0, 0, 0));
	IS(other + better <= address || address + 4 * better <= other);
	OK(cuMemCreate(&memory, 2 * better, &asked, 0));
	OK(cuMemCreate(&second, better, &asked, 0));
	IS(memory != second);
	memset(&found, 0xee, sizeof(found));
	OK(cuMemGetAllocationPropertiesFromHandle(&found, memory));
	IS(memcmp(&found, &asked, sizeof(found)) == 0);
	OK(cuMemMap(address, 2 * better, 0, memory, 0));
	OK(cuMemMap(address + 2 * better, better, 0, second, 0));
	OK(cuMemSetAccess(address, 3 * better, &both, 1));
	OK(cuMemGetAccess(&flags, &gpu, address));
	IS(flags == 3);
	OK(cuMemSetAccess(address + 2 * better, better, &read, 1));
	OK(cuMemGetAccess(&flags, &gpu, address + 2 * better + 5));
	IS(flags == 1);
	OK(cuMemSetAccess(address + 2 * better, better, &both, 1));

	/* They are memory as any other. */
	OK(cuCtxCreate_v2(&context, 0, device));
	for (unsigned int n = 0; n < 1000; n++)
		sent[n] = 7 * n;
	OK(cuMemcpyHtoD_v2(address + 400, sent, sizeof(sent)));
	OK(cuMemAlloc_v2(&plain, sizeof(sent)));
	OK(cuMemcpyDtoD_v2(address + 2 * better, address + 400, sizeof(sent)));
	OK(cuMemcpy(plain, address + 2 * better, sizeof(sent)));
	OK(cuMemcpyDtoH_v2(got, plain, sizeof(got)));
	IS(memcmp(got, sent, sizeof(got)) == 0);
	OK(cuMemsetD32_v2(address, 5, 10));
	OK(cuMemcpyDtoH_v2(got, address, 40));
	IS(got[0] == 5 && got[9] == 5);
	OK(cuMemGetAddressRange_v2(&base, &size, address + 2 * better + 40));
	IS(base == address + 2 * better && size == better);
	OK(cuPointerGetAttribute(&kind, 2, address));
	IS(kind == 2);
	OK(cuPointerGetAttribute(&id, 7, address));
	OK(cuPointerGetAttribute(&other_id, 7, address + 2 * better));
	IS(id != other_id);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&known, 1, address));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&kind, 2, address + 3 * better));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(address));

	/* Memory at two places is one; it stays as long as anything has it. */
	OK(cuMemMap(other, better, better, memory, 0));
	OK(cuMemSetAccess(other, better, &both, 1));
	OK(cuMemsetD32_v2(address + better, 77, 1));
	OK(cuMemcpyDtoH_v2(got, other, 4));
	IS(got[0] == 77);
	OK(cuMemRelease(memory));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemRelease(memory));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemGetAllocationPropertiesFromHandle(&found, memory));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemMap(address + 3 * better, better, 0, memory, 0));
	OK(cuMemcpyDtoH_v2(got, other, 4));
	IS(got[0] == 77);
	memory = 0;
	OK(cuMemRetainAllocationHandle(&memory, (void *)(uintptr_t)(address + 100)));
	OK(cuMemGetAllocationPropertiesFromHandle(&found, memory));
	OK(cuMemUnmap(address, 2 * better));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(address, 2 * better));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemRetainAllocationHandle(&id, (void *)(uintptr_t)address));
	OK(cuMemcpyDtoH_v2(got, other, 4));
	IS(got[0] == 77);
	OK(cuMemRelease(memory));
	OK(cuMemUnmap(other, better));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemMap(other, better, 0, memory, 0));

	/* What cannot be. */
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&base, 0, 0, 0, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&base, better, 0, 0, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(NULL, better, 0, 0, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&memory, 0, &asked, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&memory, better, NULL, 0));
	bad = asked;
	bad.handles = 1;
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate(&memory, better, &bad, 0));
	bad = asked;
	bad.place.kind = 2;
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate(&memory, better, &bad, 0));
	bad = asked;
	bad.place.number = 9;
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuMemCreate(&memory, better, &bad, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemMap(plain, better, 0, second, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemMap(address, 2 * better, 0, second, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemMap(address, better, 0, second, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(address, better, &both, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(address, better, NULL, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemGetAccess(&flags, &gpu, address));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(address, 4 * better));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(address, better));
	OK(cuMemUnmap(address + 2 * better, better));
	OK(cuMemAddressFree(address, 4 * better));
	OK(cuMemAddressFree(other, better));
	OK(cuMemRelease(second));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(got, address, 4));
	OK(cuMemFree_v2(plain));
	OK(cuCtxDestroy_v2(context));
	printf("%d failures\n", failures);
	return failures != 0;
}
