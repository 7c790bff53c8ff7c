//! The board's dispatch: what runs a call on the real API.

mod input;
mod output;

use super::expr::{self, Scope};
use super::*;
use crate::spec::expr::Expr;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Names of the board's side.
pub struct BoardScope<'a> {
    api: &'a Api,
    paths: &'a Paths,
}

impl Scope for BoardScope<'_> {
    fn scalar(&self, param: &Param) -> String {
        format!("args.{}", ident(&param.name))
    }

    fn array(&self, param: &Param) -> String {
        format!("args.{}.as_deref()", ident(&param.name))
    }

    fn helper(&self, name: &str) -> (String, Option<String>) {
        match self.api.helpers[name] {
            HelperSide::Shared => (format!("{}::helpers::{name}", self.paths.gil_wire), None),
            _ => (format!("support::helpers::{name}"), Some("session".into())),
        }
    }
}

/// `functions.rs`: the API's functions, found at run time.
pub fn functions(api: &Api, paths: &Paths) -> String {
    let mut out = header(
        &format!("{}: the functions of the board's library.", api.title),
        api,
    );
    let _ = writeln!(
        out,
        "#![allow(non_snake_case)]\n\nuse {}::types::*;\nuse {}::function;\nuse std::ffi::{{CStr, c_void}};\n",
        paths.board, paths.back_end
    );
    out.push_str("/// The functions that are forwarded; `None` where the library lacks one.\n#[derive(Clone, Copy, Debug, Default)]\npub struct Functions {\n");
    let calls: Vec<_> = api.calls.iter().filter(|call| is_called(call)).collect();
    for call in &calls {
        let _ = writeln!(out, "/// `{0}`.\npub {0}: Option<{0}_fn>,", call.name);
    }
    out.push_str("}\n\nimpl Functions {\n/// Looks every function up: `find` returns its address, null for one that is not\n/// there.\n///\n/// # Safety\n/// The addresses are those of the API's functions, and stay so.\npub unsafe fn load(find: impl Fn(&CStr) -> *mut c_void) -> Self {\n// SAFETY: the types are those of the API's own headers, as a test that\n// compiles against them shows; the rest is the caller's.\nunsafe { Self {\n");
    for call in &calls {
        let _ = writeln!(out, "{0}: function(find(c\"{0}\")),", call.name);
    }
    out.push_str("} }\n}\n}\n");
    aliases(api, &calls, &mut out);
    out
}

/// The other names of functions, under which a library may have them: contexts of other
/// versions have some of them by an extension.
fn aliases(api: &Api, called: &[&Call], out: &mut String) {
    let is_called = |name: &str| called.iter().any(|call| call.name == name);
    let alias = |call: &Call| match &call.mode {
        Mode::SameAs(other) if is_called(other) => Some((other.clone(), call.name.clone())),
        _ => None,
    };
    let mut all: Vec<_> = api.calls.iter().filter_map(alias).collect();
    if all.is_empty() || api.current.is_none() {
        return;
    }
    all.sort();
    out.push_str("\n/// Functions, and the names that extensions give them; sorted.\npub const ALIASES: &[(&CStr, &CStr)] = &[\n");
    for (name, other) in all {
        let _ = writeln!(out, "(c\"{name}\", c\"{other}\"),");
    }
    out.push_str("];\n");
}

/// Whether the board's side needs the function.
fn is_called(call: &Call) -> bool {
    call.is_exported() && (call.is_forwarded() || matches!(call.mode, Mode::Auto))
}

/// `manual.rs`: the bodies that the board's support code must have.
pub fn manual(api: &Api, paths: &Paths) -> String {
    let mut out = header(&format!("{}: what is written by hand.", api.title), api);
    let _ = writeln!(
        out,
        "#![allow(unused_imports)]\n\nuse {}::{{Call, Refusal}};\nuse {}::Session;\nuse {} as wire;\n",
        paths.back_end, paths.board_support, paths.wire
    );
    for (subject, names) in subjects(api) {
        let _ = writeln!(
            out,
            "/// Calls of one subject whose bodies are written by hand.\npub trait {subject} {{"
        );
        let here = |call: &&Call| names.contains(&call.name) && is_manual(call);
        let calls = api.calls.iter().filter(here);
        calls.for_each(|call| by_hand(call, &mut out));
        out.push_str("}\n\n");
    }
    out.push_str("/// Calls whose bodies are written by hand.\npub trait Manual {\n");
    let is_elsewhere = |call: &Call| api.by_hand.values().flatten().any(|it| *it == call.name);
    let here = |call: &&Call| is_manual(call) && !is_elsewhere(call);
    let calls = api.calls.iter().filter(here);
    calls.for_each(|call| by_hand(call, &mut out));
    out.push_str("}\n");
    out
}

