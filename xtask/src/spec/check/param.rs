//! One parameter: what its C type and its annotation say together.

use super::scalar;
use crate::spec::annotation::{self, Annotation, Direction, ListValue};
use crate::spec::error::{Place, Problem, SpecError};
use crate::spec::expr::Expr;
use crate::spec::model::*;
use crate::spec::prototype::{CParam, CType, Signature};
use crate::spec::raw::RawCall;

/// Checks a call's parameters.
pub fn params(
    api: &Api,
    raw: &RawCall,
    signature: &Signature,
    mode: &Mode,
    place: &Place,
) -> Result<Vec<Param>, SpecError> {
    for name in raw.params.keys() {
        if !signature.params.iter().any(|param| param.name == *name) {
            return Err(place.error(Problem::UnknownParameter(name.clone())));
        }
    }
    let generated = mode.is_generated();
    let mut params = Vec::new();
    for c in &signature.params {
        let role = role(api, raw, c, generated, &place.key(&c.name))?;
        params.push(Param {
            name: c.name.clone(),
            ctype: c.ctype.clone(),
            role,
        });
    }
    if generated {
        derive(api, &mut params, raw, place)?;
        check(api, &params, place)?;
    }
    Ok(params)
}

fn role(
    api: &Api,
    raw: &RawCall,
    c: &CParam,
    generated: bool,
    place: &Place,
) -> Result<Role, SpecError> {
    match raw.params.get(&c.name) {
        Some(text) => {
            let annotation = annotation::parse(text).map_err(|p| place.error(p))?;
            annotated(api, c, annotation, place)
        }
        None if !generated => Ok(Role::Unused),
        None if raw.blocking.as_ref() == Some(&c.name) => Ok(Role::Blocking),
        None => plain(api, c, place),
    }
}

/// A parameter without annotation.
fn plain(api: &Api, c: &CParam, place: &Place) -> Result<Role, SpecError> {
    if let Some(scalar) = scalar(api, &c.ctype) {
        return Ok(Role::Scalar { scalar, send: None });
    }
    match c.ctype.name() {
        Some(name) if api.handles.contains_key(name) => Ok(Role::Handle {
            ctype: name.into(),
            optional: false,
        }),
        Some(name) => Err(place.error(Problem::UnknownType(name.into()))),
        // Counters, sizes and user data are claimed by another's annotation.
        None => Ok(Role::Unused),
    }
}

fn annotated(
    api: &Api,
    c: &CParam,
    annotation: Annotation,
    place: &Place,
) -> Result<Role, SpecError> {
    Ok(match annotation {
        Annotation::Error => Role::Error,
        Annotation::Signals => Role::Signals,
        Annotation::Waits { count, required } => Role::Waits { count, required },
        Annotation::Unused => Role::Unused,
        Annotation::Optional => Role::Handle {
            ctype: handle_name(api, &c.ctype, place)?,
            optional: true,
        },
        Annotation::Bytes(direction, len) => Role::Bytes {
            direction,
            len,
            counter: None,
        },
        Annotation::Counted {
            room,
            counter,
            is_text,
        } => Role::Bytes {
            direction: Direction::Out,
            len: room,
            counter: Some(Counted { counter, is_text }),
        },
        Annotation::Versioned(versions) => versioned(api, versions, place)?,
        Annotation::CStr(through) => {
            Role::CStr(through.map(|expr| helper(&expr, place)).transpose()?)
        }
        Annotation::Pieces(expr) => Role::Pieces(helper(&expr, place)?),
        Annotation::Packed {
            strings,
            count,
            lengths,
        } => Role::Packed {
            strings,
            count,
            lengths,
        },
        Annotation::Send(expr) => Role::Scalar {
            scalar: scalar(api, &c.ctype).ok_or_else(|| mismatch(c, "a number", place))?,
            send: Some(helper(&expr, place)?),
        },
        Annotation::Union(name, expr) if api.unions.contains_key(&name) => {
            Role::Union(name, helper(&expr, place)?)
        }
        Annotation::Union(name, _) => {
            return Err(place.error(Problem::Missing {
                what: "union",
                name,
            }));
        }
        Annotation::InOne(name) if has_addresses(api, &name) => {
            return Err(place.error(Problem::Addresses(name)));
        }
        Annotation::InOne(name) if api.structs.contains_key(&name) => Role::Struct(name),
        Annotation::InOne(name) => return Err(place.error(Problem::UnknownType(name))),
        Annotation::OutNew(ctype, parents) => {
            let target = c.ctype.target().and_then(CType::name);
            if target != Some(&ctype) || !api.handles.contains_key(&ctype) {
                return Err(place.error(Problem::UnknownType(ctype)));
            }
            Role::OutNew { ctype, parents }
        }
        Annotation::OutOne => Role::Out(target_scalar(api, c, place)?),
        Annotation::InArray(element, len) => in_array(api, c, element, len, place)?,
        out @ Annotation::OutArray { .. } => out_array(api, c, out, place)?,
        Annotation::List { keys, end } => list(api, c, keys, end, place)?,
        Annotation::Info {
            name,
            size,
            size_ret,
            table,
        } => info(api, name, size, size_ret, table, place)?,
        Annotation::Callback { user_data, once } => callback(c, user_data, once, place)?,
    })
}

