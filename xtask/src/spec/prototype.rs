//! C prototypes, as far as GPU APIs use them.

use super::error::Problem;
use super::lexer::Lexer;

/// A C type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CType {
    /// `void`, a builtin or a typedef. `unsigned char` is one name.
    Named(String),
    /// A pointer.
    Pointer {
        /// To what.
        to: Box<CType>,
        /// Whether that is const.
        constant: bool,
    },
    /// A pointer to a function.
    Function(Box<Signature>),
}

/// What a function takes and gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The result.
    pub ret: CType,
    /// The parameters in order.
    pub params: Vec<CParam>,
}

/// A parameter as the prototype has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CParam {
    /// Its name; empty where the prototype gives none.
    pub name: String,
    /// Its type.
    pub ctype: CType,
}

impl CType {
    /// The name, if it is no pointer.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            _ => None,
        }
    }

    /// What it points to.
    pub fn target(&self) -> Option<&CType> {
        match self {
            Self::Pointer { to, .. } => Some(to),
            _ => None,
        }
    }

    /// Whether it is `void`.
    pub fn is_void(&self) -> bool {
        self.name() == Some("void")
    }
}

impl std::fmt::Display for CType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::Pointer { to, constant: true } => write!(f, "const {to} *"),
            Self::Pointer { to, .. } => write!(f, "{to} *"),
            Self::Function(signature) => {
                let params = signature.params.iter();
                let params: Vec<_> = params.map(|param| param.ctype.to_string()).collect();
                write!(f, "{} (*)({})", signature.ret, params.join(", "))
            }
        }
    }
}

/// Reads `ret name(params)`.
///
/// # Errors
/// [`Problem::Declaration`].
pub fn parse(text: &str) -> Result<(String, Signature), Problem> {
    let mut lexer = Lexer::new(text);
    let ret = base_type(&mut lexer)?;
    let name = lexer
        .name()
        .ok_or_else(|| bad(&lexer, "a function's name"))?;
    let params = params(&mut lexer)?;
    if !lexer.is_empty() {
        return Err(bad(&lexer, "the end"));
    }
    Ok((name.into(), Signature { ret, params }))
}

/// Reads `type name` or `type name[n]`: a structure's field.
///
/// # Errors
/// [`Problem::Declaration`].
pub fn parse_field(text: &str) -> Result<(CParam, Option<usize>), Problem> {
    let mut lexer = Lexer::new(text);
    let ctype = base_type(&mut lexer)?;
    if lexer.eat("(") {
        return callback(&mut lexer, ctype).map(|field| (field, None));
    }
    let name = lexer.name().ok_or_else(|| bad(&lexer, "a field's name"))?;
    let mut count = None;
    if lexer.eat("[") {
        let number = lexer.next().and_then(|token| token.text.parse().ok());
        count = Some(number.ok_or_else(|| bad(&lexer, "a number"))?);
        expect(&mut lexer, "]", "\"]\"")?;
    }
    let name = name.into();
    Ok((CParam { name, ctype }, count))
}

fn bad(lexer: &Lexer<'_>, expected: &'static str) -> Problem {
    Problem::Declaration {
        rest: lexer.rest().into(),
        expected,
    }
}

fn expect(lexer: &mut Lexer<'_>, sign: &str, expected: &'static str) -> Result<(), Problem> {
    if lexer.eat(sign) {
        return Ok(());
    }
    Err(bad(lexer, expected))
}

fn base_type(lexer: &mut Lexer<'_>) -> Result<CType, Problem> {
    let mut constant = lexer.eat("const");
    let first = lexer.name().ok_or_else(|| bad(lexer, "a type"))?;
    let mut name = first.to_owned();
    while matches!(name.as_str(), "unsigned" | "struct" | "signed") {
        name = match lexer.name() {
            Some(next) => format!("{name} {next}"),
            None => return Err(bad(lexer, "a type")),
        };
    }
    if matches!(name.as_str(), "unsigned long" | "long") && lexer.eat("long") {
        name.push_str(" long");
    }
    let mut ctype = CType::Named(name);
    constant |= lexer.eat("const");
    while lexer.eat("*") {
        ctype = CType::Pointer {
            to: Box::new(ctype),
            constant,
        };
        constant = lexer.eat("const");
    }
    Ok(ctype)
}

fn params(lexer: &mut Lexer<'_>) -> Result<Vec<CParam>, Problem> {
    expect(lexer, "(", "\"(\"")?;
    let mut all = Vec::new();
    if lexer.eat(")") {
        return Ok(all);
    }
    loop {
        all.push(param(lexer)?);
        if lexer.eat(")") {
            break;
        }
        expect(lexer, ",", "\",\" or \")\"")?;
    }
    if all.len() == 1 && all[0].ctype.is_void() {
        all.clear();
    }
    Ok(all)
}

fn param(lexer: &mut Lexer<'_>) -> Result<CParam, Problem> {
    let ctype = base_type(lexer)?;
    if lexer.eat("(") {
        return callback(lexer, ctype);
    }
    let name = lexer.name().unwrap_or_default().to_owned();
    if !lexer.eat("[") {
        return Ok(CParam { name, ctype });
    }
    expect(lexer, "]", "\"]\"")?;
    let to = Box::new(ctype);
    let ctype = CType::Pointer {
        to,
        constant: false,
    };
    Ok(CParam { name, ctype })
}

fn callback(lexer: &mut Lexer<'_>, ret: CType) -> Result<CParam, Problem> {
    expect(lexer, "*", "\"*\"")?;
    let name = lexer.name().unwrap_or_default().to_owned();
    expect(lexer, ")", "\")\"")?;
    let params = params(lexer)?;
    Ok(CParam {
        name,
        ctype: CType::Function(Box::new(Signature { ret, params })),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_apis_have() {
        let text = "void *clF(const char **names, void (*notify)(cl_mem m, void *data), \
                    void *pointers[], const unsigned char *const *blobs, size_t n)";
        let (name, signature) = parse(text).unwrap();
        assert_eq!(name, "clF");
        assert_eq!(signature.ret.to_string(), "void *");
        let types: Vec<_> = signature
            .params
            .iter()
            .map(|p| p.ctype.to_string())
            .collect();
        let blobs = "const const unsigned char * *";
        assert_eq!(
            types,
            [
                "const char * *",
                "void (*)(cl_mem, void *)",
                "void * *",
                blobs,
                "size_t"
            ]
        );
        assert!(parse("cl_int f(void)").unwrap().1.params.is_empty());
    }

    #[test]
    fn what_is_wrong_is_shown() {
        let error = parse("cl_int f(cl_mem m").unwrap_err().to_string();
        assert!(error.contains("\",\" or \")\""), "{error}");
        assert!(parse("cl_int f(cl_mem m) x").is_err());
    }

    #[test]
    fn fields_may_be_arrays() {
        let (field, count) = parse_field("cl_char name[64]").unwrap();
        assert_eq!((field.name.as_str(), count), ("name", Some(64)));
    }
}
