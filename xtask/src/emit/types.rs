//! The API's C types, for the sides that speak C: the guest's library and the
//! board.

use super::*;
use std::fmt::Write;

/// The whole module.
pub fn module(api: &Api, paths: &Paths) -> String {
    let mut out = header(&format!("{}: the C types.", api.title), api);
    out.push_str(
        "#![allow(missing_docs, non_camel_case_types, non_upper_case_globals, unused_imports)]\n\n",
    );
    out.push_str("use std::ffi::{c_char, c_int, c_uint, c_void};\n");
    let _ = writeln!(out, "use {} as wire;\n", paths.wire);
    for (name, target) in &api.typedefs {
        let _ = writeln!(out, "pub type {name} = {};", typedef(target));
    }
    out.push('\n');
    handles(api, &mut out);
    for (name, fields) in &api.structs {
        structure(api, name, fields, &mut out);
    }
    for (name, constant) in &api.constants {
        let _ = writeln!(
            out,
            "pub const {name}: {} = {};",
            constant.ctype,
            literal(api, constant)
        );
    }
    out.push('\n');
    for call in api.calls.iter().filter(|call| call.is_exported()) {
        let _ = writeln!(
            out,
            "/// `{}`.\npub type {}_fn = {};",
            call.name,
            call.name,
            call_type(call)
        );
    }
    out
}

fn typedef(target: &str) -> &str {
    match target {
        "size_t" => "usize",
        "intptr_t" => "isize",
        other => other,
    }
}

fn handles(api: &Api, out: &mut String) {
    let mut seen: Vec<&str> = Vec::new();
    for (ctype, handle) in &api.handles {
        let target = &handle.target;
        if !seen.contains(&target.as_str()) {
            seen.push(target);
            let _ = writeln!(
                out,
                "/// What a `{ctype}` points to.\n#[repr(C)]\n#[derive(Debug)]\npub struct {target} {{ _private: [u8; 0] }}"
            );
        }
        let _ = writeln!(out, "pub type {ctype} = *mut {target};\n");
    }
}

fn structure(api: &Api, name: &str, fields: &[Field], out: &mut String) {
    let _ = writeln!(
        out,
        "/// `{name}`.\n#[repr(C)]\n#[derive(Clone, Copy, Debug)]\npub struct {name} {{"
    );
    for field in fields {
        let ty = rust_type(&field.c.ctype);
        let ty = match field.count {
            Some(count) => format!("[{ty}; {count}]"),
            None => ty,
        };
        let _ = writeln!(out, "pub {}: {ty},", ident(&field.c.name));
    }
    out.push_str("}\n\n");
    if wire::is_used(api, name) {
        conversions(api, name, fields, out);
    }
}

fn conversions(api: &Api, name: &str, fields: &[Field], out: &mut String) {
    let camel = camel(name);
    let scalar = |field: &Field| field.c.ctype.name().and_then(|name| api.types.get(name));
    let zeros: Vec<_> = fields
        .iter()
        .map(|field| format!("{}: 0", ident(&field.c.name)))
        .collect();
    let zeros = zeros.join(", ");
    let _ = writeln!(
        out,
        "impl {name} {{\n/// All zero.\npub const ZERO: Self = Self {{ {zeros} }};\n\n/// As it travels.\npub fn to_wire(&self) -> wire::{camel} {{ wire::{camel} {{"
    );
    for field in fields {
        let name = ident(&field.c.name);
        let _ = match scalar(field) {
            Some(s) if s.is_word() => writeln!(out, "{name}: self.{name} as {},", s.wire()),
            _ => writeln!(out, "{name}: self.{name},"),
        };
    }
    let _ = writeln!(
        out,
        "}} }}\n\n/// As it is here; `None` if a size does not fit.\npub fn from_wire(wire: &wire::{camel}) -> Option<Self> {{ Some(Self {{"
    );
    for field in fields {
        let name = ident(&field.c.name);
        let _ = match scalar(field) {
            Some(s) if s.is_word() => writeln!(out, "{name}: wire.{name}.try_into().ok()?,"),
            _ => writeln!(out, "{name}: wire.{name},"),
        };
    }
    out.push_str("}) }\n}\n\n");
}

fn literal(api: &Api, constant: &Constant) -> String {
    let unsigned = matches!(
        api.types[&constant.ctype],
        Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 | Scalar::Usize
    );
    match constant.value {
        value if value < 0 && unsigned => format!("{value}_i64 as {}", constant.ctype),
        value if value > 255 => format!("{value:#x}"),
        value => value.to_string(),
    }
}
