/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* CUDA's small vectors, as far as gil has them. In C they have no constructors. */
#ifndef GIL_VECTOR_TYPES_H
#define GIL_VECTOR_TYPES_H

#include "../cuda_targets.h"

#define GIL_VECTOR2(type, name, bytes)                                                             \
	typedef struct __attribute__((aligned(bytes))) name {                                      \
		type x, y;                                                                         \
	} name;                                                                                    \
	static inline __host__ __device__ name make_##name(type x, type y)                         \
	{                                                                                          \
		name made = {x, y};                                                                \
		return made;                                                                       \
	}
#define GIL_VECTOR3(type, name)                                                                    \
	typedef struct name {                                                                      \
		type x, y, z;                                                                      \
	} name;                                                                                    \
	static inline __host__ __device__ name make_##name(type x, type y, type z)                 \
	{                                                                                          \
		name made = {x, y, z};                                                             \
		return made;                                                                       \
	}
#define GIL_VECTOR4(type, name, bytes)                                                             \
	typedef struct __attribute__((aligned(bytes))) name {                                      \
		type x, y, z, w;                                                                   \
	} name;                                                                                    \
	static inline __host__ __device__ name make_##name(type x, type y, type z, type w)         \
	{                                                                                          \
		name made = {x, y, z, w};                                                          \
		return made;                                                                       \
	}

GIL_VECTOR2(int, int2, 8)
GIL_VECTOR2(unsigned int, uint2, 8)
GIL_VECTOR2(float, float2, 8)
GIL_VECTOR2(double, double2, 16)
GIL_VECTOR3(int, int3)
GIL_VECTOR3(unsigned int, uint3)
GIL_VECTOR3(float, float3)
GIL_VECTOR3(double, double3)
GIL_VECTOR4(unsigned char, uchar4, 4)
GIL_VECTOR4(int, int4, 16)
GIL_VECTOR4(unsigned int, uint4, 16)
GIL_VECTOR4(float, float4, 16)

#undef GIL_VECTOR2
#undef GIL_VECTOR3
#undef GIL_VECTOR4

typedef struct dim3 {
	unsigned int x, y, z;
#ifdef __cplusplus
	__host__ __device__ constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1)
		: x(x), y(y), z(z)
	{
	}
	__host__ __device__ constexpr dim3(uint3 size) : x(size.x), y(size.y), z(size.z)
	{
	}
	__host__ __device__ constexpr operator uint3() const
	{
		return uint3{x, y, z};
	}
#endif
} dim3;

#endif
