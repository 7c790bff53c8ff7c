//! A session's state for checkpoints: contents of memory objects, events of ended
//! operations, and what prevents a checkpoint.

use super::driver::{fetch, fetch_handle};
use super::generated::types::*;
use super::session::Session;
use super::staging::form_of;
use crate::back_end::table::Object;
use crate::back_end::{Events, Objects, Pointer};
use crate::board::Unable;
use gil_opencl_common::status;
use gil_wire::call::Handle;
use gil_wire::checkpoint::{Contents, MAX_SURVEYED, PastEvent, Survey};
use gil_wire::ending::Ending;
use gil_wire::generated::opencl::{API, Kind};
use std::ptr::{null, null_mut};

/// Sentences of a survey, at most.
const MAX_OBSTACLES: usize = 4;

/// One object of the session's table.
type Numbered = (Handle, Object<Kind>);

impl Session {
    /// What a checkpoint of the session has to keep.
    pub(super) fn surveyed(&self) -> Survey {
        let mut survey = Survey::default();
        self.obstacles(&mut survey.obstacles);
        for (handle, object) in self.table.all() {
            let found = match object.kind {
                _ if object.is_found => self.check_found((handle, object)),
                Kind::Mem => self.contents(handle, object.pointer, &mut survey),
                Kind::Event => self.past_event(handle, object.pointer, &mut survey),
                Kind::Kernel => self.check_arguments(handle),
                _ => Ok(()),
            };
            survey.obstacles.extend(found.err().map(|Unable(why)| why));
        }
        if survey.contents.len() + survey.past.len() > MAX_SURVEYED {
            let text = format!("it has more than {MAX_SURVEYED} memory objects and events");
            survey = Survey::default();
            survey.obstacles.push(text);
        }
        survey.obstacles.truncate(MAX_OBSTACLES);
        survey
    }

    fn obstacles(&self, out: &mut Vec<String>) {
        let svm = self.svm.len();
        if svm > 0 {
            out.push(format!(
                "it has {svm} allocations of shared virtual memory, whose addresses another session cannot be sure to get: free them before, or use buffers"
            ));
        }
        if self.operations.is_busy() {
            out.push("operations are under way, or wait for a user event that is not set: call clFinish before".into());
        }
    }

    /// No call makes the number again of what a query found, unless it is what
    /// every session begins with.
    fn check_found(&self, (handle, object): Numbered) -> Result<(), Unable> {
        let mut roots = self.driver.roots();
        if roots.any(|root| root == (object.kind, object.pointer)) {
            return Ok(());
        }
        Err(Unable(format!(
            "it asked for the {} {:#x}, which it has no number of its own for: release that before, or keep what it made",
            object.kind.name(),
            handle.0
        )))
    }

    fn contents(&self, handle: Handle, mem: Pointer, survey: &mut Survey) -> Result<(), Unable> {
        let within = self.mem_info(mem, CL_MEM_ASSOCIATED_MEMOBJECT);
        let within = within.as_deref().and_then(fetch_handle);
        if within.is_some_and(|within| self.table.number(Kind::Mem, within).is_some()) {
            // It lies in another one, which has its bytes.
            return Ok(());
        }
        let staging = form_of(self, handle, mem)?;
        survey.contents.push(Contents {
            api: API,
            object: handle.0,
            len: staging.len(),
        });
        Ok(())
    }

    fn past_event(
        &self,
        handle: Handle,
        event: Pointer,
        survey: &mut Survey,
    ) -> Result<(), Unable> {
        let command = self.event_number(event, CL_EVENT_COMMAND_TYPE);
        if command == Some(CL_COMMAND_USER) {
            // The calls that made it and set it make it again.
            return Ok(());
        }
        let status = self.driver.status(event);
        if status > 0 {
            let number = handle.0;
            return Err(Unable(format!(
                "the operation of its event {number:#x} has not ended: call clFinish before"
            )));
        }
        let of = |kind, name| {
            let bytes = self.event_info(event, name)?;
            self.table.number(kind, fetch_handle(&bytes)?)
        };
        let queue = of(Kind::CommandQueue, CL_EVENT_COMMAND_QUEUE);
        let context = of(Kind::Context, CL_EVENT_CONTEXT);
        if queue.or(context).is_none() {
            let number = handle.0;
            return Err(Unable(format!(
                "it holds the event {number:#x}, whose queue and context it released: release the event too"
            )));
        }
        survey.past.push(PastEvent {
            api: API,
            event: handle.0,
            queue: queue.map_or(0, |handle| handle.0),
            context: context.map_or(0, |handle| handle.0),
            command: self.command(handle).or(command).unwrap_or(0),
            ending: status::ending(status),
        });
        Ok(())
    }

