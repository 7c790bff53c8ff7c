//! From wire arguments to C arguments.

use super::*;
use crate::spec::annotation::{Direction, ListValue};

type Derived = BTreeMap<String, String>;

impl Body<'_> {
    /// Checks and converts what the function's argument needs; notes arguments
    /// that are made again from others.
    pub(super) fn prelude(&self, param: &Param, derived: &mut Derived, out: &mut String) {
        let (name, c) = (ident(&param.name), param.name.as_str());
        let enqueue = self.call.class == Some(Class::Enqueue);
        let _ = match &param.role {
            Role::Scalar {
                scalar: Scalar::Usize,
                ..
            } => writeln!(out, "let {name} = back_end::size(args.{name}, \"{c}\")?;"),
            Role::Scalar {
                scalar: Scalar::Isize,
                ..
            } => writeln!(out, "let {name} = back_end::offset(args.{name}, \"{c}\")?;"),
            Role::Handle { optional, .. } => {
                let get = if *optional { "get_optional" } else { "get" };
                let kind = guest::kind_of(self.api, param);
                let ty = rust_type(&param.ctype);
                writeln!(
                    out,
                    "let {name}: {ty} = session.{get}(Kind::{kind}, args.{name})?;"
                )
            }
            Role::Handles { ctype, len } => {
                let kind = guest::kind_of(self.api, param);
                let _ = writeln!(
                    out,
                    "let {name}: Option<Vec<{ctype}>> = args.{name}.as_ref().map(|list| session.list(Kind::{kind}, list)).transpose()?;"
                );
                self.covers(&format!("&{name}"), len, c, out)
            }
            Role::Waits { count, .. } => {
                let ty = param.ctype.target().map_or("c_void".into(), rust_type);
                derived.insert(
                    count.clone(),
                    format!("{name}.len() as {}", self.type_of(count)),
                );
                writeln!(out, "let {name}: Vec<{ty}> = session.waits(&args.{name})?;")
            }
            Role::Signals => {
                let ty = param.ctype.target().map_or("c_void".into(), rust_type);
                writeln!(
                    out,
                    "session.can_signal(call, args.{name})?;\nlet mut {name}: {ty} = ptr::null_mut();"
                )
            }
            Role::OutNew { ctype, .. } => writeln!(
                out,
                "session.can_bind(args.{name})?;\nlet mut {name}: {ctype} = ptr::null_mut();"
            ),
            Role::Bytes {
                direction: Direction::In,
                len,
                ..
            } => {
                let input = if enqueue { "keep_input" } else { "input" };
                let len = self.len(len, c);
                writeln!(out, "let {name} = call.{input}(&args.{name}, {len})?;")
            }
            Role::Bytes { len, .. } => {
                let len = self.len(len, c);
                writeln!(
                    out,
                    "let {name}_len = {len};\nlet mut {name} = call.output(args.{name}, {name}_len)?;"
                )
            }
            Role::Versioned(versions) => writeln!(
                out,
                "let (mut {name}, {name}_len) = call.versioned(args.{name}, &[{}])?;",
                versions.join(", ")
            ),
            Role::Array { scalar, len } => self.array(&name, c, *scalar, len, out),
            Role::OutArray { .. } | Role::OutStructs { .. } | Role::OutHandles { .. } => {
                self.out_array(param, derived, out)
            }
            Role::Counter(scalar) if self.api.leaves_alone(self.call) && scalar.is_signed() => {
                writeln!(out, "let mut {name}: {} = -1;", scalar.rust())
            }
            Role::Counter(_) | Role::Out(_) => {
                let ty = param.ctype.target().map_or("c_void".into(), rust_type);
                writeln!(out, "let mut {name}: {ty} = Default::default();")
            }
            Role::Struct(ctype) => writeln!(
                out,
                "let {name} = args.{name}.as_ref().map(|wire| {ctype}::from_wire(wire).ok_or(Refusal::wide(\"{c}\"))).transpose()?;"
            ),
            Role::CStr(through) => writeln!(
                out,
                "let {name} = {};",
                self.string(&name, through.as_ref())
            ),
            Role::Packed { count, lengths, .. } => {
                if let Some(lengths) = lengths {
                    let method = match self.is_size_array(lengths) {
                        true => "lengths",
                        false => "int_lengths",
                    };
                    derived.insert(lengths.clone(), format!("{name}.{method}().cast()"));
                }
                self.pieces(&name, c, out);
                writeln!(
                    out,
                    "if !{name}.covers(Length::of(args.{})) {{ return Err(Refusal::missing_size(\"{c}\")); }}",
                    ident(count)
                )
            }
            Role::Pieces(helper) => {
                self.pieces(&name, c, out);
                let (path, state) = self.scope().helper(&helper.name);
                let args = state
                    .into_iter()
                    .chain(helper.args.iter().map(|arg| format!("args.{}", ident(arg))));
                let args: Vec<_> = args.collect();
                writeln!(out, "{path}({})?.check(&{name})?;", args.join(", "))
            }
            Role::List { scalar, keys, end } => {
                self.list(param, *scalar, keys, end.as_deref(), out)
            }
            Role::Union(_, helper) => {
                let args: Vec<_> = helper
                    .args
                    .iter()
                    .filter(|arg| **arg != param.name)
                    .map(|arg| format!("args.{}", ident(arg)))
                    .collect();
                writeln!(
                    out,
                    "let {name} = support::helpers::{}(session, call, &args.{name}{})?;",
                    helper.name,
                    args.iter()
                        .map(|arg| format!(", {arg}"))
                        .collect::<String>()
                )
            }
            _ => Ok(()),
        };
    }

    /// Whether a parameter points to `size_t`.
    fn is_size_array(&self, param: &str) -> bool {
        let target = self
            .call
            .param(param)
            .and_then(|param| param.ctype.target());
        target
            .and_then(CType::name)
            .and_then(|name| self.api.types.get(name))
            == Some(&Scalar::Usize)
    }

    fn type_of(&self, param: &str) -> String {
        self.call
            .param(param)
            .map_or(String::new(), |p| rust_type(&p.ctype))
    }

    /// Refuses an array shorter than what the function will read.
    fn covers(&self, array: &str, len: &Expr, c: &str, out: &mut String) -> std::fmt::Result {
        let needed = self.length(len);
        writeln!(
            out,
            "if !length::covers({array}, {needed}) {{ return Err(Refusal::missing_size(\"{c}\")); }}"
        )
    }

    fn array(
        &self,
        name: &str,
        c: &str,
        scalar: Scalar,
        len: &Expr,
        out: &mut String,
    ) -> std::fmt::Result {
        if !scalar.is_word() {
            return self.covers(&format!("&args.{name}"), len, c, out);
        }
        let _ = writeln!(
            out,
            "let {name}: Option<Vec<{}>> = length::convert(&args.{name}).ok_or(Refusal::wide(\"{c}\"))?;",
            scalar.rust()
        );
        self.covers(&format!("&{name}"), len, c, out)
    }

    /// Room for an array that the function fills: bounded, whatever the
    /// program says.
    fn out_array(
        &self,
        param: &Param,
        derived: &mut Derived,
        out: &mut String,
    ) -> std::fmt::Result {
        let (name, c) = (ident(&param.name), param.name.as_str());
        let (room, zero) = match &param.role {
            Role::OutArray { room, .. } if self.api.leaves_alone(self.call) => {
                (room, "back_end::Unwritten::MARK".to_owned())
            }
            Role::OutArray { room, .. } => (room, "Default::default()".to_owned()),
            Role::OutStructs { name, room, .. } => (room, format!("{name}::ZERO")),
            Role::OutHandles { room, .. } => (room, "ptr::null_mut()".to_owned()),
            _ => return Ok(()),
        };
        match expr::is_plain(self.call, room) {
            Some(count) => {
                let ty = rust_type(&count.ctype);
                let _ = writeln!(
                    out,
                    "let {name}_room = back_end::room(args.{}.try_into().map_err(|_| Refusal::missing_size(\"{c}\"))?);",
                    ident(&count.name)
                );
                derived.insert(count.name.clone(), format!("{name}_room as {ty}"));
            }
            None => {
                let _ = writeln!(
                    out,
                    "let {name}_room = {}.get().filter(|room| *room <= back_end::room(u32::MAX)).ok_or(Refusal::missing_size(\"{c}\"))?;",
                    self.length(room)
                );
            }
        }
        let ty = param.ctype.target().map_or("c_void".into(), rust_type);
        writeln!(
            out,
            "let mut {name}: Vec<{ty}> = vec![{zero}; {name}_room];"
        )
    }

    fn string(&self, name: &str, through: Option<&Helper>) -> String {
        let Some(helper) = through else {
            return format!("call.string(&args.{name})?");
        };
        let args: String = helper
            .args
            .iter()
            .map(|arg| format!("args.{}, ", ident(arg)))
            .collect();
        format!("session.{}(call, {args}&args.{name})?", helper.name)
    }

    fn pieces(&self, name: &str, c: &str, out: &mut String) {
        let _ = writeln!(
            out,
            "let {name} = Pieces::new(args.{name}.count, call.bytes(&args.{name}.data)?).map_err(|_| Refusal::missing_size(\"{c}\"))?;"
        );
    }

    fn list(
        &self,
        param: &Param,
        scalar: Scalar,
        keys: &[(String, ListValue)],
        end: Option<&str>,
        out: &mut String,
    ) -> std::fmt::Result {
        let handles = keys.iter().filter_map(|(key, value)| match value {
            ListValue::Handle(ctype) => Some(format!(
                "({key} as u64, Kind::{})",
                self.api.handles[ctype].kind
            )),
            ListValue::Many => None,
        });
        let handles = handles.collect::<Vec<_>>().join(", ");
        let (name, c) = (ident(&param.name), param.name.as_str());
        let call = match end {
            None => format!("session.properties(&args.{name}, &[{handles}])?"),
            Some(end) => {
                format!("session.properties_until({end} as u64, &args.{name}, &[{handles}])?")
            }
        };
        match scalar {
            Scalar::Isize => writeln!(
                out,
                "let {name}: Option<Vec<isize>> = {call}.map(|list| back_end::words(&list, \"{c}\")).transpose()?;"
            ),
            _ => writeln!(
                out,
                "let {name}: Option<Vec<{0}>> = {call}.map(|list| list.iter().map(|word| *word as {0}).collect());",
                scalar.rust()
            ),
        }
    }

    /// The C argument.
    pub(super) fn argument(&self, param: &Param, derived: &Derived) -> String {
        let name = ident(&param.name);
        if let Some(value) = derived.get(&param.name) {
            return value.clone();
        }
        let mutable = matches!(
            &param.ctype,
            CType::Pointer {
                constant: false,
                ..
            }
        );
        let cast = if mutable {
            ".cast_mut().cast()"
        } else {
            ".cast()"
        };
        match &param.role {
            Role::Scalar { scalar, .. } => match scalar {
                Scalar::Usize | Scalar::Isize => name,
                _ => format!("args.{name}"),
            },
            Role::Handle { .. } => name,
            Role::Handles { .. } => format!("length::pointer(&{name}){cast}"),
            Role::Waits { .. } => format!("back_end::list_ptr(&{name})"),
            Role::Signals | Role::OutNew { .. } => format!("&mut {name}"),
            Role::Bytes {
                direction: Direction::In,
                ..
            } => format!("{name}{cast}"),
            Role::Bytes { .. } | Role::Versioned(_) => format!("{name}.as_mut_ptr().cast()"),
            Role::Array { scalar, .. } if scalar.is_word() => {
                format!("length::pointer(&{name}){cast}")
            }
            Role::Array { .. } => format!("length::pointer(&args.{name}){cast}"),
            Role::OutArray { .. } | Role::OutStructs { .. } | Role::OutHandles { .. } => {
                format!(
                    "if args.{name} {{ {name}.as_mut_ptr().cast() }} else {{ ptr::null_mut() }}"
                )
            }
            // The board needs it, whether the program does or not.
            Role::Counter(_) if self.counts_bytes(&param.name) => format!("&mut {name}"),
            Role::Counter(_) => {
                let wanted = self
                    .counted(&param.name)
                    .map_or(format!("args.{name}"), |array| {
                        format!("args.{name} || args.{}", ident(array))
                    });
                format!("if {wanted} {{ &mut {name} }} else {{ ptr::null_mut() }}")
            }
            Role::Out(_) => format!("if args.{name} {{ &mut {name} }} else {{ ptr::null_mut() }}"),
            Role::Struct(_) => format!("{name}.as_ref().map_or(ptr::null(), ptr::from_ref){cast}"),
            Role::CStr(_) => format!(
                "{name}.as_ref().map_or(ptr::null(), |text| text.as_ptr()){}",
                if mutable {
                    ".cast_mut().cast()"
                } else {
                    ".cast()"
                }
            ),
            Role::Packed { .. } | Role::Pieces(_) => format!("{name}.pointers().cast_mut().cast()"),
            Role::List { .. } => format!("length::pointer(&{name}){cast}"),
            Role::Callback { .. } => "None".into(),
            Role::UserData => {
                format!("if args.{name} {{ ptr::dangling_mut() }} else {{ ptr::null_mut() }}")
            }
            Role::Union(..) => name,
            Role::Error => "&mut result".into(),
            Role::Blocking => "0".into(),
            Role::Info { .. } | Role::Derived | Role::Unused => self.nothing(param),
        }
    }

    fn nothing(&self, param: &Param) -> String {
        match &param.ctype {
            CType::Pointer { constant: true, .. } => "ptr::null()".into(),
            CType::Pointer { .. } => "ptr::null_mut()".into(),
            CType::Function(_) => "None".into(),
            CType::Named(_) => "Default::default()".into(),
        }
    }

    /// Whether a counter gets the number of bytes of an output.
    fn counts_bytes(&self, counter_name: &str) -> bool {
        self.call.params.iter().any(|param| match &param.role {
            Role::Bytes {
                counter: Some(counted),
                ..
            } => counted.counter == counter_name,
            _ => false,
        })
    }

    /// The array whose length a counter gets.
    fn counted(&self, counter_name: &str) -> Option<&str> {
        let array = self.call.params.iter().find(|param| match &param.role {
            Role::OutArray { counter, .. }
            | Role::OutStructs { counter, .. }
            | Role::OutHandles { counter, .. } => counter.as_deref() == Some(counter_name),
            _ => false,
        });
        array.map(|param| param.name.as_str())
    }
}
