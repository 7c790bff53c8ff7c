//! Writes `fuzz/corpus`: a few kilobytes a target, from recordings, checkpoints
//! and OpenCL programs that are given, and from what is made here.
//!
//! ```sh
//! gil run --record run.trace PROGRAM
//! cargo run -p gil-fuzz --bin gil-make-corpus -- run.trace run.state kernel.cl
//! ```

use gil_files::checkpoint;
use gil_files::container::{HEADER_LEN, Stored, read_all};
use gil_files::recording::{self, Called, Record};
use gil_fuzz::file::COMPRESS;
use gil_fuzz::support::guest::{DATA, IN, OUT, RAM_BASE, call, enqueue};
use gil_wire::ending::Ending;
use gil_wire::envelope::{self, Class, Engine, Envelope};
use gil_wire::frame;
use gil_wire::generated;
use gil_wire::hello::Hello;
use gil_wire::message::{Call, CallStatus, Done, Reply, Report, Request};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "../../../../host-iface/detect/tests/support/kernel.rs"]
mod kernel;

/// Longest input that is kept.
const LONGEST: usize = 4096;
/// Records of a file that are kept together.
const TOGETHER: usize = 12;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut corpus = Corpus { root };
    corpus.made();
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let stem = path.file_stem().unwrap_or_default();
        let name = stem.to_string_lossy().into_owned();
        match &bytes[..] {
            [b'g', b'i', b'l', b'-', b't', ..] => corpus.recording(&name, &bytes),
            [b'g', b'i', b'l', b'-', b's', ..] => corpus.state(&name, &bytes),
            [b'g', b'i', b'l', b'-', b'c', ..] => corpus.calls(&name, &bytes),
            source => corpus.source(&name, source),
        }
    }
}

struct Corpus {
    root: PathBuf,
}

/// Bytes behind their length of two bytes.
fn counted(bytes: &[u8]) -> Vec<u8> {
    let len = u16::try_from(bytes.len()).expect("short pieces");
    [&len.to_le_bytes()[..], bytes].concat()
}

/// A file's records, and the payload of each.
fn records(bytes: &[u8]) -> Vec<(Stored, Vec<u8>)> {
    read_all(&mut &bytes[HEADER_LEN..]).expect("a whole file")
}

/// A record as the targets take it.
fn taken((stored, payload): &(Stored, Vec<u8>)) -> Vec<u8> {
    let kind = u8::try_from(stored.prefix().kind).expect("few kinds");
    [&[kind, 0][..], &counted(stored.head()), &counted(payload)].concat()
}

/// Its length without its prefix.
fn len((stored, payload): &(Stored, Vec<u8>)) -> usize {
    stored.head().len() + payload.len()
}

/// The first of these records that are short, as the targets take them.
fn together(all: &[(Stored, Vec<u8>)]) -> Vec<u8> {
    let short = all.iter().filter(|record| len(record) < LONGEST / TOGETHER);
    std::iter::once(vec![0])
        .chain(short.take(TOGETHER).map(taken))
        .collect::<Vec<_>>()
        .concat()
}

fn frame_of(message: &impl serde::Serialize, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::begin(message, payload.len() as u64, &mut out).expect("a short message");
    out.extend(payload);
    out
}

impl Corpus {
    fn keep(&self, target: &str, name: &str, bytes: &[u8]) {
        if bytes.len() > 4 * LONGEST {
            return eprintln!("{target}/{name} is left out: {} bytes", bytes.len());
        }
        let folder = self.root.join(target);
        std::fs::create_dir_all(&folder).expect("a folder for the corpus");
        std::fs::write(folder.join(name), bytes).expect("room for the corpus");
    }

    /// A run's records, and its calls as messages, envelopes and arguments.
    fn recording(&mut self, name: &str, bytes: &[u8]) {
        let all = records(bytes);
        self.cuda(name, &all);
        self.keep("trace", name, &together(&all));
        let mut seen = HashSet::new();
        let mut session = frame_of(&OPEN, &[]);
        for (stored, payload) in all.iter().filter(|record| len(record) < 1024) {
            let Ok(Some(Record::Call(called))) = recording::record(stored) else {
                continue;
            };
            let call = &called.call;
            let name = call.op.to_string();
            if seen.insert(call.op) {
                self.call(&name, &called);
            }
            let message = frame_of(&Request::Call(call.clone()), input_of(call, payload));
            if session.len() + message.len() < LONGEST {
                session.extend(message);
            }
        }
        session.extend(frame_of(&Request::Close, &[]));
        self.keep("server", name, &session);
    }

