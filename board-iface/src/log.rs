//! The agent's log, on standard error.

use std::io::{IsTerminal, stderr};
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

/// Says what is logged: a level, or levels of crates and modules, as
/// `gil_board=debug,gil_transport=warn`.
const VARIABLE: &str = "GIL_LOG";

/// Starts the log of this process.
///
/// # Panics
/// If the process has a log already.
pub fn start() {
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(stderr)
        .with_ansi(stderr().is_terminal())
        .without_time()
        // A log that cannot be written is no end of the agent.
        .log_internal_errors(false);
    let wanted = wanted(std::env::var(VARIABLE).ok().as_deref());
    tracing_subscriber::registry()
        .with(lines)
        .with(wanted)
        .init();
}

/// What a value of [`VARIABLE`] asks for; without a valid one, what a user should know.
fn wanted(value: Option<&str>) -> Targets {
    let parsed = value.and_then(|value| value.parse().ok());
    parsed.unwrap_or_else(|| Targets::new().with_default(Level::INFO))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(value: Option<&str>, target: &str, level: Level) -> bool {
        wanted(value).would_enable(target, &level)
    }

    #[test]
    fn a_level_is_for_all() {
        assert!(logged(Some("debug"), "gil_transport", Level::DEBUG));
        assert!(!logged(Some("debug"), "gil_transport", Level::TRACE));
        assert!(!logged(Some("warn"), "gil_board", Level::INFO));
    }

    #[test]
    fn a_crate_or_module_has_a_level_of_its_own() {
        let value = Some("warn,gil_board::server=debug");
        assert!(logged(value, "gil_board::server::refusals", Level::DEBUG));
        assert!(!logged(value, "gil_board::session", Level::INFO));
        assert!(logged(value, "gil_board::session", Level::WARN));
    }

    #[test]
    fn without_a_valid_value_what_a_user_should_know_is_logged() {
        for value in [None, Some("gil_board=loud"), Some("a=b=c")] {
            assert!(logged(value, "gil_board", Level::INFO), "{value:?}");
            assert!(!logged(value, "gil_board", Level::DEBUG), "{value:?}");
        }
    }
}
