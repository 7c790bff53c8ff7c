//! Commands to a running QEMU: QMP, JSON over a socket (QEMU, docs/interop/qmp-spec).

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum QmpError {
    /// The connection.
    #[error("QEMU takes no commands ({0})")]
    Connection(#[from] io::Error),
    /// QEMU says why not.
    #[error("QEMU refused {command}: {said}")]
    Refused {
        /// The command.
        command: &'static str,
        /// QEMU's words.
        said: String,
    },
    /// It ended, or said no more.
    #[error("QEMU ended before it did {0}")]
    Ended(&'static str),
}

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(300);
/// How often a QEMU that starts is asked for its socket.
const SLICE: Duration = Duration::from_millis(1);

/// A connection to a QEMU.
pub struct Qmp {
    reader: BufReader<UnixStream>,
    /// Names of events that came before an answer.
    events: VecDeque<String>,
}

impl Qmp {
    /// Waits for the socket of a QEMU that starts, as long as `is_there` says that
    /// it has not ended.
    ///
    /// # Errors
    /// [`QmpError`].
    pub fn connect(path: &Path, is_there: impl FnMut() -> bool) -> Result<Self, QmpError> {
        Self::connect_within(PATIENCE, path, is_there)
    }

    /// The same; it and later each answer may take that long.
    ///
    /// # Errors
    /// [`QmpError`].
    pub fn connect_within(
        patience: Duration,
        path: &Path,
        mut is_there: impl FnMut() -> bool,
    ) -> Result<Self, QmpError> {
        let until = Instant::now() + patience;
        let stream = loop {
            match UnixStream::connect(path) {
                Ok(stream) => break stream,
                Err(_) if !is_there() => return Err(QmpError::Ended("listen")),
                Err(error) if Instant::now() > until => return Err(error.into()),
                Err(_) => std::thread::sleep(SLICE),
            }
        };
        stream.set_read_timeout(Some(patience))?;
        let mut qmp = Self {
            reader: BufReader::new(stream),
            events: VecDeque::new(),
        };
        qmp.read("greet")?;
        qmp.execute("qmp_capabilities", json!({}))?;
        Ok(qmp)
    }

    /// From now on, an answer or an event may take any time.
    ///
    /// # Errors
    /// [`QmpError::Connection`].
    pub fn wait_long(&self) -> Result<(), QmpError> {
        Ok(self.reader.get_ref().set_read_timeout(None)?)
    }

    /// Has a command carried out; its answer. Events that come before it wait.
    ///
    /// # Errors
    /// [`QmpError`].
    pub fn execute(&mut self, command: &'static str, arguments: Value) -> Result<Value, QmpError> {
        let mut line = json!({"execute": command, "arguments": arguments}).to_string();
        line.push('\n');
        self.reader.get_mut().write_all(line.as_bytes())?;
        loop {
            let mut answer = self.read(command)?;
            if let Some(error) = answer.get("error") {
                let said = error["desc"].as_str().unwrap_or_default().into();
                return Err(QmpError::Refused { command, said });
            }
            if let Some(answer) = answer.get_mut("return") {
                return Ok(answer.take());
            }
            self.events.extend(name_of(&answer));
        }
    }

    /// Waits for the next event; its name.
    ///
    /// # Errors
    /// [`QmpError`].
    pub fn event(&mut self) -> Result<String, QmpError> {
        loop {
            if let Some(name) = self.events.pop_front() {
                return Ok(name);
            }
            let read = self.read("say more")?;
            self.events.extend(name_of(&read));
        }
    }

    /// Waits for an event; those before it are dropped.
    ///
    /// # Errors
    /// [`QmpError`].
    pub fn wait_for(&mut self, event: &'static str) -> Result<(), QmpError> {
        while self.event()? != event {}
        Ok(())
    }

    fn read(&mut self, what: &'static str) -> Result<Value, QmpError> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Err(QmpError::Ended(what));
        }
        serde_json::from_str(&line).map_err(|error| QmpError::Connection(error.into()))
    }
}

/// The name of an event, if it is one.
fn name_of(line: &Value) -> Option<String> {
    Some(line.get("event")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    /// A QEMU that greets and then answers with these lines, one a command.
    fn scripted(path: &Path, answers: &'static [&'static str]) -> std::thread::JoinHandle<String> {
        let listener = UnixListener::bind(path).unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"{\"QMP\": {}}\n").unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut heard = String::new();
            for answer in answers {
                reader.read_line(&mut heard).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            }
            heard
        })
    }

    #[test]
    fn events_are_no_answers() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("qmp");
        let answers = &[
            "{\"return\": {}}\n",
            "{\"event\": \"RESUME\"}\n{\"return\": {\"a\": 1}}\n{\"event\": \"X\"}\n{\"event\": \"STOP\"}\n",
            "{\"error\": {\"desc\": \"no such thing\"}}\n",
        ];
        let other = scripted(&path, answers);
        let mut qmp = Qmp::connect(&path, || true).unwrap();
        assert_eq!(qmp.execute("query", json!({"b": 2})).unwrap()["a"], 1);
        assert_eq!(qmp.event().unwrap(), "RESUME");
        qmp.wait_for("STOP").unwrap();
        let error = qmp.execute("migrate", json!({})).unwrap_err().to_string();
        assert_eq!(error, "QEMU refused migrate: no such thing");
        let error = qmp.wait_for("STOP").unwrap_err().to_string();
        assert_eq!(error, "QEMU ended before it did say more");
        assert!(
            other
                .join()
                .unwrap()
                .contains("{\"arguments\":{\"b\":2},\"execute\":\"query\"}")
        );
    }

    #[test]
    fn a_qemu_that_is_gone_is_not_waited_for() {
        let error = Qmp::connect(Path::new("/nowhere/qmp"), || false);
        assert!(matches!(error, Err(QmpError::Ended(_))));
    }
}
