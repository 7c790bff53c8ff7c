/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The device's functions of mathematics that are in libdevice, with scripts/guest-nvcc --libdevice. */
#ifndef GIL_CUDA_LIBDEVICE_H
#define GIL_CUDA_LIBDEVICE_H

#include <__clang_cuda_libdevice_declares.h>

#define GIL_OF_ONE(name)                                                                           \
	static __inline__ __device__ double name(double value)                                     \
	{                                                                                          \
		return __nv_##name(value);                                                         \
	}                                                                                          \
	static __inline__ __device__ float name##f(float value)                                    \
	{                                                                                          \
		return __nv_##name##f(value);                                                      \
	}
#define GIL_OF_TWO(name)                                                                           \
	static __inline__ __device__ double name(double a, double b)                               \
	{                                                                                          \
		return __nv_##name(a, b);                                                          \
	}                                                                                          \
	static __inline__ __device__ float name##f(float a, float b)                               \
	{                                                                                          \
		return __nv_##name##f(a, b);                                                       \
	}
GIL_OF_ONE(acos)
GIL_OF_ONE(asin)
GIL_OF_ONE(atan)
GIL_OF_ONE(cbrt)
GIL_OF_ONE(cos)
GIL_OF_ONE(cosh)
GIL_OF_ONE(erf)
GIL_OF_ONE(erfc)
GIL_OF_ONE(exp)
GIL_OF_ONE(exp2)
GIL_OF_ONE(expm1)
GIL_OF_ONE(lgamma)
GIL_OF_ONE(log)
GIL_OF_ONE(log10)
GIL_OF_ONE(log1p)
GIL_OF_ONE(log2)
GIL_OF_ONE(round)
GIL_OF_ONE(sin)
GIL_OF_ONE(sinh)
GIL_OF_ONE(tan)
GIL_OF_ONE(tanh)
GIL_OF_ONE(tgamma)
GIL_OF_ONE(trunc)
GIL_OF_TWO(atan2)
GIL_OF_TWO(fmod)
GIL_OF_TWO(hypot)
GIL_OF_TWO(pow)
#undef GIL_OF_ONE
#undef GIL_OF_TWO

#endif