fn versioned(api: &Api, versions: Vec<String>, place: &Place) -> Result<Role, SpecError> {
    for version in &versions {
        super::known_constant(api, version, place)?;
    }
    let errors = api.errors.as_ref();
    match errors.is_some_and(|errors| errors.version.is_some()) {
        true => Ok(Role::Versioned(versions)),
        false => Err(place.error(Problem::Contradiction(
            "the API has no error for unknown versions: add version = \"CODE\" to errors",
        ))),
    }
}

fn mismatch(c: &CParam, expected: &'static str, place: &Place) -> SpecError {
    place.error(Problem::Mismatch {
        found: c.ctype.to_string(),
        expected,
    })
}

fn handle_name(api: &Api, ctype: &CType, place: &Place) -> Result<String, SpecError> {
    match ctype.name().filter(|name| api.handles.contains_key(*name)) {
        Some(name) => Ok(name.into()),
        None => Err(place.error(Problem::UnknownType(ctype.to_string()))),
    }
}

fn target_scalar(api: &Api, c: &CParam, place: &Place) -> Result<Scalar, SpecError> {
    let scalar = c.ctype.target().and_then(|target| scalar(api, target));
    scalar.ok_or_else(|| mismatch(c, "a pointer to a number", place))
}

/// Whether the pointer is to elements of this type, or to anything.
fn points_to(c: &CParam, element: &str) -> bool {
    let target = c.ctype.target().and_then(CType::name);
    target == Some(element) || target == Some("void")
}

fn in_array(
    api: &Api,
    c: &CParam,
    element: String,
    len: Expr,
    place: &Place,
) -> Result<Role, SpecError> {
    if !points_to(c, &element) {
        return Err(mismatch(c, "a pointer to the element type", place));
    }
    if api.handles.contains_key(&element) {
        let ctype = element;
        return Ok(Role::Handles { ctype, len });
    }
    match api.types.get(&element) {
        Some(&scalar) => Ok(Role::Array { scalar, len }),
        None => Err(place.error(Problem::UnknownType(element))),
    }
}