/// Those subjects that have calls of which the board's side is written by hand.
fn subjects(api: &Api) -> impl Iterator<Item = (&String, &Vec<String>)> {
    let is_here = |name: &String| api.call(name).is_some_and(is_manual);
    let all = api.by_hand.iter();
    all.filter(move |(_, names)| names.iter().any(is_here))
}

fn by_hand(call: &Call, out: &mut String) {
    let args = wire::type_name(call, "Args");
    let reply = manual_reply(call);
    let _ = writeln!(
        out,
        "/// `{}`{}.\n///\n/// # Errors\n/// [`Refusal`] if it was not run.\nfn {}(session: &mut Session, call: &mut Call, args: wire::{args}) -> Result<{reply}, Refusal>;\n",
        call.name,
        match reply.as_str() {
            _ if call.around => ", around what is generated for it (`dispatch::run`)",
            "Vec<u8>" => "; gives the encoded reply",
            _ => "",
        },
        snake(&call.name)
    );
}

fn is_manual(call: &Call) -> bool {
    let by_hand = matches!(call.mode, Mode::Manual { board: true, .. });
    (by_hand || call.around) && call.is_forwarded()
}

/// Replies that borrow are encoded by hand; a post has none.
fn manual_reply(call: &Call) -> String {
    match wire::borrows(&wire::reply(call)) {
        _ if is_post(call) => "()".into(),
        true => "Vec<u8>".into(),
        false => format!("wire::{}Reply", camel(&call.name)),
    }
}

/// `dispatch.rs`.
pub fn dispatch(api: &Api, paths: &Paths) -> String {
    let mut out = header(&format!("{}: one function an entry point.", api.title), api);
    out.push_str(
        "#![allow(non_snake_case, unused_imports, unused_parens, clippy::unnecessary_cast, clippy::useless_conversion)]\n\n",
    );
    let _ = writeln!(
        out,
        "use {0}::{{self, Call, Current, DispatchFn, Enqueued, Enqueues, Objects, Order, Refusal}};\nuse {1}::manual::*;\nuse {1}::types::*;\nuse {2}::{{self, Board, Session}};",
        paths.back_end, paths.board, paths.board_support
    );
    let kind = kind_import(api);
    let _ = writeln!(
        out,
        "use {0}::Op;\nuse {0}::call::{{Handle, InfoType}};\nuse {0}::length::{{self, Length}};\nuse {0}::pieces::Pieces;\nuse {1}::{{self as wire{kind}}};",
        paths.gil_wire, paths.wire
    );
    out.push_str("use std::ffi::{c_char, c_int, c_uint, c_void};\nuse std::ptr;\n");
    table(api, &mut out);
    for call in api.calls.iter().filter(|call| call.is_forwarded()) {
        let name = snake(&call.name);
        let body = Body { api, call, paths };
        let _ = writeln!(
            out,
            "\nfn {name}({}, args: &[u8]) -> Result<Vec<u8>, Refusal> {{\n{1}}}",
            body.parameters(&body.text()),
            body.text()
        );
    }
    around(api, paths, &mut out);
    if api.errors.is_some() {
        failed(api, &mut out);
    }
    out
}

/// What is generated for calls that have something by hand around it.
fn around(api: &Api, paths: &Paths, out: &mut String) {
    let calls = api.calls.iter().filter(|call| call.around);
    let mut calls = calls.filter(|call| call.is_forwarded()).peekable();
    if calls.peek().is_none() {
        return;
    }
    out.push_str("\n/// Calls that have something by hand around them: what is generated for each.\npub mod run {\nuse super::*;\n");
    for call in calls {
        let body = Body { api, call, paths };
        let text = body.run();
        let _ = writeln!(
            out,
            "\n/// Calls `{}`.\n///\n/// # Errors\n/// [`Refusal`] if it was not run.\npub fn {}({}, args: &wire::{}) -> Result<wire::{}Reply, Refusal> {{\n{text}}}",
            call.name,
            snake(&call.name),
            body.parameters(&text),
            wire::type_name(call, "Args"),
            camel(&call.name),
        );
    }
    out.push_str("}\n");
}

/// The answers of calls that the driver is not asked about.
fn failed(api: &Api, out: &mut String) {
    out.push_str("\n/// The answer of a call that failed with an error of the API, before the driver was\n/// asked; `None` for one whose answer has no error.\npub fn failed(op: Op, result: i32) -> Option<Result<Vec<u8>, Refusal>> {\nSome(match op.entry() {\n");
    for call in api.calls.iter().filter(|call| call.is_forwarded()) {
        if let Some(reply) = failed_reply(call) {
            let _ = writeln!(out, "{} => back_end::encode(&{reply}),", call.number);
        }
    }
    out.push_str("_ => return None,\n})\n}\n");
}

