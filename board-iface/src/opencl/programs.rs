//! The texts that programs were built from, which contain their kernels' signatures.
//!
//! The driver stores a program's own source (with the paths of
//! [`absolute`](super::absolute)), IL and options, and returns them. Only the session
//! knows the headers that a program was compiled with, and the programs that it was
//! linked from.

use super::absolute::original;
use super::build::allowed;
use super::driver::{Driver, fetch, fetch_handle, fetch_text};
use super::generated::dispatch::run;
use super::generated::types::*;
use super::printing::mentions;
use super::session::Session;
use super::work::Work;
use crate::back_end::{Call, Pointer, Refusal};
use crate::region::{Budget, Counted};
use gil_kernel_signatures::{Program, Signatures, Target, spirv};
use gil_wire::call::{Handle, InData, unpack};
use gil_wire::generated::opencl::{self as wire, Kind};
use std::collections::VecDeque;
use std::rc::Rc;

/// Most bytes of texts that a session keeps of compiled and linked programs.
const MAX_KEPT: u64 = 64 << 20;
/// Texts whose signatures are remembered.
const REMEMBERED: usize = 16;

type Headers = Vec<(String, String)>;

/// One translation unit.
#[derive(Debug, PartialEq, Eq)]
pub struct Text {
    source: String,
    il: Vec<u8>,
    options: String,
    headers: Rc<Headers>,
    target: Target,
}

impl Text {
    fn len(&self) -> usize {
        self.source.len() + self.il.len() + self.options.len() + length(&self.headers)
    }

    /// Whether a word stands anywhere in it.
    pub fn mentions(&self, word: &[u8]) -> bool {
        let headers = self.headers.iter().map(|(_, text)| text.as_bytes());
        let own = [self.source.as_bytes(), &self.il, self.options.as_bytes()];
        let mut texts = own.into_iter().chain(headers);
        texts.any(|text| mentions(text, word))
    }

    /// Whether there is none: it is of a binary, or built in.
    pub fn is_empty(&self) -> bool {
        self.source.is_empty() && self.il.is_empty()
    }

    /// Gives each of its parts.
    pub(super) fn parts(&self, mut part: impl FnMut(&[u8])) {
        part(self.source.as_bytes());
        part(&self.il);
        part(self.options.as_bytes());
        for (name, text) in &*self.headers {
            part(name.as_bytes());
            part(text.as_bytes());
        }
    }

    fn signatures(&self) -> Signatures {
        if spirv::is_module(&self.il) {
            return spirv::signatures(&self.il);
        }
        let headers: Vec<(&str, &str)> = self.headers.iter().map(|(n, s)| (&**n, &**s)).collect();
        let program = Program {
            source: &self.source,
            options: &self.options,
            headers: &headers,
            target: &self.target,
        };
        let read = program.signatures();
        read.unwrap_or_else(|error| {
            tracing::debug!("a program's kernels stay unknown: {error}");
            Signatures::new()
        })
    }
}

fn length(headers: &Headers) -> usize {
    headers.iter().map(|(n, s)| n.len() + s.len()).sum()
}

/// What a program was last made of.
#[derive(Debug, Default)]
pub enum MadeOf {
    /// Its own text.
    #[default]
    Own,
    /// Its own text and these headers.
    Headers {
        /// The headers.
        headers: Rc<Headers>,
        /// Their bytes.
        _counted: Counted,
    },
    /// Others' texts.
    Linked {
        /// The texts.
        texts: Vec<Rc<Text>>,
        /// Their bytes.
        _counted: Counted,
    },
}

/// What a session knows about its programs.
#[derive(Debug)]
pub struct Programs {
    /// Bytes that are kept of headers and of programs that others were linked
    /// from.
    kept: Budget,
    read: VecDeque<(Rc<Text>, Rc<Signatures>)>,
}

