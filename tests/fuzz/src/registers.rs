//! A simulated GPU's registers: stores of any values at any offsets, page tables of any
//! entries, and ends of jobs at any time.

use crate::gpu::checked::{Action, Checked, access, command, outcome, pause};
use crate::input::Input;
use gil_gpu_registers::Gpu;

/// Where page tables are put, so that walks meet them.
const TABLES: u64 = 0x4000_0000;

/// Bytes as actions on one of the GPUs.
pub fn stores(data: &[u8]) {
    let mut input = Input(data);
    let gpu = Gpu::ALL[usize::from(input.u8()) % Gpu::ALL.len()];
    let mut machine = Checked::new(gpu);
    while !input.is_empty() {
        machine.act(action(gpu, &mut input));
    }
}

fn action(gpu: Gpu, input: &mut Input<'_>) -> Action {
    match input.u8() % 32 {
        0 => Action::Write(input.u32(), input.u32()),
        1 => Action::Write(u32::from(input.u16()) * 4, input.u32()),
        2 => Action::Memory(TABLES + u64::from(input.u16()), input.u64()),
        3 => Action::Finish(input.u8(), outcome(input.u8(), input.u32(), input.u64())),
        4 => Action::Pause(input.u8(), pause(input.u8(), input.u8(), input.u64())),
        5 => Action::Translate(input.u8(), input.u64(), access(input.u8())),
        31 => Action::Restore,
        _ => {
            let (offset, value) = command(gpu, input.u8().into());
            Action::Write(offset, value)
        }
    }
}
