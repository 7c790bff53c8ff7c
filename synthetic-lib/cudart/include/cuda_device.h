/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions of the device that need no libdevice: each is an instruction or two of PTX. */
#ifndef GIL_CUDA_DEVICE_H
#define GIL_CUDA_DEVICE_H

#define GIL_DEVICE static __inline__ __attribute__((device, always_inline))
#define GIL_BOTH static __inline__ __attribute__((host, device, always_inline))

#define GIL_LEAST_AND_GREATEST(type)                                                               \
	GIL_BOTH type min(type a, type b)                                                          \
	{                                                                                          \
		return b < a ? b : a;                                                              \
	}                                                                                          \
	GIL_BOTH type max(type a, type b)                                                          \
	{                                                                                          \
		return a < b ? b : a;                                                              \
	}
GIL_LEAST_AND_GREATEST(int)
GIL_LEAST_AND_GREATEST(unsigned int)
GIL_LEAST_AND_GREATEST(long)
GIL_LEAST_AND_GREATEST(unsigned long)
GIL_LEAST_AND_GREATEST(long long)
GIL_LEAST_AND_GREATEST(unsigned long long)
GIL_LEAST_AND_GREATEST(float)
GIL_LEAST_AND_GREATEST(double)
#undef GIL_LEAST_AND_GREATEST

/* Atomic operations, by the names of PTX. What was there before is returned. */
#define GIL_ATOMIC(name, type, operation, of)                                                      \
	GIL_DEVICE type name(type *place, type value)                                              \
	{                                                                                          \
		return (type)__nvvm_atom_##operation((of *)place, (of)value);                      \
	}
GIL_ATOMIC(atomicAdd, int, add_gen_i, int)
GIL_ATOMIC(atomicAdd, unsigned int, add_gen_i, int)
GIL_ATOMIC(atomicAdd, unsigned long long, add_gen_ll, long long)
GIL_ATOMIC(atomicAdd, float, add_gen_f, float)
GIL_ATOMIC(atomicAdd, double, add_gen_d, double)
GIL_ATOMIC(atomicMin, int, min_gen_i, int)
GIL_ATOMIC(atomicMin, unsigned int, min_gen_ui, unsigned int)
GIL_ATOMIC(atomicMax, int, max_gen_i, int)
GIL_ATOMIC(atomicMax, unsigned int, max_gen_ui, unsigned int)
GIL_ATOMIC(atomicAnd, int, and_gen_i, int)
GIL_ATOMIC(atomicAnd, unsigned int, and_gen_i, int)
GIL_ATOMIC(atomicOr, int, or_gen_i, int)
GIL_ATOMIC(atomicOr, unsigned int, or_gen_i, int)
GIL_ATOMIC(atomicXor, int, xor_gen_i, int)
GIL_ATOMIC(atomicXor, unsigned int, xor_gen_i, int)
GIL_ATOMIC(atomicExch, int, xchg_gen_i, int)
GIL_ATOMIC(atomicExch, unsigned int, xchg_gen_i, int)
#undef GIL_ATOMIC

GIL_DEVICE int atomicCAS(int *place, int expected, int value)
{
	return __nvvm_atom_cas_gen_i(place, expected, value);
}

GIL_DEVICE unsigned int atomicCAS(unsigned int *place, unsigned int expected, unsigned int value)
{
	return (unsigned int)__nvvm_atom_cas_gen_i((int *)place, (int)expected, (int)value);
}

GIL_DEVICE void *memcpy(void *to, const void *from, size_t bytes)
{
	return __builtin_memcpy(to, from, bytes);
}

GIL_DEVICE void *memset(void *place, int value, size_t bytes)
{
	return __builtin_memset(place, value, bytes);
}

GIL_DEVICE void __threadfence(void)
{
	__nvvm_membar_gl();
}

GIL_DEVICE void __threadfence_block(void)
{
	__nvvm_membar_cta();
}

GIL_DEVICE long long clock64(void)
{
	return __nvvm_read_ptx_sreg_clock64();
}

GIL_DEVICE int __popc(unsigned int value)
{
	return __builtin_popcount(value);
}

GIL_DEVICE int __clz(int value)
{
	return value ? __builtin_clz((unsigned int)value) : 32;
}

GIL_DEVICE int __ffs(int value)
{
	return __builtin_ffs(value);
}

#define GIL_MATH1(name, type, builtin)                                                             \
	GIL_DEVICE type name(type value)                                                           \
	{                                                                                          \
		return builtin(value);                                                             \
	}
#define GIL_MATH2(name, type, builtin)                                                             \
	GIL_DEVICE type name(type a, type b)                                                       \
	{                                                                                          \
		return builtin(a, b);                                                              \
	}
