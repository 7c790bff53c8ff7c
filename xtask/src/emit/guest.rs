//! The guest's stubs: what a program calls.

mod args;
mod manual;
mod output;
mod small;

pub use manual::manual;

use super::expr::{self, Scope};
use super::*;
use crate::spec::expr::Expr;
use std::fmt::Write;

/// Names of the guest's side.
pub struct GuestScope<'a> {
    api: &'a Api,
    paths: &'a Paths,
    current: bool,
}

impl Scope for GuestScope<'_> {
    fn scalar(&self, param: &Param) -> String {
        ident(&param.name)
    }

    fn array(&self, param: &Param) -> String {
        format!("{}.as_deref()", derived(&param.name, "in"))
    }

    fn helper(&self, name: &str) -> (String, Option<String>) {
        match self.api.helpers[name] {
            HelperSide::Shared => (format!("{}::helpers::{name}", self.paths.gil_wire), None),
            HelperSide::State => (helper_path(name), self.current.then(|| "&current".into())),
            HelperSide::Guest | HelperSide::Board => (helper_path(name), None),
        }
    }
}

/// The library's own function for a helper.
fn helper_path(name: &str) -> String {
    format!("<Guest as Helpers>::{name}")
}

/// `stubs.rs`.
pub fn stubs(api: &Api, paths: &Paths) -> String {
    let mut out = header(&format!("{}: the exported functions.", api.title), api);
    out.push_str("#![allow(non_snake_case, unused_imports, unused_parens, clippy::redundant_field_names, clippy::too_many_arguments, clippy::unit_arg, clippy::unnecessary_cast)]\n\n");
    let subjects: String = api.by_hand.keys().map(|it| format!("{it}, ")).collect();
    let _ = writeln!(
        out,
        "use {0}::manual::{{{subjects}Guest, Helpers, Kept, Local, Manual, Object, Request}};\nuse {0}::types::*;",
        paths.guest
    );
    let _ = writeln!(
        out,
        "use {0}::api::{{Api, Current, DefaultQueue, Deferred, Described, Events, Noted}};\nuse {0}::{{Room, callbacks, data, info}};",
        paths.runtime
    );
    let _ = writeln!(
        out,
        "use {0}::call::{{InData, InfoType, Packed}};\n#[allow(unused_imports)]\nuse {0}::envelope::{{Class, Engine, Order}};\nuse {0}::length::Length;",
        paths.gil_wire
    );
    let kind = kind_import(api);
    let _ = writeln!(out, "use {}::{{self as wire{kind}}};", paths.wire);
    out.push_str("use std::ffi::{c_char, c_int, c_uint, c_void};\nuse std::ptr;\n");
    for call in api.calls.iter().filter(|call| call.is_exported()) {
        out.push_str(&stub(api, call, paths));
    }
    out
}

fn stub(api: &Api, call: &Call, paths: &Paths) -> String {
    let mut out = format!(
        "\n/// `{}`.\n///\n/// # Safety\n/// As {} says of the caller.\n",
        call.name, api.title
    );
    let _ = writeln!(
        out,
        "#[unsafe(export_name = \"{}{}\")]\npub unsafe extern \"C\" fn {}({}){} {{",
        gil_guest_names::PREFIX,
        call.name,
        call.name,
        stub_params(api, call),
        arrow(&call.ret)
    );
    out.push_str(&match &call.mode {
        Mode::Unsupported if call.check.is_some() => {
            format!("{}{}", noted(api, call, paths), refused(api, call))
        }
        Mode::Unsupported => unsupported(call),
        Mode::SameAs(other) => {
            let body = forwarded_to(call, &format!("{other}("));
            format!("{}{body}", noted(api, call, paths))
        }
        Mode::Stub | Mode::Manual { guest: true, .. } => {
            let body = forwarded_to(call, &format!("Guest::{}(entry, ", call.name));
            format!("{}{body}", entry(api, call, paths))
        }
        Mode::Retain => format!(
            "{}{}",
            noted(api, call, paths),
            reference(api, call, "retain", "")
        ),
        Mode::Release => format!(
            "{}{}",
            entry(api, call, paths),
            reference(api, call, "release", ", entry")
        ),
        Mode::Auto | Mode::Manual { .. } => {
            let body = Stub { api, call, paths }.body();
            format!("{}{body}", entry(api, call, paths))
        }
    });
    out.push_str("}\n");
    out
}