    /// A run's calls of CUDA in their order, as long as they are few bytes.
    fn cuda(&self, name: &str, all: &[(Stored, Vec<u8>)]) {
        let mut bytes = Vec::new();
        for (stored, payload) in all {
            let Ok(Some(Record::Call(called))) = recording::record(stored) else {
                continue;
            };
            let call = &called.call;
            let input = input_of(call, payload);
            if call.op.api() != generated::cuda::API || input.len() > LONGEST {
                continue;
            }
            let one = cuda_call(call, input);
            if bytes.len() + one.len() > 2 * LONGEST {
                break;
            }
            bytes.extend(one);
        }
        if !bytes.is_empty() {
            self.keep("cuda", name, &bytes);
        }
    }

    /// A log of calls.
    fn calls(&self, name: &str, bytes: &[u8]) {
        let all = read_all(&mut &bytes[HEADER_LEN..]).expect("a whole file");
        let taken = all.iter().map(taken);
        let records = std::iter::once(vec![0]).chain(taken).collect::<Vec<_>>();
        self.keep("calls", name, &records.concat());
    }

    /// The first call of its kind.
    fn call(&self, name: &str, called: &Called<'_>) {
        let call = &called.call;
        let entry = call.op.entry().to_le_bytes();
        let done = called.done.as_ref();
        let result = done.map_or(&[][..], |done| done.result);
        let args = counted(call.args);
        self.keep("arguments", name, &[&entry[..], &args, result].concat());
        match call.op.api() {
            generated::egl::API => self.keep("graphics", name, &[&entry[..], &[6], &args].concat()),
            generated::gles::API => {
                self.keep("graphics", name, &[&entry[..], &[14], &args].concat())
            }
            generated::cuda::API => {}
            _ => self.keep("dispatch", name, &[&entry[..], &[6], &args].concat()),
        }
        self.keep("frames", name, &frame_of(&Request::Call(call.clone()), &[]));
        if let Some(done) = done {
            let reply = Reply::Done {
                seq: call.seq,
                done: done.clone(),
                posted: Vec::new(),
                work: None,
            };
            self.keep("frames", &format!("{name}-done"), &frame_of(&reply, &[]));
        }
        let regions = call.regions.iter().map(|region| {
            let len = u32::try_from(region.len).unwrap_or(u32::MAX);
            (len, region.dir as u32)
        });
        let regions: Vec<(u32, u32)> = regions.collect();
        let request = envelope_of(call);
        self.keep("envelopes", name, &request);
        self.keep(
            "doorbell",
            name,
            &[&[0][..], &submit(0, &request, &regions)].concat(),
        );
    }

    fn state(&self, name: &str, bytes: &[u8]) {
        let all = records(bytes);
        assert!(checkpoint::record(&all[0].0).is_ok());
        let out = [vec![0], all.iter().flat_map(taken).collect()].concat();
        self.keep("checkpoint", name, &out);
    }

    fn source(&self, name: &str, source: &[u8]) {
        let begin = [
            &[2][..],
            &counted(b"-DA=1 -I . -cl-std=CL1.2"),
            &counted(b"int f(int);"),
        ];
        self.keep("opencl_c", name, &[&begin.concat()[..], source].concat());
    }

    /// What needs no recording.
    fn made(&mut self) {
        let (trace, state) = gil_fuzz::host::recorded();
        self.recording("plain", &trace);
        self.state("plain", &state);
        self.compressed();
        self.images();
        self.source("kernel", SOURCE.as_bytes());
        self.keep("hello", "ours", &Hello::ours().encode());
        self.texts();
        self.doorbells();
        self.replies();
        self.keep("btf", "made", &kernel::types());
        self.keep("btf", "in-itself", &in_itself());
        for (name, new) in [("older", false), ("newer", true)] {
            let form = kernel::Form {
                new,
                ..kernel::USUAL
            };
            self.keep("kernel_image", name, &image(form));
        }
        self.elf();
        self.spirv();
        let rows: Vec<u8> = [16u64, 3, 64, 2, 256, 4, 4, 2, 0, 0, 0]
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .chain(1u32.to_le_bytes())
            .chain(gil_wire::call::pack([Some(&b"text"[..])]))
            .collect();
        self.keep("rows", "rectangle", &rows);
        let numbers =
            |list: &[u64]| -> Vec<u8> { list.iter().flat_map(|n| n.to_le_bytes()).collect() };
        let ranges = numbers(&[RAM_BASE.0, 1 << 20, 0, 8192]);
        let extents = numbers(&[RAM_BASE.0, 4096, RAM_BASE.0 + 8192, 4096]);
        let runs = numbers(&[0, 4000, 200, 64, 4096]);
        self.keep(
            "tables",
            "two",
            &[&[1][..], &ranges, &[2], &extents, &[2], &runs].concat(),
        );
    }

