//! The linker in the driver: `cuLink…` of CUDA's driver API.

use super::generated::manual::Linking;
use super::generated::types::*;
use super::logs::Logs;
use super::manual::call_if;
use super::session::{Data, Session};
use super::support::Board;
use crate::back_end::{Call, Current, Objects, Refusal, encode};
use gil_cuda_common::image;
use gil_cuda_common::jit::{self, LIBRARY, NoInput};
use gil_wire::call::{Handle, InData, OutData};
use gil_wire::generated::cuda::{self as wire, Kind};
use object::read::archive::{ArchiveFile, ArchiveMember};
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

/// What a state of the linker has of the session's: the driver writes to it until the state is
/// destroyed.
#[derive(Debug)]
pub struct Link {
    /// The context that was current where it was created, with which it goes.
    pub context: Handle,
    logs: Option<Logs>,
    names: Vec<CUjit_option>,
    /// The driver has the address of these.
    values: Vec<Value>,
    /// What was linked: an address of the driver's, and the bytes.
    linked: Option<(usize, usize)>,
    /// Bytes that it counts for.
    len: usize,
}

/// Most bytes that a session's states have: of what was added, which the driver keeps, and of their own.
const LINKING_MAX: usize = 1 << 30;
/// What a state counts for that has nothing yet.
const LINK_LEN: usize = 1 << 14;

/// The value of an option: a number or an address, as the driver sees it.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
struct Value(*mut c_void);

// SAFETY: an address in it is that of the state's own texts.
unsafe impl Send for Value {}

impl Link {
    /// What the linker told so far.
    fn told(&self) -> Vec<u64> {
        let values: Vec<_> = self.values.iter().map(|value| value.0).collect();
        let told = self.logs.as_ref().map(|it| it.told(&self.names, &values));
        told.map(|told| told.words()).unwrap_or_default()
    }
}

/// Options, and their values.
type Lists = (Vec<CUjit_option>, Vec<*mut c_void>);

/// Options that are numbers, as the driver wants them.
///
/// # Errors
/// `CUDA_ERROR_NOT_SUPPORTED` for others.
pub(super) fn numbers(options: &[u64]) -> Result<Lists, CUresult> {
    let pairs = jit::numbers(options).ok_or(CUDA_ERROR_NOT_SUPPORTED)?;
    let value = |value: u64| std::ptr::without_provenance_mut(value as usize);
    let pairs = pairs.into_iter();
    Ok(pairs
        .map(|(name, value_of)| (name.cast_signed(), value(value_of)))
        .unzip())
}

/// Whether an archive's files are all in it, and each is a whole image.
fn is_whole_archive(bytes: &[u8]) -> bool {
    let Ok(archive) = ArchiveFile::parse(bytes) else {
        return false;
    };
    let is_whole = |member: object::read::Result<ArchiveMember<'_>>| {
        let data = member.and_then(|member| member.data(bytes));
        data.is_ok_and(image::is_whole)
    };
    !archive.is_thin() && archive.members().all(is_whole)
}

impl Session {
    /// Counts what is added to a state; whether there is room.
    fn links_more(&mut self, state: Handle, len: usize) -> bool {
        let all = self.linking_len.saturating_add(len);
        match self.data_mut(state) {
            Some(Data::Link(link)) if all <= LINKING_MAX => {
                link.len += len;
                // The driver may put what comes of it elsewhere.
                link.linked = None;
                self.linking_len = all;
                true
            }
            _ => false,
        }
    }

    fn link(&self, state: Handle) -> Result<(CUlinkState, &Link), Refusal> {
        let real = self.get(Kind::Link, state)?;
        match self.data(state) {
            Some(Data::Link(link)) => Ok((real, link)),
            _ => Err(Refusal::parameter("state", state.0)),
        }
    }

