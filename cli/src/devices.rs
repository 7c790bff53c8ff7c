//! This machine's own devices, as an agent of its own finds them: by what they serve.

use gil_board::BACK_ENDS;
use gil_board::back_end::BackEnd;
use gil_board::cli::Confining;
use gil_board_client::agent::{self, AgentError, Board};
use gil_wire::address::Address;
use gil_wire::api::api;
use gil_wire::identity::DeviceInfo;

/// Why it is not known which devices there are.
#[derive(Debug, thiserror::Error)]
pub enum DevicesError {
    /// The agent's folder.
    #[error(
        "this machine's devices cannot be looked for ({0}): set TMPDIR to a folder where you may write"
    )]
    Folder(std::io::Error),
    /// The agent.
    #[error("this machine's devices cannot be looked for: {0}")]
    Agent(String),
}

/// What one back end of an agent finds here.
#[derive(Debug)]
pub struct Served {
    /// The names of its APIs, for people.
    pub apis: Vec<&'static str>,
    /// Its devices.
    pub devices: Vec<DeviceInfo>,
}

impl Served {
    /// The APIs, as people list them.
    pub fn title(&self) -> String {
        self.apis.join(" and ")
    }
}

/// Asks an agent of this machine; an entry for each of its back ends. Those of kernel
/// drivers, CUDA and NVML have one only where there is such a device: no package makes one.
///
/// # Errors
/// [`DevicesError`] if it cannot be asked. That there is no device is none.
pub fn find() -> Result<Vec<Served>, DevicesError> {
    let devices = all()?;
    let served = |back_end: &&dyn BackEnd| {
        let apis = back_end.apis().iter().filter_map(|&number| api(number));
        let apis: Vec<_> = apis.map(|api| api.title).collect();
        let own = devices.iter().filter(|it| apis.contains(&it.api.as_str()));
        let devices = own.cloned().collect();
        Served { apis, devices }
    };
    let is_shown = |(back_end, served): &(&&dyn BackEnd, Served)| {
        !back_end.is_of_some_machines() || !served.devices.is_empty()
    };
    let all = BACK_ENDS.iter().map(|one| (one, served(one)));
    Ok(all.filter(is_shown).map(|(_, served)| served).collect())
}

fn all() -> Result<Vec<DeviceInfo>, DevicesError> {
    let other = |error: &dyn std::fmt::Display| DevicesError::Agent(error.to_string());
    let folder = tempfile::tempdir().map_err(DevicesError::Folder)?;
    let (confining, within) = (Confining::default(), agent::FIRST_CONTACT);
    let agent = agent::begin(&Board::Own, None, folder.path(), &confining, within);
    let agent = match agent.and_then(agent::Starting::ready) {
        Ok(agent) => agent,
        // It says what to install.
        Err(AgentError::Ended(_)) => return Ok(Vec::new()),
        Err(error) => return Err(other(&error)),
    };
    let address: Address = agent.address.parse().map_err(|error| other(&error))?;
    let mut connection = agent::Connection::open(&address, None).map_err(|error| other(&error))?;
    connection.devices().map_err(|error| other(&error))
}
