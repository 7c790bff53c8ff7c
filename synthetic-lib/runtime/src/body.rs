//! The bytes of an [`Envelope`](gil_wire::envelope::Envelope), written without
//! building one: the guest counts its instructions, and a call has a dozen
//! small fields. The encoding is postcard's; a test compares the two.

use crate::client::Call;
use gil_wire::envelope::{Class, Engine, Queue};
use gil_wire::rows::RegionRows;

/// A number takes at most this many bytes.
const VARINT_MAX: usize = 10;
/// Bytes of an envelope without its waits and arguments, at most.
const FIXED_MAX: usize = 13 * VARINT_MAX;

/// Bytes that the envelope may take.
pub(crate) fn len_max(call: &Call<'_>, args: &[u8]) -> usize {
    FIXED_MAX + (call.waits.len() + 6 * call.rows.len()) * VARINT_MAX + args.len()
}

/// Writes the envelope to `out`, which has room for [`len_max`] bytes; gives
/// its length.
pub(crate) fn write(call: &Call<'_>, args: &[u8], out: &mut [u8]) -> usize {
    let mut body = Body { out, at: 0 };
    body.number(call.op.0.into());
    body.byte(class_index(call.class));
    body.number(call.entry);
    body.queue(call.queue);
    body.byte(engine_index(call.engine));
    body.byte(call.blocking.into());
    body.number(call.waits.len() as u64);
    call.waits.iter().for_each(|event| body.number(*event));
    body.option(call.signals);
    body.byte(call.observable.into());
    body.option(call.retires);
    body.number(call.regions.len() as u64);
    body.number(call.rows.len() as u64);
    call.rows.iter().for_each(|rows| body.rows(rows));
    body.number(args.len() as u64);
    body.out[body.at..][..args.len()].copy_from_slice(args);
    body.at + args.len()
}

/// Postcard numbers variants from 0, in the order of their declaration.
const fn class_index(class: Class) -> u8 {
    match class {
        Class::Query => 0,
        Class::Sync => 1,
        Class::Post => 2,
        Class::Enqueue => 3,
        Class::Wait => 4,
        Class::Poll => 5,
        Class::Look => 6,
    }
}

const fn engine_index(engine: Engine) -> u8 {
    match engine {
        Engine::Compute => 0,
        Engine::CopyIn => 1,
        Engine::CopyOut => 2,
        Engine::None => 3,
        Engine::Marker => 4,
        Engine::Barrier => 5,
    }
}

struct Body<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl Body<'_> {
    #[inline]
    fn byte(&mut self, byte: u8) {
        self.out[self.at] = byte;
        self.at += 1;
    }

    #[inline]
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    #[inline]
    fn option(&mut self, number: Option<u64>) {
        self.byte(number.is_some().into());
        if let Some(number) = number {
            self.number(number);
        }
    }

    fn rows(&mut self, RegionRows { region, rows }: &RegionRows) {
        self.number((*region).into());
        let sizes = [
            rows.row,
            rows.rows,
            rows.row_pitch,
            rows.slices,
            rows.slice_pitch,
        ];
        sizes.iter().for_each(|size| self.number(*size));
    }

    #[inline]
    fn queue(&mut self, queue: Option<Queue>) {
        self.option(queue.map(|queue| queue.id));
        if let Some(queue) = queue {
            self.byte(queue.in_order.into());
            self.number(queue.device);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Region;
    use gil_wire::Op;
    use gil_wire::envelope::{self, Envelope};
    use gil_wire::rows::Rows;
    use proptest::prelude::*;

    const CLASSES: [Class; 7] = [
        Class::Query,
        Class::Sync,
        Class::Post,
        Class::Enqueue,
        Class::Wait,
        Class::Poll,
        Class::Look,
    ];
    const ENGINES: [Engine; 6] = [
        Engine::Compute,
        Engine::CopyIn,
        Engine::CopyOut,
        Engine::None,
        Engine::Marker,
        Engine::Barrier,
    ];

    fn wire<'a>(call: &Call<'_>, args: &'a [u8]) -> Envelope<'a> {
        Envelope {
            op: call.op,
            class: call.class,
            entry: call.entry,
            queue: call.queue,
            engine: call.engine,
            blocking: call.blocking,
            waits: call.waits.to_vec(),
            signals: call.signals,
            observable: call.observable,
            retires: call.retires,
            regions: call.regions.len() as u32,
            rows: call.rows.to_vec(),
            args,
        }
    }

    fn region_rows((region, sizes): (u32, [u64; 5])) -> RegionRows {
        let [row, rows, row_pitch, slices, slice_pitch] = sizes;
        let rows = Rows {
            row,
            rows,
            row_pitch,
            slices,
            slice_pitch,
        };
        RegionRows { region, rows }
    }

    proptest! {
        #[test]
        fn the_bytes_are_those_of_the_wire(
            (op, class, entry) in (any::<u32>(), 0usize..7, any::<u64>()),
            queue: Option<(u64, bool, u64)>,
            (engine, blocking, observable) in (0usize..6, any::<bool>(), any::<bool>()),
            (signals, retires) in any::<(Option<u64>, Option<u64>)>(),
            (waits, args, regions) in any::<(Vec<u64>, Vec<u8>, u8)>(),
            rows: Vec<(u32, [u64; 5])>,
        ) {
            let regions = vec![Region::default(); regions.into()];
            let rows: Vec<_> = rows.into_iter().map(region_rows).collect();
            let call = Call {
                queue: queue.map(|(id, in_order, device)| Queue { id, in_order, device }),
                engine: ENGINES[engine],
                blocking,
                waits: &waits,
                signals,
                observable,
                retires,
                regions: &regions,
                rows: &rows,
                ..Call::new(Op(op), CLASSES[class], entry)
            };
            let mut bytes = vec![0; len_max(&call, &args)];
            let len = write(&call, &args, &mut bytes);
            let mut wanted = Vec::new();
            envelope::push(&wire(&call, &args), &mut wanted);
            prop_assert_eq!(&bytes[..len], &wanted[4..]);
        }
    }
}