    /// Adds code to a state; what the linker told then.
    pub(super) fn link_add(
        &mut self,
        call: &mut Call,
        (state, input): (Handle, CUjitInputType),
        (data, name): (&InData<'_>, &InData<'_>),
        options: &[u64],
    ) -> Result<(CUresult, Vec<u64>), Refusal> {
        let (real, link) = self.link(state)?;
        let context = link.context;
        self.make_current(context)?;
        let name = call.string(name)?.unwrap_or_default();
        let bytes = call.bytes(data)?.unwrap_or_default();
        let len = bytes.len();
        let refused = |error| Ok((error, Vec::new()));
        let checked = match input {
            LIBRARY if is_whole_archive(bytes) => Ok(()),
            LIBRARY => Err(NoInput::Image),
            _ => jit::check_input(input, bytes),
        };
        match checked {
            Ok(()) => {}
            Err(NoInput::Image) => return refused(CUDA_ERROR_INVALID_IMAGE),
            Err(NoInput::Kind) => return refused(CUDA_ERROR_NOT_SUPPORTED),
        }
        let (mut names, mut values) = match numbers(options) {
            Ok(options) => options,
            Err(error) => return refused(error),
        };
        if !self.links_more(state, len) {
            return refused(CUDA_ERROR_OUT_OF_MEMORY);
        }
        let place = call.input(data, len)?.cast_mut();
        let add = self.functions().cuLinkAddData_v2;
        let result = call_if(call, add, |add| {
            let name: &CStr = &name;
            let count = names.len() as u32;
            // SAFETY: the state is alive, the data has so many bytes, which the driver copies; the lists
            // have as many entries.
            unsafe {
                add(
                    real,
                    input,
                    place,
                    len,
                    name.as_ptr(),
                    count,
                    names.as_mut_ptr(),
                    values.as_mut_ptr(),
                )
            }
        });
        Ok((result, self.link(state)?.1.told()))
    }

    /// Destroys the states of a context, which is current and about to go.
    pub(super) fn destroy_links(&mut self, call: &mut Call, context: Handle) {
        for number in self.objects_of(Kind::Link) {
            if self
                .link(number)
                .is_ok_and(|(_, link)| link.context == context)
            {
                let _ = self.destroy_link(call, number);
            }
        }
    }

    fn destroy_link(&mut self, call: &mut Call, state: Handle) -> Result<CUresult, Refusal> {
        let (pointer, data) = self.drop_with_data(Kind::Link, state)?;
        if let Data::Link(link) = &data {
            self.linking_len -= link.len;
        }
        let destroy = self.functions().cuLinkDestroy;
        let result = call_if(call, destroy, |destroy| {
            // SAFETY: it is alive, and nothing names it any more; what it writes to is there until this
            // returns.
            unsafe { destroy(pointer.as_ptr().cast()) }
        });
        if result != CUDA_SUCCESS {
            // The driver may write there as long as there is the context.
            std::mem::forget(data);
        }
        Ok(result)
    }
}

impl Session {
    // ---- the calls ----
    pub(super) fn link_create(
        &mut self,
        call: &mut Call,
        args: wire::CuLinkCreateV2Args,
    ) -> Result<wire::CuLinkCreateV2Reply, Refusal> {
        let reply = |result| Ok(wire::CuLinkCreateV2Reply { result });
        self.can_bind(args.new)?;
        self.make_current(args.current)?;
        let (mut names, values) = match numbers(&args.options) {
            Ok(options) => options,
            Err(error) => return reply(error),
        };
        if self.linking_len + LINK_LEN > LINKING_MAX {
            return reply(CUDA_ERROR_OUT_OF_MEMORY);
        }
        let mut logs = match Logs::new(&args.logs) {
            Ok(logs) => logs,
            Err(error) => return reply(error),
        };
        let mut values: Vec<_> = values.into_iter().map(Value).collect();
        for (name, value) in logs.as_mut().map(Logs::options).into_iter().flatten() {
            names.push(name.cast_signed());
            values.push(Value(value));
        }
        let mut state: CUlinkState = null_mut();
        let create = self.functions().cuLinkCreate_v2;
        let result = call_if(call, create, |create| {
            let count = names.len() as u32;
            let values = values.as_mut_ptr().cast();
            // SAFETY: the lists have as many entries; they stay where they are until the state is
            // destroyed.
            unsafe { create(count, names.as_mut_ptr(), values, &mut state) }
        });
        if result == CUDA_SUCCESS {
            let data = Data::Link(Link {
                context: args.current,
                logs,
                names,
                values,
                linked: None,
                len: LINK_LEN,
            });
            self.linking_len += LINK_LEN;
            self.bind_with(Kind::Link, args.new, state, data)?;
        }
        reply(result)
    }

