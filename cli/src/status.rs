//! `gil status`: what a running agent does.

use crate::args::StatusArgs;
use comfy_table::{CellAlignment, Table, presets};
use gil_board_client::agent::{AgentError, Connection};
use gil_wire::status::{Counts, Status};
use std::fmt::Write as _;
use std::io::Write as _;

/// Prints the status of the agent there.
///
/// # Errors
/// [`AgentError`] if it does not answer.
pub fn run(args: &StatusArgs) -> Result<(), AgentError> {
    let mut connection = Connection::open_as_operator(&args.address, args.key.as_deref())?;
    let status = connection.status()?;
    let text = match args.json {
        true => serde_json::to_string_pretty(&status).map_err(|_| AgentError::Confused)? + "\n",
        false => text(&status),
    };
    // A closed pipe is the reader's wish.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(())
}

fn text(status: &Status) -> String {
    let mut text = String::new();
    let uptime = time(status.uptime_s);
    let _ = writeln!(text, "gil-board {}, up for {uptime}", status.version);
    for device in &status.devices {
        let (api, platform, version) = (&device.api, &device.platform, &device.version);
        let _ = writeln!(text, "{api}: {} ({platform}, {version})", device.name);
    }
    let (open, most) = (status.open_sessions, status.max_sessions);
    let _ = writeln!(text, "sessions: {open} of {most}");
    if !status.sessions.is_empty() {
        let _ = writeln!(text, "{}", table(status).trim_fmt());
    }
    let unlisted = open.saturating_sub(status.sessions.len() as u64);
    if unlisted > 0 {
        let _ = writeln!(text, "and {unlisted} more");
    }
    let (all, refused, crashed) = (status.all_sessions, status.refused, status.crashed);
    let connections = match refused {
        1 => "connection",
        _ => "connections",
    };
    let _ = writeln!(
        text,
        "since the start: {all} sessions, {crashed} of them crashed; {refused} {connections} refused"
    );
    let [calls, errors, received, sent] = cells(&status.totals);
    let _ = writeln!(
        text,
        "  {calls} calls, {errors} of them not run; {received} came, {sent} went"
    );
    text
}

fn table(status: &Status) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let head = ["session", "peer", "age", "calls", "not run", "came", "went"];
    table.set_header(head);
    for session in &status.sessions {
        let [calls, errors, received, sent] = cells(&session.counts);
        let (number, age) = (session.number.to_string(), time(session.age_s));
        let peer = session.peer.clone();
        table.add_row([number, peer, age, calls, errors, received, sent]);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn cells(counts: &Counts) -> [String; 4] {
    [
        counts.calls.to_string(),
        counts.errors.to_string(),
        bytes(counts.received),
        bytes(counts.sent),
    ]
}

fn time(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{minutes} min {} s", seconds % 60),
        3600..86400 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut size = count as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_wire::status::SessionStatus;

    #[test]
    fn a_status_reads_well() {
        let counts = Counts {
            calls: 12,
            errors: 1,
            received: 5 << 20,
            sent: 100,
        };
        let session = SessionStatus {
            number: 3,
            peer: "192.0.2.1:5".into(),
            age_s: 3700,
            counts,
        };
        let status = Status {
            max_sessions: 64,
            open_sessions: 2,
            sessions: vec![session],
            all_sessions: 9,
            crashed: 1,
            totals: counts,
            ..Status::default()
        };
        let text = text(&status);
        for words in [
            "sessions: 2 of 64",
            "192.0.2.1:5",
            "1 h 1 min",
            "5.0 MiB",
            "and 1 more",
            "9 sessions, 1 of them crashed",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn times_and_sizes_have_units() {
        assert_eq!(
            [time(59), time(60), time(90061)],
            ["59 s", "1 min 0 s", "1 d 1 h"]
        );
        assert_eq!([bytes(1023), bytes(1536)], ["1023 B", "1.5 KiB"]);
        assert_eq!(bytes(u64::MAX), "16384.0 PiB");
    }
}
