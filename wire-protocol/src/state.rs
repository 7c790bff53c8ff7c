//! The state that calls leave in their session, which a checkpoint has to restore.
//! Its numbers are interpreted only by the APIs' own code.

use crate::call::{Handle, InData, Property};
use serde::Deserialize;

/// The effect of a call on the session's objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// Objects that are there from now on.
    pub makes: Vec<u64>,
    /// The first of them, if the board numbered them, one after the other.
    pub found: Option<u64>,
    /// An object that the program gave up.
    pub ends: Option<u64>,
    /// The objects that the call named, in its order. What is said of an object
    /// is said of the first.
    pub uses: Vec<u64>,
    /// If a later call of the same entry point with these values replaces what
    /// this one said.
    pub replaces: Option<Vec<u64>>,
    /// The region with what the new object holds at first.
    pub contents: Option<u32>,
}

impl Effect {
    /// The call made an object that the guest numbered.
    pub fn makes(&mut self, object: Handle) {
        self.makes.push(object.0);
    }

    /// The call made objects that the board numbered; `None` if it made none.
    pub fn finds(&mut self, objects: &[Handle]) -> Option<()> {
        self.found = Some(objects.first()?.0);
        self.makes.extend(objects.iter().map(|object| object.0));
        Some(())
    }

    /// The program gave an object up.
    pub fn ends(&mut self, object: Handle) {
        self.ends = Some(object.0);
    }

    /// The call named these.
    pub fn uses(&mut self, objects: &impl Uses) {
        objects.used(&mut self.uses);
    }
}

/// Values that name objects.
pub trait Uses {
    /// Adds their numbers; NULL is none.
    fn used(&self, uses: &mut Vec<u64>);
}

impl Uses for Handle {
    fn used(&self, uses: &mut Vec<u64>) {
        if !self.is_null() {
            uses.push(self.0);
        }
    }
}

impl Uses for Property {
    fn used(&self, uses: &mut Vec<u64>) {
        if let Self::Handle(_, object) = self {
            object.used(uses);
        }
    }
}

impl<T: Uses> Uses for Vec<T> {
    fn used(&self, uses: &mut Vec<u64>) {
        self.iter().for_each(|each| each.used(uses));
    }
}

impl<T: Uses> Uses for Option<T> {
    fn used(&self, uses: &mut Vec<u64>) {
        if let Some(each) = self {
            each.used(uses);
        }
    }
}

impl<'a> InData<'a> {
    /// The bytes, if they are in the arguments.
    pub fn inline(&self) -> Option<&'a [u8]> {
        match self {
            Self::Inline(bytes) => Some(bytes),
            Self::Null | Self::Region(_) => None,
        }
    }

    /// The region where the bytes are, if they are in one.
    pub fn region(&self) -> Option<u32> {
        match self {
            Self::Region(index) => Some(*index),
            Self::Null | Self::Inline(_) => None,
        }
    }
}

/// Arguments or a result; `None` for bytes that are none.
pub fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}

