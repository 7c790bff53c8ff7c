/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the tests of managed and mapped memory use of CUDA's driver API beside cuda_driver.h. */
#ifndef CUDA_SHARED_H
#define CUDA_SHARED_H

#include "cuda_driver.h"

#ifndef CUDA_MEMORY_H
typedef struct {
	int kind, number;
} location;
#endif

struct CUgraph_st;
struct CUgraphExec_st;

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned int flags);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *place, unsigned int flags);
CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t count, CUdevice device, CUstream stream);
CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t count, location to, unsigned int flags, CUstream stream);
CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr address, size_t count, CUdevice device, CUstream stream);
CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr address, size_t count, location to, unsigned int flags,
				    CUstream stream);
CUresult cuMemAdvise(CUdeviceptr address, size_t count, int advice, CUdevice device);
CUresult cuMemAdvise_v2(CUdeviceptr address, size_t count, int advice, location place);
CUresult cuMemRangeGetAttribute(void *data, size_t size, int attribute, CUdeviceptr address, size_t count);
CUresult cuMemRangeGetAttributes(void **data, size_t *sizes, int *attributes, size_t number, CUdeviceptr address,
				 size_t count);
CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t length, unsigned int flags);
CUresult cuStreamAttachMemAsync_ptsz(CUstream stream, CUdeviceptr address, size_t length, unsigned int flags);
CUresult cuPointerGetAttribute(void *data, int attribute, CUdeviceptr address);
CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void *data), void *data);
CUresult cuStreamBeginCapture_v2(CUstream stream, int mode);
CUresult cuStreamEndCapture(CUstream stream, struct CUgraph_st **graph);
CUresult cuGraphInstantiateWithFlags(struct CUgraphExec_st **exec, struct CUgraph_st *graph, unsigned long long flags);
CUresult cuGraphLaunch(struct CUgraphExec_st *exec, CUstream stream);
CUresult cuGraphExecDestroy(struct CUgraphExec_st *exec);
CUresult cuGraphDestroy(struct CUgraph_st *graph);

enum {
	CU_MEM_ATTACH_GLOBAL = 1,
	CU_MEM_ATTACH_HOST = 2,
	CU_MEM_ATTACH_SINGLE = 4,
	CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
	CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
};

/* The one kernel that the null driver runs: each of so many words becomes one more. A device runs
 * the same. */
static const char more_kernel[] =
	".version 8.0\n.target sm_70\n.address_size 64\n"
	".visible .entry more(.param .u64 words, .param .u32 count)\n{\n"
	"\t.reg .b32 %r<6>;\n\t.reg .b64 %rd<4>;\n\t.reg .pred %p<2>;\n"
	"\tld.param.u64 %rd1, [words];\n\tld.param.u32 %r1, [count];\n"
	"\tmov.u32 %r2, %ctaid.x;\n\tmov.u32 %r3, %ntid.x;\n\tmov.u32 %r4, %tid.x;\n"
	"\tmad.lo.s32 %r2, %r2, %r3, %r4;\n\tsetp.ge.u32 %p1, %r2, %r1;\n\t@%p1 bra $end;\n"
	"\tcvta.to.global.u64 %rd1, %rd1;\n\tmul.wide.u32 %rd2, %r2, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n"
	"\tld.global.u32 %r5, [%rd3];\n\tadd.s32 %r5, %r5, 1;\n\tst.global.u32 [%rd3], %r5;\n"
	"$end:\n\tret;\n}\n";

#endif
