/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The runtime's libraries, kernels by their handles, functions of the driver API by name, and devices, over a driver
 * that runs no kernels. */
#include "cuda_libraries.h"
#include "cuda_runtime.h"
#include <unistd.h>

typedef CUlibrary cudaLibrary_t;
typedef CUfunction cudaFunction_t;

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, int *jitOptions, void **jitOptionsValues,
	unsigned int numJitOptions, int *libraryOptions, void **libraryOptionValues, unsigned int numLibraryOptions);
cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fileName, int *jitOptions,
	void **jitOptionsValues, unsigned int numJitOptions, int *libraryOptions, void **libraryOptionValues,
	unsigned int numLibraryOptions);
cudaError_t cudaLibraryUnload(cudaLibrary_t library);
cudaError_t cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library, const char *name);
cudaError_t cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib);
cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels, cudaLibrary_t lib);
cudaError_t cudaLibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name);
cudaError_t cudaLibraryGetManaged(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name);
cudaError_t cudaLibraryGetUnifiedFunction(void **fptr, cudaLibrary_t library, const char *symbol);
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, int attr, int value, int device);
cudaError_t cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr);
cudaError_t cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr);
cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags, int *driverStatus);
cudaError_t cudaGetDriverEntryPoint_ptsz(const char *symbol, void **funcPtr, unsigned long long flags,
	int *driverStatus);
cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr, unsigned int cudaVersion,
	unsigned long long flags, int *driverStatus);
cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char *symbol, void **funcPtr, unsigned int cudaVersion,
	unsigned long long flags, int *driverStatus);
cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags);
cudaError_t cudaSetValidDevices(int *device_arr, int len);

enum {
	cudaErrorFileNotFound = 301,
	cudaErrorSymbolNotFound = 500,
};

#define MAX_DYNAMIC_SHARED 8
#define DYNAMIC_SHARED (40 << 10)

static wrapper whole = { 0x466243b1, 1, NULL, NULL };
static const dim3 one = { 1, 1, 1 };

static void three(void)
{
}

static void not_there(void)
{
}

static void stranger(void)
{
}