    /// Images of CUDA's modules: a text, and a fat binary's header with as many bytes behind it.
    fn images(&self) {
        let text = b".version 8.0\n.target sm_70\n.address_size 64\n\
            .visible .global .align 8 .b8 room[64];\n\
            .visible .entry one(.param .u64 a, .param .align 4 .b8 b[12])\n{\n\tret;\n}\n\0";
        self.keep("cuda_images", "text", text);
        let mut fat = gil_cuda_common::image::FAT.to_le_bytes().to_vec();
        fat.extend([1, 0, 16, 0]);
        fat.extend(32u64.to_le_bytes());
        fat.extend([7; 32]);
        self.keep("cuda_images", "fat", &fat);
    }

    /// An operation's end whose output is compressed.
    fn compressed(&self) {
        let opened = recording::SessionOpened {
            session: 1,
            process: 7,
            pointer_bits: 64,
            apis: gil_wire::api::described(&[1]),
        };
        let ended = recording::Ended {
            session: 1,
            report: Report {
                out: vec![2000],
                ..Report::default()
            },
            busy_ns: 1,
        };
        let head = |encoded: Result<Vec<u8>, postcard::Error>| counted(&encoded.expect("memory"));
        let pieces = [
            vec![0, 1, 0],
            head(postcard::to_stdvec(&opened)),
            counted(&[]),
            vec![3, 1 | COMPRESS],
            head(postcard::to_stdvec(&ended)),
            counted(&[9; 2000]),
        ];
        self.keep("trace", "compressed", &pieces.concat());
    }

    fn texts(&self) {
        let texts = [
            ("tcp", "tcp://[::1]:7000"),
            ("unix", "unix:/run/gil"),
            (
                "config",
                "board=tcp://127.0.0.1:7000,ram-base=0x40000000,time=strict,count=on",
            ),
            ("watch", "mali_kbase:kbase_job_submit"),
            ("object", "libc.so.6:open@/usr/lib/libc.so.6"),
        ];
        for (name, text) in texts {
            self.keep("texts", name, text.as_bytes());
        }
        let options = "-D NAME=\"a b\" -I/usr/include -I \"with space\" -cl-std=CL1.2 -w";
        self.keep("options", "usual", options.as_bytes());
    }

