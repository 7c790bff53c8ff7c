// Everything that stands in a signature without a macro.
kernel void spaces(global int *a, __global const float *b, __constant uchar *c,
                   constant short d[], local double *e, __local long *restrict f,
                   const volatile global uint *const restrict g, int global *h,
                   float const __global volatile *i) {}

__kernel void scalars(char a, uchar b, short c, ushort d, int e, uint f, long g, ulong h,
                      float i, unsigned j, unsigned char k, long unsigned int l, signed m,
                      const int n, unsigned short int o, double p) {}

kernel void words(global size_t *a, local ptrdiff_t *b) {}

kernel void vectors(char2 a, uchar3 b, short4 c, ushort8 d, int16 e, uint3 f, long2 g,
                    ulong4 h, float3 i, float16 j, const float4 k, global float3 *l,
                    double2 m) {}

kernel void objects(read_only image2d_t a, __write_only image2d_t b, image3d_t c,
                    sampler_t d, read_only image1d_t e, write_only image2d_array_t f,
                    read_only image1d_buffer_t g, __read_only image1d_array_t h) {}

__attribute__((reqd_work_group_size(4, 2, 1))) __kernel void attributes_first(global int *a) {}
__kernel __attribute__((work_group_size_hint(8, 1, 1)))
__attribute__((vec_type_hint(float4))) void attributes_second(
    __attribute__((unused)) global int *a, int b) {}
void kernel attributes_last(global int *a) {}

kernel void none(void) {}
kernel void empty() {}

/* A declaration before its definition. */
kernel void declared(global int *first, int second);
kernel void declared(global int *first, int second) { first[0] = second; }

int helper(global int *p, int (q)) { return p[q]; }
constant int table[3] = { 1, (2), 3 };
constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_FILTER_NEAREST;
kernel void calls(global int *a) { a[0] = helper(a, table[1]) + "(){"[0]; }
