#ifndef REAL
#error REAL is an option
#endif
#define GLOBAL_IN(type, name) __global const type *restrict name
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define KERNEL(name, ...) __kernel void CAT(name, SUFFIX)(__VA_ARGS__)
#define EMPTY
#define LINES \
    int width, \
    int height
#define OPTIONAL(...) , ##__VA_ARGS__

KERNEL(gemm, GLOBAL_IN(REAL, a), GLOBAL_IN(REAL, b), __global REAL *c, LINES) {
    c[0] = a[0] * b[0];
}
KERNEL(empty_macro, EMPTY EMPTY int EMPTY x) {}

#if WIDTH > 4 && !defined(SMALL) && (__OPENCL_C_VERSION__ >= 110)
kernel void wide(CAT(float, WIDTH) v) {}
#elif defined SMALL
kernel void small(float v) {}
#else
kernel void neither(int v) {}
#endif

#if defined(cl_khr_fp64) && __IMAGE_SUPPORT__
kernel void extended(double d, image2d_t i) {}
#endif

#if CL_VERSION_1_2 <= __OPENCL_VERSION__ && 0x10u == 020 << 0 && ' ' == 32
kernel void versions(int twelve) {}
#endif

#undef EMPTY
#ifdef EMPTY
kernel void gone(int x) {}
#endif

kernel v\
oid joined(global int /* not */ *a, // a comment \
   that goes on
   int b) {}

kernel void optional(int a OPTIONAL(int b)) {}
kernel void quoted(int a) { "kernel void not_one(int a) {}"; }
#if 0
kernel void skipped(int a) {}
'an unmatched quote, and " another
#endif
