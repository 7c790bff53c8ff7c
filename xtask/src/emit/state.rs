//! What each call leaves behind in its session, as numbers: for the log from
//! which a checkpoint's objects are made again.

use super::wire::{WireField, args, type_name};
use super::*;
use std::fmt::Write;

/// The function that says so, and what it needs of the tagged unions.
pub fn effect(api: &Api, krate: &str, out: &mut String) {
    unions(api, krate, out);
    let arms: String = api.calls.iter().filter_map(|call| arm(api, call)).collect();
    let named = |name: &str, used: &str| match arms.contains(used) {
        true => name.into(),
        false => format!("_{name}"),
    };
    let (args, result) = (named("args", "decode(args)"), named("result", "(result"));
    let (op, body) = match arms.is_empty() {
        true => ("_op", "    None\n".into()),
        false => {
            let body = format!("    Some(match op {{\n{arms}        _ => return None,\n    }})\n");
            ("op", body)
        }
    };
    let imports: String = ["Effect", "decode", "succeeded"]
        .into_iter()
        .filter(|name| arms.contains(name))
        .map(|name| format!("    use {krate}::state::{name};\n"))
        .collect();
    let _ = writeln!(
        out,
        "\n/// What a call leaves behind in its session, by its arguments and its result, if it\n/// was answered; `None` if nothing.\n#[rustfmt::skip]\npub fn effect({op}: Op, {args}: &[u8], {result}: Option<&[u8]>) -> Option<{krate}::state::Effect> {{\n{imports}{body}}}"
    );
}

/// The function that says which queue a call puts its operation on.
pub fn queue(api: &Api, krate: &str, out: &mut String) {
    let arms: String = api.calls.iter().filter_map(queue_arm).collect();
    let (op, args, import) = match arms.is_empty() {
        true => ("_op", "_args", String::new()),
        false => ("op", "args", format!("    use {krate}::state::decode;\n")),
    };
    let body = match arms.is_empty() {
        true => "    None\n".into(),
        false => format!("    Some(match op {{\n{arms}        _ => return None,\n    }})\n"),
    };
    let _ = writeln!(
        out,
        "\n/// The queue on which a call puts its operation, by its arguments; `None` if they do not\n/// say so.\n#[rustfmt::skip]\npub fn queue({op}: Op, {args}: &[u8]) -> Option<u64> {{\n{import}{body}}}"
    );
}

fn queue_arm(call: &Call) -> Option<String> {
    let name = ident(call.queue.as_deref()?);
    let is_queue = |field: &WireField| field.name == name && field.ty == "Handle";
    if !call.is_forwarded() || !args(call).iter().any(is_queue) {
        return None;
    }
    let (op, ty) = (screaming(&call.name), type_name(call, "Args"));
    Some(format!("        {op} => decode::<{ty}>(args)?.{name}.0,\n"))
}

fn unions(api: &Api, krate: &str, out: &mut String) {
    for (name, variants) in &api.unions {
        let holds = |ty: &FieldType| matches!(ty, FieldType::Handle | FieldType::Handles);
        let mut arms = String::new();
        for (variant, _) in variants.iter().filter(|(_, ty)| holds(ty)) {
            let _ = writeln!(arms, "Self::{variant}(object) => object.used(uses),");
        }
        let empty = variants.iter().filter(|(_, ty)| !holds(ty));
        let empty: Vec<_> = empty
            .map(|(variant, _)| format!("Self::{variant} {{ .. }}"))
            .collect();
        if !empty.is_empty() {
            let _ = writeln!(arms, "{} => {{}}", empty.join(" | "));
        }
        let has_objects = variants.values().any(holds);
        let uses = if !has_objects { "_uses" } else { "uses" };
        let _ = writeln!(
            out,
            "\nimpl {krate}::state::Uses for {name}<'_> {{ fn used(&self, {uses}: &mut Vec<u64>) {{ match self {{ {arms} }} }} }}"
        );
    }
}

