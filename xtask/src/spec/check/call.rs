//! One entry point.

use super::param;
use super::scalar;
use crate::spec::annotation::Direction;
use crate::spec::error::{Place, Problem, SpecError};
use crate::spec::expr::Expr;
use crate::spec::model::*;
use crate::spec::prototype::{self, CType, Signature};
use crate::spec::raw::RawCall;
use std::collections::BTreeMap;

/// Checks a call.
pub fn call(api: &Api, name: &str, raw: &RawCall) -> Result<Call, SpecError> {
    let place = Place::call(name);
    versions(raw, &place)?;
    let signature = signature(name, raw, &place)?;
    let mode = mode(raw, &place)?;
    let generated = mode.is_generated();
    let params = param::params(api, raw, &signature, &mode, &place)?;
    let (class, otherwise) = classes(raw, &mode, &place)?;
    let mut call = Call {
        name: name.into(),
        number: raw.number,
        since: raw.since.clone(),
        until: raw.until.clone(),
        deprecated: raw.deprecated.clone(),
        header: raw.header.clone(),
        declaration: raw.c.clone(),
        ret: signature.ret,
        class,
        otherwise,
        mode,
        params,
        returns: Returns::Status,
        way: Way::None,
        is_local: false,
        current: raw.current,
        around: raw.around,
        frame: raw.frame,
        differences: raw.differences,
        queue: raw.queue.clone(),
        engine: raw
            .engine
            .as_deref()
            .map(|e| engine(e, &place))
            .transpose()?,
        blocking: raw.blocking.clone(),
        signals: raw.signals.clone(),
        leaves: raw
            .returns
            .as_ref()
            .is_some_and(|text| text.ends_with(EVEN_FAILED)),
        details: None,
        check: None,
        instead: None,
        posts_if: None,
        state: State::Derived,
        contents: raw.contents.clone(),
        label: raw.label.clone(),
        selects: raw.selects.clone(),
        runs: raw.runs.clone(),
        fails: raw.fails.clone(),
        wire: fields(api, raw.wire.as_deref(), &place.key("wire"))?,
        reply: fields(api, raw.reply.as_deref(), &place.key("reply"))?,
    };
    call.returns = returns(api, raw, &call.ret, generated, &place)?;
    call.way = way(api, &call);
    call.is_local = call.params.iter().any(|param| is_local(api, param));
    call.details = guests(raw.details.as_deref(), &call, &place.key("details"))?;
    call.check = guests(raw.check.as_deref(), &call, &place.key("check"))?;
    call.instead = guests(raw.instead.as_deref(), &call, &place.key("instead"))?;
    call.posts_if = guests(raw.posts_if.as_deref(), &call, &place.key("posts_if"))?;
    call.state = state(raw.state.as_deref(), &call, &place.key("state"))?;
    names(api, &call, &place)?;
    consistent(api, &call, &place)?;
    Ok(call)
}

fn versions(raw: &RawCall, place: &Place) -> Result<(), SpecError> {
    let is_none = |text: &&String| version(text).is_none();
    match [&raw.since].into_iter().chain(&raw.until).find(is_none) {
        Some(found) => Err(word(
            place,
            "version",
            found,
            "two numbers, such as \"1.1\"",
        )),
        None => Ok(()),
    }
}

fn signature(name: &str, raw: &RawCall, place: &Place) -> Result<Signature, SpecError> {
    let Some(text) = &raw.c else {
        if raw.internal {
            return Ok(Signature {
                ret: CType::Named("void".into()),
                params: Vec::new(),
            });
        }
        let problem = Problem::Contradiction("the call has no prototype: add c = \"…\"");
        return Err(place.error(problem));
    };
    let (found, signature) = prototype::parse(text).map_err(|p| place.key("c").error(p))?;
    if found != name {
        let problem = Problem::Contradiction("the prototype has another name than the table");
        return Err(place.key("c").error(problem));
    }
    Ok(signature)
}

