//! `manual.rs`: the type of an API's library, and the traits that its hand-written
//! part implements for it.

use super::*;
use std::collections::BTreeMap;

/// The whole module.
pub fn manual(api: &Api, paths: &Paths) -> String {
    let mut out = header(&format!("{}: what is written by hand.", api.title), api);
    out.push_str("#![allow(non_snake_case, unused_imports, clippy::too_many_arguments, clippy::unnecessary_cast)]\n\n");
    imports(api, paths, &mut out);
    described(api, paths, &mut out);
    for (subject, calls) in &api.by_hand {
        let _ = writeln!(
            out,
            "/// Entry points of one subject whose bodies are written by hand.\npub trait {subject} {{"
        );
        let here = |call: &&Call| calls.contains(&call.name);
        let calls = api.calls.iter().filter(here);
        calls.for_each(|call| by_hand(api, call, &mut out));
        out.push_str("}\n\n");
    }
    out.push_str("/// Entry points whose bodies are written by hand.\npub trait Manual {\n");
    let is_elsewhere = |call: &Call| api.by_hand.values().flatten().any(|it| *it == call.name);
    for call in &api.calls {
        if call.is_by_hand() && !is_elsewhere(call) {
            by_hand(api, call, &mut out);
        }
        manual_queries(api, call, &mut out);
    }
    out.push_str("}\n\n/// Queries that the guest answers from what it knows, in its own layout.\npub trait Local {\n");
    for call in &api.calls {
        local_query(api, call, &mut out);
    }
    out.push_str("}\n");
    helpers(api, &mut out);
    out
}

/// A call's place in its trait.
fn by_hand(api: &Api, call: &Call, out: &mut String) {
    let _ = writeln!(
        out,
        "/// `{0}`.\n///\n/// # Safety\n/// As {1} says of the caller.\nunsafe fn {0}(entry: u64, {2}){3};\n",
        call.name,
        api.title,
        rust_params(call),
        arrow(&call.ret)
    );
}

fn imports(api: &Api, paths: &Paths, out: &mut String) {
    let kind = kind_import(api);
    let _ = writeln!(
        out,
        "use {0}::types::*;\nuse {1}::api::{{Api, CallResult, Current, CurrentObject, Described, NoKind}};\nuse {1}::registry::Tag;\nuse {1}::Room;\nuse {2}::Op;\nuse {2}::length::Length;\nuse {3}::{{self as wire{kind}}};\nuse std::ffi::{{c_char, c_int, c_uint, c_void}};\n",
        paths.guest, paths.runtime, paths.gil_wire, paths.wire
    );
    if api.dispatch.is_some() {
        let _ = writeln!(out, "use {}::dispatch::DISPATCH;", paths.guest);
    }
}

/// The library's type, and what the description says of the API.
fn described(api: &Api, paths: &Paths, out: &mut String) {
    let (title, runtime) = (&api.title, &paths.runtime);
    let _ = writeln!(
        out,
        "\n/// The guest library of {title}.\n#[derive(Clone, Copy, Debug)]\npub struct Guest;\n\n/// One of its objects.\npub type Object = {runtime}::Object<Guest>;\n/// One of its calls, being built.\npub type Request = {runtime}::Request<Guest>;\n"
    );
    let (status, [success, bounds, value]) = codes(api);
    let _ = writeln!(
        out,
        "impl Described for Guest {{\nconst NUMBER: u16 = {};\ntype Status = {status};\nconst SUCCESS: i32 = {success};\nconst BOUNDS: i32 = {bounds};\nconst VALUE: i32 = {value};\n{}\nfn dispatch() -> *const c_void {{ {} }}\n}}\n",
        api.number,
        kinds(api),
        match api.dispatch {
            Some(_) => "(&raw const DISPATCH).cast()",
            None => "std::ptr::null()",
        }
    );
}

/// The type of the API's errors, and its codes for success, what is out of
/// bounds, and an unknown value. Those of an API without error codes are never seen.
fn codes(api: &Api) -> (&str, [String; 3]) {
    match &api.errors {
        None => ("()", ["0", "-1", "-1"].map(str::to_owned)),
        Some(errors) => {
            let codes = [errors.none(), &errors.bounds, &errors.value];
            let status = errors.ctype.as_deref().unwrap_or("()");
            (status, codes.map(|code| format!("{code} as i32")))
        }
    }
}

