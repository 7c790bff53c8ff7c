//! Messages to whoever serves a channel on the host, with an answer.

use crate::{Client, Error, entry, region};
use gil_wire::control::{Channel, EXCHANGE, Exchange, Exchanged};
use gil_wire::envelope::{Class, Envelope};
use gil_wire::message::Direction;

impl Client {
    /// Sends a message, which is not empty, to whoever serves this channel on the
    /// host, and puts the answer into `room`. No simulated time passes meanwhile.
    /// A channel takes messages of the process that used it first.
    ///
    /// # Errors
    /// [`Error`] if the message did not get that far.
    pub fn exchange(
        &self,
        channel: Channel,
        message: &[u8],
        room: &mut [u8],
    ) -> Result<Exchanged, Error> {
        let regions = [
            region(message.as_ptr().cast(), message.len(), Direction::In),
            region(room.as_mut_ptr().cast(), room.len(), Direction::Out),
        ];
        let call = Envelope {
            regions: 2,
            ..Envelope::new(EXCHANGE, Class::Query, entry())
        };
        let exchanged = self.forward_with(&call, &regions, &Exchange { channel }, |answer| {
            postcard::from_bytes(answer.result).map_err(Error::Answer)
        })??;
        match exchanged {
            Exchanged::Answered { len } if len as usize > room.len() => {
                Err(Error::Answer(postcard::Error::DeserializeBadEncoding))
            }
            exchanged => Ok(exchanged),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::double::{Double, Played};

    /// What is made of an answer of so many bytes.
    fn answered(len: u32) -> Result<Exchanged, Error> {
        let double = Double::answering(move |envelopes, regions| {
            assert_eq!(envelopes[0].op, EXCHANGE);
            assert_eq!((regions[0].len, regions[0].dir), (3, 1));
            assert_eq!((regions[1].len, regions[1].dir), (8, 2));
            Ok(Played::result(&Exchanged::Answered { len }))
        });
        let client = Client::new(Box::new(double.clone()));
        let exchanged = client.exchange(Channel::Files, b"ask", &mut [0; 8]);
        let asked: Vec<Exchange> = double.seen()[0].args();
        assert_eq!(asked[0].channel, Channel::Files);
        exchanged
    }

    #[test]
    fn an_answer_is_as_long_as_there_is_room_at_most() {
        assert_eq!(answered(8), Ok(Exchanged::Answered { len: 8 }));
        assert!(matches!(answered(9), Err(Error::Answer(_))));
    }
}
