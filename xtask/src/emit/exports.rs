//! What the guest's library exports: by name, and through the loader's
//! dispatch table.

use super::*;
use std::fmt::Write;

/// The list of exported functions.
pub fn exports(api: &Api, paths: &Paths) -> String {
    let mut out = header(&format!("{}: exported functions by name.", api.title), api);
    let _ = writeln!(
        out,
        "use {}::stubs::*;\nuse std::ffi::{{CStr, c_void}};\n",
        paths.guest
    );
    out.push_str("struct Export { name: &'static CStr, address: *const c_void }\n\n// SAFETY: the addresses are those of functions, which never change.\nunsafe impl Sync for Export {}\n\n");
    let mut names: Vec<_> = api
        .calls
        .iter()
        .filter(|call| call.is_exported())
        .map(|call| call.name.as_str())
        .collect();
    names.sort_unstable();
    let _ = writeln!(out, "static EXPORTS: [Export; {}] = [", names.len());
    for name in &names {
        let _ = writeln!(
            out,
            "Export {{ name: c\"{name}\", address: {name} as *const c_void }},"
        );
    }
    out.push_str("];\n\n/// The address of an exported function; null if there is none of this name.\npub fn find(name: &CStr) -> *mut c_void {\nmatch EXPORTS.binary_search_by(|export| export.name.cmp(name)) {\nOk(at) => EXPORTS[at].address.cast_mut(),\nErr(_) => std::ptr::null_mut(),\n}\n}\n");
    if api.by_version {
        versions(&names, api, &mut out);
    }
    out
}

/// A table of the symbols by their names without a version.
fn versions(names: &[&str], api: &Api, out: &mut String) {
    out.push_str("\n/// Names without their version, the version of the API from which on each symbol is meant (12040 for 12.4), and\n/// the symbol.\npub const VERSIONS: &[(&CStr, i32, &CStr)] = &[\n");
    let is_of_threads = |name: &&&str| name.ends_with("_ptds") || name.ends_with("_ptsz");
    for name in names.iter().filter(|name| !is_of_threads(name)) {
        let base = match name.rsplit_once("_v") {
            Some((base, digits)) if digits.bytes().all(|it| it.is_ascii_digit()) => base,
            _ => name,
        };
        let call = api.call(name);
        let since = call.map_or("0.0", |call| &call.since);
        let mut parts = since.split('.').map(|part| part.parse().unwrap_or(0));
        let (major, minor): (u32, u32) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        let number = 1000 * major + 10 * minor;
        let _ = writeln!(out, "(c\"{base}\", {number}, c\"{name}\"),");
    }
    out.push_str("];\n");
}

/// The loader's dispatch table, slot by slot.
pub fn dispatch(api: &Api, table: &Dispatch, paths: &Paths) -> String {
    let mut out = header(
        &format!(
            "{}: the loader's dispatch table (`{}`).",
            api.title, table.ctype
        ),
        api,
    );
    out.push_str("#![allow(missing_docs, non_snake_case)]\n\n");
    let _ = writeln!(
        out,
        "use {}::stubs;\nuse {}::types::*;\n",
        paths.guest, paths.guest
    );
    out.push_str("/// A slot whose function is not described: null.\npub type Empty = Option<unsafe extern \"C\" fn()>;\n\n");
    let _ = writeln!(
        out,
        "/// `{}`: every slot of the loader, in its order.\n#[repr(C)]\n#[derive(Debug)]\npub struct Dispatch {{",
        table.ctype
    );
    for slot in &table.slots {
        let _ = match api.call(slot) {
            Some(_) => writeln!(out, "pub {slot}: Option<{slot}_fn>,"),
            None => writeln!(out, "pub {slot}: Empty,"),
        };
    }
    out.push_str("}\n\n/// The table that every object's first word points to.\npub static DISPATCH: Dispatch = Dispatch {\n");
    for slot in &table.slots {
        let _ = match api.call(slot) {
            Some(_) => writeln!(out, "{slot}: Some(stubs::{slot}),"),
            None => writeln!(out, "{slot}: None,"),
        };
    }
    out.push_str("};\n");
    out
}
