//! Numbers of what takes long on the board's CPU and comes again in each run, so that it takes
//! the same simulated time, whatever else the machine does, and whether or not the driver has
//! kept what it compiled. Builds of equal sources with equal options for equal devices have
//! the same number, and so have a process's first contexts of equal devices, its second ones,
//! and so on; and a kernel's first launch ([`super::first_launch`]).

use super::driver::{fetch, fetch_handle};
use super::generated::types::*;
use super::session::Session;
use crate::back_end::work::{Sum, cpu};
use crate::back_end::{Call, Pointer};
use gil_wire::call::{Handle, InData};
use gil_wire::generated::opencl::Kind;
use std::ffi::c_void;

/// What takes the same time if all else is the same.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    Build,
    Compile,
    Link,
    Context,
    Launch,
}

impl Session {
    /// Numbers what a call compiled or linked into this program. What has no text (a driver's
    /// binary) has no number, nor has what was refused or failed: who asks again for the same
    /// may get it.
    pub(super) fn number_work(
        &self,
        call: &mut Call,
        (work, program): (Work, Handle),
        options: &InData<'_>,
        result: cl_int,
    ) {
        let Some(program) = self
            .table
            .get(program, Kind::Program)
            .ok()
            .filter(|_| result == CL_SUCCESS)
        else {
            return;
        };
        let texts = self.texts(program);
        let options = call.bytes(options).ok().flatten().unwrap_or_default();
        if texts.is_empty() || texts.iter().any(|text| text.is_empty()) {
            return;
        }
        let devices = self.listed(
            program,
            self.driver.functions.clGetProgramInfo,
            CL_PROGRAM_DEVICES,
        );
        let mut sum = self.sum(work, &devices);
        sum.add(options);
        for text in &texts {
            text.parts(|part| sum.add(part));
        }
        call.set_work(Some(sum.number()));
    }

    /// Numbers a call that made this context.
    pub(super) fn number_context(&mut self, call: &mut Call, context: Handle) {
        let Ok(context) = self.table.get(context, Kind::Context) else {
            return;
        };
        self.contexts += 1;
        let devices = self.listed(
            context,
            self.driver.functions.clGetContextInfo,
            CL_CONTEXT_DEVICES,
        );
        let mut sum = self.sum(Work::Context, &devices);
        sum.add(&self.contexts.to_le_bytes());
        call.set_work(Some(sum.number()));
    }

    pub(super) fn sum(&self, work: Work, devices: &[Pointer]) -> Sum {
        let mut sum = Sum::default();
        sum.add(&[work as u8]);
        sum.add(&cpu());
        for device in devices {
            for name in [CL_DEVICE_NAME, CL_DRIVER_VERSION] {
                sum.add(&self.driver.device_bytes(*device, name).unwrap_or_default());
            }
        }
        sum
    }

    /// The devices that an object is of.
    fn listed<T>(&self, object: Pointer, info: Option<InfoOf<T>>, name: cl_uint) -> Vec<Pointer> {
        let Some(info) = info else {
            return Vec::new();
        };
        // SAFETY: the object is alive and the function is its kind's, and `fetch` provides a
        // buffer of the size it states.
        let all = fetch(|size, value, len| unsafe {
            info(object.as_ptr().cast(), name, size, value, len)
        });
        let all = all.unwrap_or_default();
        let each = all.chunks(size_of::<usize>());
        each.filter_map(fetch_handle).collect()
    }
}

/// A function that says something of an object.
type InfoOf<T> = unsafe extern "C" fn(*mut T, cl_uint, usize, *mut c_void, *mut usize) -> cl_int;
