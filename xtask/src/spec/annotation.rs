//! The closed vocabulary of parameter annotations.

use super::error::Problem;
use super::expr::Expr;
use super::lexer::Lexer;

/// Which way a pointer's bytes go, seen from the API's function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The function reads them.
    In,
    /// The function writes them.
    Out,
    /// Both.
    InOut,
}

/// What a value of a key-value list is, if it is no plain number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListValue {
    /// An object of this C type.
    Handle(String),
    /// Values up to a 0.
    Many,
}

/// One annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Annotation {
    /// `error`: the call's error is written here.
    Error,
    /// `signals`: the enqueued operation's event is written here.
    Signals,
    /// `waits(count)`, `waits(count) required`: events that are waited for.
    Waits {
        /// The parameter with their number.
        count: String,
        /// Whether none is an error.
        required: bool,
    },
    /// `optional`: a handle that may be null.
    Optional,
    /// `unused`: the function ignores it.
    Unused,
    /// `in bytes(expr)`, `out bytes(expr)`, `inout bytes(expr)`.
    Bytes(Direction, Expr),
    /// `inout versioned(A, B)`: a structure whose first word says its version and size.
    Versioned(Vec<String>),
    /// `out bytes(expr) counted(param)`, `out text(expr) counted(param)`.
    Counted {
        /// The largest number of bytes.
        room: Expr,
        /// The parameter that gets how many there are.
        counter: String,
        /// Whether a 0 follows them, which is not counted.
        is_text: bool,
    },
    /// `in T[expr]`.
    InArray(String, Expr),
    /// `out T[expr]`, `… counted(param)`, `… new(parents)`.
    OutArray {
        /// The elements' C type.
        element: String,
        /// The largest number.
        room: Expr,
        /// The parameter that gets how many there are.
        counter: Option<String>,
        /// The elements are new objects with these parents.
        parents: Option<Vec<String>>,
    },
    /// `out new T(parent, …)`: one new object.
    OutNew(String, Vec<String>),
    /// `in T`: one structure.
    InOne(String),
    /// `out`: one value.
    OutOne,
    /// `in cstr`, `in cstr through helper(…)`: the board completes it.
    CStr(Option<Expr>),
    /// `in strings(count)`, `in strings(count, lengths)`, `in blobs(count, lengths)`.
    Packed {
        /// Whether they end with a NUL where no length is given.
        strings: bool,
        /// The parameter with their number.
        count: String,
        /// The parameter with their lengths.
        lengths: Option<String>,
    },
    /// `in pieces(helper(…))`: an array of pointers whose number and sizes the
    /// helper knows.
    Pieces(Expr),
    /// `in list`, `in list(KEY = type, KEY = many) until CONSTANT`.
    List {
        /// Keys whose values are no plain numbers.
        keys: Vec<(String, ListValue)>,
        /// The key that ends the list; 0 if not given.
        end: Option<String>,
    },
    /// `info(name, size, size_ret, table)`: a size-and-data query.
    Info {
        /// The parameter with the name that is asked for.
        name: String,
        /// The parameter with the room's size.
        size: String,
        /// The parameter that gets the value's size.
        size_ret: String,
        /// The table of value types.
        table: String,
    },
    /// `callback once(user_data) at CODE, CODE`, `callback many(user_data)`.
    Callback {
        /// The parameter that it gets back.
        user_data: String,
        /// The results after which it is called once; `None`: the API calls it
        /// as often as it likes.
        once: Option<Vec<String>>,
    },
    /// `in union Name by helper(…)`.
    Union(String, Expr),
    /// `send helper(…)`: what the board gets instead.
    Send(Expr),
}

/// Reads an annotation.
///
/// # Errors
/// [`Problem::Annotation`] or [`Problem::Expression`].
pub fn parse(text: &str) -> Result<Annotation, Problem> {
    let mut parser = Parser(Lexer::new(text));
    let annotation = parser.annotation()?;
    if parser.0.is_empty() {
        return Ok(annotation);
    }
    Err(parser.bad("the end"))
}

struct Parser<'a>(Lexer<'a>);

