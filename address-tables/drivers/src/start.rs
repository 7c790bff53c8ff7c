//! Functions of a driver that start jobs, for those who see its calls but not the registers
//! that it stores to.

use super::TableError;

/// A function of a driver's module that starts jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its name.
    pub function: String,
    /// The argument, from 0, that points to the job.
    pub argument: u8,
    /// The member of a structure that it points to, if it is not the structure's first byte.
    pub within: Option<Member>,
    /// What of the job is shown, the GPU addresses at which it begins first.
    pub fields: Vec<Place>,
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The structure, as the kernel's C has it.
    pub structure: String,
    /// The member, or one in it: names with points between.
    pub path: String,
}

/// A field that is found by following pointers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Members that are pointers, each to the structure of the next member.
    pub pointers: Vec<Member>,
    /// The field.
    pub field: Member,
}

fn wrong(function: &str, text: &str) -> TableError {
    TableError::Field {
        place: function.into(),
        text: text.into(),
        why: "a job's field is STRUCTURE.MEMBER, with `->` behind a pointer",
    }
}

/// `STRUCTURE.MEMBER`.
pub(crate) fn member(function: &str, text: &str) -> Result<Member, TableError> {
    let is_name = |it: &str| {
        it.bytes()
            .all(|c| c.is_ascii_alphanumeric() || b"._".contains(&c))
    };
    match text.trim().split_once('.') {
        Some((structure, path)) if is_name(text.trim()) && !structure.is_empty() => Ok(Member {
            structure: structure.into(),
            path: path.into(),
        }),
        _ => Err(wrong(function, text)),
    }
}

/// `STRUCTURE.POINTER -> STRUCTURE.MEMBER`, with as many pointers as there are.
pub(crate) fn place(function: &str, text: &str) -> Result<Place, TableError> {
    let members = text.split("->").map(|it| member(function, it));
    let mut members = members.collect::<Result<Vec<_>, _>>()?;
    let field = members.pop().ok_or_else(|| wrong(function, text))?;
    Ok(Place {
        pointers: members,
        field,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_may_be_behind_pointers() {
        let found = place("f", "task.frame -> frame_of.words.first").unwrap();
        assert_eq!(found.pointers, [member("f", "task.frame").unwrap()]);
        assert_eq!(found.field.structure, "frame_of");
        assert_eq!(found.field.path, "words.first");
        for bad in ["", "task", ".frame", "task.frame ->", "a b.c", "a.b > c.d"] {
            assert!(place("f", bad).is_err(), "{bad}");
        }
    }
}
