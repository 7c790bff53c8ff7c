//! Expressions of the description as Rust on either side.

use super::*;
use crate::spec::expr::{Binary, Expr};

/// How a side names the parameters of an expression.
pub trait Scope {
    /// A scalar parameter.
    fn scalar(&self, param: &Param) -> String;
    /// An array parameter, as `Option<&[u64]>`.
    fn array(&self, param: &Param) -> String;
    /// The path of a helper, and its first argument if it has the side's state.
    fn helper(&self, name: &str) -> (String, Option<String>);
}

/// An expression whose value is a `Length`.
pub fn length(api: &Api, call: &Call, expr: &Expr, scope: &dyn Scope) -> String {
    match expr {
        Expr::Number(n) => format!("Length::of({n}u64)"),
        Expr::Name(name) => format!("Length::of({})", value(api, call, name, scope)),
        Expr::Call(name, args) => helper(api, call, name, args, scope),
        Expr::Binary(op, a, b) => {
            let (a, b) = (length(api, call, a, scope), length(api, call, b, scope));
            binary(*op, &a, &b)
        }
    }
}

fn value(api: &Api, call: &Call, name: &str, scope: &dyn Scope) -> String {
    match call.param(name) {
        Some(param) => scope.scalar(param),
        None => format!("{}u64", api.constants[name].value),
    }
}

fn binary(op: Binary, a: &str, b: &str) -> String {
    let sign = match op {
        Binary::Add => "+",
        Binary::Sub => "-",
        Binary::Mul => "*",
        Binary::Div => "/",
        Binary::Or => "|",
        Binary::And => "&",
        Binary::Eq => return format!("{a}.test({b}, u64::eq)"),
        Binary::Ne => return format!("{a}.test({b}, u64::ne)"),
        Binary::Lt => return format!("{a}.test({b}, u64::lt)"),
        Binary::Le => return format!("{a}.test({b}, u64::le)"),
        Binary::Gt => return format!("{a}.test({b}, u64::gt)"),
        Binary::Ge => return format!("{a}.test({b}, u64::ge)"),
    };
    format!("({a} {sign} {b})")
}

fn helper(api: &Api, call: &Call, name: &str, args: &[Expr], scope: &dyn Scope) -> String {
    let (path, state) = scope.helper(name);
    let arg = |arg: &Expr| match arg {
        Expr::Name(name) => match call.param(name) {
            Some(param) if matches!(param.role, Role::Array { .. }) => scope.array(param),
            Some(param) => format!("{} as u64", scope.scalar(param)),
            None => format!("{}u64", api.constants[name].value),
        },
        Expr::Number(n) => n.to_string(),
        other => format!(
            "{}.number().unwrap_or(u64::MAX)",
            length(api, call, other, scope)
        ),
    };
    let args: Vec<_> = state.into_iter().chain(args.iter().map(arg)).collect();
    format!("{path}({})", args.join(", "))
}

/// A scalar parameter's own value, or a plain number: no arithmetic.
pub fn is_plain<'a>(call: &'a Call, expr: &Expr) -> Option<&'a Param> {
    match expr {
        Expr::Name(name) => call.param(name),
        _ => None,
    }
}
