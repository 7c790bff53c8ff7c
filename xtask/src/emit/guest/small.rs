//! Calls without an answer whose arguments are numbers: a program makes hundreds of them
//! between two that have one, and the guest counts their instructions. Their arguments
//! are written where they travel, as the generated type would be.

use super::*;

impl Stub<'_> {
    /// The body of such a call.
    pub(super) fn numbers(&self) -> Option<String> {
        let call = self.call;
        let more = [&call.instead, &call.posts_if, &call.details];
        let is_post = call.class == Some(Class::Post) && call.otherwise.is_none();
        let is_plain = call.way == Way::None && call.ret.is_void() && call.queue.is_none();
        if !(is_post && is_plain && call.current && more.iter().all(|helper| helper.is_none())) {
            return None;
        }
        let (mut before, mut writes) = (String::new(), String::new());
        for param in &call.params {
            self.number(param, &mut before, &mut writes)?;
        }
        let (op, safety) = (screaming(&call.name), super::PROMISES);
        let check = call.check.as_ref().map_or(String::new(), |check| {
            let args: Vec<_> = check.args.iter().map(|arg| self.helper_arg(arg)).collect();
            format!("{}({})?;\n", helper_path(&check.name), args.join(", "))
        });
        let inner = format!(
            "let current = Guest::current_number()?;\n{check}{before}Guest::post_numbers(wire::{op}, entry, |to| {{\nto.handle(current);\n{writes}}})\n"
        );
        Some(match before.is_empty() {
            true => format!("Guest::nothing(|| {{ {inner} }})\n"),
            false => format!("Guest::nothing(|| {{ {safety} unsafe {{ {inner} }} }})\n"),
        })
    }

    /// How one parameter is written, and what has to be known before.
    fn number(&self, param: &Param, before: &mut String, writes: &mut String) -> Option<()> {
        let name = ident(&param.name);
        let written = match &param.role {
            Role::Scalar { scalar, send: None } => match scalar {
                Scalar::U8 => format!("to.byte({name});"),
                Scalar::I8 => format!("to.byte({name} as u8);"),
                Scalar::F32 => format!("to.float({name});"),
                Scalar::F64 => format!("to.double({name});"),
                Scalar::U16 | Scalar::U32 | Scalar::U64 => format!("to.number({name}.into());"),
                Scalar::Usize => format!("to.number({name} as u64);"),
                Scalar::I16 | Scalar::I32 | Scalar::I64 => format!("to.signed({name}.into());"),
                Scalar::Isize => format!("to.signed({name} as i64);"),
            },
            Role::Array { scalar, len } => {
                let write = match scalar {
                    Scalar::F32 => None,
                    Scalar::U32 => Some("to.number(value.into())"),
                    Scalar::I32 => Some("to.signed(value.into())"),
                    _ => return None,
                };
                let (into, rust) = (derived(&param.name, "in"), scalar.rust());
                let len = self.len(len);
                if len.contains("&current") {
                    // A helper knows the number, of the object itself.
                    return None;
                }
                let _ = writeln!(
                    before,
                    "let {into} = data::slice::<Guest, {rust}>({name}.cast(), {len})?;"
                );
                match write {
                    Some(write) => format!("to.list({into}, |to, value| {write});"),
                    None => format!("data::write_floats(to, {into});"),
                }
            }
            _ => return None,
        };
        writes.push_str(&written);
        writes.push('\n');
        Some(())
    }
}
