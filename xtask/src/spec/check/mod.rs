//! From the file's words to their meaning.

mod call;
mod param;

use super::error::{Place, Problem, SpecError};
use super::model::*;
use super::prototype::{self, CType};
use super::raw::{RawApi, RawErrors, RawHandle};
use std::collections::{BTreeMap, BTreeSet};

/// Checks a description.
pub fn api(raw: RawApi) -> Result<Api, SpecError> {
    let mut api = frame(&raw)?;
    api.structs = structs(&api, &raw)?;
    api.unions = unions(&raw)?;
    api.constants = constants(&api, &raw)?;
    api.queries = queries(&api, &raw)?;
    api.errors = raw.errors.as_ref().map(|e| errors(&api, e)).transpose()?;
    check_handles(&api, &raw)?;
    let mut calls = Vec::new();
    for (name, raw_call) in &raw.call {
        calls.push(call::call(&api, name, raw_call)?);
    }
    calls.sort_by_key(|call| call.number);
    unique_numbers(&calls)?;
    api.calls = calls;
    check_references(&api)?;
    check_by_hand(&api)?;
    Ok(api)
}

/// Everything that needs no other table.
fn frame(raw: &RawApi) -> Result<Api, SpecError> {
    Ok(Api {
        name: raw.api.clone(),
        title: raw.title.clone(),
        number: raw.number,
        header: raw.header.clone(),
        vendors_header: raw.vendors_header,
        by_version: raw.by_version,
        pointers: raw.pointers,
        home: raw.home.clone(),
        back_end: raw.back_end.clone(),
        prelude: raw.prelude.clone(),
        errors: None,
        current: raw.current.clone(),
        helpers: helpers(raw)?,
        by_hand: raw.by_hand.clone(),
        types: types(raw)?,
        typedefs: raw.types.clone(),
        handles: raw.handles.iter().map(handle).collect(),
        structs: BTreeMap::new(),
        unions: BTreeMap::new(),
        constants: BTreeMap::new(),
        queries: BTreeMap::new(),
        calls: Vec::new(),
        dispatch: raw.dispatch.as_ref().map(|d| Dispatch {
            ctype: d.ctype.clone(),
            header: d.header.clone(),
            slots: d.slots.clone(),
        }),
    })
}

fn helpers(raw: &RawApi) -> Result<BTreeMap<String, HelperSide>, SpecError> {
    let side = |(name, side): (&String, &String)| {
        let side = match side.as_str() {
            "shared" => HelperSide::Shared,
            "state" => HelperSide::State,
            "guest" => HelperSide::Guest,
            "board" => HelperSide::Board,
            other => {
                return Err(Place::table("helpers").key(name).error(Problem::Word {
                    what: "side",
                    found: other.into(),
                    expected: "shared, state, guest or board",
                }));
            }
        };
        Ok((name.clone(), side))
    };
    raw.helpers.iter().map(side).collect()
}

/// C's own types.
const BUILTIN: [(&str, Scalar); 11] = [
    ("char", Scalar::U8),
    ("unsigned char", Scalar::U8),
    ("unsigned short", Scalar::U16),
    ("unsigned long long", Scalar::U64),
    ("long long", Scalar::I64),
    ("int", Scalar::I32),
    ("unsigned int", Scalar::U32),
    ("float", Scalar::F32),
    ("double", Scalar::F64),
    ("size_t", Scalar::Usize),
    ("intptr_t", Scalar::Isize),
];

fn types(raw: &RawApi) -> Result<BTreeMap<String, Scalar>, SpecError> {
    let mut types: BTreeMap<_, _> = BUILTIN.map(|(name, scalar)| (name.into(), scalar)).into();
    for name in raw.types.keys() {
        let scalar = resolve(raw, name).ok_or_else(|| {
            let problem = Problem::UnknownType(raw.types[name].clone());
            Place::table("types").key(name).error(problem)
        })?;
        types.insert(name.clone(), scalar);
    }
    Ok(types)
}

/// Follows typedefs to a scalar.
fn resolve(raw: &RawApi, name: &str) -> Option<Scalar> {
    let mut name = name;
    for _ in 0..=raw.types.len() {
        name = raw.types.get(name)?;
        if let Some(scalar) = Scalar::from_name(name) {
            return Some(scalar);
        }
    }
    None
}

fn handle((ctype, raw): (&String, &RawHandle)) -> (String, Handle) {
    let handle = Handle {
        kind: raw.kind.clone(),
        target: raw.target.clone().unwrap_or_else(|| format!("_{ctype}")),
        constant: raw.constant,
        invalid: raw.invalid.clone(),
        retain: raw.retain.clone(),
        release: raw.release.clone(),
    };
    (ctype.clone(), handle)
}

