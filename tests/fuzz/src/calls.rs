//! Logs of calls, as `gil report` reads them: into every form at once.

use crate::file::records;
use gil_call_report::flame::{Flame, Of};
use gil_call_report::html::{self, TimeLine};
use gil_call_report::log::{Log, Sink};
use gil_call_report::perfetto::Trace;
use gil_call_report::summary::{By, Summary};
use gil_call_report::symbols::SharedSymbols;
use gil_call_report::{table, tabular};
use gil_files::calls::FILE;
use std::io::sink;
use std::path::Path;

/// A log that holds anything.
pub fn log(data: &[u8]) {
    let bytes = records(&FILE.header(), data);
    let Ok(mut log) = Log::open(Path::new("log"), &bytes[..]) else {
        return;
    };
    let all = [By::Entry, By::Thread, By::Process, By::Queue, By::Kernel];
    let mut summaries = all.map(Summary::new);
    let mut line = TimeLine::default();
    let mut flame = Flame::new(Of::Gpu, SharedSymbols::default());
    let mut rows = tabular::Rows::new(sink()).expect("no file");
    let mut trace = Trace::new(sink()).expect("no file");
    let mut sinks: Vec<&mut dyn Sink<_>> = vec![&mut line, &mut flame, &mut rows, &mut trace];
    for summary in &mut summaries {
        sinks.push(summary);
    }
    log.pass(&mut sinks).expect("no file");
    trace.finish().expect("no file");
    let names = log.names();
    for summary in &summaries {
        let _ = table::table(summary, names, Some(3));
        tabular::summary(summary, names, sink()).expect("no file");
    }
    flame.collapsed(names, sink()).expect("no file");
    html::write(sink(), ("log", ""), &summaries, line, names).expect("no file");
}