    /// The doorbells of a small program, in both modes.
    fn doorbells(&self) {
        let one = |envelope: Envelope<'_>, regions: &[(u32, u32)]| {
            let mut request = Vec::new();
            envelope::push(
                &Envelope {
                    regions: regions.len() as u32,
                    ..envelope
                },
                &mut request,
            );
            submit(1000, &request, regions)
        };
        let op = generated::opencl::CL_ENQUEUE_READ_BUFFER;
        let wait = Envelope {
            waits: vec![2].into(),
            ..call(Class::Wait, 0)
        };
        let steps = [
            one(call(Class::Query, 0), &[]),
            one(call(Class::Post, 0), &[]),
            one(enqueue(1, 0), &[(64, IN)]),
            one(
                Envelope {
                    op,
                    ..enqueue(2, 0)
                },
                &[(64, OUT)],
            ),
            one(wait, &[]),
            one(
                Envelope {
                    op,
                    blocking: true,
                    ..enqueue(3, 0)
                },
                &[(64, OUT)],
            ),
            ring(gil_uapi::kind::COLLECT),
            ring(gil_uapi::kind::ATTEND),
            ring(gil_uapi::kind::CLOSE),
            ring(gil_uapi::kind::OPEN),
        ];
        for first in 0..4 {
            let name = format!("program-{first}");
            self.keep("doorbell", &name, &[&[first][..], &steps.concat()].concat());
        }
    }

    /// What a board answers to the calls of the target.
    fn replies(&self) {
        let done = |seq, out: Vec<u64>, event: Option<u64>| {
            let report = |event| Report {
                event,
                duration_ns: 5,
                ..Report::default()
            };
            let done = Done {
                status: CallStatus::Ran,
                result: b"result",
                cpu_ns: 1,
                busy_ns: 2,
                reports: event.into_iter().map(report).collect(),
                notices: false,
                out: out.clone(),
            };
            let posted = Vec::new();
            let work = Some(7);
            let reply = Reply::Done {
                seq,
                done,
                posted,
                work,
            };
            frame_of(&reply, &vec![9; out.iter().sum::<u64>() as usize])
        };
        let report = Report {
            event: 2,
            duration_ns: 7,
            ending: Ending::Done,
            out: vec![64],
            printed: 2,
            rejected: false,
        };
        let ended = Reply::Ended {
            reports: vec![report],
            busy_ns: 1,
        };
        let said = [
            frame_of(
                &Reply::Opened {
                    apis: gil_wire::api::described(&[1]),
                },
                &[],
            ),
            done(1, vec![], None),
            done(2, vec![], Some(1)),
            done(3, vec![], None),
            frame_of(&ended, &[[8; 64].as_slice(), b"hi"].concat()),
            done(5, vec![64], Some(3)),
        ];
        self.keep("replies", "program", &said.concat());
        let reason = "no room".into();
        let refused = [said[0].clone(), frame_of(&Reply::Refused { reason }, &[])].concat();
        self.keep("replies", "refused", &refused);
    }

    /// An object file and a program, with debug information.
    fn elf(&self) {
        const SOURCE: &str = "struct pair { int first, second; };
            struct outer { long x; struct pair inner; };
            int watched(struct outer *o, const char *text) { return o->inner.second + *text; }
            void gil_doorbell(unsigned long gpa) { __asm__ volatile(\"\" :: \"r\"(gpa)); }";
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (source, object) = (folder.path().join("a.c"), folder.path().join("a.o"));
        std::fs::write(&source, SOURCE).expect("room for it");
        for compiler in ["cc", "aarch64-linux-gnu-gcc"] {
            let mut cc = Command::new(compiler);
            cc.args(["-g", "-O1", "-c", "-o"]).arg(&object).arg(&source);
            assert!(
                cc.status()
                    .expect("a compiler: run scripts/setup")
                    .success()
            );
            self.keep(
                "elf",
                compiler,
                &std::fs::read(&object).expect("it is there"),
            );
        }
    }

    /// `kernel void k(global int *a, int b)`.
    fn spirv(&self) {
        let word = |opcode: u32, operands: &[u32]| {
            let mut words = vec![(operands.len() as u32 + 1) << 16 | opcode];
            words.extend(operands);
            words
        };
        let words = [
            vec![0x0723_0203, 0x0001_0000, 0, 20, 0],
            word(17, &[4]),
            word(14, &[2, 2]),
            word(15, &[6, 5, u32::from_le_bytes(*b"k\0\0\0")]),
            word(19, &[1]),
            word(21, &[2, 32, 0]),
            word(32, &[3, 5, 2]),
            word(33, &[4, 1, 3, 2]),
            word(54, &[1, 5, 0, 4]),
            word(55, &[3, 6]),
            word(55, &[2, 7]),
            word(248, &[8]),
            word(253, &[]),
            word(56, &[]),
        ];
        let bytes: Vec<u8> = words
            .concat()
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .collect();
        self.keep("spirv", "kernel", &bytes);
    }
}

/// A bit of everything that is read of a source.
const SOURCE: &str = r#"
#include "a.h"
#define N A
#if defined(N) && N > 0
typedef struct { int x; float4 y[2]; } pair __attribute__((aligned(16)));
#endif
enum kinds { one = 1, two = one << 1 };
kernel __attribute__((reqd_work_group_size(16, 1, 1)))
void scale(global const int *restrict in, __global int *out, constant pair *p,
    int factor, local int scratch[two], read_only image2d_t image, sampler_t s)
{
    scratch[get_local_id(0)] = in[get_global_id(0)] * factor;
    out[get_global_id(0)] = scratch[get_local_id(0)] + p->x;
}
#ifdef cl_khr_fp64
__kernel void k(const double3 a, unsigned long b, size_t c[4]) { }
#endif
"#;

const OPEN: Request<'static> = Request::Open {
    process: 7,
    pointer_bits: 64,
    finish: gil_wire::finish::Finish::Program,
};

