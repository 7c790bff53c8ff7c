//! From the function's results to the wire reply.

use super::*;
use crate::spec::annotation::Direction;

impl Body<'_> {
    /// What follows the function's return.
    pub(super) fn finish(&self, out: &mut String) {
        self.bind(out);
        self.enqueued(out);
        if self.call.class == Some(Class::Post) && self.call.otherwise.is_none() {
            out.push_str("Ok(Vec::new())\n");
            return;
        }
        for param in &self.call.params {
            self.shorten(param, out);
        }
        let fields = self.fields();
        let name = camel(&self.call.name);
        let reply = match fields.is_empty() {
            true => format!("wire::{name}Reply"),
            false => format!("wire::{name}Reply {{ {} }}", fields.join(", ")),
        };
        let _ = writeln!(out, "{}", self.answer(&reply));
    }

    fn success(&self) -> &str {
        self.api.errors.as_ref().map_or("0", Errors::none)
    }

    fn bind(&self, out: &mut String) {
        for param in &self.call.params {
            self.bind_written(param, out);
        }
        let Returns::New(ctype, parents) = &self.call.returns else {
            return;
        };
        let kind = &self.api.handles[ctype].kind;
        let parent = parent(parents);
        let bind = format!("session.bind(Kind::{kind}, args.new, object, {parent})?;");
        let _ = match self.call.way {
            // What is left of a failed call is nobody's: it goes at once.
            Way::Written if self.call.leaves => writeln!(
                out,
                "if !object.is_null() {{ {bind} if result != {} {{ session.release(Kind::{kind}, args.new)?; }} }}",
                self.success()
            ),
            Way::Written => writeln!(out, "if result == {} {{ {bind} }}", self.success()),
            _ => writeln!(
                out,
                "let result = if object.is_null() {{ session.last_error() }} else {{ {bind} {} as i32 }};",
                self.success()
            ),
        };
    }

    /// A new object that the function wrote to a parameter.
    fn bind_written(&self, param: &Param, out: &mut String) {
        let Role::OutNew { ctype, parents } = &param.role else {
            return;
        };
        let kind = &self.api.handles[ctype].kind;
        let name = ident(&param.name);
        let parent = parent(parents);
        let _ = writeln!(
            out,
            "if result == {} {{ session.bind(Kind::{kind}, args.{name}, {name}, {parent})?; }}",
            self.success()
        );
    }

    fn enqueued(&self, out: &mut String) {
        if self.call.class != Some(Class::Enqueue) {
            return;
        }
        let queue = self.call.queue.as_deref().unwrap_or_default();
        let waits = self
            .call
            .params
            .iter()
            .find(|p| matches!(p.role, Role::Waits { .. }));
        let waits = waits.map_or("&[]".into(), |p| format!("&args.{}", ident(&p.name)));
        let event = self.call.params.iter().find(|p| p.role == Role::Signals);
        let (number, event) = match event {
            Some(param) => (
                format!("args.{}", ident(&param.name)),
                event_field(&param.name),
            ),
            None => ("args.event".into(), "event: ptr::null_mut()".into()),
        };
        let (_, order) = self.call.engine.unwrap_or(("NONE", "Command"));
        let _ = writeln!(
            out,
            "session.enqueued(call, Enqueued {{ result, queue: args.{}, order: Order::{order}, waits: {waits}, signals: {number}, {event} }})?;",
            ident(queue)
        );
    }

    /// Cuts an array to what the function filled.
    fn shorten(&self, param: &Param, out: &mut String) {
        let counter = match &param.role {
            Role::OutArray { counter, .. }
            | Role::OutStructs { counter, .. }
            | Role::OutHandles { counter, .. } => counter,
            _ => return,
        };
        let name = ident(&param.name);
        let failed = match self.call.way {
            Way::None => String::new(),
            _ => format!(" || result != {}", self.success()),
        };
        let count = counter
            .as_ref()
            .map(|counter| format!("usize::try_from({}).unwrap_or(0)", ident(counter)));
        let count = count.unwrap_or(match &param.role {
            Role::OutArray { .. } if self.api.leaves_alone(self.call) => {
                format!("back_end::filled(&{name})")
            }
            _ => format!("{name}_room"),
        });
        let _ = writeln!(
            out,
            "{name}.truncate(if !args.{name}{failed} {{ 0 }} else {{ {count} }});"
        );
    }

    fn fields(&self) -> Vec<String> {
        let mut fields = Vec::new();
        if self.call.way != Way::None {
            let is_i32 = self.api.errors.as_ref().is_some_and(|e| {
                e.kept.is_some()
                    || e.ctype
                        .as_ref()
                        .is_some_and(|ctype| self.api.types[ctype] == Scalar::I32)
            });
            fields.push(if is_i32 || self.call.way == Way::Noted {
                "result".into()
            } else {
                "result: result as i32".into()
            });
        }
        if let Returns::Value(scalar) = self.call.returns {
            fields.push(if scalar.is_word() {
                format!("value: value as {}", scalar.wire())
            } else {
                "value".into()
            });
        }
        for param in &self.call.params {
            if let Some(value) = self.output(param) {
                let name = ident(&param.name);
                fields.push(match value == name {
                    true => name,
                    false => format!("{name}: {value}"),
                });
            }
        }
        fields
    }

    fn output(&self, param: &Param) -> Option<String> {
        let name = ident(&param.name);
        Some(match &param.role {
            Role::Counter(scalar) | Role::Out(scalar) if scalar.is_word() => {
                format!("{name} as {}", scalar.wire())
            }
            Role::Counter(_) | Role::Out(_) => name,
            Role::OutHandles { parents, .. } => {
                let kind = guest::kind_of(self.api, param);
                // What the call makes comes with a reference.
                let number = match parents {
                    Some(_) => "made",
                    None => "found",
                };
                format!(
                    "{name}.into_iter().map(|object| session.{number}(Kind::{kind}, object)).collect()"
                )
            }
            Role::OutStructs { .. } => {
                format!("{name}.iter().map(|item| item.to_wire()).collect()")
            }
            Role::OutArray { scalar, .. } if scalar.is_word() => {
                format!(
                    "{name}.iter().map(|item| *item as {}).collect()",
                    scalar.wire()
                )
            }
            Role::OutArray { .. } => name,
            Role::Versioned(_) => format!("{name}.data(call, {name}_len)"),
            Role::Bytes {
                direction: Direction::Out | Direction::InOut,
                counter,
                ..
            } if self.call.class != Some(Class::Enqueue) => match counter {
                None => format!("{name}.data(call, {name}_len)"),
                Some(counted) => {
                    let end = u8::from(counted.is_text);
                    let counter = ident(&counted.counter);
                    format!("{name}.data(call, back_end::written({counter}, {end}))")
                }
            },
            _ => return None,
        })
    }
}

/// The event's field of `Enqueued`.
fn event_field(name: &str) -> String {
    format!("event: {}.cast()", ident(name))
}

/// The first parent's number.
fn parent(parents: &[String]) -> String {
    match parents.first() {
        Some(parent) => format!("args.{}", ident(parent)),
        None => "Handle::NULL".into(),
    }
}
