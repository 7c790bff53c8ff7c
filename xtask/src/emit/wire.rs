//! The wire types: one argument and one reply type an entry point.

use super::*;
use std::fmt::Write;

/// A field of a wire type.
#[derive(Clone, Debug, PartialEq)]
pub struct WireField {
    /// Its name.
    pub name: String,
    /// Its Rust type.
    pub ty: String,
}

impl WireField {
    fn new(name: &str, ty: impl Into<String>) -> Self {
        Self {
            name: ident(name),
            ty: ty.into(),
        }
    }
}

/// The fields of a call's arguments.
pub fn args(call: &Call) -> Vec<WireField> {
    if let Some(fields) = &call.wire {
        return fields
            .iter()
            .map(|(n, ty)| WireField::new(n, field_type(ty)))
            .collect();
    }
    let mut fields = Vec::new();
    if call.current {
        fields.push(WireField::new("current", "Handle"));
    }
    for param in &call.params {
        fields.extend(arg(param));
    }
    if let Returns::New(..) = call.returns {
        fields.push(WireField::new("new", "Handle"));
    }
    let signals = call.params.iter().any(|param| param.role == Role::Signals);
    if call.class == Some(Class::Enqueue) && !signals {
        fields.push(WireField::new("event", "NewEvent"));
    }
    fields
}

fn arg(param: &Param) -> Option<WireField> {
    let field = |ty: &str| Some(WireField::new(&param.name, ty));
    match &param.role {
        Role::Scalar { scalar, .. } => field(scalar.wire()),
        Role::Handle { .. } | Role::OutNew { .. } => field("Handle"),
        Role::Handles { .. } => field("Option<Vec<Handle>>"),
        Role::Waits { .. } => field("Vec<Handle>"),
        Role::Signals => field("NewEvent"),
        Role::Bytes { direction, .. } => field(match direction {
            Direction::In => "InData<'a>",
            Direction::Out | Direction::InOut => "OutRoom",
        }),
        Role::Array { scalar, .. } => field(&format!("Option<Vec<{}>>", scalar.wire())),
        Role::OutArray { .. }
        | Role::OutStructs { .. }
        | Role::OutHandles { .. }
        | Role::Counter(_)
        | Role::Out(_)
        | Role::UserData => field("bool"),
        Role::Struct(name) => field(&format!("Option<{}>", camel(name))),
        Role::CStr(_) => field("InData<'a>"),
        Role::Packed { .. } | Role::Pieces(_) => field("Packed<'a>"),
        Role::List { .. } => field("Option<Vec<Property>>"),
        Role::Info { .. } | Role::Versioned(_) => field("OutRoom"),
        Role::Union(name, _) => field(&format!("{name}<'a>")),
        Role::Derived | Role::Blocking | Role::Callback { .. } | Role::Error | Role::Unused => None,
    }
}

/// The fields of a call's reply.
pub fn reply(call: &Call) -> Vec<WireField> {
    let mut fields = Vec::new();
    if !matches!(call.way, Way::None) || call.reply.is_some() || call.wire.is_some() {
        fields.push(WireField::new("result", "i32"));
    }
    if let Some(own) = &call.reply {
        let ty = |ty: &FieldType| match ty {
            FieldType::Out => "OutData<'a>".into(),
            other => field_type(other),
        };
        fields.extend(own.iter().map(|(name, t)| WireField::new(name, ty(t))));
        return fields;
    }
    if let Returns::Value(scalar) = call.returns {
        fields.push(WireField::new("value", scalar.wire()));
    }
    if call.wire.is_none() {
        call.params
            .iter()
            .for_each(|param| fields.extend(output(call, param)));
    }
    fields
}

fn output(call: &Call, param: &Param) -> Vec<WireField> {
    let field = |ty: &str| vec![WireField::new(&param.name, ty)];
    match &param.role {
        Role::OutArray { scalar, .. } => field(&format!("Vec<{}>", scalar.wire())),
        Role::OutStructs { name, .. } => field(&format!("Vec<{}>", camel(name))),
        Role::OutHandles { .. } => field("Vec<Handle>"),
        Role::Counter(scalar) | Role::Out(scalar) => field(scalar.wire()),
        Role::Bytes { direction, .. } => match direction {
            Direction::In => Vec::new(),
            // An operation's output comes with its report.
            _ if call.class == Some(Class::Enqueue) => Vec::new(),
            _ => field("OutData<'a>"),
        },
        Role::Versioned(_) => field("OutData<'a>"),
        Role::Info { .. } => vec![
            WireField::new("size", "u64"),
            WireField::new("value", "InfoValue<'a>"),
        ],
        _ => Vec::new(),
    }
}