__attribute__((constructor)) static void registers(void)
{
	void **binary;

	whole.data = fat_binary(library_kernels);
	binary = __cudaRegisterFatBinary(&whole);
	__cudaRegisterFunction(binary, (char *)three, "three", "three", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(binary, (char *)not_there, "not_there", "not_there", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(binary);
}

/* Before anything made a context. */
static void devices(void)
{
	int list[] = { 0, 0 }, active;
	unsigned int flags;
	CUcontext context = (CUcontext)1;

	OK(cudaSetValidDevices(list, 1));
	OK(cudaSetValidDevices(NULL, 0));
	GIVES(cudaErrorInvalidValue, cudaSetValidDevices(NULL, 1));
	GIVES(cudaErrorInvalidValue, cudaSetValidDevices(list, 77));
	GIVES(cudaErrorInvalidValue, cudaSetValidDevices(list, -1));
	list[0] = 5;
	GIVES(cudaErrorInvalidDevice, cudaSetValidDevices(list, 1));
	list[0] = 0;
	OK(cudaSetValidDevices(list, 1));
	GIVES(cudaErrorInvalidDevice, cudaInitDevice(5, 0, 0));
	GIVES(cudaErrorInvalidValue, cudaInitDevice(0, 0, 2));
	GIVES(cudaErrorInvalidValue, cudaInitDevice(0, 3, 1));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	IS(active == 0);
	OK(cudaInitDevice(0, 4, 1));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	IS(active == 1 && flags == 4);
	OK(cuCtxGetCurrent(&context));
	IS(context == NULL);
}

static int launched(cudaLibrary_t library, const void *func, unsigned long long value)
{
	unsigned int b = 5;
	unsigned char c = 9;
	void *values[] = { &value, &b, &c }, *params;
	unsigned long long got = 0;

	OK(cudaLaunchKernel(func, one, one, values, 0, NULL));
	OK(cudaLibraryGetGlobal(&params, NULL, library, "null_params"));
	OK(cudaMemcpy(&got, params, 8, DEVICE_TO_HOST));
	return got == value;
}

static void libraries(void)
{
	cudaLibrary_t library = NULL, second, of;
	cudaKernel_t kernel, again, none, all[4] = { NULL };
	cudaFunction_t function, found;
	attributes known;
	const char *name = "/tmp/gil-runtime-library.ptx", *its;
	int preserved[] = { 1 }, blocks, value;
	unsigned int count;
	size_t bytes;
	void *place, *options[1] = { NULL };
	FILE *file = fopen(name, "w");

	IS(file && fputs(library_kernels, file) > 0 && fclose(file) == 0);
	GIVES(cudaErrorInvalidValue, cudaLibraryLoadData(NULL, library_kernels, NULL, NULL, 0, NULL, NULL, 0));
	GIVES(cudaErrorInvalidKernelImage, cudaLibraryLoadData(&library, "", NULL, NULL, 0, NULL, NULL, 0));
	GIVES(cudaErrorFileNotFound, cudaLibraryLoadFromFile(&library, "/nonexistent", NULL, NULL, 0, NULL, NULL, 0));
	OK(cudaLibraryLoadFromFile(&second, name, NULL, NULL, 0, NULL, NULL, 0));
	OK(cudaLibraryLoadData(&library, library_kernels, NULL, NULL, 0, preserved, options, 1));
	OK(cudaLibraryGetKernel(&kernel, library, "three"));
	OK(cudaLibraryGetKernel(&again, second, "three"));
	OK(cudaLibraryGetKernel(&none, library, "none"));
	IS(kernel && again && kernel != again);
	GIVES(cudaErrorSymbolNotFound, cudaLibraryGetKernel(&again, library, "four"));
	GIVES(cudaErrorInvalidResourceHandle, cudaLibraryGetKernel(&again, (cudaLibrary_t)kernel, "three"));
	OK(cudaLibraryGetKernelCount(&count, library));
	IS(count == 2);
	OK(cudaLibraryEnumerateKernels(all, 4, library));
	IS(all[0] == none && all[1] == kernel && !all[2]);
	OK(cudaLibraryGetGlobal(&place, &bytes, library, "null_params"));
	IS(place && bytes == 64);
	GIVES(cudaErrorSymbolNotFound, cudaLibraryGetGlobal(&place, &bytes, library, "nothing"));
	GIVES(cudaErrorSymbolNotFound, cudaLibraryGetManaged(&place, &bytes, library, "null_params"));
	GIVES(cudaErrorInvalidResourceHandle, cudaLibraryGetManaged(&place, &bytes, NULL, "null_params"));
	GIVES(cudaErrorSymbolNotFound, cudaLibraryGetUnifiedFunction(&place, library, "three"));
	GIVES(cudaErrorInvalidValue, cudaLibraryGetUnifiedFunction(NULL, library, "three"));

	/* A kernel's handle in the place of an address. */
	IS(launched(library, kernel, 7));
	IS(launched(library, kernel, 8));
	OK(__cudaLaunchKernel(none, one, one, NULL, 0, NULL));
	OK(cudaFuncGetAttributes(&known, kernel));
	IS(known.threads == 1024);
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 512, 0));
	IS(blocks == 4);
	OK(cudaKernelSetAttributeForDevice(none, MAX_DYNAMIC_SHARED, DYNAMIC_SHARED, 0));
	OK(cudaFuncGetAttributes(&known, none));
	IS(known.dynamic == DYNAMIC_SHARED);
	GIVES(cudaErrorInvalidDevice, cudaKernelSetAttributeForDevice(none, MAX_DYNAMIC_SHARED, 1, 5));
	GIVES(cudaErrorInvalidResourceHandle, cudaKernelSetAttributeForDevice(NULL, MAX_DYNAMIC_SHARED, 1, 0));

	/* What the compiler registered is a library, too. */
	OK(cudaGetKernel(&again, (void *)three));
	OK(cuKernelGetName(&its, again));
	IS(strcmp(its, "three") == 0);
	OK(cuKernelGetLibrary(&of, again));
	IS(of != library && of != second);
	IS(launched(of, again, 9));
	IS(launched(of, (void *)three, 10));
	OK(cudaGetFuncBySymbol(&function, (void *)three));
	OK(cuKernelGetFunction(&found, again));
	IS(function == found);
	OK(cuFuncGetAttribute(&value, 0, function));
	IS(value == 1024);
	GIVES(cudaErrorInvalidDeviceFunction, cudaGetKernel(&again, (void *)not_there));
	GIVES(cudaErrorInvalidDeviceFunction, cudaGetKernel(&again, (void *)stranger));
	GIVES(cudaErrorInvalidValue, cudaGetKernel(NULL, (void *)three));
	GIVES(cudaErrorInvalidDeviceFunction, cudaGetFuncBySymbol(&function, (void *)not_there));
	GIVES(cudaErrorInvalidDeviceFunction, cudaGetFuncBySymbol(&function, (void *)stranger));

	OK(cudaLibraryUnload(library));
	GIVES(cudaErrorInvalidDeviceFunction, cudaLaunchKernel(kernel, one, one, NULL, 0, NULL));
	GIVES(cudaErrorInvalidResourceHandle, cudaLibraryUnload(library));
	GIVES(cudaErrorInvalidResourceHandle, cudaLibraryGetKernelCount(&count, library));
	OK(cudaLibraryUnload(second));

	/* A reset takes what a library became, and not the library. */
	OK(cudaLibraryLoadData(&library, library_kernels, NULL, NULL, 0, NULL, NULL, 0));
	OK(cudaLibraryGetKernel(&kernel, library, "three"));
	IS(launched(library, kernel, 11));
	OK(cudaDeviceReset());
	IS(launched(library, kernel, 12));
	OK(cudaGetKernel(&again, (void *)three));
	OK(cuKernelGetLibrary(&of, again));
	IS(launched(of, (void *)three, 13));
	OK(cudaLibraryUnload(library));
}