/// One call's arm, if it leaves anything.
fn arm(api: &Api, call: &Call) -> Option<String> {
    let is_sync = call.class == Some(Class::Sync) && call.state != State::None;
    if !call.is_forwarded() || !is_sync && call.mode != Mode::Release {
        return None;
    }
    let fields = args(call);
    let mut body = Vec::new();
    if let Some(success) = checked(api, call) {
        body.push(format!("succeeded(result, {success})?;"));
    }
    if !fields.is_empty() {
        let ty = type_name(call, "Args");
        body.push(format!("let args: {ty} = decode(args)?;"));
    }
    body.push("let mut effect = Effect::default();".into());
    let before = body.len();
    fields
        .iter()
        .for_each(|field| body.extend(used(call, field)));
    if let Some(field) = listed(call) {
        let ty = type_name(call, "Reply");
        body.push(format!("let reply: {ty} = decode(result?)?;"));
        body.push(format!("effect.finds(&reply.{field})?;"));
    }
    if body.len() == before {
        // It says nothing of any object.
        return None;
    }
    if let State::Set { key, .. } = &call.state {
        let values = key.iter().map(|name| value(&fields, name));
        let values = values.collect::<Vec<_>>().join(", ");
        body.push(format!("effect.replaces = Some(vec![{values}]);"));
    }
    if let Some(contents) = &call.contents {
        body.push(format!(
            "effect.contents = args.{}.region();",
            ident(contents)
        ));
    }
    body.push("effect".into());
    let op = screaming(&call.name);
    let lines: String = body
        .iter()
        .map(|line| format!("            {line}\n"))
        .collect();
    Some(format!("        {op} => {{\n{lines}        }}\n"))
}

/// The code of success, if only then anything is left.
fn checked(api: &Api, call: &Call) -> Option<i64> {
    let even_failed = matches!(
        call.state,
        State::Set {
            even_failed: true,
            ..
        }
    );
    let has_result = !matches!(call.way, Way::None) || call.wire.is_some();
    let unchecked = even_failed || call.leaves || call.mode == Mode::Release || !has_result;
    let errors = api.errors.as_ref().filter(|_| !unchecked)?;
    Some(api.constants[&errors.success].value)
}

fn used(call: &Call, field: &WireField) -> Option<String> {
    let name = &field.name;
    let param = call.params.iter().find(|param| ident(&param.name) == *name);
    let is_new = param.is_some_and(|param| matches!(param.role, Role::OutNew { .. }));
    let union = matches!(param.map(|param| &param.role), Some(Role::Union(..)))
        || matches!(wire_type(call, name), Some(FieldType::Union(_)));
    let holds = field.ty.contains("Handle>") || field.ty.contains("Property>");
    match field.ty.as_str() {
        "Handle" if call.mode == Mode::Release => Some(format!("effect.ends(args.{name});")),
        "Handle" if is_new || name == "new" => Some(format!("effect.makes(args.{name});")),
        "Handle" => Some(format!("effect.uses(&args.{name});")),
        _ if holds || union => Some(format!("effect.uses(&args.{name});")),
        _ => None,
    }
}

fn wire_type<'a>(call: &'a Call, name: &str) -> Option<&'a FieldType> {
    let fields = call.wire.as_ref()?;
    let field = fields.iter().find(|(field, _)| field == name);
    field.map(|(_, ty)| ty)
}

/// The list in its reply of new objects that the board numbered.
fn listed(call: &Call) -> Option<&str> {
    let is_new = |param: &&Param| {
        matches!(
            param.role,
            Role::OutHandles {
                parents: Some(_),
                ..
            }
        )
    };
    let param = call.params.iter().find(is_new);
    param.map(|param| param.name.as_str())
}

/// A parameter as a number.
fn value(fields: &[WireField], name: &str) -> String {
    let field = fields.iter().find(|field| field.name == ident(name));
    match field.map(|field| field.ty.as_str()) {
        Some("Handle") => format!("args.{}.0", ident(name)),
        _ => format!("args.{} as u64", ident(name)),
    }
}