fn structs(api: &Api, raw: &RawApi) -> Result<BTreeMap<String, Vec<Field>>, SpecError> {
    let mut structs = BTreeMap::new();
    for (name, fields) in &raw.structs {
        let place = Place::table("structs").key(name);
        let mut all = Vec::new();
        for text in fields {
            let of_union = text.strip_prefix("union ");
            let field = of_union.unwrap_or(text);
            let (c, count) = prototype::parse_field(field).map_err(|p| place.error(p))?;
            // An address, in a structure that only the program and the library know.
            let pointed = match &c.ctype {
                CType::Pointer { to, .. } => to.as_ref(),
                other => other,
            };
            let known = pointed.name().filter(|name| {
                let is_structure = raw.structs.contains_key(*name);
                is_structure || api.types.contains_key(*name) || api.handles.contains_key(*name)
            });
            let target = c.ctype.target();
            let is_address =
                target.is_some_and(|to| to.is_void() || to.target().is_some_and(CType::is_void));
            let is_function = matches!(c.ctype, CType::Function(_));
            if known.is_none() && !is_address && !is_function {
                return Err(place.error(Problem::UnknownType(c.ctype.to_string())));
            }
            all.push(Field {
                c,
                count,
                is_union: of_union.is_some(),
            });
        }
        structs.insert(name.clone(), all);
    }
    Ok(structs)
}

fn unions(raw: &RawApi) -> Result<BTreeMap<String, BTreeMap<String, FieldType>>, SpecError> {
    let mut unions = BTreeMap::new();
    for (name, variants) in &raw.unions {
        let place = Place::table(format!("unions.{name}"));
        let variants = variants
            .iter()
            .map(|(variant, text)| {
                let field = call::field_type(text, &raw.unions, &place.key(variant))?;
                Ok((variant.clone(), field))
            })
            .collect::<Result<_, SpecError>>()?;
        unions.insert(name.clone(), variants);
    }
    Ok(unions)
}

fn constants(api: &Api, raw: &RawApi) -> Result<BTreeMap<String, Constant>, SpecError> {
    let mut all = BTreeMap::new();
    for (ctype, values) in &raw.constants {
        if !api.types.contains_key(ctype) {
            let place = Place::table(format!("constants.{ctype}"));
            return Err(place.error(Problem::UnknownType(ctype.clone())));
        }
        for (name, &value) in values {
            let ctype = ctype.clone();
            all.insert(name.clone(), Constant { ctype, value });
        }
    }
    Ok(all)
}

fn queries(
    api: &Api,
    raw: &RawApi,
) -> Result<BTreeMap<String, BTreeMap<String, InfoKind>>, SpecError> {
    let mut tables = BTreeMap::new();
    for (table, rows) in &raw.queries {
        let place = Place::table(format!("queries.{table}"));
        let mut kinds = BTreeMap::new();
        for (constant, text) in rows {
            let place = place.key(constant);
            known_constant(api, constant, &place)?;
            kinds.insert(constant.clone(), info_kind(api, text, &place)?);
        }
        tables.insert(table.clone(), kinds);
    }
    Ok(tables)
}

fn info_kind(api: &Api, text: &str, place: &Place) -> Result<InfoKind, SpecError> {
    match text {
        "local" => return Ok(InfoKind::Local),
        "manual" => return Ok(InfoKind::Manual),
        "cstr" | "bytes" => return Ok(InfoKind::Bytes),
        _ => {}
    }
    if let Some((what, ctype)) = text.split_once(" of ") {
        return extensions(api, what, ctype, place);
    }
    let (is_limit, text) = match text.strip_prefix("limit ") {
        Some(text) => (true, text),
        None => (false, text),
    };
    let name = text.strip_suffix("[]").unwrap_or(text);
    if is_limit {
        return limits(api, name, place);
    }
    if let Some(handle) = api.handles.get(name) {
        return Ok(InfoKind::Handles(handle.kind.clone()));
    }
    match api.types.get(name) {
        Some(scalar) if scalar.is_word() => Ok(InfoKind::Sizes),
        Some(_) => Ok(InfoKind::Bytes),
        None if is_flat(api, name) => Ok(InfoKind::Bytes),
        None => Err(place.error(Problem::UnknownType(name.into()))),
    }
}

