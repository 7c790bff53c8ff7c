typedef float real;
typedef global real *pointer_to_real;
typedef struct { char a; int b; short c; } plain;
typedef struct __attribute__((packed)) { char a; int b; short c; } tight;
typedef struct { char a; int b; } __attribute__((packed)) tight_behind;
typedef struct { char a; float3 v; uchar b[3]; } vectors_within;
typedef struct { char a; long b __attribute__((packed)); } packed_field;
typedef struct { char a; int b __attribute__((aligned(32))); } aligned_field;
typedef struct { int a; } __attribute__((aligned(64))) aligned_whole;
typedef union { float4 v; float s[4]; char c[20]; } both;
struct tagged { int x; struct { char y, z; } inner; union { long l; char c; }; };
typedef struct tagged tagged_too, *unused_pointer;
enum color { red, green = 4, blue };
typedef enum { one = 1, few = one + blue * 2 } number;
typedef struct { char bytes[few * 2 + sizeof(tight) - (1 << 1)]; plain rest[2][blue]; } sized;
typedef float wide __attribute__((ext_vector_type(8)));
#pragma pack(push, 2)
typedef struct { char a; long b; } packed_by_pragma;
#pragma pack(pop)
typedef struct { packed_by_pragma a; long b; } not_packed;

kernel void by_value(plain a, tight b, tight_behind c, vectors_within d, packed_field e,
                     aligned_field f, aligned_whole g, both h, struct tagged i, tagged_too j,
                     sized k, packed_by_pragma l, not_packed m) {}
kernel void by_pointer(global plain *a, constant struct tagged *b, local both *c,
                       pointer_to_real d, const pointer_to_real e, global real *f,
                       global enum color *g) {}
kernel void named(real a, number b, enum color c, wide d) {}
