/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* NVIDIA's cuBLAS, which is loaded as programs load it: its functions are found, it makes its handle, and
 * moves matrices. Its products are not asked for: the device of the tests runs no kernels. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *handle;

static int failures;

#define IS(condition)                                                            \
	do {                                                                     \
		if (condition) {                                                 \
			printf("ok %s\n", #condition);                           \
		} else {                                                         \
			printf("not ok %d: %s\n", __LINE__, #condition);         \
			failures++;                                              \
		}                                                                \
	} while (0)

static void *found(void *library, const char *name)
{
	void *function = dlsym(library, name);

	if (!function) {
		printf("not ok: %s is not there\n", name);
		exit(1);
	}
	return function;
}

#define OF(library, result, name, ...) result (*name)(__VA_ARGS__) = (result (*)(__VA_ARGS__))found(library, #name)

int main(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *blas = dlopen("libcublas.so.13", RTLD_NOW);
	double there[6] = { 1, 2, 3, 4, 5, 6 }, back[6] = { 0 }, row[2] = { 0 };
	unsigned long long memory = 0;
	size_t workspace = 1 << 20;
	handle blas_handle = NULL, stream = NULL, got = NULL;
	int version = 0, mode = 9;
	void *context = NULL;

	if (!cuda || !blas) {
		printf("not ok: %s\n", dlerror());
		return 1;
	}
	OF(cuda, int, cuInit, unsigned int);
	OF(cuda, int, cuDevicePrimaryCtxRetain, void **, int);
	OF(cuda, int, cuCtxSetCurrent, void *);
	OF(cuda, int, cuMemAlloc_v2, unsigned long long *, size_t);
	OF(cuda, int, cuStreamCreate, handle *, unsigned int);
	OF(blas, int, cublasCreate_v2, handle *);
	OF(blas, int, cublasDestroy_v2, handle);
	OF(blas, int, cublasGetVersion_v2, handle, int *);
	OF(blas, const char *, cublasGetStatusString, int);
	OF(blas, int, cublasSetStream_v2, handle, handle);
	OF(blas, int, cublasGetStream_v2, handle, handle *);
	OF(blas, int, cublasSetWorkspace_v2, handle, void *, size_t);
	OF(blas, int, cublasSetPointerMode_v2, handle, int);
	OF(blas, int, cublasGetPointerMode_v2, handle, int *);
	OF(blas, int, cublasSetMatrix, int, int, int, const void *, int, void *, int);
	OF(blas, int, cublasGetMatrix, int, int, int, const void *, int, void *, int);
	OF(blas, int, cublasGetVector, int, int, const void *, int, void *, int);
	found(blas, "cublasDgemm_v2");
	found(blas, "cublasGemmEx");

	IS(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxSetCurrent(context) == 0);
	version = cublasCreate_v2(&blas_handle);
	printf("ok cublasCreate says: %s\n", cublasGetStatusString(version));
	IS(version == 0 && blas_handle);
	if (failures)
		return 1;
	IS(cublasGetVersion_v2(blas_handle, &version) == 0 && version >= 130000);
	IS(cuStreamCreate(&stream, 1) == 0 && cublasSetStream_v2(blas_handle, stream) == 0);
	IS(cublasGetStream_v2(blas_handle, &got) == 0 && got == stream);
	IS(cublasSetPointerMode_v2(blas_handle, 1) == 0);
	IS(cublasGetPointerMode_v2(blas_handle, &mode) == 0 && mode == 1);
	IS(cuMemAlloc_v2(&memory, workspace) == 0);
	/* Columns of two behind each other, of three there. */
	IS(cublasSetMatrix(2, 2, sizeof(double), there, 3, (void *)memory, 2) == 0);
	IS(cublasGetMatrix(2, 2, sizeof(double), (void *)memory, 2, back, 3) == 0);
	IS(back[0] == 1 && back[1] == 2 && back[2] == 0 && back[3] == 4 && back[4] == 5);
	IS(cublasGetVector(2, sizeof(double), (void *)memory, 2, row, 1) == 0);
	IS(row[0] == 1 && row[1] == 4);
	IS(cublasSetWorkspace_v2(blas_handle, (void *)memory, workspace) == 0);
	IS(cublasDestroy_v2(blas_handle) == 0);
	printf("%d failures\n", failures);
	return failures != 0;
}