fn out_array(
    api: &Api,
    c: &CParam,
    annotation: Annotation,
    place: &Place,
) -> Result<Role, SpecError> {
    let Annotation::OutArray {
        element,
        room,
        counter,
        parents,
    } = annotation
    else {
        return Err(mismatch(c, "an array", place));
    };
    if c.ctype.target().and_then(CType::name) != Some(&element) {
        return Err(mismatch(c, "a pointer to the element type", place));
    }
    if api.handles.contains_key(&element) {
        return Ok(Role::OutHandles {
            ctype: element,
            room,
            counter,
            parents,
        });
    }
    if has_addresses(api, &element) {
        return Err(place.error(Problem::Addresses(element)));
    }
    if api.structs.contains_key(&element) {
        let name = element;
        return Ok(Role::OutStructs {
            name,
            room,
            counter,
        });
    }
    match api.types.get(&element) {
        Some(&scalar) => Ok(Role::OutArray {
            scalar,
            room,
            counter,
        }),
        None => Err(place.error(Problem::UnknownType(element))),
    }
}

fn list(
    api: &Api,
    c: &CParam,
    keys: Vec<(String, ListValue)>,
    end: Option<String>,
    place: &Place,
) -> Result<Role, SpecError> {
    for (key, value) in &keys {
        super::known_constant(api, key, place)?;
        if let ListValue::Handle(ctype) = value {
            handle_name(api, &CType::Named(ctype.clone()), place)?;
        }
    }
    if let Some(end) = &end {
        super::known_constant(api, end, place)?;
    }
    let scalar = target_scalar(api, c, place)?;
    Ok(Role::List { scalar, keys, end })
}

fn info(
    api: &Api,
    name: String,
    size: String,
    size_ret: String,
    table: String,
    place: &Place,
) -> Result<Role, SpecError> {
    if !api.queries.contains_key(&table) {
        let problem = Problem::Missing {
            what: "table of queries",
            name: table,
        };
        return Err(place.error(problem));
    }
    Ok(Role::Info {
        name,
        size,
        size_ret,
        table,
    })
}

fn callback(
    c: &CParam,
    user_data: String,
    once: Option<Vec<String>>,
    place: &Place,
) -> Result<Role, SpecError> {
    let CType::Function(signature) = &c.ctype else {
        return Err(mismatch(c, "a function pointer", place));
    };
    Ok(Role::Callback {
        user_data,
        once,
        signature: (**signature).clone(),
    })
}

/// A helper's call whose arguments are parameters.
pub fn helper(expr: &Expr, place: &Place) -> Result<Helper, SpecError> {
    let bad = || {
        place.error(Problem::Contradiction(
            "a helper's call has parameters as arguments: helper(a, b)",
        ))
    };
    let Expr::Call(name, args) = expr else {
        return Err(bad());
    };
    let arg = |arg: &Expr| match arg {
        Expr::Name(name) => Ok(name.clone()),
        _ => Err(bad()),
    };
    Ok(Helper {
        name: name.clone(),
        args: args.iter().map(arg).collect::<Result<_, _>>()?,
    })
}

/// Gives parameters that others claim their role.
fn derive(api: &Api, params: &mut [Param], raw: &RawCall, place: &Place) -> Result<(), SpecError> {
    let claims: Vec<(usize, String, Role)> = params
        .iter()
        .enumerate()
        .flat_map(|(by, param)| {
            claims(&param.role)
                .into_iter()
                .map(move |(n, r)| (by, n, r))
        })
        .collect();
    for (by, name, role) in claims {
        let place = place.key(&params[by].name);
        let claimed = params.iter_mut().find(|param| param.name == name);
        let claimed =
            claimed.ok_or_else(|| place.error(Problem::UnknownParameter(name.clone())))?;
        claimed.role = match role {
            // The scalar is only known from the claimed parameter.
            Role::Counter(_) => counter(api, claimed, &place)?,
            role => role,
        };
    }
    // A pointer that nobody claimed and that says nothing itself.
    for param in params {
        let silent = param.role == Role::Unused && !raw.params.contains_key(&param.name);
        if silent {
            let problem = Problem::NoAnnotation(param.name.clone());
            return Err(place.key(&param.name).error(problem));
        }
    }
    Ok(())
}

fn counter(api: &Api, param: &Param, place: &Place) -> Result<Role, SpecError> {
    let target = param.ctype.target().and_then(|target| scalar(api, target));
    target.map(Role::Counter).ok_or_else(|| {
        place.key(&param.name).error(Problem::Mismatch {
            found: param.ctype.to_string(),
            expected: "a pointer to a number",
        })
    })
}

