//! What each call says of names: of objects, and of what operations run. For reports.

use super::wire::{WireField, args, type_name};
use super::*;
use std::fmt::Write;

/// The function that says so.
pub fn subject(api: &Api, krate: &str, out: &mut String) {
    let arms: String = api.calls.iter().filter_map(|call| arm(api, call)).collect();
    let (op, args, imports, body) = match arms.is_empty() {
        true => ("_op", "_args", String::new(), "    None\n".into()),
        false => (
            "op",
            "args",
            format!("    use {krate}::state::decode;\n    use {krate}::subject::Subject;\n"),
            format!("    Some(match op {{\n{arms}        _ => return None,\n    }})\n"),
        ),
    };
    let _ = writeln!(
        out,
        "\n/// What a call says of names, by its arguments; `None` if nothing.\n#[rustfmt::skip]\npub fn subject({op}: Op, {args}: &[u8]) -> Option<{krate}::subject::Subject<'_>> {{\n{imports}{body}}}"
    );
}

fn arm(api: &Api, call: &Call) -> Option<String> {
    if !call.is_forwarded() {
        return None;
    }
    let says = named(call).or_else(|| selected(call)).or_else(|| run(call));
    let says = says.or_else(|| ended(api, call))?;
    let (op, ty) = (screaming(&call.name), type_name(call, "Args"));
    Some(format!(
        "        {op} => {{\n            let args: {ty} = decode(args)?;\n            {says}\n        }}\n"
    ))
}

fn field(call: &Call, name: &str) -> Option<WireField> {
    args(call)
        .into_iter()
        .find(|field| field.name == ident(name))
}

fn named(call: &Call) -> Option<String> {
    let field = field(call, call.label.as_deref()?)?;
    let (object, name) = (new(call), &field.name);
    Some(match field.ty.as_str() {
        "Handle" => format!("Subject::Like {{ object: args.{object}.0, other: args.{name}.0 }}"),
        _ => format!("Subject::Named {{ object: args.{object}.0, name: args.{name}.inline()? }}"),
    })
}

/// The field with the new object's number.
fn new(call: &Call) -> String {
    let is_new = |param: &&Param| matches!(param.role, Role::OutNew { .. });
    let param = call.params.iter().find(is_new);
    param.map_or("new".into(), |param| ident(&param.name))
}

fn selected(call: &Call) -> Option<String> {
    let name = ident(call.selects.as_deref()?);
    Some(format!(
        "Subject::Selects {{ within: args.current.0, what: \"{name}\", number: u64::from(args.{name}) }}"
    ))
}

fn run(call: &Call) -> Option<String> {
    let name = call.runs.as_deref()?;
    Some(match name == CURRENT {
        true => "Subject::RunsSelected(args.current.0)".into(),
        false => format!("Subject::Runs(args.{}.0)", ident(name)),
    })
}

/// A release of what another call names.
fn ended(api: &Api, call: &Call) -> Option<String> {
    let param = call.params.first().filter(|_| call.mode == Mode::Release)?;
    let kind_of = param.ctype.name()?;
    let names = |other: &Call| match &other.returns {
        Returns::New(kind, _) => other.label.is_some() && kind == kind_of,
        _ => false,
    };
    let is_named = api.calls.iter().any(names);
    is_named.then(|| format!("Subject::Ended(args.{}.0)", ident(&param.name)))
}
