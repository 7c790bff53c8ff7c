//! The guest's stubs: what a program calls.

mod args;
mod output;

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
            HelperSide::State => (
                format!("helpers::{name}"),
                self.current.then(|| "&current".into()),
            ),
            HelperSide::Guest | HelperSide::Board => (format!("helpers::{name}"), None),
        }
    }
}

/// `stubs.rs`.
pub fn stubs(api: &Api, paths: &Paths) -> String {
    let mut out = header(&format!("{}: the exported functions.", api.title), api);
    out.push_str("#![allow(non_snake_case, unused_imports, unused_parens, clippy::too_many_arguments, clippy::unnecessary_cast)]\n\n");
    let _ = writeln!(
        out,
        "use {}::manual::{{Local, Manual}};\nuse {}::types::*;",
        paths.guest, paths.guest
    );
    let _ = writeln!(
        out,
        "use {}::{{self, Details, Guest, Request, Room, details, helpers}};",
        paths.guest_support
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
        stub_params(call),
        arrow(&call.ret)
    );
    out.push_str(&match &call.mode {
        Mode::Unsupported => unsupported(call),
        Mode::SameAs(other) => {
            let body = forwarded_to(call, &format!("{other}("), false);
            format!("{}{body}", noted(api, call, paths))
        }
        Mode::Stub | Mode::Manual { guest: true, .. } => {
            let body = forwarded_to(call, &format!("Guest::{}(entry, ", call.name), true);
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

/// Unsupported calls ignore what they are given, but for the error's place.
fn stub_params(call: &Call) -> String {
    if call.mode != Mode::Unsupported {
        return rust_params(call);
    }
    let param = |p: &Param| {
        let unused = if p.role == Role::Error { "" } else { "_" };
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
            "// SAFETY: the caller's.\nunsafe {{ support::written({}, || Err({code})) }}\n",
            place.name
        ),
        (Some(code), None) => format!("{code}\n"),
        (None, _) if call.ret.is_void() => String::new(),
        (None, _) if call.ret.target().is_some() => "ptr::null_mut()\n".into(),
        (None, _) => "Default::default()\n".into(),
    }
}

fn forwarded_to(call: &Call, function: &str, _entry: bool) -> String {
    let names: Vec<_> = call.params.iter().map(|p| ident(&p.name)).collect();
    format!(
        "// SAFETY: the caller's.\nunsafe {{ {function}{}) }}\n",
        names.join(", ")
    )
}

fn reference(api: &Api, call: &Call, what: &str, entry: &str) -> String {
    let param = &call.params[0];
    let kind = kind_of(api, param);
    format!(
        "support::returned(|| support::{what}(Kind::{kind}, {}{entry}))\n",
        ident(&param.name)
    )
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
        let inner = self.inner();
        let safety = "// SAFETY: the caller keeps the API's promises for every pointer.\n";
        match self.call.way {
            Way::Written => {
                let place = self.call.params.iter().find(|p| p.role == Role::Error);
                let place = place.map_or("ptr::null_mut()", |p| p.name.as_str());
                format!("{safety}unsafe {{ support::written({place}, || {{ {inner} }}) }}\n")
            }
            way => {
                let wrapper = match (way, &self.call.returns) {
                    (Way::Returned, _) => "returned",
                    (Way::Noted, _) => "noted",
                    (_, Returns::Value(_)) => "value",
                    _ => "nothing",
                };
                match self.is_unsafe() {
                    true => format!("support::{wrapper}(|| {{ {safety} unsafe {{ {inner} }} }})\n"),
                    false => format!("support::{wrapper}(|| {{ {inner} }})\n"),
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
            Role::Callback { once, .. } => once.as_ref().is_none_or(Vec::is_empty),
            _ => false,
        };
        !self.call.params.iter().all(safe)
    }

    fn inner(&self) -> String {
        let mut out = String::new();
        self.notified(&mut out);
        if self.call.current {
            out.push_str("let current = support::current()?;\n");
        }
        for param in &self.call.params {
            self.convert(param, &mut out);
        }
        if let Some(helper) = &self.call.instead {
            let args: Vec<_> = helper.args.iter().map(|arg| self.helper_arg(arg)).collect();
            let _ = writeln!(
                out,
                "if let Some(done) = helpers::{}(entry, {}) {{ return done; }}",
                helper.name,
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
            let _ = writeln!(out, "helpers::{}({})?;", check.name, args.join(", "));
        }
        self.request(&mut out);
        if matches!(self.call.class, Some(Class::Wait | Class::Poll)) {
            out.push_str("request.wait()\n");
            return out;
        }
        if matches!(self.call.returns, Returns::New(..)) {
            out.push_str("let new = support::new_number();\n");
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
        let value = self.api.errors.as_ref().map_or("0", |e| e.value.as_str());
        let answer = format!(
            "let bytes = Guest::{}(entry, {objects}{name})?;\nsupport::answer(&room, &bytes)",
            self.call.name
        );
        if self.call.is_local {
            let _ = writeln!(
                out,
                "wire::{}({name}).ok_or({value})?;\n{answer}",
                snake(&self.call.name)
            );
            return;
        }
        let _ = writeln!(
            out,
            "let kind = wire::{}({name}).ok_or({value})?;",
            snake(&self.call.name)
        );
        if table.values().any(|kind| *kind == InfoKind::Local) {
            let _ = writeln!(
                out,
                "if kind == InfoType::Local {{ {answer_return} }}",
                answer_return = answer.replace("\nsupport", "\nreturn support") + ";"
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
                true => format!("support::queue_or_default(&{})?", ident(queue)),
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
            let event = event.map_or("ptr::null_mut()".into(), |p| ident(&p.name));
            let _ = writeln!(
                out,
                "let signal = support::new_event({event});\nrequest.signals(signal.number, signal.kept);"
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
        let bounds = self
            .api
            .errors
            .as_ref()
            .map_or("support::BOUNDS", |e| e.bounds.as_str());
        let length = expr::length(self.api, self.call, len, &self.scope());
        format!("{length}.get().ok_or({bounds})?")
    }
}

/// `manual.rs`: what the guest's support code must have.
pub fn manual(api: &Api, paths: &Paths) -> String {
    let mut out = header(&format!("{}: what is written by hand.", api.title), api);
    out.push_str("#![allow(non_snake_case, unused_imports, clippy::too_many_arguments)]\n\n");
    let _ = writeln!(
        out,
        "use {}::types::*;\nuse {}::{{CallResult, Object, Room}};\nuse std::ffi::{{c_char, c_int, c_uint, c_void}};\n",
        paths.guest, paths.guest_support
    );
    out.push_str("/// Entry points whose bodies are written by hand.\npub trait Manual {\n");
    for call in &api.calls {
        if matches!(call.mode, Mode::Stub | Mode::Manual { guest: true, .. }) && call.is_exported()
        {
            let _ = writeln!(
                out,
                "/// `{0}`.\n///\n/// # Safety\n/// As {1} says of the caller.\nunsafe fn {0}(entry: u64, {2}){3};\n",
                call.name,
                api.title,
                rust_params(call),
                arrow(&call.ret)
            );
        }
        manual_queries(api, call, &mut out);
    }
    out.push_str("}\n\n/// Queries that the guest answers from what it knows, in its own layout.\npub trait Local {\n");
    for call in &api.calls {
        local_query(api, call, &mut out);
    }
    out.push_str("}\n");
    out
}

fn table_of<'a>(
    api: &'a Api,
    call: &'a Call,
) -> Option<(&'a str, &'a std::collections::BTreeMap<String, InfoKind>)> {
    call.params.iter().find_map(|param| match &param.role {
        Role::Info { name, table, .. } => Some((name.as_str(), &api.queries[table])),
        _ => None,
    })
}

fn query_params(call: &Call, name: &str) -> String {
    let mut out = String::new();
    for param in call.params.iter().take_while(|p| p.name != name) {
        let ty = match &param.role {
            Role::Handle { optional: true, .. } => "Option<&Object>".into(),
            Role::Handle { .. } => "&Object".into(),
            _ => rust_type(&param.ctype),
        };
        let _ = write!(out, "{}: {ty}, ", ident(&param.name));
    }
    out
}

fn manual_queries(api: &Api, call: &Call, out: &mut String) {
    let Some((name, table)) = table_of(api, call) else {
        return;
    };
    for (constant, _) in table.iter().filter(|(_, kind)| **kind == InfoKind::Manual) {
        let _ = writeln!(
            out,
            "/// `{0}` for `{constant}`.\n///\n/// # Errors\n/// The API's code.\n///\n/// # Safety\n/// As {1} says of the caller.\nunsafe fn {0}_{constant}(entry: u64, {2}room: &Room) -> CallResult<()>;\n",
            call.name,
            api.title,
            query_params(call, name)
        );
    }
}

fn local_query(api: &Api, call: &Call, out: &mut String) {
    let Some((name, table)) = table_of(api, call) else {
        return;
    };
    if table.values().any(|kind| *kind == InfoKind::Local) {
        let _ = writeln!(
            out,
            "/// `{}` for the names that are local.\n///\n/// # Errors\n/// The API's code.\nfn {}(entry: u64, {}{name}: u32) -> CallResult<Vec<u8>>;\n",
            call.name,
            call.name,
            query_params(call, name)
        );
    }
}