fn mode(raw: &RawCall, place: &Place) -> Result<Mode, SpecError> {
    if let Some(other) = &raw.same_as {
        return Ok(Mode::SameAs(other.clone()));
    }
    if let Some(reference) = &raw.reference {
        return match reference.as_str() {
            "retain" => Ok(Mode::Retain),
            "release" => Ok(Mode::Release),
            other => Err(word(place, "reference", other, "retain or release")),
        };
    }
    match raw.mode.as_deref().unwrap_or("auto") {
        "auto" => Ok(Mode::Auto),
        "manual" => Ok(Mode::Manual {
            guest: true,
            board: true,
        }),
        "manual-guest" => Ok(Mode::Manual {
            guest: true,
            board: false,
        }),
        "manual-board" => Ok(Mode::Manual {
            guest: false,
            board: true,
        }),
        "manual-stub" => Ok(Mode::Stub),
        "unsupported" => Ok(Mode::Unsupported),
        other => Err(word(
            place,
            "mode",
            other,
            "auto, manual, manual-guest, manual-board, manual-stub or unsupported",
        )),
    }
}

fn word(place: &Place, key: &'static str, found: &str, expected: &'static str) -> SpecError {
    place.key(key).error(Problem::Word {
        what: key,
        found: found.into(),
        expected,
    })
}

const CLASSES: [(&str, Class); 6] = [
    ("query", Class::Query),
    ("sync", Class::Sync),
    ("post", Class::Post),
    ("enqueue", Class::Enqueue),
    ("wait", Class::Wait),
    ("poll", Class::Poll),
];

fn class(text: &str, place: &Place) -> Result<Class, SpecError> {
    let found = CLASSES.iter().find(|(word, _)| *word == text.trim());
    found.map(|(_, class)| *class).ok_or_else(|| {
        word(
            place,
            "class",
            text,
            "query, sync, post, enqueue, wait or poll, or \"sync if <expression> else post\"",
        )
    })
}

type Classes = (Option<Class>, Option<(Expr, Class)>);

fn classes(raw: &RawCall, mode: &Mode, place: &Place) -> Result<Classes, SpecError> {
    let Some(text) = &raw.class else {
        let needed = !matches!(mode, Mode::Unsupported | Mode::SameAs(_));
        return match needed {
            true => Err(place.error(Problem::NoClass)),
            false => Ok((None, None)),
        };
    };
    let Some((first, rest)) = text.split_once(" if ") else {
        return Ok((Some(class(text, place)?), None));
    };
    let (condition, second) = rest
        .rsplit_once(" else ")
        .ok_or_else(|| word(place, "class", text, "\"sync if <expression> else post\""))?;
    let condition = Expr::parse(condition).map_err(|p| place.key("class").error(p))?;
    Ok((
        Some(class(first, place)?),
        Some((condition, class(second, place)?)),
    ))
}

/// An engine's name in the code, and how its operation is ordered.
fn engine(text: &str, place: &Place) -> Result<(&'static str, &'static str), SpecError> {
    match text {
        "compute" => Ok(("COMPUTE", "Command")),
        "copy-in" => Ok(("COPY_IN", "Command")),
        "copy-out" => Ok(("COPY_OUT", "Command")),
        "none" => Ok(("NONE", "Command")),
        "marker" => Ok(("NONE", "Marker")),
        "barrier" => Ok(("NONE", "Barrier")),
        other => Err(word(
            place,
            "engine",
            other,
            "compute, copy-in, copy-out, none, marker or barrier",
        )),
    }
}

/// A field's type in hand-written wire types.
pub fn field_type<V>(
    text: &str,
    unions: &BTreeMap<String, V>,
    place: &Place,
) -> Result<FieldType, SpecError> {
    Ok(match text {
        "nothing" => FieldType::Nothing,
        "bool" => FieldType::Bool,
        "handle" => FieldType::Handle,
        "handles" => FieldType::Handles,
        "words" => FieldType::Words,
        "in" => FieldType::In,
        "out" => FieldType::Out,
        "event" => FieldType::Event,
        name if unions.contains_key(name) => FieldType::Union(name.into()),
        other => match Scalar::from_name(other).filter(|scalar| !scalar.is_word()) {
            Some(scalar) => FieldType::Scalar(scalar),
            None => return Err(place.error(Problem::UnknownType(other.into()))),
        },
    })
}