impl Default for Programs {
    fn default() -> Self {
        Self {
            kept: Budget::new(MAX_KEPT),
            read: VecDeque::new(),
        }
    }
}

impl Programs {
    /// Of a program that was compiled; beyond what may be kept, its own text.
    fn compiled(&self, headers: Headers) -> MadeOf {
        if headers.is_empty() {
            return MadeOf::Own;
        }
        match self.kept.object(length(&headers) as u64) {
            Ok(_counted) => MadeOf::Headers {
                headers: Rc::new(headers),
                _counted,
            },
            Err(_) => MadeOf::Own,
        }
    }

    /// Of a program that was linked.
    fn linked(&self, texts: Vec<Rc<Text>>) -> MadeOf {
        let len: usize = texts.iter().map(|text| text.len()).sum();
        match self.kept.object(len as u64) {
            Ok(_counted) => MadeOf::Linked { texts, _counted },
            Err(_) => MadeOf::Own,
        }
    }

    /// The kernels of a text, which is read once.
    pub fn signatures(&mut self, text: &Rc<Text>) -> Rc<Signatures> {
        if let Some((_, known)) = self.read.iter().find(|(known, _)| known == text) {
            return known.clone();
        }
        let read = Rc::new(text.signatures());
        self.read.truncate(REMEMBERED - 1);
        self.read.push_front((text.clone(), read.clone()));
        read
    }
}

/// The options that a program was last built with.
fn options(driver: &Driver, program: Pointer, device: Pointer) -> String {
    let Some(info) = driver.functions.clGetProgramBuildInfo else {
        return String::new();
    };
    let (program, device) = (program.as_ptr(), device.as_ptr());
    let name = CL_PROGRAM_BUILD_OPTIONS;
    // SAFETY: the objects are alive, and `fetch` provides a buffer of the size it states.
    let bytes = fetch(|size, value, len| unsafe {
        info(program.cast(), device.cast(), name, size, value, len)
    });
    bytes.map(fetch_text).unwrap_or_default()
}

impl Session {
    /// The translation units of a program.
    pub(super) fn texts(&self, program: Pointer) -> Vec<Rc<Text>> {
        match self.program_at(program).map(|of| &of.made_of) {
            Some(MadeOf::Linked { texts, .. }) => texts.clone(),
            _ => vec![Rc::new(self.own_text(program))],
        }
    }

    fn own_text(&self, program: Pointer) -> Text {
        let driver = self.driver;
        let object = program.as_ptr();
        let info = driver.functions.clGetProgramInfo;
        let ask = |name| {
            let info = info?;
            // SAFETY: the program is alive, and `fetch` provides a buffer of the size it states.
            fetch(|size, value, len| unsafe { info(object.cast(), name, size, value, len) })
        };
        let source = ask(CL_PROGRAM_SOURCE).map(|text| original(&text).unwrap_or(text));
        let device = ask(CL_PROGRAM_DEVICES).and_then(|bytes| fetch_handle(&bytes));
        let headers = match self.program_at(program).map(|of| &of.made_of) {
            Some(MadeOf::Headers { headers, .. }) => headers.clone(),
            _ => Rc::default(),
        };
        Text {
            source: source.map(fetch_text).unwrap_or_default(),
            il: ask(CL_PROGRAM_IL).unwrap_or_default(),
            options: device
                .map(|device| options(driver, program, device))
                .unwrap_or_default(),
            headers,
            target: device
                .map(|device| driver.target(device))
                .unwrap_or_default(),
        }
    }

    /// `clBuildProgram`, around the driver's.
    ///
    /// # Errors
    /// [`Refusal`].
    pub(super) fn build_program(
        &mut self,
        call: &mut Call,
        args: &wire::ClBuildProgramArgs<'_>,
    ) -> Result<cl_int, Refusal> {
        let files = self.included(call, args.program, &args.options)?;
        let target = (args.program, &args.options);
        let run = |session: &mut Self, call: &mut Call| {
            Ok(run::cl_build_program(session, call, args)?.result)
        };
        let result = self.building(call, target, run)?;
        if !files.is_empty() {
            self.compiled(args.program, files);
        }
        self.number_work(call, (Work::Build, args.program), &args.options, result);
        Ok(result)
    }