/// Unsupported calls ignore what they are given, but for the error's place and for what they
/// look at before they fail.
fn stub_params(api: &Api, call: &Call) -> String {
    if call.mode != Mode::Unsupported {
        return rust_params(call);
    }
    let is_used = |p: &Param| p.role == Role::Error || is_looked_at(api, call, p);
    let param = |p: &Param| {
        let unused = if is_used(p) { "" } else { "_" };
        format!("{unused}{}: {}", p.name, rust_type(&p.ctype))
    };
    call.params.iter().map(param).collect::<Vec<_>>().join(", ")
}

/// Notes that the program called, and when.
fn entry(api: &Api, call: &Call, paths: &Paths) -> String {
    let noted = noted(api, call, paths);
    format!("{noted}let entry = {}::entry();\n", paths.runtime)
}

/// Notes that the program called.
fn noted(api: &Api, call: &Call, paths: &Paths) -> String {
    let (runtime, wire) = (&paths.runtime, &paths.gil_wire);
    let (api, entry) = (api.number, call.number);
    format!("{runtime}::note({wire}::Op::new({api}, {entry}));\n")
}

fn unsupported(call: &Call) -> String {
    let written = call.params.iter().find(|param| param.role == Role::Error);
    match (&call.fails, written) {
        (Some(code), Some(place)) => format!(
            "// SAFETY: the caller's.\nunsafe {{ Guest::written({}, || Err({code})) }}\n",
            place.name
        ),
        (Some(code), None) => format!("{code}\n"),
        (None, _) if call.ret.is_void() => String::new(),
        (None, _) if call.ret.target().is_some() => "ptr::null_mut()\n".into(),
        (None, _) => "Default::default()\n".into(),
    }
}

/// Whether an unsupported call with a `check` looks at this parameter: whether it is an object.
fn is_looked_at(api: &Api, call: &Call, param: &Param) -> bool {
    let name = param.ctype.name();
    call.check.is_some() && name.is_some_and(|name| api.handles.contains_key(name))
}

/// What a call does that fails whatever it is given, if it is given objects that are there.
fn refused(api: &Api, call: &Call) -> String {
    let mut out = String::from("Guest::returned(|| {\n");
    for param in call.params.iter().filter(|it| is_looked_at(api, call, it)) {
        let (kind, name) = (kind_of(api, param), ident(&param.name));
        let _ = writeln!(out, "Object::find(Kind::{kind}, {name})?;");
    }
    if let Some(check) = &call.check {
        let _ = writeln!(out, "{}()?;", helper_path(&check.name));
    }
    let code = call.fails.as_deref().unwrap_or("Guest::GARBLED");
    let _ = writeln!(out, "Err({code})\n}})");
    out
}

fn forwarded_to(call: &Call, function: &str) -> String {
    let names: Vec<_> = call.params.iter().map(|p| ident(&p.name)).collect();
    format!(
        "// SAFETY: the caller's.\nunsafe {{ {function}{}) }}\n",
        names.join(", ")
    )
}

fn reference(api: &Api, call: &Call, what: &str, entry: &str) -> String {
    let param = &call.params[0];
    let kind = kind_of(api, param);
    let name = ident(&param.name);
    if call.ret.is_void() {
        // As C's free, it ignores null.
        return format!(
            "if !{name}.is_null() {{\nGuest::nothing(|| Object::{what}(Kind::{kind}, {name}{entry}));\n}}\n"
        );
    }
    format!("Guest::returned(|| Object::{what}(Kind::{kind}, {name}{entry}))\n")
}

/// The kind of a handle parameter's objects.
pub fn kind_of(api: &Api, param: &Param) -> String {
    let name = param
        .ctype
        .name()
        .or_else(|| param.ctype.target().and_then(CType::name));
    let handle = name.and_then(|name| api.handles.get(name));
    handle.map(|handle| handle.kind.clone()).unwrap_or_default()
}

/// Why a stub may use the program's pointers.
const PROMISES: &str = "// SAFETY: the caller keeps the API's promises for every pointer.\n";

/// One stub that forwards.
struct Stub<'a> {
    api: &'a Api,
    call: &'a Call,
    paths: &'a Paths,
}