/// Whether nobody waits for an answer.
fn is_post(call: &Call) -> bool {
    call.class == Some(Class::Post) && call.otherwise.is_none()
}

/// The reply with only a result.
fn failed_reply(call: &Call) -> Option<String> {
    let fields = wire::reply(call);
    let rest = match fields.len() {
        1 => "",
        _ => ", ..Default::default()",
    };
    let has_result = fields.iter().any(|field| field.name == "result");
    let is_answered = !is_post(call) && !matches!(call.mode, Mode::Release);
    (has_result && is_answered)
        .then(|| format!("wire::{}Reply {{ result{rest} }}", camel(&call.name)))
}

fn table(api: &Api, out: &mut String) {
    let calls: Vec<_> = api
        .calls
        .iter()
        .filter(|call| call.is_forwarded())
        .collect();
    let _ = writeln!(
        out,
        "\n/// By entry number.\nstatic DISPATCH: [(u16, DispatchFn<Session>); {}] = [",
        calls.len()
    );
    for call in calls {
        let _ = writeln!(out, "({}, {}),", call.number, snake(&call.name));
    }
    let _ = writeln!(
        out,
        "];\n\n/// The function that runs an operation; `None` for one that is never forwarded.\npub fn dispatch(op: Op) -> Option<DispatchFn<Session>> {{\nif op.api() != {} {{ return None; }}\nlet at = DISPATCH.binary_search_by_key(&op.entry(), |(entry, _)| *entry).ok()?;\nSome(DISPATCH[at].1)\n}}",
        api.number
    );
}

/// One dispatch function.
struct Body<'a> {
    api: &'a Api,
    call: &'a Call,
    paths: &'a Paths,
}

