//! Structures, unions and enumerations (C99, 6.7.2.1 and 6.7.2.2).

use super::layout::{Record, Shape, Type, scalar};
use super::parser::Parser;
use super::token::Kind;
use std::rc::Rc;

impl Parser {
    /// `struct` or `union`, with or without its fields.
    pub(super) fn record(&mut self) -> Option<Type> {
        let keyword = self.name()?;
        let before = self.attributes()?;
        let tag = self.name();
        let name = spelled(&keyword, tag.as_deref());
        if !self.is("{") {
            let layout = self.tags.get(&tag?).copied().flatten();
            return Some(Type::new(Shape::Value, &name, layout));
        }
        let fields = self.at;
        self.group()?;
        let attributes = before.and(self.attributes()?);
        let end = std::mem::replace(&mut self.at, fields + 1);
        let mut record = Record::new(&*keyword == "union", self.pack);
        while !self.accept("}") {
            self.fields(&mut record, attributes.is_packed)?;
        }
        self.at = end;
        let layout = record.finish(attributes.aligned);
        if let Some(tag) = tag {
            self.tags.insert(tag, layout);
        }
        Some(Type::new(Shape::Value, &name, layout))
    }

    /// One line of fields.
    fn fields(&mut self, record: &mut Record, is_packed: bool) -> Option<()> {
        if self.peek()?.kind == Kind::Pragma {
            self.pragma();
            return Some(());
        }
        if self.accept(";") {
            return Some(());
        }
        let base = self.specifiers()?.base;
        if self.accept(";") {
            // A structure without a name has its fields here.
            record.add(base.layout, is_packed, None);
            return Some(());
        }
        loop {
            let declared = self.declarator(base.clone(), false)?;
            let own = declared.attributes;
            let mut layout = declared.ty.layout;
            if self.accept(":") {
                // Bit-fields are laid out as the compiler likes.
                layout = None;
                while !self.is(",") && !self.is(";") {
                    self.peek()?;
                    self.at += 1;
                }
            }
            record.add(layout, is_packed || own.is_packed, own.aligned);
            if !self.accept(",") {
                return self.expect(";");
            }
        }
    }

    /// `enum`, whose constants array sizes may name.
    pub(super) fn enumeration(&mut self) -> Option<Type> {
        let keyword = self.name()?;
        self.attributes()?;
        let tag = self.name();
        if self.accept("{") {
            self.enumerators()?;
        }
        self.attributes()?;
        let name = spelled(&keyword, tag.as_deref());
        Some(Type::new(Shape::Value, &name, Some(scalar(4))))
    }

    fn enumerators(&mut self) -> Option<()> {
        let mut next = 0;
        while !self.accept("}") {
            let name = self.name()?;
            self.attributes()?;
            if self.accept("=") {
                let begin = self.at;
                while !self.is(",") && !self.is("}") {
                    if self.peek()?.is("(") {
                        self.group()?;
                    } else {
                        self.at += 1;
                    }
                }
                next = self.constant(begin..self.at)?;
            }
            self.enumerators.insert(name, next);
            next += 1;
            if !self.accept(",") && !self.is("}") {
                return None;
            }
        }
        Some(())
    }
}

fn spelled(keyword: &str, tag: Option<&str>) -> Rc<str> {
    match tag {
        Some(tag) => format!("{keyword} {tag}").into(),
        None => keyword.into(),
    }
}