    pub(super) fn link_complete(
        &mut self,
        call: &mut Call,
        args: wire::CuLinkCompleteArgs,
    ) -> Result<wire::CuLinkCompleteReply, Refusal> {
        let (real, link) = self.link(args.state)?;
        let context = link.context;
        self.make_current(context)?;
        let (mut place, mut size) = (null_mut(), 0);
        let complete = self.functions().cuLinkComplete;
        let result = call_if(call, complete, |complete| {
            // SAFETY: the state is alive; there is space for an address and a number.
            unsafe { complete(real, &mut place, &mut size) }
        });
        let mut logs = Vec::new();
        if let Some(Data::Link(link)) = self.data_mut(args.state) {
            logs = link.told();
            link.linked = match result {
                CUDA_SUCCESS if !place.is_null() => Some((place.expose_provenance(), size)),
                _ => None,
            };
        }
        let size = size as u64;
        Ok(wire::CuLinkCompleteReply { result, size, logs })
    }

    pub(super) fn link_destroy(
        &mut self,
        call: &mut Call,
        args: wire::CuLinkDestroyArgs,
    ) -> Result<wire::CuLinkDestroyReply, Refusal> {
        let context = self.link(args.state)?.1.context;
        self.make_current(context)?;
        let result = self.destroy_link(call, args.state)?;
        Ok(wire::CuLinkDestroyReply { result })
    }

    pub(super) fn linked(
        &mut self,
        call: &mut Call,
        args: wire::GilLinkedArgs,
    ) -> Result<Vec<u8>, Refusal> {
        let linked = self.link(args.state)?.1.linked;
        let mut room = call.output(args.cubin, 0)?;
        let Some((place, size)) = linked.filter(|(_, size)| *size <= room.room()) else {
            let (result, cubin) = (CUDA_ERROR_INVALID_VALUE, OutData::None);
            return encode(&wire::GilLinkedReply { result, cubin });
        };
        let place: *const u8 = std::ptr::with_exposed_provenance(place);
        // SAFETY: it is the state's until that is destroyed, and the room is larger.
        unsafe { place.copy_to_nonoverlapping(room.as_mut_ptr().cast(), size) };
        let (result, cubin) = (CUDA_SUCCESS, room.data(call, size));
        encode(&wire::GilLinkedReply { result, cubin })
    }
}

impl Linking for Board {
    fn cu_link_create_v2(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuLinkCreateV2Args,
    ) -> Result<wire::CuLinkCreateV2Reply, Refusal> {
        session.link_create(call, args)
    }

    fn cu_link_complete(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuLinkCompleteArgs,
    ) -> Result<wire::CuLinkCompleteReply, Refusal> {
        session.link_complete(call, args)
    }

    fn cu_link_destroy(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuLinkDestroyArgs,
    ) -> Result<wire::CuLinkDestroyReply, Refusal> {
        session.link_destroy(call, args)
    }

    fn cu_link_add_data_v2(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuLinkAddDataV2Args<'_>,
    ) -> Result<wire::CuLinkAddDataV2Reply, Refusal> {
        let to = (args.state, args.input);
        let (result, logs) = session.link_add(call, to, (&args.data, &args.name), &args.options)?;
        Ok(wire::CuLinkAddDataV2Reply { result, logs })
    }

    fn cu_link_add_file_v2(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuLinkAddFileV2Args<'_>,
    ) -> Result<wire::CuLinkAddFileV2Reply, Refusal> {
        let to = (args.state, args.input);
        let (result, logs) = session.link_add(call, to, (&args.data, &args.name), &args.options)?;
        Ok(wire::CuLinkAddFileV2Reply { result, logs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b".version 8.0\n.target sm_70\n\0";

    fn archive(len: usize, text: &[u8]) -> Vec<u8> {
        let head = format!(
            "{:<16}{:<12}{:<6}{:<6}{:<8}{len:<10}`\n",
            "a.o/", 0, 0, 0, 644
        );
        [b"!<arch>\n", head.as_bytes(), text].concat()
    }

    #[test]
    fn an_archives_files_are_whole() {
        assert!(is_whole_archive(&archive(TEXT.len(), TEXT)));
        assert!(!is_whole_archive(&archive(TEXT.len() + 1, TEXT)));
        assert!(!is_whole_archive(&archive(TEXT.len() - 1, TEXT)));
        assert!(!is_whole_archive(&archive(TEXT.len(), &TEXT[1..])));
        let thin = archive(TEXT.len(), TEXT);
        assert!(!is_whole_archive(&[b"!<thin>\n", &thin[8..]].concat()));
        assert!(!is_whole_archive(b"!<arch>"));
        assert!(!is_whole_archive(TEXT));
    }
}