type Fields = Option<Vec<(String, FieldType)>>;

fn fields(api: &Api, raw: Option<&[String]>, place: &Place) -> Result<Fields, SpecError> {
    let Some(raw) = raw else { return Ok(None) };
    let field = |text: &String| {
        let (name, ty) = text
            .split_once(": ")
            .ok_or_else(|| word(place, "wire", text, "\"name: type\""))?;
        Ok((name.into(), field_type(ty, &api.unions, &place.key(name))?))
    };
    raw.iter().map(field).collect::<Result<_, _>>().map(Some)
}

fn returns(
    api: &Api,
    raw: &RawCall,
    ret: &CType,
    generated: bool,
    place: &Place,
) -> Result<Returns, SpecError> {
    let place = place.key("returns");
    if let Some(text) = &raw.returns {
        return new_object(api, text, ret, &place);
    }
    let is_error = |e: &Errors| e.ctype.is_some() && ret.name() == e.ctype.as_deref();
    if ret.is_void() || api.errors.as_ref().is_some_and(is_error) {
        return Ok(Returns::Status);
    }
    if let Some(scalar) = scalar(api, ret) {
        return Ok(Returns::Value(scalar));
    }
    match generated {
        true => Err(place.error(Problem::NoAnnotation("the result".into()))),
        false => Ok(Returns::Pointer),
    }
}

/// The function may return an object with an error.
const EVEN_FAILED: &str = " even failed";

/// `new T(parent, …)`, `new T(parent, …) even failed`.
fn new_object(api: &Api, text: &str, ret: &CType, place: &Place) -> Result<Returns, SpecError> {
    let object = text.strip_suffix(EVEN_FAILED).unwrap_or(text);
    let helper = object.strip_prefix("new ").map(Expr::parse);
    let Some(Ok(Expr::Call(ctype, parents))) = helper else {
        return Err(word(place, "returns", text, "\"new type(parent, …)\""));
    };
    if !api.handles.contains_key(&ctype) || ret.name() != Some(&ctype) {
        return Err(place.error(Problem::UnknownType(ctype)));
    }
    let name = |expr| match expr {
        Expr::Name(name) => Ok(name),
        _ => Err(word(place, "returns", text, "parameters as parents")),
    };
    let parents = parents.into_iter().map(name).collect::<Result<_, _>>()?;
    Ok(Returns::New(ctype, parents))
}

fn way(api: &Api, call: &Call) -> Way {
    let written = call.params.iter().any(|param| param.role == Role::Error);
    let is_error = |e: &Errors| e.ctype.is_some() && call.ret.name() == e.ctype.as_deref();
    match &call.returns {
        _ if written => Way::Written,
        Returns::Status if api.errors.as_ref().is_some_and(is_error) => Way::Returned,
        Returns::New(..) => Way::Noted,
        _ => Way::None,
    }
}

/// Whether no value of the query's table crosses.
fn is_local(api: &Api, param: &Param) -> bool {
    let Role::Info { table, .. } = &param.role else {
        return false;
    };
    let mut kinds = api.queries[table].values();
    kinds.all(|kind| matches!(kind, InfoKind::Local | InfoKind::Manual))
}

/// A helper of the guest's over the call's parameters.
fn guests(text: Option<&str>, call: &Call, place: &Place) -> Result<Option<Helper>, SpecError> {
    let Some(text) = text else {
        return Ok(None);
    };
    let expr = Expr::parse(text).map_err(|p| place.error(p))?;
    let helper = param::helper(&expr, place)?;
    for arg in &helper.args {
        known_param(call, arg, place)?;
    }
    Ok(Some(helper))
}

