/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where functions and variables of a CUDA program are. To other compilers than clang with
 * -x cuda, all are the host's. */
#ifndef GIL_CUDA_TARGETS_H
#define GIL_CUDA_TARGETS_H

#ifndef __host__
#ifdef __CUDA__
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#else
#define __host__
#define __device__
#endif
#endif
#ifdef __CUDA__
#ifndef __launch_bounds__
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#endif
#ifndef __forceinline__
#define __forceinline__ __inline__ __attribute__((always_inline))
#endif
#endif

#endif
