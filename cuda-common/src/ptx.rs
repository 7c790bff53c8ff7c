//! What the text of a PTX module declares: its kernels with their parameters, and its
//! variables. For the null driver, which has no compiler.

/// A parameter: where it stands among a kernel's, and its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Bytes before it.
    pub offset: usize,
    /// Its bytes.
    pub size: usize,
}

/// A kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// In order.
    pub params: Vec<Param>,
}

/// A variable of the module's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub size: usize,
}

/// What a module declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// Entry points.
    pub kernels: Vec<Kernel>,
    /// In global or constant memory.
    pub variables: Vec<Variable>,
}

/// Largest parameter or variable.
const MAX: usize = 1 << 28;

impl Module {
    /// Reads a text; `None` if it does not begin as one of PTX, or a declaration in it is not
    /// whole.
    pub fn parse(text: &str) -> Option<Self> {
        let text = without_comments(text);
        let mut tokens = Tokens(&text);
        if tokens.next()? != ".version" {
            return None;
        }
        let (mut module, mut depth) = (Self::default(), 0usize);
        while let Some(token) = tokens.next() {
            match token {
                "{" => depth += 1,
                "}" => depth = depth.checked_sub(1)?,
                ".entry" if depth == 0 => {
                    let name = tokens.next()?.to_owned();
                    let params = params(&mut tokens)?;
                    module.kernels.push(Kernel { name, params });
                }
                ".global" | ".const" if depth == 0 => {
                    let (name, size, _) = declaration(&mut tokens)?;
                    module.variables.push(Variable { name, size });
                }
                _ => {}
            }
        }
        (depth == 0).then_some(module)
    }
}

/// The list in parentheses, which may be missing.
fn params(tokens: &mut Tokens<'_>) -> Option<Vec<Param>> {
    let mut all = Vec::new();
    if tokens.clone().next() != Some("(") {
        return Some(all);
    }
    tokens.next();
    let mut end = 0usize;
    loop {
        match tokens.next()? {
            ")" => return Some(all),
            "," => {}
            ".param" => {
                let (_, size, align) = declaration(tokens)?;
                let offset = end.checked_next_multiple_of(align)?;
                end = offset.checked_add(size)?;
                all.push(Param { offset, size });
            }
            _ => return None,
        }
    }
}

/// `.align 8 .b8 name[12]`, `.u64 .ptr .global .align 4 name`: name, bytes, alignment.
fn declaration(tokens: &mut Tokens<'_>) -> Option<(String, usize, usize)> {
    let (mut unit, mut align, mut of_pointer) = (None, None, false);
    let name = loop {
        match tokens.next()? {
            ".align" => {
                let value: usize = tokens.next()?.parse().ok()?;
                // Behind .ptr it is that of what the pointer points to.
                align = if of_pointer { align } else { Some(value) };
            }
            ".ptr" => of_pointer = true,
            word if word.starts_with('.') => unit = unit.or(bytes_of(word)),
            word => break word.to_owned(),
        }
    };
    let unit = unit?;
    let mut count = 1usize;
    while tokens.clone().next() == Some("[") {
        tokens.next();
        count = match tokens.next()? {
            // As many as its initial values are: of no use here.
            "]" => continue,
            number => count.checked_mul(number.parse().ok()?)?,
        };
        (tokens.next()? == "]").then_some(())?;
    }
    let (size, align) = (unit.checked_mul(count)?, align.unwrap_or(unit));
    (size <= MAX && align.is_power_of_two()).then_some((name, size, align))
}

/// The bytes of a type.
fn bytes_of(word: &str) -> Option<usize> {
    Some(match word {
        ".b8" | ".u8" | ".s8" => 1,
        ".b16" | ".u16" | ".s16" | ".f16" => 2,
        ".b32" | ".u32" | ".s32" | ".f32" => 4,
        ".b64" | ".u64" | ".s64" | ".f64" => 8,
        ".b128" => 16,
        _ => return None,
    })
}

fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        let (before, comment) = rest.split_at(at);
        out.push_str(before);
        rest = if comment.starts_with("//") {
            comment.find('\n').map_or("", |end| &comment[end..])
        } else if comment.starts_with("/*") {
            comment.find("*/").map_or("", |end| &comment[end + 2..])
        } else {
            out.push('/');
            &comment[1..]
        };
        out.push(' ');
    }
    out + rest
}

/// Words, and signs that stand for themselves.
#[derive(Clone)]
struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        const SIGNS: [char; 9] = ['{', '}', '(', ')', '[', ']', ',', ';', '='];
        self.0 = self.0.trim_start();
        let first = self.0.chars().next()?;
        let ends = |c: char| c.is_whitespace() || SIGNS.contains(&c);
        let len = match SIGNS.contains(&first) {
            true => first.len_utf8(),
            false => self.0.find(ends).unwrap_or(self.0.len()),
        };
        let (token, rest) = self.0.split_at(len);
        self.0 = rest;
        Some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "// a comment with .entry in it
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 counter = 7;
.const .align 8 .b8 table[24];
.visible .entry add(
    .param .u64 .ptr .global .align 16 add_a,
    .param .u32 add_n, /* .param */
    .param .align 8 .b8 add_s[12],
    .param .u8 add_c
)
{
    .reg .b32 %r<4>;
    ret;
}
.entry none() { ret; }
.entry bare { ret; }
";

    #[test]
    fn declarations_are_read() {
        let module = Module::parse(TEXT).unwrap();
        let params = |at: usize| -> Vec<_> {
            let params = module.kernels[at].params.iter();
            params.map(|param| (param.offset, param.size)).collect()
        };
        assert_eq!(params(0), [(0, 8), (8, 4), (16, 12), (28, 1)]);
        assert_eq!((params(1), params(2)), (vec![], vec![]));
        let names: Vec<_> = module.kernels.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["add", "none", "bare"]);
        let sizes: Vec<_> = module.variables.iter().map(|it| it.size).collect();
        assert_eq!(sizes, [4, 24]);
    }

    #[test]
    fn what_is_cut_is_none() {
        assert_eq!(Module::parse("hello"), None);
        assert_eq!(Module::parse(&TEXT[..TEXT.find("add_s").unwrap()]), None);
        assert_eq!(Module::parse(&TEXT[..TEXT.find("ret").unwrap()]), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_none(text: String, cut in 0..TEXT.len()) {
            let _ = Module::parse(&format!(".version {text}"));
            let _ = Module::parse(&format!("{}{text}", &TEXT[..cut]));
        }
    }
}