fn input_of<'p>(call: &Call<'_>, payload: &'p [u8]) -> &'p [u8] {
    let ins = call.regions.iter().filter(|region| region.dir.is_in());
    &payload[..ins.map(|region| region.len as usize).sum()]
}

/// A call as the target `cuda` takes it.
fn cuda_call(call: &Call<'_>, mut input: &[u8]) -> Vec<u8> {
    let event = call.event.and_then(|event| u32::try_from(event).ok());
    let flags = [1, 2, 4, 8];
    let is_set = [event.is_some(), call.answer, call.finish, true];
    let flags: u8 = flags
        .iter()
        .zip(is_set)
        .filter(|it| it.1)
        .map(|it| it.0)
        .sum();
    let mut bytes = call.op.entry().to_le_bytes().to_vec();
    bytes.push(flags);
    bytes.extend(event.iter().flat_map(|event| event.to_le_bytes()));
    bytes.extend(counted(call.args));
    bytes.push(u8::try_from(call.regions.len()).unwrap_or(u8::MAX));
    for region in &call.regions {
        let len = u16::try_from(region.len).unwrap_or(u16::MAX);
        bytes.extend(len.to_le_bytes());
        let is_in = region.dir.is_in();
        bytes.extend([region.dir as u8, is_in.into()]);
        let (own, rest) = input.split_at(input.len().min(if is_in { len.into() } else { 0 }));
        bytes.extend(own);
        input = rest;
    }
    bytes
}

/// The call in its envelope, as far as the recording contains it.
fn envelope_of(call: &Call<'_>) -> Vec<u8> {
    let class = gil_wire::api::info(call.op).and_then(|info| info.class);
    let mut out = Vec::new();
    let envelope = Envelope {
        engine: Engine::COMPUTE,
        blocking: call.finish,
        signals: call.event,
        observable: true,
        regions: call.regions.len() as u32,
        args: call.args,
        ..Envelope::new(call.op, class.unwrap_or(Class::Query), 1)
    };
    envelope::push(&envelope, &mut out);
    out
}

/// A doorbell with these envelopes and regions.
fn submit(after_ns: u32, request: &[u8], regions: &[(u32, u32)]) -> Vec<u8> {
    let mut out = vec![2];
    out.extend(after_ns.to_le_bytes());
    out.extend(counted(request));
    out.push(regions.len() as u8);
    for &(len, dir) in regions {
        out.extend(((DATA - RAM_BASE.0) as u32).to_le_bytes());
        out.extend(len.to_le_bytes());
        out.push(dir as u8);
    }
    out
}

/// A doorbell of this kind, nothing changed.
fn ring(kind: u32) -> Vec<u8> {
    vec![1, kind as u8, 0]
}

/// Type information of a structure with 64 members that are itself.
fn in_itself() -> Vec<u8> {
    let types: Vec<u32> = [1, 4 << 24 | 64, 8]
        .into_iter()
        .chain([0, 1, 0].repeat(64))
        .collect();
    let len = 4 * types.len() as u32;
    let words = [24, 0, len, len, 4].into_iter().chain(types);
    let mut out = vec![0x9f, 0xeb, 1, 0];
    out.extend(words.flat_map(u32::to_le_bytes));
    out.extend(b"\0s0\0");
    out
}

/// A small kernel, its zeros counted.
fn image(form: kernel::Form) -> Vec<u8> {
    let symbols: Vec<kernel::Symbol> = (0..400).map(|i| (format!("tf{i}"), i * 16)).collect();
    let mut image = kernel::Image::build(&symbols, form);
    // What stands before the tables says nothing.
    image[0x1000..0x1_1000].fill(0);
    let mut out = Vec::new();
    let mut rest = &image[..];
    while !rest.is_empty() {
        let zeros = rest
            .iter()
            .take(60_000)
            .take_while(|&&byte| byte == 0)
            .count();
        let piece = rest[zeros..]
            .windows(16)
            .position(|w| w.iter().all(|&b| b == 0));
        let piece = piece.unwrap_or(rest.len() - zeros).min(60_000);
        out.extend((zeros as u16).to_le_bytes());
        out.extend(counted(&rest[zeros..zeros + piece]));
        rest = &rest[zeros + piece..];
    }
    out
}