    /// Memory that only a kernel still knows has no number under which its
    /// bytes could be kept.
    fn check_arguments(&self, handle: Handle) -> Result<(), Unable> {
        let args = self.kernel(handle).and_then(|kernel| kernel.args.as_ref());
        let held = args.into_iter().flat_map(|args| args.held());
        let mut mems = held.filter(|(kind, _)| *kind == Kind::Mem);
        match mems.all(|(_, mem)| self.table.number(Kind::Mem, mem).is_some()) {
            true => Ok(()),
            false => Err(Unable(format!(
                "an argument of its kernel {:#x} is a memory object that it released: set the argument anew before, or release the memory object after",
                handle.0
            ))),
        }
    }

    /// The event of an operation that ended in another session.
    pub(super) fn past_is_back(&mut self, past: &PastEvent) -> Result<(), Unable> {
        let number = Handle(past.event);
        self.can_bind(number).map_err(Unable::because)?;
        let (event, parent) = match past.queue {
            0 => (None, Handle(past.context)),
            queue => (self.marker(Handle(queue), past)?, Handle(queue)),
        };
        let event = match event {
            Some(event) => event,
            None => self.set_event(past)?,
        };
        let bound = self.bind(Kind::Event, number, event.as_ptr(), parent);
        bound.map_err(Unable::because)?;
        self.set_command(number, past.command);
        Ok(())
    }

    /// A marker's event stands for one of an operation that succeeded.
    fn marker(&self, queue: Handle, past: &PastEvent) -> Result<Option<Pointer>, Unable> {
        let queue: cl_command_queue = self
            .get(Kind::CommandQueue, queue)
            .map_err(Unable::because)?;
        let functions = self.functions();
        let mut event: cl_event = null_mut();
        let (Some(marker), Ending::Done) = (functions.clEnqueueMarkerWithWaitList, past.ending)
        else {
            return Ok(None);
        };
        // SAFETY: the queue is alive.
        let result = unsafe { marker(queue, 0, null(), &mut event) };
        let event = Pointer::new(event.cast()).filter(|_| result == CL_SUCCESS);
        let event = event.ok_or_else(|| failed("clEnqueueMarkerWithWaitList", result))?;
        self.driver.wait(event);
        Ok(Some(event))
    }

    /// An event that is set stands for one of an operation that failed.
    fn set_event(&mut self, past: &PastEvent) -> Result<Pointer, Unable> {
        let context = self.get(Kind::Context, Handle(past.context));
        let context: cl_context = context.map_err(Unable::because)?;
        let event = self.new_user_event(context);
        let event = event.map_err(|code| failed("clCreateUserEvent", code))?;
        self.driver
            .set_user_event(event, status::of(past.ending).min(CL_COMPLETE));
        self.operations.saw(past.ending);
        Ok(event)
    }

    /// A user event of the board's own.
    pub(super) fn new_user_event(&self, context: cl_context) -> Result<Pointer, cl_int> {
        let create = self.functions().clCreateUserEvent;
        let create = create.ok_or(CL_INVALID_OPERATION)?;
        let mut result = CL_SUCCESS;
        // SAFETY: the context is alive.
        let event = unsafe { create(context, &mut result) };
        Pointer::new(event.cast()).ok_or(result)
    }

    /// The context of an event.
    pub(super) fn event_context(&self, event: Pointer) -> Option<Pointer> {
        fetch_handle(&self.event_info(event, CL_EVENT_CONTEXT)?)
    }

    pub(super) fn mem_info(&self, mem: Pointer, name: cl_mem_info) -> Option<Vec<u8>> {
        let ask = self.functions().clGetMemObjectInfo?;
        // SAFETY: the object is alive, and `fetch` provides a buffer of the size it states.
        fetch(|size, value, len| unsafe { ask(mem.as_ptr().cast(), name, size, value, len) })
    }

    /// A device of a context.
    pub(super) fn context_device(&self, context: Pointer) -> Option<Pointer> {
        self.context_devices(context).first().copied()
    }

    /// The devices of a context.
    pub(super) fn context_devices(&self, context: Pointer) -> Vec<Pointer> {
        let Some(ask) = self.functions().clGetContextInfo else {
            return Vec::new();
        };
        let name = CL_CONTEXT_DEVICES;
        // SAFETY: the context is alive, and `fetch` provides a buffer of the size it states.
        let list = fetch(|size, value, len| unsafe {
            ask(context.as_ptr().cast(), name, size, value, len)
        });
        let list = list.unwrap_or_default();
        let handles = list.chunks_exact(size_of::<usize>());
        handles.filter_map(fetch_handle).collect()
    }

    fn event_info(&self, event: Pointer, name: cl_event_info) -> Option<Vec<u8>> {
        let ask = self.functions().clGetEventInfo?;
        // SAFETY: as above.
        fetch(|size, value, len| unsafe { ask(event.as_ptr().cast(), name, size, value, len) })
    }

    fn event_number(&self, event: Pointer, name: cl_event_info) -> Option<cl_uint> {
        let bytes = self.event_info(event, name)?;
        Some(cl_uint::from_ne_bytes(*bytes.first_chunk()?))
    }
}

/// A function of the driver's failed.
pub(super) fn failed(function: &str, code: cl_int) -> Unable {
    Unable(format!("the driver's {function} failed with {code}"))
}
