//! Messages, envelopes, and texts that users write.

use crate::input::Input;
use gil_address_tables::{Extent, Extents, GuestAddress, GuestLength, RamMap, RamRange};
use gil_detect::watch::Spec;
use gil_host::Config;
use gil_opencl_common::build_options;
use gil_opencl_common::image;
use gil_transport::window;
use gil_wire::address::Address;
use gil_wire::api;
use gil_wire::call::unpack;
use gil_wire::envelope::{self, Answer};
use gil_wire::frame::{PREFIX_LEN, Prefix};
use gil_wire::generated::opencl;
use gil_wire::hello::{HELLO_LEN, Hello};
use gil_wire::message::{Reply, Request};
use gil_wire::pieces::Pieces;
use gil_wire::rows::Rows;
use gil_wire::{Op, monitor};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// What decodes is encoded, and decoded to the same.
fn same_again<T: DeserializeOwned + Serialize + PartialEq + Debug>(bytes: &[u8]) {
    if let Ok(message) = postcard::from_bytes::<T>(bytes) {
        let again = postcard::to_stdvec(&message).expect("it was encoded once");
        assert_eq!(postcard::from_bytes::<T>(&again), Ok(message));
    }
}

/// A frame's prefix, and the messages of both directions.
pub fn frames(data: &[u8]) {
    let Some((prefix, header)) = data.split_first_chunk::<PREFIX_LEN>() else {
        return;
    };
    if let Ok(decoded) = Prefix::decode(prefix) {
        assert_eq!(decoded.encode(), *prefix);
    }
    if let Ok(request) = postcard::from_bytes::<Request<'_>>(header) {
        let again = postcard::to_stdvec(&request).expect("it was encoded once");
        assert_eq!(postcard::from_bytes(&again), Ok(request));
    }
    if let Ok(reply) = postcard::from_bytes::<Reply<'_>>(header) {
        let again = postcard::to_stdvec(&reply).expect("it was encoded once");
        assert_eq!(postcard::from_bytes(&again), Ok(reply));
    }
    same_again::<monitor::Event>(header);
}

/// The first message of a connection.
pub fn hello(data: &[u8]) {
    let Some(bytes) = data.first_chunk::<HELLO_LEN>() else {
        return;
    };
    if let Ok(hello) = Hello::decode(bytes) {
        let _ = Hello::ours()
            .accept(&hello)
            .map_err(|error| error.to_string());
        assert_eq!(Hello::decode(&hello.encode()), Ok(hello));
    }
}

/// A submission's envelopes; an answer.
pub fn envelopes(data: &[u8]) {
    if let Ok(all) = envelope::parse(data) {
        let (mut again, mut site) = (Vec::new(), 0);
        for one in &all {
            if one.site == 0 && site != 0 {
                again.extend(envelope::bytes::note(0));
            }
            site = one.site;
            envelope::push(one, &mut again);
        }
        assert_eq!(envelope::parse(&again), Ok(all));
    }
    assert_eq!(Answer::read(data), postcard::from_bytes(data));
}

/// Arguments and results of every entry point, as far as the host reads them.
pub fn arguments(data: &[u8]) {
    let mut input = Input(data);
    let entry = input.u16();
    let args = input.counted();
    let op = Op::new(opencl::CL_FLUSH.api(), entry);
    let _ = api::effect(op, args, Some(input.0));
    let _ = api::effect(op, args, None);
    let _ = (op.to_string(), api::info(op));
}

/// Rectangles, images, and arrays of strings.
pub fn rows(data: &[u8]) {
    let mut input = Input(data);
    let rows = Rows {
        row: input.u64(),
        rows: input.u64(),
        row_pitch: input.u64(),
        slices: input.u64(),
        slice_pitch: input.u64(),
    };
    let merged = rows.merged();
    if let Some(bytes) = rows.packed().number() {
        assert_eq!(merged.packed().number(), Some(bytes));
    }
    let _ = rows.span();
    if let Some(starts) = merged.starts() {
        starts.take(1000).for_each(drop);
    }
    let sizes = [input.u64(), input.u64(), input.u64()];
    let at = [input.u64(), input.u64(), input.u64()];
    images(input, sizes, at);
    let count = input.u32();
    let _ = unpack(count, input.0);
    if let Ok(pieces) = Pieces::new(count, Some(input.0)) {
        let _ = (pieces.pointers(), pieces.lengths(), pieces.int_lengths());
    }
}

fn images(mut input: Input<'_>, size: [u64; 3], at: [u64; 3]) {
    let Some(form) = image::Form::of(0x10f1 + u32::from(input.u8()) % 6) else {
        return;
    };
    let element = image::element_bytes(input.u32(), input.u32());
    let element = element.unwrap_or(input.u8().into());
    let (layers, pitches) = (input.u64(), (input.u64(), input.u64()));
    let Some(layout) = image::Layout::new(form, element, size, layers, pitches) else {
        return;
    };
    let _ = (layout.bytes(), layout.offset(at), layout.contains(at, size));
    let _ = layout.rows(size).packed();
}

/// Build options.
pub fn options(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let _ = build_options::words(text);
    let _ = build_options::paths(text);
}

/// Addresses of agents, configurations, functions to watch.
pub fn texts(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(address) = text.parse::<Address>() {
        assert_eq!(address.to_string().parse(), Ok(address));
    }
    let _ = text.parse::<Config>().map_err(|error| error.to_string());
    let _ = text.parse::<Spec>().map(|spec| spec.label());
}

/// The RAM table, regions' extents, places in the window.
pub fn tables(data: &[u8]) {
    let mut input = Input(data);
    let ranges = (0..input.u8() % 8).map(|_| RamRange {
        gpa: GuestAddress(input.u64()),
        len: GuestLength(input.u64()),
        offset: input.u64(),
    });
    let ram = RamMap::new(ranges.collect());
    let len = GuestLength(input.u64());
    let extents = (0..input.u8() % 16).map(|_| Extent {
        gpa: GuestAddress(input.u64()),
        len: GuestLength(input.u64()),
    });
    let extents = Extents::new(extents.collect::<Vec<_>>(), len);
    let (Ok(ram), Ok(extents)) = (ram, extents) else {
        return;
    };
    for extent in extents.iter() {
        if let Ok(pieces) = ram.translate(extent.gpa, extent.len) {
            assert_eq!(
                pieces.iter().map(|piece| piece.len).sum::<u64>(),
                extent.len.0
            );
        }
    }
    let starts: Vec<u64> = (0..input.u8() % 8).map(|_| input.u64()).collect();
    if let Some(runs) = extents.runs(starts, GuestLength(input.u64())) {
        extents.overlaps(&runs, |_, _, _| ());
    }
    let desc = |len| gil_wire::message::RegionDesc {
        len,
        dir: gil_wire::message::Direction::In,
    };
    let _ = window::places(&[desc(input.u64()), desc(len.0)], input.u64());
}