impl Stub<'_> {
    fn scope(&self) -> GuestScope<'_> {
        GuestScope {
            api: self.api,
            paths: self.paths,
            current: self.call.current,
        }
    }

    fn body(&self) -> String {
        if let Some(body) = self.numbers() {
            return body;
        }
        let (inner, safety) = (self.inner(), PROMISES);
        match self.call.way {
            Way::Written => {
                let place = self.call.params.iter().find(|p| p.role == Role::Error);
                let place = place.map_or("ptr::null_mut()", |p| p.name.as_str());
                format!("{safety}unsafe {{ Guest::written({place}, || {{ {inner} }}) }}\n")
            }
            way => {
                let wrapper = match (way, &self.call.returns) {
                    (Way::Returned, _) => "returned",
                    (Way::Noted, _) => "noted",
                    (_, Returns::Value(_)) => "value",
                    _ => "nothing",
                };
                match self.is_unsafe() {
                    true => format!("Guest::{wrapper}(|| {{ {safety} unsafe {{ {inner} }} }})\n"),
                    false => format!("Guest::{wrapper}(|| {{ {inner} }})\n"),
                }
            }
        }
    }

    /// Whether it touches the program's memory.
    fn is_unsafe(&self) -> bool {
        let safe = |param: &Param| match &param.role {
            Role::Scalar { .. }
            | Role::Handle { .. }
            | Role::Derived
            | Role::Blocking
            | Role::UserData
            | Role::Unused => true,
            Role::Callback { once, .. } => once.is_none(),
            _ => false,
        };
        let call = self.call;
        let helpers = [&call.check, &call.instead, &call.posts_if, &call.details];
        !call.params.iter().all(safe)
            || helpers
                .into_iter()
                .flatten()
                .any(|helper| manual::is_unsafe(call, helper))
    }

    fn inner(&self) -> String {
        let mut out = String::new();
        self.notified(&mut out);
        if self.call.current {
            out.push_str("let current = Guest::current()?;\n");
        }
        for param in &self.call.params {
            self.convert(param, &mut out);
        }
        if let Some(helper) = &self.call.instead {
            let args: Vec<_> = helper.args.iter().map(|arg| self.helper_arg(arg)).collect();
            let _ = writeln!(
                out,
                "if let Some(done) = {}(entry, {}) {{ return done; }}",
                helper_path(&helper.name),
                args.join(", ")
            );
        }
        if let Some(info) = self.info() {
            self.local_info(info, &mut out);
        }
        if self.call.is_local {
            return out;
        }
        if let Some(check) = &self.call.check {
            let args: Vec<_> = check.args.iter().map(|arg| self.helper_arg(arg)).collect();
            let path = helper_path(&check.name);
            let _ = writeln!(out, "{path}({})?;", args.join(", "));
        }
        self.versions(&mut out);
        self.request(&mut out);
        if matches!(self.call.class, Some(Class::Wait | Class::Poll)) {
            out.push_str("request.wait()\n");
            return out;
        }
        if matches!(self.call.returns, Returns::New(..)) {
            let _ = writeln!(out, "let new = {}::new_number();", self.paths.runtime);
        }
        self.args(&mut out);
        self.submit(&mut out);
        out
    }

    fn info(&self) -> Option<&Param> {
        self.call
            .params
            .iter()
            .find(|p| matches!(p.role, Role::Info { .. }))
    }

    /// What the board never hears of.
    fn local_info(&self, param: &Param, out: &mut String) {
        let Role::Info {
            name,
            size,
            size_ret,
            table,
        } = &param.role
        else {
            return;
        };
        let _ = writeln!(
            out,
            "let room = Room {{ size: {size}, value: {}, size_ret: {size_ret} }};",
            param.name
        );
        let table = &self.api.queries[table];
        let objects = self.info_objects(name);
        for (constant, _) in table.iter().filter(|(_, kind)| **kind == InfoKind::Manual) {
            let _ = writeln!(
                out,
                "if {name} == {constant} {{ return Guest::{}_{constant}(entry, {objects}&room); }}",
                self.call.name
            );
        }
        let answer = format!(
            "let bytes = Guest::{}(entry, {objects}{name})?;\n",
            self.call.name
        );
        let told = "info::answer::<Guest>(&room, &bytes)";
        if self.call.is_local {
            let _ = writeln!(
                out,
                "wire::{}({name}).ok_or(Guest::VALUE)?;\n{answer}{told}",
                snake(&self.call.name)
            );
            return;
        }
        let _ = writeln!(
            out,
            "let kind = wire::{}({name}).ok_or(Guest::VALUE)?;",
            snake(&self.call.name)
        );
        if table.values().any(|kind| *kind == InfoKind::Local) {
            let _ = writeln!(
                out,
                "if kind == InfoType::Local {{ {answer}return {told}; }}"
            );
        }
    }

    /// The arguments of a local query before its name.
    fn info_objects(&self, name: &str) -> String {
        let mut out = String::new();
        for param in self.call.params.iter().take_while(|p| p.name != *name) {
            let _ = match &param.role {
                Role::Handle { optional: true, .. } => {
                    write!(out, "{}.as_ref(), ", ident(&param.name))
                }
                Role::Handle { .. } => write!(out, "&{}, ", ident(&param.name)),
                _ => write!(out, "{}, ", ident(&param.name)),
            };
        }
        out
    }

    fn request(&self, out: &mut String) {
        let op = screaming(&self.call.name);
        let class = self.class(out);
        let regions = self.call.params.iter().any(|param| {
            matches!(
                param.role,
                Role::Bytes { .. }
                    | Role::Versioned(_)
                    | Role::CStr(_)
                    | Role::Packed { .. }
                    | Role::Pieces(_)
                    | Role::Info { .. }
                    | Role::Union(..)
            )
        });
        let waits = self
            .call
            .params
            .iter()
            .find(|p| matches!(p.role, Role::Waits { .. }));
        let enqueue = self.call.class == Some(Class::Enqueue);
        let is_mut = regions
            || waits.is_some()
            || enqueue
            || self.call.queue.is_some()
            || self.call.signals.is_some();
        let mutable = if is_mut { "mut " } else { "" };
        let _ = writeln!(
            out,
            "let {mutable}request = Request::new(wire::{op}, {class}, entry);"
        );
        if let Some(queue) = &self.call.queue {
            let (engine, order) = self.call.engine.unwrap_or(("NONE", "Command"));
            let optional = matches!(
                self.call.param(queue).map(|param| &param.role),
                Some(Role::Handle { optional: true, .. })
            );
            let queue = match optional {
                true => format!("Guest::queue_or_default(&{})?", ident(queue)),
                // The current object is bound under that name.
                false => format!("{}.queue()", ident(queue)),
            };
            let _ = writeln!(out, "request.queue({queue}, Engine::{engine});");
            if order != "Command" {
                let _ = writeln!(out, "request.order(Order::{order});");
            }
        }
        if let Some(blocking) = &self.call.blocking {
            let _ = writeln!(out, "request.blocking({} != 0);", ident(blocking));
        }
        if let Some(waits) = waits {
            let _ = writeln!(out, "request.waits(&{});", derived(&waits.name, "in"));
        }
        if let Some(event) = &self.call.signals {
            let _ = writeln!(out, "request.signals({}.number(), true);", ident(event));
        }
        if enqueue {
            let event = self.call.params.iter().find(|p| p.role == Role::Signals);
            let event = event.map_or("ptr::null_mut::<c_void>()".into(), |p| ident(&p.name));
            // A callback waits for it, whether or not the program has it.
            let observed = match self.called_at_its_turn() {
                Some(callback) => format!("{}.is_some()", ident(callback)),
                None => "signal.kept".into(),
            };
            let runtime = &self.paths.runtime;
            let _ = writeln!(
                out,
                "let signal = {runtime}::new_event({event});\nrequest.signals(signal.number, {observed});"
            );
        }
    }

    fn class(&self, out: &mut String) -> String {
        let first = self.call.class.map_or("Query", Class::rust);
        let Some((condition, second)) = &self.call.otherwise else {
            return format!("Class::{first}");
        };
        let condition = expr::length(self.api, self.call, condition, &self.scope());
        let _ = writeln!(
            out,
            "let class = match {condition}.number() {{ Some(0) | None => Class::{}, Some(_) => Class::{first} }};",
            second.rust()
        );
        "class".into()
    }

    /// A length in the guest's own types.
    pub(super) fn len(&self, len: &Expr) -> String {
        if let Expr::Number(n) = len {
            return n.to_string();
        }
        if let Some(Param {
            role: Role::Scalar { scalar, .. },
            name,
            ..
        }) = expr::is_plain(self.call, len)
        {
            match scalar {
                Scalar::Usize => return ident(name),
                Scalar::U32 => return format!("{} as usize", ident(name)),
                _ => {}
            }
        }
        let length = expr::length(self.api, self.call, len, &self.scope());
        format!("{length}.get().ok_or(Guest::BOUNDS)?")
    }
}