fn field_type(ty: &FieldType) -> String {
    match ty {
        FieldType::Nothing => "()".into(),
        FieldType::Bool => "bool".into(),
        FieldType::Scalar(scalar) => scalar.wire().into(),
        FieldType::Handle => "Handle".into(),
        FieldType::Handles => "Vec<Handle>".into(),
        FieldType::Words => "Vec<u64>".into(),
        FieldType::In => "InData<'a>".into(),
        FieldType::Out => "OutRoom".into(),
        FieldType::Event => "NewEvent".into(),
        FieldType::Union(name) => format!("{name}<'a>"),
    }
}

/// Whether a type with these fields borrows.
pub fn borrows(fields: &[WireField]) -> bool {
    fields.iter().any(|field| field.ty.contains("'a"))
}

/// `ClFooArgs` or `ClFooReply` with `'_` if it borrows.
pub fn type_name(call: &Call, suffix: &str) -> String {
    let fields = match suffix {
        "Args" => args(call),
        _ => reply(call),
    };
    let lifetime = if borrows(&fields) { "<'_>" } else { "" };
    format!("{}{suffix}{lifetime}", camel(&call.name))
}

/// The whole module.
pub fn module(api: &Api, paths: &Paths) -> String {
    let mut out = header(&format!("{}: what travels.", api.title), api);
    let krate = &paths.own_wire;
    let _ = writeln!(
        out,
        "#![allow(missing_docs, non_snake_case, clippy::manual_range_patterns)]\n"
    );
    let _ = writeln!(out, "use {krate}::Op;");
    if api.is_forwarded() {
        let _ = writeln!(
            out,
            "#[allow(unused_imports)]\nuse {krate}::call::{{Handle, InData, InfoType, InfoValue, NewEvent, OutData, OutRoom, Packed, Property}};"
        );
        out.push_str("use serde::{Deserialize, Serialize};\n");
    }
    out.push('\n');
    let _ = writeln!(
        out,
        "/// The API's number.\npub const API: u16 = {};\n",
        api.number
    );
    kinds(api, krate, &mut out);
    for call in &api.calls {
        let name = screaming(&call.name);
        let _ = writeln!(
            out,
            "/// `{}`.\npub const {name}: Op = Op::new(API, {});",
            call.name, call.number
        );
    }
    names::table(api, krate, &mut out);
    structs(api, &mut out);
    unions(api, &mut out);
    for call in api.calls.iter().filter(|call| call.has_wire()) {
        call_types(call, &mut out);
    }
    for call in &api.calls {
        query_table(api, call, &mut out);
    }
    state::effect(api, krate, &mut out);
    state::queue(api, krate, &mut out);
    subject::subject(api, krate, &mut out);
    out
}

fn kinds(api: &Api, krate: &str, out: &mut String) {
    if api.handles.is_empty() {
        return;
    }
    out.push_str("/// Kinds of objects.\n#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]\npub enum Kind {\n");
    for (ctype, handle) in own_handles(api) {
        let _ = writeln!(out, "/// `{ctype}`\n{},", handle.kind);
    }
    out.push_str("}\n\nimpl Kind {\n");
    method(
        api,
        out,
        "/// Its name in C.",
        "name",
        "&'static str",
        |ctype, _| format!("\"{ctype}\""),
    );
    method(
        api,
        out,
        "/// The error for a handle that is none.",
        "invalid",
        "i32",
        |_, handle| api.constants[&handle.invalid].value.to_string(),
    );
    method(
        api,
        out,
        "/// The call that ends the last reference.",
        "release",
        "Option<Op>",
        |_, handle| match &handle.release {
            Some(call) => format!("Some({})", screaming(call)),
            None => "None".into(),
        },
    );
    let _ = writeln!(
        out,
        "}}\n\nimpl {krate}::description::Kind for Kind {{\nfn name(self) -> &'static str {{ Kind::name(self) }}\n}}\n"
    );
}

fn method(
    api: &Api,
    out: &mut String,
    doc: &str,
    name: &str,
    ty: &str,
    value: impl Fn(&str, &Handle) -> String,
) {
    let _ = writeln!(
        out,
        "{doc}\npub const fn {name}(self) -> {ty} {{ match self {{"
    );
    for (ctype, handle) in own_handles(api) {
        let _ = writeln!(out, "Self::{} => {},", handle.kind, value(ctype, handle));
    }
    out.push_str("} }\n\n");
}

/// Each kind's own handle.
fn own_handles(api: &Api) -> impl Iterator<Item = (&String, &Handle)> {
    api.handles.iter().filter(|(_, handle)| !handle.constant)
}

const DERIVES: &str = "#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]";

fn structs(api: &Api, out: &mut String) {
    for (name, fields) in api.structs.iter().filter(|(name, _)| is_used(api, name)) {
        let _ = writeln!(
            out,
            "\n/// `{name}`.\n{DERIVES}\npub struct {} {{",
            camel(name)
        );
        for field in fields {
            let ty = match field.c.ctype.name().and_then(|name| api.types.get(name)) {
                Some(scalar) => scalar.wire(),
                None => "Handle",
            };
            let _ = writeln!(out, "pub {}: {ty},", ident(&field.c.name));
        }
        out.push_str("}\n");
    }
}

