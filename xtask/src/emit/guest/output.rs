//! From the wire reply to what the program gets.

use super::*;
use crate::spec::annotation::Direction;
use crate::spec::prototype::CParam;

impl Stub<'_> {
    fn callback(&self) -> Option<(&Param, &str, Option<&[String]>, &Signature)> {
        self.call.params.iter().find_map(|param| match &param.role {
            Role::Callback {
                user_data,
                once,
                signature,
            } => Some((param, user_data.as_str(), once.as_deref(), signature)),
            _ => None,
        })
    }

    /// The function of the program's that is called once the queue gets there.
    pub(super) fn called_at_its_turn(&self) -> Option<&str> {
        let (param, _, once, _) = self.callback()?;
        once?.is_empty().then_some(param.name.as_str())
    }

    /// Keeps the handles that a callback gets, before lookups shadow them.
    pub(super) fn notified(&self, out: &mut String) {
        let Some((_, _, Some(_), signature)) = self.callback() else {
            return;
        };
        for param in &signature.params {
            if matches!(
                self.call.param(&param.name).map(|p| &p.role),
                Some(Role::Handle { .. })
            ) {
                let _ = writeln!(
                    out,
                    "let {} = {};",
                    derived(&param.name, "given"),
                    ident(&param.name)
                );
            }
        }
    }

    /// Forwards or posts, and takes the answer.
    pub(super) fn submit(&self, out: &mut String) {
        let always_post = self.call.class == Some(Class::Post) && self.call.otherwise.is_none();
        if always_post {
            out.push_str("request.post(&args)\n");
            return;
        }
        if self
            .call
            .otherwise
            .as_ref()
            .is_some_and(|(_, class)| *class == Class::Post)
        {
            out.push_str("if class == Class::Post { return request.post(&args); }\n");
        }
        let read = self.read();
        let forward = format!("request.forward(&args, |reply| {{ {read} }})");
        let after = self.after();
        if let Some(helper) = &self.call.posts_if {
            let args: Vec<_> = helper.args.iter().map(|arg| self.helper_arg(arg)).collect();
            let _ = writeln!(
                out,
                "if request.is_inline() && {}({}) {{ request.post(&args)?; }} else {{ {forward}?; }}\n{after}Ok(())",
                helper_path(&helper.name),
                args.join(", ")
            );
            return;
        }
        let _ = match (self.callback_after(), after.is_empty()) {
            (Some(callback), _) => writeln!(out, "let ended = {forward};\n{callback}ended"),
            (None, true) => writeln!(out, "{forward}"),
            (None, false) => writeln!(out, "{forward}?;\n{after}Ok(())"),
        };
    }

    /// What happens once the operation is enqueued.
    fn after(&self) -> String {
        let event = self.call.params.iter().find(|p| p.role == Role::Signals);
        match (event, &self.call.queue) {
            (Some(event), Some(queue)) => {
                format!(
                    "Object::give_event({}, signal, &{});\n",
                    ident(&event.name),
                    ident(queue)
                )
            }
            _ => String::new(),
        }
    }

    fn callback_after(&self) -> Option<String> {
        let (param, user_data, once, signature) = self.callback()?;
        let (callback, codes) = (ident(&param.name), once?);
        if codes.is_empty() {
            return Some(self.deferred(&callback, user_data, signature));
        }
        let success = self.api.errors.as_ref().map(|e| e.success.as_str());
        let failures: Vec<_> = codes
            .iter()
            .filter(|code| Some(code.as_str()) != success)
            .collect();
        let mut patterns = vec!["Ok(_)".to_owned()];
        patterns.extend(failures.iter().map(|code| format!("Err({code})")));
        let args: Vec<_> = signature
            .params
            .iter()
            .map(|p| self.callback_arg(&p.name, user_data))
            .collect();
        let made = matches!(self.call.returns, Returns::New(..));
        let condition = match made {
            true => "let Ok(made) = ended".into(),
            false => format!("matches!(ended, {})", patterns.join(" | ")),
        };
        Some(format!(
            "if let Some(notify) = {callback} && {condition} {{ callbacks::notify(move || notify({})); }}\n",
            args.join(", ")
        ))
    }

    /// The callback comes with the code that the operation ended with.
    fn deferred(&self, callback: &str, user_data: &str, signature: &Signature) -> String {
        let arg = |param: &CParam| match self.call.param(&param.name) {
            None => "code".into(),
            Some(_) => self.callback_arg(&param.name, user_data),
        };
        let args: Vec<_> = signature.params.iter().map(arg).collect();
        format!(
            "if let Some(notify) = {callback} && ended.is_ok() {{ Guest::defer(wire::{}, signal, move |code| notify({})); }}\n",
            screaming(&self.call.name),
            args.join(", ")
        )
    }

    fn callback_arg(&self, name: &str, user_data: &str) -> String {
        match self.call.param(name).map(|p| &p.role) {
            _ if name == user_data => ident(name),
            Some(Role::Handle { .. }) => derived(name, "given"),
            Some(_) => ident(name),
            None => "made".into(),
        }
    }

    /// The body of the closure that gets the encoded reply.
    fn read(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "let reply: wire::{}Reply = reply.decode()?;",
            camel(&self.call.name)
        );
        let checked = self.call.way != Way::None;
        let rest = self.writes();
        let value = self.value();
        if self.info().is_some() {
            out.push_str("Guest::check(reply.result)?;\ninfo::answer_info::<Guest>(&room, kind, reply.size, &reply.value)");
            return out;
        }
        if checked && rest.is_empty() && value == "Ok(())" {
            out.push_str("Guest::check(reply.result)");
            return out;
        }
        if checked {
            out.push_str("Guest::check(reply.result)?;\n");
        }
        if !checked && rest.is_empty() && value == "Ok(())" {
            return "let _ = reply; Ok(())".into();
        }
        out.push_str(&rest);
        out.push_str(&value);
        out
    }

    fn writes(&self) -> String {
        let mut out = String::new();
        for param in &self.call.params {
            self.write(param, &mut out);
        }
        out
    }

    fn write(&self, param: &Param, out: &mut String) {
        let name = ident(&param.name);
        let _ = match &param.role {
            Role::Counter(scalar) if self.api.leaves_alone(self.call) && scalar.is_signed() => {
                writeln!(
                    out,
                    "if reply.{name} >= 0 {{ data::write({name}, reply.{name}); }}"
                )
            }
            Role::Counter(scalar) | Role::Out(scalar) if scalar.is_word() => {
                writeln!(
                    out,
                    "data::write({name}, reply.{name} as {});",
                    scalar.rust()
                )
            }
            Role::Counter(_) | Role::Out(_) => {
                writeln!(out, "data::write({name}, reply.{name});")
            }
            Role::OutNew { ctype, parents } => {
                let kind = &self.api.handles[ctype].kind;
                let parents: Vec<_> = parents.iter().map(|p| format!("&{}", ident(p))).collect();
                let (new, details) = (derived(&param.name, "new"), self.details());
                writeln!(
                    out,
                    "data::write({name}, Object::create(Kind::{kind}, {new}, &[{}], {details}));",
                    parents.join(", ")
                )
            }
            Role::OutHandles { parents, .. } => {
                let kind = kind_of(self.api, param);
                let room = derived(&param.name, "room");
                let parents = match parents {
                    None => "None".into(),
                    Some(parents) => {
                        let parents: Vec<_> =
                            parents.iter().map(|p| format!("&{}", ident(p))).collect();
                        format!("Some(&[{}])", parents.join(", "))
                    }
                };
                writeln!(
                    out,
                    "Object::write_all(Kind::{kind}, {name}, {room}, &reply.{name}, {parents});"
                )
            }
            Role::OutArray { scalar, .. } => {
                self.write_each(param, &format!("*value as {}", scalar.rust()), out)
            }
            Role::OutStructs { name: ctype, .. } => self.write_each(
                param,
                &format!("{ctype}::from_wire(value).ok_or(Guest::BOUNDS)?"),
                out,
            ),
            Role::Versioned(_) => writeln!(
                out,
                "data::write_data(&reply.{name}, {name}.cast(), {});",
                derived(&param.name, "len")
            ),
            Role::Bytes {
                direction: Direction::Out | Direction::InOut,
                len,
                ..
            } if self.call.class != Some(Class::Enqueue) => {
                let len = self.bytes_len(param, len);
                writeln!(
                    out,
                    "data::write_data(&reply.{name}, {name}.cast(), {len});"
                )
            }
            _ => Ok(()),
        };
    }

    fn write_each(&self, param: &Param, value: &str, out: &mut String) -> std::fmt::Result {
        let (name, room) = (ident(&param.name), derived(&param.name, "room"));
        writeln!(
            out,
            "if !{name}.is_null() {{ for (n, value) in reply.{name}.iter().take({room}).enumerate() {{ {name}.add(n).write({value}); }} }}"
        )
    }

    fn details(&self) -> String {
        match &self.call.details {
            None => "Default::default()".into(),
            Some(helper) => {
                let args: Vec<_> = helper.args.iter().map(|arg| self.helper_arg(arg)).collect();
                format!("<Guest as Kept>::{}({})", helper.name, args.join(", "))
            }
        }
    }

    fn value(&self) -> String {
        match &self.call.returns {
            Returns::New(ctype, parents) => {
                let kind = &self.api.handles[ctype].kind;
                let parents: Vec<_> = parents.iter().map(|p| format!("&{}", ident(p))).collect();
                let details = self.details();
                format!(
                    "Ok(Object::create(Kind::{kind}, new, &[{}], {details}))",
                    parents.join(", ")
                )
            }
            Returns::Value(scalar) if scalar.is_word() => {
                format!("Ok(reply.value as {})", scalar.rust())
            }
            Returns::Value(_) => "Ok(reply.value)".into(),
            Returns::Status | Returns::Pointer => "Ok(())".into(),
        }
    }
}