/// `None` unless a result begins with the code of success. What needs no answer
/// has no error of its own.
pub fn succeeded(result: Option<&[u8]>, success: i32) -> Option<()> {
    let Some(result) = result else {
        return Some(());
    };
    let (code, _) = postcard::take_from_bytes::<i32>(result).ok()?;
    (code == success).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::effect;
    use crate::generated::opencl as cl;
    use proptest::prelude::*;

    const OK: &[u8] = &[0];
    const FAILED: &[u8] = &[59];

    fn of(op: crate::Op, args: &impl serde::Serialize, result: &[u8]) -> Option<Effect> {
        effect(op, &postcard::to_stdvec(args).unwrap(), Some(result))
    }

    #[test]
    fn new_objects_have_parents_and_first_contents() {
        let args = cl::ClCreateBufferArgs {
            context: Handle(1),
            new: Handle(2),
            host_ptr: InData::Region(0),
            ..Default::default()
        };
        let made = of(cl::CL_CREATE_BUFFER, &args, OK).unwrap();
        assert_eq!((made.makes, made.uses), (vec![2], vec![1]));
        assert_eq!((made.contents, made.found), (Some(0), None));
        assert_eq!(of(cl::CL_CREATE_BUFFER, &args, FAILED), None);
    }

    #[test]
    fn an_argument_replaces_the_one_before() {
        let set = |arg_value| {
            let args = cl::ClSetKernelArgArgs {
                kernel: Handle(7),
                arg_index: 3,
                arg_size: 8,
                arg_value,
            };
            of(cl::CL_SET_KERNEL_ARG, &args, OK).unwrap()
        };
        let object = set(cl::KernelArgument::Handle(Handle(2)));
        assert_eq!(object.uses, [7, 2]);
        assert_eq!(object.replaces, Some(vec![7, 3]));
        let bytes = set(cl::KernelArgument::Bytes(InData::Inline(&[1])));
        assert_eq!((bytes.uses, bytes.replaces), (vec![7], object.replaces));
    }

    #[test]
    fn a_failed_build_is_remembered_and_a_query_is_not() {
        let build = cl::ClBuildProgramArgs {
            program: Handle(4),
            ..Default::default()
        };
        let built = of(cl::CL_BUILD_PROGRAM, &build, FAILED).unwrap();
        assert_eq!(built.replaces, Some(vec![4]));
        assert_eq!(effect(cl::CL_GET_PLATFORM_IDS, &[], None), None);
        assert_eq!(effect(cl::CL_ENQUEUE_TASK, &[], None), None);
        assert_eq!(effect(crate::Op(0), &[], None), None);
    }

    #[test]
    fn what_names_an_object_uses_it() {
        let mut effect = Effect::default();
        effect.uses(&Handle(1));
        effect.uses(&Handle::NULL);
        effect.uses(&vec![Handle(2), Handle(3)]);
        effect.uses(&Some(Handle(4)));
        effect.uses(&None::<Handle>);
        effect.uses(&Property::Handle(90, Handle(5)));
        effect.uses(&Property::Word(90, 91));
        assert_eq!(effect.uses, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn bytes_are_in_a_region_or_beside_it() {
        let data = [InData::Region(7), InData::Inline(&[7]), InData::Null];
        assert_eq!(data.map(|data| data.region()), [Some(7), None, None]);
    }

    #[test]
    fn a_release_ends_an_object() {
        let args = cl::ClReleaseKernelArgs { kernel: Handle(9) };
        let ended = of(cl::CL_RELEASE_KERNEL, &args, &[]).unwrap();
        assert_eq!((ended.ends, ended.uses), (Some(9), vec![]));
    }

    #[test]
    fn objects_that_the_board_numbers_are_in_the_reply() {
        let args = cl::ClCreateKernelsInProgramArgs {
            program: Handle(4),
            num_kernels: 2,
            kernels: true,
            ..Default::default()
        };
        let kernels = vec![Handle(Handle::BOARD | 8), Handle(Handle::BOARD | 9)];
        let reply = cl::ClCreateKernelsInProgramReply {
            kernels: kernels.clone(),
            ..Default::default()
        };
        let reply = postcard::to_stdvec(&reply).unwrap();
        let made = of(cl::CL_CREATE_KERNELS_IN_PROGRAM, &args, &reply).unwrap();
        assert_eq!(made.makes, [kernels[0].0, kernels[1].0]);
        assert_eq!((made.found, made.uses), (Some(kernels[0].0), vec![4]));
    }

    proptest! {
        #[test]
        fn any_bytes_have_an_effect_or_none(op: u16, args: Vec<u8>, result: Option<Vec<u8>>) {
            let _ = effect(crate::Op::new(1, op % 160), &args, result.as_deref());
        }
    }
}