    /// `clCompileProgram`, around the driver's.
    ///
    /// # Errors
    /// [`Refusal`].
    pub(super) fn compile_program(
        &mut self,
        call: &mut Call,
        args: &wire::ClCompileProgramArgs<'_>,
    ) -> Result<cl_int, Refusal> {
        let mut headers = self.headers(call, args)?;
        headers.extend(self.included(call, args.program, &args.options)?);
        let target = (args.program, &args.options);
        let run = |session: &mut Self, call: &mut Call| {
            Ok(run::cl_compile_program(session, call, args)?.result)
        };
        let result = self.building(call, target, run)?;
        self.compiled(args.program, headers);
        self.number_work(call, (Work::Compile, args.program), &args.options, result);
        Ok(result)
    }

    /// `clLinkProgram`, around the driver's.
    ///
    /// # Errors
    /// [`Refusal`].
    pub(super) fn link_program(
        &mut self,
        call: &mut Call,
        args: &wire::ClLinkProgramArgs<'_>,
    ) -> Result<cl_int, Refusal> {
        let mut texts = Vec::new();
        let mut hides = true;
        for input in args.input_programs.iter().flatten() {
            let object = self.table.get(*input, Kind::Program)?;
            hides &= self.program(*input).is_some_and(|of| of.hides_arg_info);
            texts.extend(self.texts(object));
        }
        allowed(call, &args.options)?;
        let result = run::cl_link_program(self, call, args)?.result;
        let made_of = self.programs.linked(texts);
        // A program that could not be linked has no number.
        if let Some(program) = self.program_mut(args.new) {
            program.made_of = made_of;
            program.hides_arg_info = hides;
        }
        self.number_work(call, (Work::Link, args.new), &args.options, result);
        Ok(result)
    }

    fn headers(
        &self,
        call: &Call,
        args: &wire::ClCompileProgramArgs<'_>,
    ) -> Result<Headers, Refusal> {
        let packed = &args.header_include_names;
        let data = call.bytes(&packed.data)?.unwrap_or_default();
        let names = match data {
            [] => Vec::new(),
            _ => unpack(packed.count, data)?,
        };
        let programs = args.input_headers.as_deref().unwrap_or_default();
        let mut headers = Vec::new();
        for (name, program) in names.iter().zip(programs) {
            let program = self.table.get(*program, Kind::Program)?;
            let name = String::from_utf8_lossy(name.unwrap_or_default()).into_owned();
            headers.push((name, self.own_text(program).source));
        }
        Ok(headers)
    }

    /// The guest's files that a build may include.
    fn included(
        &self,
        call: &Call,
        program: Handle,
        options: &InData<'_>,
    ) -> Result<Headers, Refusal> {
        self.table.get(program, Kind::Program)?;
        let options = String::from_utf8_lossy(call.bytes(options)?.unwrap_or_default());
        let program = self.program(program);
        Ok(program.map_or_else(Vec::new, |program| program.files.headers(&options)))
    }

    /// The program was compiled with these headers.
    fn compiled(&mut self, program: Handle, headers: Headers) {
        // What it was made of before counts no more.
        if let Some(program) = self.program_mut(program) {
            program.made_of = MadeOf::Own;
        }
        let made_of = self.programs.compiled(headers);
        if let Some(program) = self.program_mut(program) {
            program.made_of = made_of;
        }
    }

    /// The kernels of each text of a program.
    pub(super) fn signatures_for(&mut self, program: Pointer) -> Vec<Rc<Signatures>> {
        let texts = self.texts(program);
        texts
            .iter()
            .map(|text| self.programs.signatures(text))
            .collect()
    }
}
