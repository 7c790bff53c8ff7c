//! Stores, ends and pauses in any order: nothing panics, and effects make sense.

#[path = "support/mod.rs"]
mod support;

use gil_gpu_registers::{Gpu, Model};
use proptest::collection::vec;
use proptest::prelude::*;
use support::Ram;
use support::checked::{Action, Checked, access, command, outcome, pause};

/// Values that mean something, and any.
fn value() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => 0_u32..12,
        3 => (0_u32..24).prop_map(|bit| 1 << bit),
        1 => Just(!0_u32),
        1 => any::<u32>(),
        1 => (0_u32..4).prop_map(|page| 0x4000_0003 | page << 12),
    ]
}

fn offset(gpu: Gpu) -> impl Strategy<Value = u32> {
    prop_oneof![
        3 => any::<u32>().prop_map(move |number| command(gpu, number).0),
        1 => (0..gpu.window() / 4).prop_map(|word| word * 4),
        1 => any::<u32>(),
    ]
}

/// Addresses where tables are, and any.
fn address() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => (0_u64..0x3000).prop_map(|inside| 0x4000_0000 + inside),
        1 => 0_u64..0x8000,
        1 => any::<u64>(),
    ]
}

fn action(gpu: Gpu) -> impl Strategy<Value = Action> {
    let entry = prop_oneof![
        (0_u64..4, 0_u64..4).prop_map(|(page, kind)| 0x4000_00c0 | page << 12 | kind),
        any::<u64>(),
    ];
    let command = any::<u32>().prop_map(move |number| command(gpu, number));
    prop_oneof![
        12 => command.prop_map(|(offset, value)| Action::Write(offset, value)),
        3 => (offset(gpu), value()).prop_map(|(offset, value)| Action::Write(offset, value)),
        2 => (address(), entry).prop_map(|(at, entry)| Action::Memory(at, entry)),
        1 => (any::<u8>(), any::<u8>(), value(), address())
            .prop_map(|(which, how, status, at)| Action::Finish(which, outcome(how, status, at))),
        3 => (any::<u8>(), any::<u8>(), 0_u8..9, address())
            .prop_map(|(which, why, level, at)| Action::Pause(which, pause(why, level, at))),
        1 => Just(Action::Restore),
        1 => (0_u8..20, address(), any::<u8>())
            .prop_map(|(space, at, how)| Action::Translate(space, at, access(how))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_t628_takes_anything(actions in vec(action(Gpu::MaliT628), 0..200)) {
        let mut machine = Checked::new(Gpu::MaliT628);
        actions.into_iter().for_each(|action| machine.act(action));
    }

    #[test]
    fn a_mali_400_takes_anything(actions in vec(action(Gpu::Mali400), 0..200)) {
        let mut machine = Checked::new(Gpu::Mali400);
        actions.into_iter().for_each(|action| machine.act(action));
    }

    #[test]
    fn a_damaged_checkpoint_is_refused_or_taken(
        actions in vec(action(Gpu::MaliT628), 0..60),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        stores in vec((offset(Gpu::MaliT628), value()), 0..60),
    ) {
        let mut machine = Checked::new(Gpu::MaliT628);
        actions.into_iter().for_each(|action| machine.act(action));
        let mut saved = machine.saved();
        for (at, byte) in damage {
            *at.get_mut(&mut saved) = byte;
        }
        if let Ok(model) = postcard::from_bytes(&saved) {
            use_up(model, &stores);
        }
    }
}

/// Does what a driver and a board do to a model of any state.
fn use_up(mut model: Model, stores: &[(u32, u32)]) {
    let mut effects = Vec::new();
    for (offset, value) in stores {
        model.write(0, *offset, *value, &Ram::default(), &mut effects);
    }
    for job in model.running() {
        let outcome = outcome(0, 0, 0);
        model
            .finish(0, job, outcome, &mut effects)
            .expect("it runs");
    }
    model.take_changes(&mut Vec::new());
}
