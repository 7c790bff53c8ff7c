//! The physical device behind an API's device. The board is asked once.

use super::calls::Calls;
use super::forward::unexpected;
use super::schedule::Schedule;
use super::{Context, Refusal, Session};
use foldhash::HashMap;
use gil_files::recording::{self, Record};
use gil_timing::QueueRef;
use gil_transport::client::{Client, ClientError};
use gil_wire::Op;
use gil_wire::call::Handle;
use gil_wire::envelope::{Class, Queue};
use gil_wire::frame::FrameError;
use gil_wire::identity::DeviceIdentity;
use gil_wire::message::{Reply, Request};

/// Most devices of a session that the board is asked for; others have engines
/// of their own.
const ASKED_MAX: usize = 1024;

/// The physical device of each API's device that was used; `None` for one that
/// is nobody else's.
pub(super) type Places = HashMap<(u16, u64), Option<u64>>;

impl Session {
    /// Learns which devices these calls' queues are of.
    pub(super) fn place_devices(
        &mut self,
        context: &mut Context<'_>,
        calls: &Calls<'_>,
    ) -> Result<(), Refusal> {
        let enqueues = calls.all().iter().map(|call| call.envelope);
        for envelope in enqueues.filter(|envelope| envelope.class == Class::Enqueue) {
            if let Some(queue) = envelope.queue {
                self.place_device(context, envelope.op, queue.device)?;
            }
        }
        Ok(())
    }

    fn place_device(
        &mut self,
        context: &mut Context<'_>,
        op: Op,
        device: u64,
    ) -> Result<(), Refusal> {
        let key = (op.api(), device);
        // A device that the process made of another is its own.
        let places = &self.schedule.places;
        let is_known = places.contains_key(&key) || !Handle(device).is_boards();
        if is_known || places.len() >= ASKED_MAX {
            return Ok(());
        }
        let board = self.links.place(op);
        let Some(client) = self.links.of_mut(op).client() else {
            return Ok(());
        };
        let asked = identify(client, key);
        context.took.waited += client.take_waited();
        let identity = asked.map_err(|error| self.lose(context, op, &error))?;
        let record = Record::Device(recording::Device {
            session: self.links.of(op).recorded_as(),
            api: key.0,
            device,
            identity: identity.clone(),
        });
        context.record(&record, &[]);
        let number = identity.and_then(|identity| context.devices.number(board, identity));
        self.schedule.places.insert(key, number);
        Ok(())
    }
}

impl Schedule {
    /// A call's queue as the timeline knows it.
    pub(super) fn queue_ref(&self, op: Op, queue: Queue) -> QueueRef {
        let place = self
            .places
            .get(&(op.api(), queue.device))
            .copied()
            .flatten();
        QueueRef {
            id: queue.id,
            in_order: queue.in_order,
            device: place.unwrap_or(queue.device),
            is_shared: place.is_some(),
        }
    }
}

fn identify(
    client: &mut Client,
    (api, device): (u16, u64),
) -> Result<Option<DeviceIdentity>, ClientError> {
    client.begin();
    client.send_message(&Request::Identify { api, device })?;
    let received = client.reply()?;
    match postcard::from_bytes(&received.header).map_err(FrameError::from)? {
        Reply::Identity { identity } => Ok(identity),
        Reply::Refused { reason } => Err(ClientError::Refused(reason.into())),
        other => Err(unexpected(&other, "a device's identity")),
    }
}