fn kinds(api: &Api) -> &'static str {
    match api.handles.is_empty() {
        true => {
            "type Kind = NoKind;\n\nfn tag(kind: NoKind) -> Tag { match kind {} }\n\nfn invalid(kind: NoKind) -> i32 { match kind {} }\n\nfn release(kind: NoKind) -> Option<Op> { match kind {} }\n"
        }
        false => {
            "type Kind = Kind;\n\nfn tag(kind: Kind) -> Tag { kind as Tag }\n\nfn invalid(kind: Kind) -> i32 { kind.invalid() }\n\nfn release(kind: Kind) -> Option<Op> { kind.release() }\n"
        }
    }
}

/// The traits of what the description names.
fn helpers(api: &Api, out: &mut String) {
    let (mut helpers, mut kept) = (BTreeMap::new(), BTreeMap::new());
    let stub = |call: &&Call| matches!(call.mode, Mode::Auto | Mode::Manual { guest: false, .. });
    for call in api
        .calls
        .iter()
        .filter(|call| call.is_exported())
        .filter(stub)
    {
        helpers_of(api, call, &mut helpers);
        if let Some(details) = &call.details {
            let about = format!("What is kept of what `{}` makes.", call.name);
            add(&mut kept, call, details, (&about, &[], "Self::Details"));
        }
    }
    let _ = writeln!(
        out,
        "\n/// Functions that the description names in expressions.\npub trait Helpers: {} {{",
        if api.current.is_some() {
            "Current"
        } else {
            "Api"
        }
    );
    helpers.values().for_each(|text| out.push_str(text));
    let _ = writeln!(
        out,
        "}}\n\n/// What the library keeps of new objects.\npub trait Kept: Api {{"
    );
    kept.values().for_each(|text| out.push_str(text));
    out.push_str("}\n");
}

/// By name.
type Functions = BTreeMap<String, String>;

/// When the program entered the library.
const ENTRY: &str = "entry: u64";

/// Every function that one call's stub may call.
fn helpers_of(api: &Api, call: &Call, all: &mut Functions) {
    let name = &call.name;
    if let Some(helper) = &call.check {
        let about = format!("What of `{name}` fails here already.");
        add(all, call, helper, (&about, &[], "CallResult<()>"));
    }
    if let Some(helper) = &call.posts_if {
        let about = format!("Whether `{name}` needs no answer.");
        add(all, call, helper, (&about, &[], "bool"));
    }
    if let Some(helper) = &call.instead {
        let made = match &call.returns {
            Returns::New(ctype, _) => ctype.clone(),
            _ => "()".into(),
        };
        let about = format!("All of `{name}`, if it is a case of its own.");
        let result = format!("Option<CallResult<{made}>>");
        add(all, call, helper, (&about, &[ENTRY.into()], &result));
    }
    if let Some((condition, _)) = &call.otherwise {
        of_expression(api, call, condition, all);
    }
    for param in &call.params {
        of_role(api, call, param, all);
    }
}

fn of_role(api: &Api, call: &Call, param: &Param, all: &mut Functions) {
    let is_here = |helper: &Helper| {
        let side = api.helpers.get(&helper.name);
        !matches!(side, Some(HelperSide::Shared | HelperSide::Board))
    };
    let current: Vec<_> = current(call).into_iter().collect();
    let place = format!("`{}` of `{}`", param.name, call.name);
    match &param.role {
        Role::Scalar {
            scalar,
            send: Some(helper),
        } if is_here(helper) => {
            let about = format!("What the board gets as {place}.");
            add(all, call, helper, (&about, &[], scalar.wire()));
        }
        Role::CStr(Some(helper)) if is_here(helper) => {
            let mut helper = helper.clone();
            helper.args.push(param.name.clone());
            let about = format!("What comes before {place} is sent.");
            let told = (about.as_str(), &[ENTRY.into()][..], "CallResult<()>");
            add(all, call, &helper, told);
        }
        Role::Pieces(helper) if is_here(helper) => {
            let about = format!("The sizes of the pieces of {place}.");
            add(
                all,
                call,
                helper,
                (&about, &current, "CallResult<Vec<usize>>"),
            );
        }
        Role::Union(name, helper) => {
            let mut before = vec!["request: &mut Request".to_owned()];
            before.extend(current);
            let result = format!("CallResult<wire::{name}<'a>>");
            let about = format!("How {place} travels.");
            add(all, call, helper, (&about, &before, &result));
        }
        Role::Bytes { len, .. } | Role::Array { len, .. } | Role::Handles { len, .. } => {
            of_expression(api, call, len, all);
        }
        Role::OutArray { room, .. }
        | Role::OutStructs { room, .. }
        | Role::OutHandles { room, .. } => of_expression(api, call, room, all),
        _ => {}
    }
}