impl Body<'_> {
    fn scope(&self) -> BoardScope<'_> {
        BoardScope {
            api: self.api,
            paths: self.paths,
        }
    }

    /// The session and the call, marked where the text does not use them.
    fn parameters(&self, text: &str) -> String {
        let underscore = |word: &str| if text.contains(word) { "" } else { "_" };
        let (session, call) = (underscore("session"), underscore("call"));
        format!("{session}session: &mut Session, {call}call: &mut Call")
    }

    /// The answer, as the function that it ends gives it.
    fn answer(&self, reply: &str) -> String {
        match self.call.around {
            true => format!("Ok({reply})"),
            false => format!("back_end::encode(&{reply})"),
        }
    }

    fn decode(&self) -> String {
        let is_by_hand = matches!(self.call.mode, Mode::Manual { .. });
        let args = if wire::args(self.call).is_empty() && !is_by_hand {
            "_"
        } else {
            "args"
        };
        format!(
            "let {args}: wire::{}Args = back_end::decode(args)?;\n",
            camel(&self.call.name)
        )
    }

    fn text(&self) -> String {
        match &self.call.mode {
            Mode::Release => self.release(),
            _ if is_manual(self.call) => self.by_hand(),
            _ if self.info().is_some() => self.query(),
            _ => self.decode() + &self.run(),
        }
    }

    fn release(&self) -> String {
        let param = &self.call.params[0];
        let kind = guest::kind_of(self.api, param);
        format!(
            "{}session.release(Kind::{kind}, args.{})?;\nOk(Vec::new())\n",
            self.decode(),
            ident(&param.name)
        )
    }

    fn by_hand(&self) -> String {
        let name = snake(&self.call.name);
        let decode = self.decode();
        match manual_reply(self.call).starts_with("Vec") {
            _ if is_post(self.call) => {
                format!("{decode}Board::{name}(session, call, args)?;\nOk(Vec::new())\n")
            }
            true => format!("{decode}Board::{name}(session, call, args)\n"),
            false => format!("{decode}back_end::encode(&Board::{name}(session, call, args)?)\n"),
        }
    }

    fn info(&self) -> Option<&Param> {
        self.call
            .params
            .iter()
            .find(|p| matches!(p.role, Role::Info { .. }))
    }

    /// The function, or the answer that it is missing.
    fn function(&self) -> String {
        let name = &self.call.name;
        let fields = wire::reply(self.call);
        let reply = format!("wire::{}Reply", camel(name));
        let missing = self.api.errors.as_ref().map(|e| e.missing.as_str());
        let answer = match missing {
            _ if self.call.class == Some(Class::Post) => "Ok(Vec::new())".into(),
            Some(code) if fields.iter().any(|f| f.name == "result") => {
                let rest = if fields.len() > 1 {
                    ", ..Default::default()"
                } else {
                    ""
                };
                self.answer(&format!("{reply} {{ result: {code} as i32{rest} }}"))
            }
            _ if fields.is_empty() => self.answer(&reply),
            _ => self.answer(&format!("{reply}::default()")),
        };
        format!("let Some(function) = session.functions().{name} else {{ return {answer}; }};\n")
    }

    fn query(&self) -> String {
        let mut out = self.decode();
        out.push_str(&self.function());
        let mut derived = BTreeMap::new();
        for param in &self.call.params {
            self.prelude(param, &mut derived, &mut out);
        }
        let Some(Role::Info {
            name,
            size,
            size_ret,
            ..
        }) = self.info().map(|param| &param.role)
        else {
            return out;
        };
        let _ = writeln!(
            out,
            "let kind = wire::{}(args.{name}).filter(|kind| *kind != InfoType::Local).ok_or(Refusal::parameter(\"{name}\", args.{name}.into()))?;",
            snake(&self.call.name)
        );
        let arg = |param: &Param| match &param.role {
            Role::Info { .. } => "value".into(),
            _ if param.name == *size => "size".into(),
            _ if param.name == *size_ret => "size_ret".into(),
            _ => self.argument(param, &derived),
        };
        let args: Vec<_> = self.call.params.iter().map(arg).collect();
        let room = self
            .info()
            .map_or(String::new(), |param| ident(&param.name));
        let _ = writeln!(
            out,
            "// SAFETY: the objects are alive, and `info` provides a buffer of the size it states.\nlet info = back_end::info(session, call, kind, args.{room}, |size, value, size_ret| unsafe {{ function({}) }})?;",
            args.join(", ")
        );
        let _ = writeln!(
            out,
            "back_end::encode(&wire::{}Reply {{ result: info.result, size: info.size, value: info.value() }})",
            camel(&self.call.name)
        );
        out
    }

    /// What calls the function, once the arguments are decoded.
    fn run(&self) -> String {
        let mut out = self.function();
        if self.call.current {
            out.push_str("session.make_current(args.current)?;\n");
        }
        let mut derived = BTreeMap::new();
        for param in &self.call.params {
            self.prelude(param, &mut derived, &mut out);
        }
        if matches!(self.call.returns, Returns::New(..)) {
            out.push_str("session.can_bind(args.new)?;\n");
        }
        let args: Vec<_> = self
            .call
            .params
            .iter()
            .map(|p| self.argument(p, &derived))
            .collect();
        self.invoke(&args.join(", "), &mut out);
        self.finish(&mut out);
        out
    }

    fn invoke(&self, args: &str, out: &mut String) {
        if self.call.way == Way::Written {
            let errors = self.api.errors.as_ref();
            let (ty, success) = errors.map_or(("i32", "0"), |e| {
                (e.ctype.as_deref().unwrap_or("i32"), e.success.as_str())
            });
            let _ = writeln!(out, "let mut result: {ty} = {success};");
        }
        let kept = match (&self.api.errors, self.call.way) {
            (
                Some(Errors {
                    success,
                    kept: Some(none),
                    ..
                }),
                Way::Returned,
            ) => format!(
                "let result = if result == {success} {{ {none} }} else {{ session.last_error() }};\n"
            ),
            _ => String::new(),
        };
        let binding = match (&self.call.returns, self.call.way) {
            (Returns::New(..), _) => "let object = ",
            (Returns::Value(_), _) => "let value = ",
            _ if self.call.class == Some(Class::Post) && self.call.otherwise.is_none() => "",
            (_, Way::Returned) => "let result = ",
            _ => "",
        };
        let _ = writeln!(
            out,
            "// SAFETY: objects are alive and of their kind; memory is as long as the function\n// will read or write, by the same expressions.\n{binding}call.timed(|| unsafe {{ function({args}) }});"
        );
        out.push_str(&kept);
    }

    /// A length in the board's own types, or a refusal.
    fn len(&self, len: &Expr, of: &str) -> String {
        if let Expr::Number(n) = len {
            return n.to_string();
        }
        if let Some(Param {
            role:
                Role::Scalar {
                    scalar: Scalar::Usize,
                    ..
                },
            name,
            ..
        }) = expr::is_plain(self.call, len)
        {
            return format!("back_end::size(args.{}, \"{name}\")?", ident(name));
        }
        format!("back_end::bytes({}, \"{of}\")?", self.length(len))
    }

    fn length(&self, len: &Expr) -> String {
        expr::length(self.api, self.call, len, &self.scope())
    }
}