static void by_name(void)
{
	typedef CUresult (*id_of)(CUstream, unsigned long long *);
	void *function, *other;
	int status;
	unsigned long long id, its;

	OK(cudaGetDriverEntryPoint("cuStreamGetId", &function, 0, &status));
	IS(function && status == 0);
	OK(((id_of)function)(NULL, &id));
	OK(cuStreamGetId(NULL, &its));
	IS(id == its);
	OK(cudaGetDriverEntryPoint_ptsz("cuStreamGetId", &other, 0, &status));
	IS(other != function && status == 0);
	OK(((id_of)other)(NULL, &id));
	IS(id != its);
	OK(cudaGetDriverEntryPoint("cuStreamGetId", &function, 2, NULL));
	IS(function == other);
	OK(cudaGetDriverEntryPointByVersion_ptsz("cuStreamGetId", &function, 12000, 1, &status));
	IS(function != other && status == 0);
	OK(cudaGetDriverEntryPointByVersion("cuStreamGetId", &function, 11000, 0, &status));
	IS(function == NULL && status == 2);
	OK(cudaGetDriverEntryPointByVersion("cuStreamGetId", &function, 12000, 2, &status));
	IS(function == other && status == 0);
	status = 7;
	OK(cudaGetDriverEntryPoint("cuNothing", &function, 0, &status));
	IS(function == NULL && status == 1);
	GIVES(cudaErrorInvalidValue, cudaGetDriverEntryPoint(NULL, &function, 0, &status));
	GIVES(cudaErrorInvalidValue, cudaGetDriverEntryPoint("cuInit", NULL, 0, &status));
	GIVES(cudaErrorInvalidValue, cudaGetDriverEntryPoint("cuInit", &function, 4, &status));
	GIVES(cudaErrorInvalidValue, cudaGetDriverEntryPointByVersion("cuInit", &function, 99000, 0, &status));
}

int main(void)
{
	/* What a program that stops had come to. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	devices();
	libraries();
	by_name();
	printf("%d failures\n", failures);
	return failures != 0;
}
