//! The command types of events: a mapping is a copy to the driver.

use super::generated::types::*;
use super::objects::Data;
use super::session::Session;
use crate::back_end::{Call, InfoReply, Objects, Refusal, info};
use gil_wire::call::{Handle, NewEvent};
use gil_wire::generated::opencl::{self as wire, Kind};

impl Session {
    /// An event is of this command, which the driver knows as another.
    pub(super) fn set_command(&mut self, event: Handle, command: cl_command_type) {
        if let Some(Data::Event(known)) = self.table.data_mut(event) {
            *known = Some(command);
        }
    }

    /// The event of a command that the driver knows as another.
    pub(super) fn is_of(&mut self, event: NewEvent, command: cl_command_type) {
        self.set_command(event.number, command);
    }
}

/// `clGetEventInfo`.
///
/// # Errors
/// [`Refusal`].
pub fn get_info(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClGetEventInfoArgs,
) -> Result<InfoReply, Refusal> {
    let Some(function) = session.functions().clGetEventInfo else {
        return Ok(InfoReply::failed(CL_INVALID_OPERATION));
    };
    let event: cl_event = session.get(Kind::Event, args.event)?;
    let name = args.param_name;
    let kind = wire::cl_get_event_info(name);
    let kind = kind.ok_or(Refusal::parameter("param_name", name.into()))?;
    let known = session.command(args.event);
    let known = known.filter(|_| name == CL_EVENT_COMMAND_TYPE);
    info(
        session,
        call,
        kind,
        args.param_value,
        |size, value, size_ret| {
            // SAFETY: the event is alive, and `info` provides a buffer of the size it states.
            let result = unsafe { function(event, name, size, value, size_ret) };
            if let (Some(command), false) = (known, value.is_null())
                && result == CL_SUCCESS
                && size == size_of_val(&command)
            {
                // SAFETY: as above; the value is of this type.
                unsafe { value.cast::<cl_command_type>().write_unaligned(command) };
            }
            result
        },
    )
}