/// `none`, `set(p, …)` or `set(p, …) even failed`.
fn state(text: Option<&str>, call: &Call, place: &Place) -> Result<State, SpecError> {
    let text = match text {
        None => return Ok(State::Derived),
        Some("none") => return Ok(State::None),
        Some(text) => text,
    };
    let key = text.strip_suffix(EVEN_FAILED);
    let helper = guests(Some(key.unwrap_or(text)), call, place)?;
    match helper.filter(|helper| helper.name == "set") {
        Some(helper) => Ok(State::Set {
            key: helper.args,
            even_failed: key.is_some(),
        }),
        None => Err(word(place, "state", text, "none, or set(PARAMETER, …)")),
    }
}

fn known_param(call: &Call, name: &str, place: &Place) -> Result<(), SpecError> {
    match call.param(name) {
        Some(_) => Ok(()),
        None => Err(place.error(Problem::UnknownParameter(name.into()))),
    }
}

/// Every parameter and constant that the call's own keys name.
fn names(api: &Api, call: &Call, place: &Place) -> Result<(), SpecError> {
    let keys = [
        ("queue", &call.queue),
        ("blocking", &call.blocking),
        ("signals", &call.signals),
        ("contents", &call.contents),
        ("label", &call.label),
        ("selects", &call.selects),
        ("runs", &call.runs),
    ];
    for (key, name) in keys {
        if let Some(name) = name
            && !(key == "queue" && call.is_on_current())
            && !(key == "runs" && name == CURRENT)
        {
            known_param(call, name, &place.key(key))?;
        }
    }
    if let Returns::New(_, parents) = &call.returns {
        for parent in parents {
            known_param(call, parent, &place.key("returns"))?;
        }
    }
    if let Some((condition, _)) = &call.otherwise {
        param::known_names(api, condition, &call.params, &place.key("class"))?;
    }
    match &call.fails {
        Some(constant) => super::known_constant(api, constant, &place.key("fails")),
        None => Ok(()),
    }
}

/// Parts that would contradict each other.
fn consistent(api: &Api, call: &Call, place: &Place) -> Result<(), SpecError> {
    let contradiction = |text| Err(place.error(Problem::Contradiction(text)));
    let writes = |param: &Param| {
        matches!(
            param.role,
            Role::Out(_) | Role::OutArray { .. } | Role::OutHandles { .. } | Role::Info { .. }
        )
    };
    let has_output = call.params.iter().any(writes);
    if call.class == Some(Class::Post) && call.mode == Mode::Auto && has_output {
        return contradiction("a post has no answer, and this one has output");
    }
    if call.class == Some(Class::Enqueue) && call.queue.is_none() {
        return contradiction("an enqueue needs its queue");
    }
    if call.current && api.current.is_none() {
        return contradiction("the API has no current object: add current = \"type\" at the top");
    }
    if call.around && !may_have_around(call) {
        return contradiction(
            "around needs a call that the board's generated code runs, with an answer that borrows no bytes",
        );
    }
    if matches!(
        call.mode,
        Mode::Manual {
            board: true,
            guest: true
        }
    ) && call.wire.is_none()
    {
        return contradiction(
            "a call that is manual on both sides needs its wire = [\"name: type\"]",
        );
    }
    Ok(())
}

/// Whether the board has generated code for a call, with an answer that can be
/// handed on.
fn may_have_around(call: &Call) -> bool {
    let runs = matches!(
        call.mode,
        Mode::Auto | Mode::Stub | Mode::Manual { board: false, .. }
    );
    let is_post = call.class == Some(Class::Post) && call.otherwise.is_none();
    let borrows = |param: &Param| match &param.role {
        Role::Info { .. } | Role::Versioned(_) => true,
        Role::Bytes { direction, .. } => {
            *direction != Direction::In && call.class != Some(Class::Enqueue)
        }
        _ => false,
    };
    runs && !is_post && !call.params.iter().any(borrows)
}
