/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What tests use of libraries and their kernels, declared here. */
#ifndef CUDA_LIBRARIES_H
#define CUDA_LIBRARIES_H

#include "cuda_launches.h"

typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, int *jitOptions, void **jitOptionsValues,
	unsigned int numJitOptions, int *libraryOptions, void **libraryOptionValues, unsigned int numLibraryOptions);
CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *fileName, int *jitOptions, void **jitOptionsValues,
	unsigned int numJitOptions, int *libraryOptions, void **libraryOptionValues, unsigned int numLibraryOptions);
CUresult cuLibraryUnload(CUlibrary library);
CUresult cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name);
CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib);
CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels, CUlibrary lib);
CUresult cuLibraryGetModule(CUmodule *pMod, CUlibrary library);
CUresult cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name);
CUresult cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name);
CUresult cuLibraryGetUnifiedFunction(void **fptr, CUlibrary library, const char *symbol);
CUresult cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel);
CUresult cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel);
CUresult cuKernelGetAttribute(int *pi, int attrib, CUkernel kernel, CUdevice dev);
CUresult cuKernelSetAttribute(int attrib, int val, CUkernel kernel, CUdevice dev);
CUresult cuKernelSetCacheConfig(CUkernel kernel, int config, CUdevice dev);
CUresult cuKernelGetName(const char **name, CUkernel hfunc);
CUresult cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset, size_t *paramSize);

/* Kernels that do nothing where they are run, and variables of the null driver for the values of a launch's
 * parameters and for what the cache of its function is for. */
static const char library_kernels[] __attribute__((unused)) =
	".version 8.0\n.target sm_70\n.address_size 64\n"
	".visible .global .align 8 .b8 null_params[64];\n"
	".visible .global .align 4 .u32 null_cache;\n"
	".visible .entry none()\n{\n\tret;\n}\n"
	".visible .entry three(.param .u64 a, .param .u32 b, .param .u8 c)\n{\n\tret;\n}\n";

#endif
