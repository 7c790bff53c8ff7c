//! From C parameters to wire arguments.

use super::*;
use crate::spec::annotation::{Direction, ListValue};

impl Stub<'_> {
    /// Looks up and copies what the request needs beforehand.
    pub(super) fn convert(&self, param: &Param, out: &mut String) {
        let (name, into) = (ident(&param.name), derived(&param.name, "in"));
        let _ = match &param.role {
            Role::Handle { optional, .. } => {
                let find = if *optional { "find_optional" } else { "find" };
                let kind = kind_of(self.api, param);
                writeln!(out, "let {name} = Object::{find}(Kind::{kind}, {name})?;")
            }
            Role::Handles { len, .. } => {
                let kind = kind_of(self.api, param);
                let len = self.count(len);
                writeln!(
                    out,
                    "let {into} = Object::list(Kind::{kind}, {len}, {name})?;"
                )
            }
            Role::Waits {
                count,
                required: false,
            } => writeln!(
                out,
                "let {into} = Object::wait_list({}, {name})?;",
                ident(count)
            ),
            Role::Waits { count, .. } => {
                let kind = kind_of(self.api, param);
                writeln!(
                    out,
                    "let {into} = Object::list(Kind::{kind}, {}, {name})?.filter(|list| !list.is_empty()).ok_or(Guest::VALUE)?;",
                    ident(count)
                )
            }
            Role::CStr(Some(helper)) if self.api.helpers[&helper.name] != HelperSide::Board => {
                let args: String = helper
                    .args
                    .iter()
                    .map(|arg| self.helper_arg(arg) + ", ")
                    .collect();
                writeln!(out, "{}(entry, {args}{name})?;", helper_path(&helper.name))
            }
            Role::Array { scalar, len } => {
                let len = self.len(len);
                match scalar {
                    Scalar::Usize => {
                        writeln!(
                            out,
                            "let {into} = data::sizes::<Guest>({name}.cast(), {len})?;"
                        )
                    }
                    s => writeln!(
                        out,
                        "let {into} = data::array::<Guest, {}, {}>({name}.cast(), {len})?;",
                        s.rust(),
                        s.wire()
                    ),
                }
            }
            // What is no number of values is found before anything is made.
            Role::OutArray { room, .. }
            | Role::OutStructs { room, .. }
            | Role::OutHandles { room, .. } => {
                writeln!(
                    out,
                    "let {} = {};",
                    derived(&param.name, "room"),
                    self.len(room)
                )
            }
            // Without a place for it the object would be nobody's.
            Role::OutNew { .. } => writeln!(
                out,
                "if {name}.is_null() {{ return Err(Guest::VALUE); }}\nlet {} = {}::new_number();",
                derived(&param.name, "new"),
                self.paths.runtime
            ),
            Role::Unused => writeln!(out, "let _ = {name};"),
            Role::Struct(ctype) => writeln!(
                out,
                "let {into} = {name}.cast::<{ctype}>().as_ref().map({ctype}::to_wire);"
            ),
            Role::Packed {
                strings,
                count,
                lengths,
            } => {
                let pack = match strings {
                    true => "pack_strings::<Guest, _>",
                    false => "pack_blobs::<Guest>",
                };
                let none = || "ptr::null::<usize>()".into();
                let lengths = lengths.as_deref().map_or_else(none, ident);
                writeln!(
                    out,
                    "let {into} = data::{pack}({} as u32, {name}.cast(), {lengths})?;",
                    ident(count)
                )
            }
            Role::Bytes { len, .. } if self.is_computed(len) => {
                writeln!(
                    out,
                    "let {} = {};",
                    derived(&param.name, "len"),
                    self.len(len)
                )
            }
            Role::Pieces(helper) => {
                let sizes = self.helper_call(helper);
                writeln!(
                    out,
                    "let {into} = data::pack_pieces::<Guest>(&{sizes}?, {name}.cast())?;"
                )
            }
            Role::List { keys, end, .. } => writeln!(
                out,
                "let {into} = {};",
                self.list(&name, keys, end.as_deref())
            ),
            _ => Ok(()),
        };
    }

    /// Finds how long structures are whose first word says it.
    pub(super) fn versions(&self, out: &mut String) {
        let errors = self.api.errors.as_ref();
        let code = errors.and_then(|errors| errors.version.as_deref());
        for param in &self.call.params {
            let Role::Versioned(versions) = &param.role else {
                continue;
            };
            let _ = writeln!(
                out,
                "let {} = data::versioned::<Guest>({}.cast(), &[{}], {})?;",
                derived(&param.name, "len"),
                ident(&param.name),
                versions.join(", "),
                code.unwrap_or("Guest::VALUE")
            );
        }
    }

    fn count(&self, len: &Expr) -> String {
        match expr::is_plain(self.call, len) {
            Some(param) => ident(&param.name),
            None => format!("{} as u32", self.len(len)),
        }
    }

    fn list(&self, name: &str, keys: &[(String, ListValue)], end: Option<&str>) -> String {
        let (mut handles, mut many) = (Vec::new(), Vec::new());
        for (key, value) in keys {
            match value {
                ListValue::Handle(ctype) => {
                    handles.push(format!(
                        "({key} as u64, Kind::{})",
                        self.api.handles[ctype].kind
                    ));
                }
                ListValue::Many => many.push(format!("{key} as u64")),
            }
        }
        let (handles, many) = (handles.join(", "), many.join(", "));
        match end {
            None => format!("data::properties::<Guest, _>({name}, &[{handles}], &[{many}])?"),
            Some(end) => {
                format!(
                    "data::properties_until::<Guest, _>({end}, {name}, &[{handles}], &[{many}])?"
                )
            }
        }
    }

    /// A helper of the guest's, with C parameters as they came.
    fn helper_call(&self, helper: &Helper) -> String {
        let (path, state) = self.scope().helper(&helper.name);
        let args = state
            .into_iter()
            .chain(helper.args.iter().map(|arg| self.helper_arg(arg)));
        format!("{path}({})", args.collect::<Vec<_>>().join(", "))
    }

    /// Objects by reference, the rest as it came.
    pub(super) fn helper_arg(&self, name: &str) -> String {
        match self.call.param(name).map(|param| &param.role) {
            Some(Role::Handle { .. }) => format!("&{}", ident(name)),
            _ => ident(name),
        }
    }

    /// The wire arguments.
    pub(super) fn args(&self, out: &mut String) {
        let fields = self.fields();
        let name = camel(&self.call.name);
        let _ = match fields.is_empty() {
            true => writeln!(out, "let args = wire::{name}Args;"),
            false => writeln!(
                out,
                "let args = wire::{name}Args {{ {} }};",
                fields.join(", ")
            ),
        };
    }

    fn fields(&self) -> Vec<String> {
        let mut fields = Vec::new();
        if self.call.current {
            fields.push("current: current.number()".into());
        }
        for param in &self.call.params {
            if let Some(value) = self.field(param) {
                let name = ident(&param.name);
                fields.push(match value == name {
                    true => name,
                    false => format!("{name}: {value}"),
                });
            }
        }
        if matches!(self.call.returns, Returns::New(..)) {
            fields.push("new".into());
        }
        let signals = self.call.params.iter().any(|p| p.role == Role::Signals);
        if self.call.class == Some(Class::Enqueue) && !signals {
            fields.push("event: signal".into());
        }
        fields
    }

    fn field(&self, param: &Param) -> Option<String> {
        let (name, into) = (ident(&param.name), derived(&param.name, "in"));
        Some(match &param.role {
            Role::Scalar {
                send: Some(helper), ..
            } => self.helper_call(helper),
            Role::Scalar { scalar, .. } if scalar.is_word() => {
                format!("{name} as {}", scalar.wire())
            }
            Role::Scalar { .. } => name,
            Role::Handle { optional: true, .. } => format!("Object::number_of(&{name})"),
            Role::Handle { .. } => format!("{name}.number()"),
            Role::Handles { .. }
            | Role::Waits { .. }
            | Role::Array { .. }
            | Role::Struct(_)
            | Role::List { .. } => into,
            Role::Signals => "signal".into(),
            Role::OutNew { .. } => derived(&param.name, "new"),
            Role::Bytes { direction, len, .. } => {
                let enqueue = self.call.class == Some(Class::Enqueue);
                let method = match direction {
                    Direction::In => "input",
                    Direction::InOut => "inout_region",
                    Direction::Out if enqueue => "output_region",
                    Direction::Out => "output",
                };
                format!(
                    "request.{method}({name}.cast(), {})",
                    self.bytes_len(param, len)
                )
            }
            Role::Versioned(_) => format!(
                "request.inout_region({name}.cast(), {})",
                derived(&param.name, "len")
            ),
            Role::OutArray { .. }
            | Role::OutStructs { .. }
            | Role::OutHandles { .. }
            | Role::Counter(_)
            | Role::Out(_) => format!("!{name}.is_null()"),
            Role::CStr(_) => format!("request.string({name}.cast())"),
            Role::Packed { count, .. } => self.packed(&format!("{} as u32", ident(count)), &into),
            Role::Pieces(_) => self.packed(&format!("{into}.0"), &format!("{into}.1")),
            Role::UserData => self.user_data(&param.name),
            Role::Info { size, .. } => format!("request.info_room(kind, {name}, {})", ident(size)),
            Role::Union(_, helper) => {
                let args: Vec<_> = helper.args.iter().map(|arg| self.helper_arg(arg)).collect();
                let current = if self.call.current { "&current, " } else { "" };
                format!(
                    "{}(&mut request, {current}{})?",
                    helper_path(&helper.name),
                    args.join(", ")
                )
            }
            Role::Derived | Role::Blocking | Role::Callback { .. } | Role::Error | Role::Unused => {
                return None;
            }
        })
    }

    /// The length of a memory parameter, computed beforehand or plain.
    pub(super) fn bytes_len(&self, param: &Param, len: &Expr) -> String {
        match self.is_computed(len) {
            true => derived(&param.name, "len"),
            false => self.len(len),
        }
    }

    fn is_computed(&self, len: &Expr) -> bool {
        !matches!(len, Expr::Number(_)) && self.len(len).contains("get()")
    }

    fn packed(&self, count: &str, block: &str) -> String {
        format!(
            "Packed {{ count: {count}, data: match &{block} {{ Some(block) => request.input(block.as_ptr().cast(), block.len()), None => InData::Null }} }}"
        )
    }

    /// User data without its callback, which some APIs refuse.
    fn user_data(&self, name: &str) -> String {
        let callback = self.call.params.iter().find(|param| match &param.role {
            Role::Callback { user_data, .. } => user_data == name,
            _ => false,
        });
        let callback = callback.map_or(String::new(), |param| ident(&param.name));
        format!("{callback}.is_none() && !{}.is_null()", ident(name))
    }
}