GIL_MATH1(sqrt, double, __nvvm_sqrt_rn_d)
GIL_MATH1(sqrtf, float, __nvvm_sqrt_rn_f)
GIL_MATH1(rsqrtf, float, __nvvm_rsqrt_approx_f)
GIL_MATH1(fabs, double, __nvvm_fabs_d)
GIL_MATH1(fabsf, float, __nvvm_fabs_f)
GIL_MATH1(floor, double, __nvvm_floor_d)
GIL_MATH1(floorf, float, __nvvm_floor_f)
GIL_MATH1(ceil, double, __nvvm_ceil_d)
GIL_MATH1(ceilf, float, __nvvm_ceil_f)
GIL_MATH2(fmin, double, __nvvm_fmin_d)
GIL_MATH2(fminf, float, __nvvm_fmin_f)
GIL_MATH2(fmax, double, __nvvm_fmax_d)
GIL_MATH2(fmaxf, float, __nvvm_fmax_f)
GIL_MATH2(__fadd_rn, float, __nvvm_add_rn_f)
GIL_MATH2(__fmul_rn, float, __nvvm_mul_rn_f)
GIL_MATH2(__fdiv_rn, float, __nvvm_div_rn_f)
GIL_MATH2(__dadd_rn, double, __nvvm_add_rn_d)
GIL_MATH2(__dmul_rn, double, __nvvm_mul_rn_d)
GIL_MATH2(__ddiv_rn, double, __nvvm_div_rn_d)
#undef GIL_MATH1
#undef GIL_MATH2

GIL_DEVICE double fma(double a, double b, double c)
{
	return __nvvm_fma_rn_d(a, b, c);
}

GIL_DEVICE float fmaf(float a, float b, float c)
{
	return __nvvm_fma_rn_f(a, b, c);
}

/* The fast ones, to CUDA's bounds of error: by 2^x and log2 of the device. */
GIL_DEVICE float __expf(float value)
{
	return __nvvm_ex2_approx_f(value * 1.44269504f);
}

GIL_DEVICE float __logf(float value)
{
	return __nvvm_lg2_approx_f(value) * 0.693147181f;
}

/* Of a warp, whose threads are in the mask. */
GIL_DEVICE void __syncwarp(unsigned int mask = 0xffffffffu)
{
	__nvvm_bar_warp_sync(mask);
}

GIL_DEVICE unsigned int __ballot_sync(unsigned int mask, int value)
{
	return (unsigned int)__nvvm_vote_ballot_sync(mask, value);
}

/* Groups of `width` threads, a power of two: the last thread that one may read. */
#define GIL_SHUFFLE(name, builtin, last)                                                           \
	GIL_DEVICE int name(unsigned int mask, int value, unsigned int by, int width = 32)         \
	{                                                                                          \
		return builtin(mask, value, (int)by, ((32 - width) << 8) | (last));                \
	}                                                                                          \
	GIL_DEVICE unsigned int name(unsigned int mask, unsigned int value, unsigned int by,       \
				     int width = 32)                                               \
	{                                                                                          \
		return (unsigned int)name(mask, (int)value, by, width);                            \
	}                                                                                          \
	GIL_DEVICE float name(unsigned int mask, float value, unsigned int by, int width = 32)     \
	{                                                                                          \
		return __builtin_bit_cast(                                                         \
			float, name(mask, __builtin_bit_cast(int, value), by, width));             \
	}
GIL_SHUFFLE(__shfl_sync, __nvvm_shfl_sync_idx_i32, 31)
GIL_SHUFFLE(__shfl_xor_sync, __nvvm_shfl_sync_bfly_i32, 31)
GIL_SHUFFLE(__shfl_down_sync, __nvvm_shfl_sync_down_i32, 31)
GIL_SHUFFLE(__shfl_up_sync, __nvvm_shfl_sync_up_i32, 0)
#undef GIL_SHUFFLE

/* Printing and failing, which the driver's own functions do: clang makes calls of vprintf of those
 * of printf, and assert.h calls __assert_fail. */
extern "C" {
__attribute__((device)) int printf(const char *format, ...);
__attribute__((device)) int vprintf(const char *format, const char *values);
__attribute__((device)) void __assertfail(const char *assertion, const char *file, unsigned int line,
					  const char *function, __SIZE_TYPE__ size);
GIL_DEVICE void __assert_fail(const char *assertion, const char *file, unsigned int line,
			      const char *function)
{
	__assertfail(assertion, file, line, function, sizeof(char));
}
}

#undef GIL_DEVICE
#undef GIL_BOTH

#endif
