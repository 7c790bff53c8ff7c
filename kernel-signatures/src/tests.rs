//! Signatures of whole programs.

use super::*;
use proptest::prelude::*;

fn target() -> Target {
    Target {
        address_bits: 64,
        version: 300,
        extensions: "cl_khr_fp64".into(),
        has_images: true,
    }
}

fn read(source: &str, options: &str, headers: &[(&str, &str)]) -> Signatures {
    let target = target();
    let program = Program {
        source,
        options,
        headers,
        target: &target,
    };
    program.signatures().unwrap()
}

/// The arguments of the kernel `k`: what they are, and the sizes of values.
fn k(source: &str) -> Vec<(What, Option<u64>)> {
    let all = read(source, "", &[]);
    let found = all.get("k").unwrap_or_else(|| panic!("no k in {source}"));
    found.iter().map(|arg| (arg.what, arg.size)).collect()
}

/// The sizes of its values.
fn sizes(source: &str) -> Vec<Option<u64>> {
    k(source).into_iter().map(|(_, size)| size).collect()
}

const BUFFER: (What, Option<u64>) = (What::Buffer, None);

fn value(size: u64) -> (What, Option<u64>) {
    (What::Value, Some(size))
}

#[test]
fn objects_and_values_are_told_apart() {
    let source = "kernel void k(global float *a, __constant int b[], local uint *c,
        read_only image2d_t d, sampler_t e, int f, float4 g, size_t h, queue_t q,
        pipe int p) { if (a) { } }";
    let of = |what| (what, None);
    let expected = [
        BUFFER,
        BUFFER,
        of(What::Local),
        of(What::Image),
        of(What::Sampler),
        value(4),
        value(16),
        value(8),
        of(What::Queue),
        of(What::Pipe),
    ];
    assert_eq!(k(source), expected);
}

#[test]
fn address_spaces_stand_anywhere() {
    let source = "void __kernel k(const __global int *a, int __global *b, int const volatile global * restrict c,
        __global struct s { int x; } *d, global int (*e)[4], int global f[2])";
    assert_eq!(k(&format!("{source};")), [BUFFER; 6]);
    let typedefs = "typedef global float *gp, *const cgp; typedef struct { gp p; } holder;
        __kernel void k(gp a, const cgp b, holder c, int *d) {}";
    assert_eq!(
        k(typedefs),
        [BUFFER, BUFFER, value(8), (What::Unknown, None)]
    );
}

#[test]
fn attributes_are_passed() {
    let source = "__kernel __attribute__((reqd_work_group_size(16, 1, 1))) __attribute__((vec_type_hint(float4)))
        void __attribute__((overloadable)) k(unsigned x, unsigned char y, long unsigned int z, half h,
        __attribute__((unused)) global int *p __attribute__((aligned(8)))) {}";
    assert_eq!(k(source), [value(4), value(1), value(8), value(2), BUFFER]);
}

#[test]
fn structures_are_laid_out() {
    let of = |declaration: &str| sizes(&format!("{declaration} kernel void k(T t) {{}}"))[0];
    let sized = [
        ("typedef struct { char a; double b; short c; } T;", 24),
        (
            "typedef struct __attribute__((packed)) { char a; double b; short c; } T;",
            11,
        ),
        (
            "typedef struct { char a; double b; short c; } __attribute__((packed)) T;",
            11,
        ),
        (
            "typedef struct { char a; int b __attribute__((packed)); } T;",
            5,
        ),
        ("typedef struct { char a; float3 b; } T;", 32),
        (
            "typedef struct { int a[2][3], b; union { long x; char y[3]; }; } T;",
            40,
        ),
        (
            "typedef struct { int a; } __attribute__((aligned(64))) T;",
            64,
        ),
        (
            "struct s { char a; }; typedef struct { struct s x; struct s y[3]; } T;",
            4,
        ),
        (
            "enum { N = 1 << 2, M }; typedef struct { char a[N * M + sizeof(float2)]; } T;",
            28,
        ),
        ("typedef enum { X } T;", 4),
        (
            "#pragma pack(push, 1)\ntypedef struct { char a; int b; } P;\n#pragma pack(pop)\ntypedef struct { P p; int b; } T;",
            12,
        ),
        ("typedef float T __attribute__((ext_vector_type(8)));", 32),
        ("typedef union { float4 v; float s[4]; } T;", 16),
    ];
    for (declaration, size) in sized {
        assert_eq!(of(declaration), Some(size), "{declaration}");
    }
    assert_eq!(of("typedef struct { int a : 3; } T;"), None);
}