impl Parser<'_> {
    fn bad(&self, expected: &'static str) -> Problem {
        Problem::Annotation {
            text: self.0.text().into(),
            rest: self.0.rest().into(),
            expected,
        }
    }

    fn expect(&mut self, sign: &str, expected: &'static str) -> Result<(), Problem> {
        match self.0.eat(sign) {
            true => Ok(()),
            false => Err(self.bad(expected)),
        }
    }

    fn name(&mut self, expected: &'static str) -> Result<String, Problem> {
        let name = self.0.name().map(str::to_owned);
        name.ok_or_else(|| self.bad(expected))
    }

    fn annotation(&mut self) -> Result<Annotation, Problem> {
        let word = self.name("a word of the vocabulary")?;
        match word.as_str() {
            "error" => Ok(Annotation::Error),
            "signals" => Ok(Annotation::Signals),
            "optional" => Ok(Annotation::Optional),
            "unused" => Ok(Annotation::Unused),
            "waits" => self.waits(),
            "info" => self.info(),
            "callback" => self.callback(),
            "send" => Ok(Annotation::Send(self.expr()?)),
            "in" => self.input(),
            "out" => self.output(),
            "inout" => self.both_ways(),
            _ => Err(Problem::Annotation {
                text: self.0.text().into(),
                rest: self.0.text().into(),
                expected: "error, signals, waits, optional, unused, info, callback, send, in, out or inout",
            }),
        }
    }

    fn expr(&mut self) -> Result<Expr, Problem> {
        Expr::read(&mut self.0)
    }

    fn waits(&mut self) -> Result<Annotation, Problem> {
        let count = self.one_name()?;
        let required = self.0.eat("required");
        Ok(Annotation::Waits { count, required })
    }

    fn one_name(&mut self) -> Result<String, Problem> {
        self.expect("(", "\"(\"")?;
        let name = self.name("a parameter")?;
        self.expect(")", "\")\"")?;
        Ok(name)
    }

    /// `(a, b, c)`, possibly empty.
    fn names(&mut self) -> Result<Vec<String>, Problem> {
        self.expect("(", "\"(\"")?;
        let mut names = Vec::new();
        while !self.0.eat(")") {
            if !names.is_empty() {
                self.expect(",", "\",\" or \")\"")?;
            }
            names.push(self.name("a parameter")?);
        }
        Ok(names)
    }

    fn info(&mut self) -> Result<Annotation, Problem> {
        let names = self.names()?;
        let [name, size, size_ret, table] = <[String; 4]>::try_from(names)
            .map_err(|_| self.bad("the name's, size's and size_ret's parameters and a table"))?;
        Ok(Annotation::Info {
            name,
            size,
            size_ret,
            table,
        })
    }

    fn callback(&mut self) -> Result<Annotation, Problem> {
        let many = match self.name("once or many")?.as_str() {
            "many" => true,
            "once" => false,
            _ => return Err(self.bad("once or many")),
        };
        let user_data = self.one_name()?;
        let mut codes = Vec::new();
        if self.0.eat("at") {
            codes.push(self.name("a constant")?);
            while self.0.eat(",") {
                codes.push(self.name("a constant")?);
            }
        }
        let once = (!many).then_some(codes);
        Ok(Annotation::Callback { user_data, once })
    }

    fn both_ways(&mut self) -> Result<Annotation, Problem> {
        match self.name("bytes or versioned")?.as_str() {
            "bytes" => Ok(Annotation::Bytes(Direction::InOut, self.in_parentheses()?)),
            "versioned" => Ok(Annotation::Versioned(self.names()?)),
            _ => Err(self.bad("bytes(expression) or versioned(constants)")),
        }
    }

    fn in_parentheses(&mut self) -> Result<Expr, Problem> {
        self.expect("(", "\"(\"")?;
        let expr = self.expr()?;
        self.expect(")", "\")\"")?;
        Ok(expr)
    }

    fn input(&mut self) -> Result<Annotation, Problem> {
        let word = self.name("bytes, cstr, strings, blobs, pieces, list, union or a type")?;
        match word.as_str() {
            "bytes" => Ok(Annotation::Bytes(Direction::In, self.in_parentheses()?)),
            "cstr" => self.cstr(),
            "strings" => self.packed(true),
            "blobs" => self.packed(false),
            "pieces" => Ok(Annotation::Pieces(self.in_parentheses()?)),
            "list" => self.list(),
            "union" => self.union(),
            element => match self.element(element)? {
                (element, Some(len)) => Ok(Annotation::InArray(element, len)),
                (element, None) => Ok(Annotation::InOne(element)),
            },
        }
    }

    fn element(&mut self, first: &str) -> Result<(String, Option<Expr>), Problem> {
        let mut element = first.to_owned();
        if element == "unsigned" {
            element = format!("unsigned {}", self.name("a type")?);
        }
        if !self.0.eat("[") {
            return Ok((element, None));
        }
        let len = self.expr()?;
        self.expect("]", "\"]\"")?;
        Ok((element, Some(len)))
    }

    fn cstr(&mut self) -> Result<Annotation, Problem> {
        let through = match self.0.eat("through") {
            true => Some(self.expr()?),
            false => None,
        };
        Ok(Annotation::CStr(through))
    }

    fn packed(&mut self, strings: bool) -> Result<Annotation, Problem> {
        let mut names = self.names()?.into_iter();
        let (count, lengths) = (names.next(), names.next());
        let complete = names.next().is_none() && (strings || lengths.is_some());
        match count {
            Some(count) if complete => Ok(Annotation::Packed {
                strings,
                count,
                lengths,
            }),
            _ => Err(self.bad("the count's parameter and the lengths'")),
        }
    }

    fn list(&mut self) -> Result<Annotation, Problem> {
        let mut keys = Vec::new();
        if self.0.eat("(") {
            while !self.0.eat(")") {
                if !keys.is_empty() {
                    self.expect(",", "\",\" or \")\"")?;
                }
                keys.push(self.list_key()?);
            }
        }
        let end = match self.0.eat("until") {
            true => Some(self.name("a constant")?),
            false => None,
        };
        Ok(Annotation::List { keys, end })
    }

    fn list_key(&mut self) -> Result<(String, ListValue), Problem> {
        let key = self.name("a constant")?;
        self.expect("=", "\"=\"")?;
        let value = match self.name("many or a handle's type")? {
            many if many == "many" => ListValue::Many,
            handle => ListValue::Handle(handle),
        };
        Ok((key, value))
    }

    fn union(&mut self) -> Result<Annotation, Problem> {
        let name = self.name("a union's name")?;
        self.expect("by", "\"by helper(…)\"")?;
        Ok(Annotation::Union(name, self.expr()?))
    }

    fn output_bytes(&mut self, is_text: bool) -> Result<Annotation, Problem> {
        let room = self.in_parentheses()?;
        match self.0.eat("counted") {
            true => Ok(Annotation::Counted {
                room,
                counter: self.one_name()?,
                is_text,
            }),
            false if is_text => Err(self.bad("\"counted(parameter)\"")),
            false => Ok(Annotation::Bytes(Direction::Out, room)),
        }
    }

    fn output(&mut self) -> Result<Annotation, Problem> {
        if self.0.is_empty() {
            return Ok(Annotation::OutOne);
        }
        let word = self.name("bytes, new or a type")?;
        if word == "new" {
            let ctype = self.name("a handle's type")?;
            return Ok(Annotation::OutNew(ctype, self.names()?));
        }
        if word == "bytes" || word == "text" {
            return self.output_bytes(word == "text");
        }
        let (element, room) = self.element(&word)?;
        let room = room.ok_or_else(|| self.bad("\"[room]\""))?;
        let counter = match self.0.eat("counted") {
            true => Some(self.one_name()?),
            false => None,
        };
        let parents = match self.0.eat("new") {
            true => Some(self.names()?),
            false => None,
        };
        Ok(Annotation::OutArray {
            element,
            room,
            counter,
            parents,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_vocabulary_parses() {
        for text in [
            "error",
            "signals",
            "waits(n)",
            "waits(n) required",
            "optional",
            "unused",
            "in bytes(size * (flags & 3 != 0))",
            "out bytes(f(a, b))",
            "out bytes(n) counted(m)",
            "out text(n) counted(m)",
            "inout bytes(n)",
            "inout versioned(A, B)",
            "in size_t[3]",
            "in cl_image_format",
            "out",
            "out new CUmodule(context)",
            "out cl_device_id[n] counted(m) new(parent)",
            "in cstr",
            "in cstr through options(program)",
            "in strings(count, lengths)",
            "in strings(count)",
            "in blobs(count, lengths)",
            "in pieces(sizes(f))",
            "in list",
            "in list(A = cl_platform_id, B = many) until EGL_NONE",
            "info(name, size, size_ret, table)",
            "callback once(user_data) at A, B",
            "callback many(user_data)",
            "in union Pointer by source(a)",
            "send device_flags(flags)",
        ] {
            assert!(parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_shown() {
        for (text, expected) in [
            ("sideways", "error, signals"),
            ("in blobs(count)", "lengths"),
            ("out T", "[room]"),
            ("callback twice(x)", "once or many"),
            ("in bytes(n) x", "the end"),
            ("inout cstr", "versioned"),
            ("info(a, b)", "a table"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
