//! The names of objects, and of what operations run, as calls say them. For reports: no
//! call depends on them.

/// What a call says of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// An object has this name, if the call made it.
    Named {
        /// The object's number.
        object: u64,
        /// Its name, which may end with a NUL.
        name: &'a [u8],
    },
    /// An object has the name of another.
    Like {
        /// The object's number.
        object: u64,
        /// The other's.
        other: u64,
    },
    /// The program gave an object up.
    Ended(u64),
    /// What runs from now on within an object.
    Selects {
        /// The object.
        within: u64,
        /// What it is.
        what: &'static str,
        /// Which, by the program's number; 0 is none.
        number: u64,
    },
    /// The call's operation runs this object.
    Runs(u64),
    /// The call's operation runs what was selected within this object.
    RunsSelected(u64),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::subject;
    use crate::call::{Handle, InData};
    use crate::generated::{gles, opencl as cl};
    use proptest::prelude::*;

    fn bytes(args: &impl serde::Serialize) -> Vec<u8> {
        postcard::to_stdvec(args).unwrap()
    }

    #[test]
    fn kernels_have_names_and_launches_kernels() {
        let made = bytes(&cl::ClCreateKernelArgs {
            program: Handle(1),
            kernel_name: InData::Inline(b"square\0"),
            new: Handle(2),
        });
        let name = b"square\0";
        let named = Subject::Named { object: 2, name };
        assert_eq!(subject(cl::CL_CREATE_KERNEL, &made), Some(named));
        let launched = bytes(&cl::ClEnqueueNDRangeKernelArgs {
            kernel: Handle(2),
            ..Default::default()
        });
        let runs = subject(cl::CL_ENQUEUE_ND_RANGE_KERNEL, &launched);
        assert_eq!(runs, Some(Subject::Runs(2)));
        let ended = bytes(&cl::ClReleaseKernelArgs { kernel: Handle(2) });
        let ended = subject(cl::CL_RELEASE_KERNEL, &ended);
        assert_eq!(ended, Some(Subject::Ended(2)));
        assert_eq!(subject(cl::CL_FINISH, &[]), None);
    }

    #[test]
    fn a_draw_runs_what_its_context_selected() {
        let used = bytes(&gles::GlUseProgramArgs {
            current: Handle(7),
            program: 3,
        });
        let (within, what, number) = (7, "program", 3);
        let selects = Subject::Selects {
            within,
            what,
            number,
        };
        assert_eq!(subject(gles::GL_USE_PROGRAM, &used), Some(selects));
        let drawn = bytes(&gles::GlDrawArraysArgs {
            current: Handle(7),
            ..Default::default()
        });
        let drawn = subject(gles::GL_DRAW_ARRAYS, &drawn);
        assert_eq!(drawn, Some(Subject::RunsSelected(7)));
    }

    proptest! {
        #[test]
        fn any_bytes_say_something_or_nothing(api in 0..4u16, op in 0..600u16, args: Vec<u8>) {
            let _ = subject(crate::Op::new(api, op), &args);
        }
    }
}