#[test]
fn macros_and_options_make_signatures() {
    let source = "#ifdef USE_DOUBLE\n#define REAL double\n#else\n#define REAL float\n#endif
        #define IN(T, n) const global T *n
        #define KERNEL(name, ...) kernel void name(__VA_ARGS__)
        KERNEL(k, IN(REAL, a), REAL b, \\\n __local REAL *c) { /* } */ }
        #if COUNT > 2 && defined(cl_khr_fp64)
        kernel void second(HEADER h) {}
        #endif";
    let headers = [("h.h", "typedef struct { int x[3]; } HEADER;")];
    let source = format!("#include <h.h>\n{source}");
    let all = read(&source, "-DUSE_DOUBLE -D COUNT=3", &headers);
    let sizes: Vec<_> = all["k"].iter().map(|arg| arg.size).collect();
    assert_eq!(sizes, [None, Some(8), None]);
    assert_eq!(all["second"][0].size, Some(12));
    assert_eq!(read(&source, "-DCOUNT=2", &headers)["k"][1].size, Some(4));
    assert!(!read(&source, "-DCOUNT=2", &headers).contains_key("second"));
}

#[test]
fn what_is_not_understood_is_passed_over() {
    let source = "foo bar baz; int table[] = { 1, (2), }; @ $ ;
        vendor_type f(int a) { return (vendor_type){ 1 }; }
        kernel void lost(vendor_type a) {}
        constant sampler_t s = CLK_FILTER_NEAREST | 1, t = 0;
        static inline float g(float x) { return x; }
        kernel void k(int a) { }";
    assert_eq!(k(source), [value(4)]);
    assert!(!read(source, "", &[]).contains_key("lost"));
}

#[test]
fn hostile_sources_end() {
    // Machines of 32 bits are emulated.
    let many = if cfg!(target_pointer_width = "64") {
        50_000
    } else {
        5_000
    };
    let deep = [
        "struct a {".repeat(2 * many),
        format!("kernel void k(int {}a", "(*".repeat(2 * many)),
        format!("kernel void k(int {}a)", "*".repeat(2 * many)),
        "typedef int a[".repeat(many),
        "__attribute__((".repeat(many),
        "int x = sizeof(int[".repeat(many),
        "enum { A = (".repeat(many),
        "{".repeat(8 * many),
    ];
    for source in deep {
        let target = target();
        let program = Program {
            source: &source,
            options: "",
            headers: &[],
            target: &target,
        };
        let found = program.signatures();
        let kernels = found.map_or(0, |found| found.len());
        assert!(kernels <= 1, "{}: {kernels}", &source[..20]);
    }
}

proptest! {
    #[test]
    fn any_words_are_survived(words in prop::collection::vec(
        prop::sample::select(vec![
            "kernel", "void", "k", "(", ")", "{", "}", "[", "]", "*", ",", ";", "int", "global",
            "struct", "union", "enum", "typedef", "=", "3", "sizeof", "__attribute__", "((",
            "aligned", "packed", "pipe", "image2d_t", "unsigned", ":", "\n#pragma pack(1)\n",
            "\n#define k(x) x\n", "float4", "const", "s",
        ]), 0..60)
    ) {
        let source = words.join(" ");
        let (options, headers, target) = ("", &[][..], &target());
        let _ = Program { source: &source, options, headers, target }.signatures();
    }

    #[test]
    fn values_have_the_sum_of_their_fields(counts in prop::collection::vec(1u64..9, 1..8)) {
        let fields: Vec<_> = counts.iter().enumerate().map(|(n, c)| format!("int f{n}[{c}];")).collect();
        let source = format!("struct s {{ {} }}; kernel void k(struct s x) {{}}", fields.concat());
        prop_assert_eq!(sizes(&source), [Some(4 * counts.iter().sum::<u64>())]);
    }
}
