//! Files that programs' texts name by absolute paths are the guest's. The agent
//! confines nothing here: the board's files are there to be found.

mod common;

use common::agent::{Agent, on_a_device};
use common::program::{Program, SUCCESS, bytes, ints, reply};
use gil_wire::call::{Handle, InData, InfoValue, OutData, OutRoom, Packed, pack};
use gil_wire::generated::opencl::{self as wire, KernelArgument};
use std::path::Path;

const CL_PROGRAM_SOURCE: u32 = 0x1164;
const CL_PROGRAM_BUILD_LOG: u32 = 0x1183;
const CL_BUILD_PROGRAM_FAILURE: i32 = -11;

fn start() -> Option<(Agent, Program)> {
    let agent = on_a_device(Agent::start(&["--no-confinement"]))?;
    let program = Program::start(&agent.address);
    Some((agent, program))
}

/// A program that stores what a file defines.
fn text(file: &Path) -> String {
    let at = file.display();
    format!("# include \"{at}\"\nkernel void k(global int *out) {{ *out = VALUE; }}\n")
}

fn give(program: &mut Program, of: Handle, files: &[(&Path, &str)]) {
    let pieces = files.iter().flat_map(|(path, text)| {
        let path = path.to_str().unwrap();
        [path.as_bytes(), text.as_bytes()]
    });
    let packed = pack([&b"/"[..]].into_iter().chain(pieces).map(Some));
    let args = wire::GilGiveFilesArgs {
        program: of,
        count: 1 + 2 * files.len() as u32,
        files: InData::Inline(&packed),
    };
    let given: wire::GilGiveFilesReply = program.call(wire::GIL_GIVE_FILES, &args);
    assert_eq!(given.result, SUCCESS);
}

fn computed(program: &mut Program, built: Handle) -> i32 {
    let queue = program.queue(0);
    let buffer = program.buffer(4);
    let kernel = program.kernel(built, "k");
    let set = program.arg(kernel, 0, 8, KernelArgument::Handle(buffer));
    assert_eq!(set, SUCCESS);
    program.write(queue, buffer, &bytes(&[-1]), &[]).ended();
    program.run(queue, kernel, 1, &[]).ended();
    ints(&program.read(queue, buffer, 4, &[]).done.out[0])[0]
}

fn source(program: &mut Program, of: Handle, room: OutRoom) -> (u64, Vec<u8>) {
    let args = wire::ClGetProgramInfoArgs {
        program: of,
        param_name: CL_PROGRAM_SOURCE,
        param_value: room,
    };
    let done = program.raw(wire::CL_GET_PROGRAM_INFO, &args, &[], &[]);
    let info: wire::ClGetProgramInfoReply<'_> = reply(&done);
    assert_eq!(info.result, SUCCESS);
    match info.value {
        InfoValue::Bytes(OutData::Inline(text)) => (info.size, text.to_vec()),
        _ => (info.size, Vec::new()),
    }
}

fn log(program: &mut Program, of: Handle) -> String {
    let args = wire::ClGetProgramBuildInfoArgs {
        program: of,
        device: program.device,
        param_name: CL_PROGRAM_BUILD_LOG,
        param_value: OutRoom::Inline(8192),
    };
    let done = program.raw(wire::CL_GET_PROGRAM_BUILD_INFO, &args, &[], &[]);
    String::from_utf8_lossy(&done.result).into_owned()
}

#[test]
fn an_absolute_name_is_the_guests_file_and_never_the_boards() {
    let Some((_agent, mut program)) = start() else {
        return;
    };
    let program = &mut program;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("value.h");
    std::fs::write(&file, "#define VALUE 1 // the board's\n").unwrap();
    let alone = program.program(&text(&file));
    assert_eq!(program.build(alone, ""), CL_BUILD_PROGRAM_FAILURE);
    let said = log(program, alone);
    let missing = format!("'{}' file not found", file.display());
    assert!(said.contains(&missing) && !said.contains("gil-"), "{said}");
    // As before, with files of the guest's, of which one includes another so.
    let (near, far) = (folder.path().join("near.h"), folder.path().join("far/x.h"));
    let near_text = format!("#include <{}>\n", far.display());
    let files = [(&*near, &*near_text), (&far, "#define VALUE 7\n")];
    let given = program.program(&text(&near));
    give(program, given, &files);
    assert_eq!(program.build(given, ""), SUCCESS);
    assert_eq!(computed(program, given), 7);
    give(program, alone, &[(&file, "#define VALUE 8\n")]);
    assert_eq!(program.build(alone, "-DX=1"), SUCCESS);
    assert_eq!(computed(program, alone), 8);
}

/// The driver fails with the option that has argument information kept, so each
/// program is built twice.
#[test]
fn a_program_that_is_built_again_includes_the_same_files() {
    let Some(agent) = on_a_device(Agent::start(&["--no-confinement", "--unknown-arg-info"])) else {
        return;
    };
    let program = &mut Program::start(&agent.address);
    let file = Path::new("/gil-value.h");
    let given = program.program(&text(file));
    give(program, given, &[(file, "#define VALUE 7\n")]);
    assert_eq!(program.build(given, ""), SUCCESS);
    assert_eq!(computed(program, given), 7);
    // The files were for that build.
    assert_ne!(program.build(given, ""), SUCCESS);
}

#[test]
fn a_header_program_names_no_file_of_the_boards() {
    let Some((_agent, mut program)) = start() else {
        return;
    };
    let program = &mut program;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("value.h");
    std::fs::write(&file, "#define VALUE 1\n").unwrap();
    let header = program.program(&format!("#include \"{}\"\n", file.display()));
    let main = program.program(&text(Path::new("header.h")));
    let name = pack([Some(&b"header.h"[..])]);
    let compile = |program: &mut Program| {
        let args = wire::ClCompileProgramArgs {
            program: main,
            num_input_headers: 1,
            input_headers: Some(vec![header]),
            header_include_names: Packed {
                count: 1,
                data: InData::Inline(&name),
            },
            ..Default::default()
        };
        let reply: wire::ClCompileProgramReply = program.call(wire::CL_COMPILE_PROGRAM, &args);
        reply.result
    };
    assert_ne!(compile(program), SUCCESS);
    let said = log(program, main);
    assert!(
        said.contains(&format!("'{}' file not found", file.display())),
        "{said}"
    );
    give(program, main, &[(&file, "#define VALUE 9\n")]);
    assert_eq!(compile(program), SUCCESS);
}

#[test]
fn a_programs_text_is_the_guests_own() {
    let Some((_agent, mut program)) = start() else {
        return;
    };
    let program = &mut program;
    let own = text(Path::new("/home/user/value.h"));
    for own in [
        &own,
        "#include \"gil-guest-files/a.h\"\n",
        "kernel void k() {}",
    ] {
        let made = program.program(own);
        let with_nul = [own.as_bytes(), b"\0"].concat();
        let len = with_nul.len();
        assert_eq!(
            source(program, made, OutRoom::Null),
            (len as u64, Vec::new())
        );
        let all = source(program, made, OutRoom::Inline(4096));
        assert_eq!(all, (len as u64, with_nul.clone()));
        let exact = source(program, made, OutRoom::Inline(len as u32));
        assert_eq!(exact, all);
    }
}
