//! How a run ended: its exit code, the code's origin, and a sentence.

use serde::{Deserialize, Serialize};

/// Whose exit code it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The program's own.
    Program,
    /// The program could not be run.
    Start,
    /// The bridge, the simulator, or something on this machine failed.
    Bridge,
    /// The user ended the run.
    User,
    /// The time given by `--timeout` is over.
    Timeout,
    /// Whoever read the program's output closed it.
    Output,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// `gil`'s exit code.
    pub code: u8,
    /// Whose it is.
    pub origin: Origin,
    /// The signal that ended the program, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// One sentence, unless the program simply exited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Exit {
    /// The bridge failed.
    pub fn bridge(reason: impl Into<String>) -> Self {
        Self::because(125, Origin::Bridge, reason)
    }

    /// Something other than the program's own end.
    pub fn because(code: u8, origin: Origin, reason: impl Into<String>) -> Self {
        Self {
            code,
            origin,
            signal: None,
            reason: Some(reason.into()),
        }
    }

    /// The program's own end. As a shell has it, a signal gives 128 and its
    /// number.
    pub fn program(code: Option<i32>, signal: Option<i32>) -> Self {
        let shell_code = match signal {
            Some(number) => 128_i32.saturating_add(number),
            None => code.unwrap_or(0),
        };
        Self {
            // Exit codes have eight bits, here as in the guest.
            code: (shell_code & 0xff) as u8,
            origin: Origin::Program,
            signal,
            reason: signal
                .map(|number| format!("the program was ended by signal {}", signal_name(number))),
        }
    }

    /// `gil` itself got a signal.
    pub fn user(signal: i32) -> Self {
        let code = (128 + (signal & 0x7f)) as u8;
        Self::because(
            code,
            Origin::User,
            format!("the run was ended by signal {}", signal_name(signal)),
        )
    }
}

fn signal_name(number: i32) -> String {
    match nix::sys::signal::Signal::try_from(number) {
        Ok(signal) => format!("{number} ({signal})"),
        Err(_) => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_what_a_shell_says() {
        assert_eq!(Exit::program(Some(7), None).code, 7);
        assert_eq!(Exit::program(None, Some(11)).code, 139);
        assert_eq!(Exit::program(Some(256 + 3), None).code, 3);
        let crash = Exit::program(None, Some(11)).reason.unwrap();
        assert!(crash.contains("signal 11 (SIGSEGV)"), "{crash}");
        assert_eq!(Exit::user(2).code, 130);
    }
}
