//! A guest's driver and a board in this process: the host interface is between
//! them as in a simulator.
#![allow(dead_code)] // each test file uses what it needs

pub mod board;
pub mod guest;
pub mod times;

use gil_host::events::Sink;
use gil_wire::monitor::Event;
use std::sync::{Arc, Mutex};

/// Keeps events.
#[derive(Clone, Default)]
pub struct Log(pub Arc<Mutex<Vec<Event>>>);

impl Sink for Log {
    fn tell(&mut self, event: Event) {
        self.0.lock().unwrap().push(event);
    }
}

impl Log {
    pub fn warnings(&self) -> Vec<String> {
        let events = self.0.lock().unwrap();
        let texts = events.iter().filter_map(|event| match event {
            Event::Warning { text } => Some(text.clone()),
            _ => None,
        });
        texts.collect()
    }

    /// Why the run should stop.
    pub fn fatal(&self) -> Vec<String> {
        let events = self.0.lock().unwrap();
        let texts = events.iter().filter_map(|event| match event {
            Event::Fatal { text } => Some(text.clone()),
            _ => None,
        });
        texts.collect()
    }
}