/// `limit T`, `limit T[]`: T is of pointer width, or of 64 bits.
fn limits(api: &Api, name: &str, place: &Place) -> Result<InfoKind, SpecError> {
    match api.types.get(name) {
        Some(scalar) if scalar.is_word() => Ok(InfoKind::Limits),
        Some(Scalar::U64) => Ok(InfoKind::WideLimits),
        _ => Err(place.error(Problem::Limit(name.into()))),
    }
}

/// `extensions of T`, `extension versions of T`.
fn extensions(api: &Api, what: &str, ctype: &str, place: &Place) -> Result<InfoKind, SpecError> {
    let Some(handle) = api.handles.get(ctype) else {
        return Err(place.error(Problem::UnknownType(ctype.into())));
    };
    match what {
        "extensions" => Ok(InfoKind::Extensions(handle.kind.clone())),
        "extension versions" => Ok(InfoKind::ExtensionVersions(handle.kind.clone())),
        other => Err(place.error(Problem::UnknownType(other.into()))),
    }
}

/// Whether a structure has the same bytes on both sides.
fn is_flat(api: &Api, name: &str) -> bool {
    let flat = |field: &Field| {
        let scalar = field.c.ctype.name().and_then(|name| api.types.get(name));
        scalar.is_some_and(|scalar| !scalar.is_word())
    };
    api.structs
        .get(name)
        .is_some_and(|fields| fields.iter().all(flat))
}

fn errors(api: &Api, raw: &RawErrors) -> Result<Errors, SpecError> {
    let place = Place::table("errors");
    if let Some(ctype) = &raw.ctype
        && !api.types.contains_key(ctype)
    {
        return Err(place.error(Problem::UnknownType(ctype.clone())));
    }
    let codes = [&raw.success, &raw.missing, &raw.bounds, &raw.value];
    for constant in codes.into_iter().chain(&raw.kept).chain(&raw.version) {
        known_constant(api, constant, &place)?;
    }
    Ok(Errors {
        ctype: raw.ctype.clone(),
        success: raw.success.clone(),
        missing: raw.missing.clone(),
        bounds: raw.bounds.clone(),
        value: raw.value.clone(),
        kept: raw.kept.clone(),
        version: raw.version.clone(),
    })
}

fn known_constant(api: &Api, name: &str, place: &Place) -> Result<(), SpecError> {
    if api.constants.contains_key(name) {
        return Ok(());
    }
    Err(place.error(Problem::UnknownConstant(name.into())))
}

/// What has a trait of its own is a hand-written call of the guest's, and has one trait.
fn check_by_hand(api: &Api) -> Result<(), SpecError> {
    let mut named = BTreeSet::new();
    for (subject, calls) in &api.by_hand {
        for name in calls {
            let mut known = api.calls.iter().filter(|call| call.is_by_hand());
            if !known.any(|call| call.name == *name) || !named.insert(name) {
                let (what, name) = ("other hand-written call of the guest", name.clone());
                let place = Place::table("by_hand").key(subject);
                return Err(place.error(Problem::Missing { what, name }));
            }
        }
    }
    Ok(())
}

fn check_handles(api: &Api, raw: &RawApi) -> Result<(), SpecError> {
    for (name, handle) in &api.handles {
        let place = Place::table(format!("handles.{name}"));
        known_constant(api, &handle.invalid, &place.key("invalid"))?;
        for call in handle.retain.iter().chain(&handle.release) {
            if !raw.call.contains_key(call) {
                let name = call.clone();
                return Err(place.error(Problem::Missing { what: "call", name }));
            }
        }
    }
    Ok(())
}

fn unique_numbers(calls: &[Call]) -> Result<(), SpecError> {
    for pair in calls.windows(2) {
        if pair[0].number == pair[1].number {
            let problem = Problem::DuplicateNumber {
                number: pair[1].number,
                other: pair[0].name.clone(),
            };
            return Err(Place::call(&pair[1].name).key("number").error(problem));
        }
    }
    Ok(())
}

/// Other calls that calls name.
fn check_references(api: &Api) -> Result<(), SpecError> {
    for call in &api.calls {
        if let Mode::SameAs(other) = &call.mode
            && api.call(other).is_none()
        {
            let name = other.clone();
            let problem = Problem::Missing { what: "call", name };
            return Err(Place::call(&call.name).key("same_as").error(problem));
        }
    }
    Ok(())
}

/// The scalar that a C type is.
fn scalar(api: &Api, ctype: &CType) -> Option<Scalar> {
    ctype.name().and_then(|name| api.types.get(name)).copied()
}