/// The parameter for the thread's current object, if the call works on it.
fn current(call: &Call) -> Option<String> {
    call.current.then(|| "current: &CurrentObject<Self>".into())
}

/// The functions of an expression, whose arguments are numbers and arrays of
/// them.
fn of_expression(api: &Api, call: &Call, expr: &Expr, all: &mut Functions) {
    match expr {
        Expr::Number(_) | Expr::Name(_) => {}
        Expr::Binary(_, a, b) => {
            of_expression(api, call, a, all);
            of_expression(api, call, b, all);
        }
        Expr::Call(name, args) => {
            args.iter()
                .for_each(|arg| of_expression(api, call, arg, all));
            if api.helpers[name] == HelperSide::Shared {
                return;
            }
            let state = current(call).filter(|_| api.helpers[name] == HelperSide::State);
            let arg = |(n, arg): (usize, &Expr)| match arg {
                Expr::Name(name) if is_array(call, name) => format!("{name}: Option<&[u64]>"),
                Expr::Name(name) if call.param(name).is_some() => format!("{}: u64", ident(name)),
                _ => format!("value_{n}: u64"),
            };
            let params = state.into_iter().chain(args.iter().enumerate().map(arg));
            let params = params.collect::<Vec<_>>().join(", ");
            all.entry(name.clone()).or_insert_with(|| {
                format!(
                    "/// In the lengths of `{}`.\nfn {name}({params}) -> Length;\n\n",
                    call.name
                )
            });
        }
    }
}

fn is_array(call: &Call, name: &str) -> bool {
    let role = call.param(name).map(|param| &param.role);
    matches!(role, Some(Role::Array { .. }))
}

/// What a helper is for, its parameters before those of the call, and its result.
type Told<'a> = (&'a str, &'a [String], &'a str);

/// Adds a helper over a call's parameters: objects by reference, the rest as it
/// came. Of several calls that name it, the first is told of.
fn add(all: &mut Functions, call: &Call, helper: &Helper, (about, before, result): Told<'_>) {
    let param = |name: &String| {
        let param = call.param(name);
        let ty = match param.map(|param| &param.role) {
            Some(Role::Handle { optional: true, .. }) => "&Option<Object>".into(),
            Some(Role::Handle { .. }) => "&Object".into(),
            _ => param.map_or(String::new(), |param| rust_type(&param.ctype)),
        };
        format!("{}: {ty}", ident(name))
    };
    let params = before.iter().cloned().chain(helper.args.iter().map(param));
    let params = params.collect::<Vec<_>>().join(", ");
    let name = &helper.name;
    let lifetime = if result.contains("'a") { "<'a>" } else { "" };
    let errors = match result.contains("CallResult") {
        true => "///\n/// # Errors\n/// The API's code.\n",
        false => "",
    };
    let (safety, word) = match is_unsafe(call, helper) {
        true => (
            "///\n/// # Safety\n/// As the API says of the caller.\n",
            "unsafe ",
        ),
        false => ("", ""),
    };
    all.entry(name.clone()).or_insert_with(|| {
        format!("/// {about}\n{errors}{safety}{word}fn {name}{lifetime}({params}) -> {result};\n\n")
    });
}

/// Whether a helper is given pointers or functions of the program's.
pub(super) fn is_unsafe(call: &Call, helper: &Helper) -> bool {
    let params = helper.args.iter().filter_map(|name| call.param(name));
    let is_pointer = |param: &Param| param.ctype.name().is_none();
    params
        .filter(|param| !matches!(param.role, Role::Handle { .. }))
        .any(is_pointer)
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