/// Whether a structure crosses as itself: not only inside a query's bytes.
pub fn is_used(api: &Api, structure: &str) -> bool {
    let uses = |param: &Param| match &param.role {
        Role::Struct(name) | Role::OutStructs { name, .. } => name == structure,
        _ => false,
    };
    api.calls.iter().any(|call| call.params.iter().any(uses))
}

fn unions(api: &Api, out: &mut String) {
    for (name, variants) in &api.unions {
        let empty = variants.iter().find(|(_, ty)| **ty == FieldType::Nothing);
        let default = if empty.is_some() { "Default, " } else { "" };
        let _ = writeln!(
            out,
            "\n/// What a pointer means, which depends on its context.\n#[derive(Clone, Debug, {default}PartialEq, Serialize, Deserialize)]\npub enum {name}<'a> {{"
        );
        for (variant, ty) in variants {
            let _ = match ty {
                FieldType::Nothing if empty.is_some_and(|(first, _)| first == variant) => {
                    writeln!(out, "#[default]\n{variant},")
                }
                FieldType::Nothing => writeln!(out, "{variant},"),
                FieldType::In => writeln!(out, "{variant}(#[serde(borrow)] InData<'a>),"),
                other => writeln!(out, "{variant}({}),", field_type(other)),
            };
        }
        out.push_str("}\n");
        if let (None, Some((first, _))) = (empty, variants.iter().next()) {
            let _ = writeln!(
                out,
                "\nimpl Default for {name}<'_> {{ fn default() -> Self {{ Self::{first}(Default::default()) }} }}"
            );
        }
    }
}

fn call_types(call: &Call, out: &mut String) {
    let args = args(call);
    record(
        out,
        &format!("Arguments of `{}`.", call.name),
        &format!("{}Args", camel(&call.name)),
        &args,
    );
    if call.class != Some(Class::Post) {
        let reply = reply(call);
        record(
            out,
            &format!("Reply of `{}`.", call.name),
            &format!("{}Reply", camel(&call.name)),
            &reply,
        );
    }
}

fn record(out: &mut String, doc: &str, name: &str, fields: &[WireField]) {
    let lifetime = if borrows(fields) { "<'a>" } else { "" };
    if fields.is_empty() {
        let _ = writeln!(out, "\n/// {doc}\n{DERIVES}\npub struct {name};");
        return;
    }
    let _ = writeln!(
        out,
        "\n/// {doc}\n{DERIVES}\npub struct {name}{lifetime} {{"
    );
    for field in fields {
        let borrow = if field.ty.contains("'a") {
            "#[serde(borrow)] "
        } else {
            ""
        };
        let _ = writeln!(out, "{borrow}pub {}: {},", field.name, field.ty);
    }
    out.push_str("}\n");
}

fn query_table(api: &Api, call: &Call, out: &mut String) {
    let table = call.params.iter().find_map(|param| match &param.role {
        Role::Info { table, .. } => Some(table),
        _ => None,
    });
    let Some(table) = table else { return };
    let _ = writeln!(
        out,
        "\n/// How each value that `{}` asks for crosses.\npub const fn {}(param_name: u32) -> Option<InfoType<Kind>> {{ Some(match param_name {{",
        call.name,
        snake(&call.name)
    );
    let mut by_kind: Vec<(String, Vec<&str>)> = Vec::new();
    for (constant, kind) in &api.queries[table] {
        let kind = info_type(kind);
        match by_kind.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, constants)) => constants.push(constant),
            None => by_kind.push((kind, vec![constant])),
        }
    }
    for (kind, constants) in by_kind {
        for (i, constant) in constants.iter().enumerate() {
            let or = if i == 0 { "" } else { "| " };
            let _ = writeln!(
                out,
                "{or}{:#x} // {constant}",
                api.constants[*constant].value
            );
        }
        let _ = writeln!(out, "=> {kind},");
    }
    out.push_str("_ => return None, }) }\n");
}

fn info_type(kind: &InfoKind) -> String {
    match kind {
        InfoKind::Bytes => "InfoType::Bytes".into(),
        InfoKind::Sizes => "InfoType::Sizes".into(),
        InfoKind::Limits => "InfoType::Limits".into(),
        InfoKind::WideLimits => "InfoType::WideLimits".into(),
        InfoKind::Handles(kind) => format!("InfoType::Handles(Kind::{kind})"),
        InfoKind::Extensions(kind) => format!("InfoType::Extensions(Kind::{kind})"),
        InfoKind::ExtensionVersions(kind) => format!("InfoType::ExtensionVersions(Kind::{kind})"),
        InfoKind::Local | InfoKind::Manual => "InfoType::Local".into(),
    }
}

use crate::spec::annotation::Direction;