/// The parameters that a role makes again, and what becomes of them.
fn claims(role: &Role) -> Vec<(String, Role)> {
    match role {
        Role::Waits { count, .. } => vec![(count.clone(), Role::Derived)],
        Role::Packed { lengths, .. } => lengths
            .iter()
            .map(|lengths| (lengths.clone(), Role::Derived))
            .collect(),
        Role::Info { size, size_ret, .. } => vec![
            (size.clone(), Role::Derived),
            (size_ret.clone(), Role::Derived),
        ],
        Role::Callback { user_data, .. } => vec![(user_data.clone(), Role::UserData)],
        Role::Bytes {
            counter: Some(counted),
            ..
        } => vec![(counted.counter.clone(), Role::Counter(Scalar::U32))],
        Role::OutArray { counter, .. }
        | Role::OutStructs { counter, .. }
        | Role::OutHandles { counter, .. } => counter
            .iter()
            .map(|counter| (counter.clone(), Role::Counter(Scalar::U32)))
            .collect(),
        _ => Vec::new(),
    }
}

/// Every name in the parameters' expressions.
fn check(api: &Api, params: &[Param], place: &Place) -> Result<(), SpecError> {
    for param in params {
        let place = place.key(&param.name);
        for expr in expressions(&param.role) {
            known_names(api, expr, params, &place)?;
        }
        if let Role::Scalar {
            send: Some(helper), ..
        }
        | Role::Pieces(helper)
        | Role::CStr(Some(helper))
        | Role::Union(_, helper) = &param.role
        {
            known_helper(api, &helper.name, &place)?;
            for arg in &helper.args {
                if !params.iter().any(|param| param.name == *arg) {
                    return Err(place.error(Problem::UnknownParameter(arg.clone())));
                }
            }
        }
        if let Role::OutNew { parents, .. } = &param.role {
            for parent in parents {
                if !params.iter().any(|param| param.name == *parent) {
                    return Err(place.error(Problem::UnknownParameter(parent.clone())));
                }
            }
        }
        if let Role::Callback {
            once: Some(codes), ..
        } = &param.role
        {
            for code in codes {
                super::known_constant(api, code, &place)?;
            }
        }
    }
    Ok(())
}

fn expressions(role: &Role) -> Vec<&Expr> {
    match role {
        Role::Bytes { len, .. } | Role::Handles { len, .. } | Role::Array { len, .. } => vec![len],
        Role::OutArray { room, .. }
        | Role::OutStructs { room, .. }
        | Role::OutHandles { room, .. } => vec![room],
        _ => Vec::new(),
    }
}

/// Whether every name in an expression is a parameter, a constant or a helper.
pub fn known_names(
    api: &Api,
    expr: &Expr,
    params: &[Param],
    place: &Place,
) -> Result<(), SpecError> {
    let (mut names, mut helpers) = (Vec::new(), Vec::new());
    expr.visit(&mut |name| names.push(name), &mut |name| helpers.push(name));
    for name in names {
        let known = params.iter().any(|param| param.name == *name);
        if !known && !api.constants.contains_key(name) {
            return Err(place.error(Problem::UnknownName(name.into())));
        }
    }
    helpers
        .into_iter()
        .try_for_each(|helper| known_helper(api, helper, place))
}

fn known_helper(api: &Api, name: &str, place: &Place) -> Result<(), SpecError> {
    match api.helpers.contains_key(name) {
        true => Ok(()),
        false => Err(place.error(Problem::UnknownHelper(name.into()))),
    }
}

/// Whether a structure has addresses, which mean nothing on the other side.
fn has_addresses(api: &Api, name: &str) -> bool {
    let fields = api.structs.get(name).into_iter().flatten();
    fields
        .into_iter()
        .any(|field| field.c.ctype.target().is_some())
}
