//! The device tree of a machine with a GPU, whose registers are RAM of the machine's:
//! QEMU's own, with a node more.

use dtoolkit::error::FdtParseError;
use dtoolkit::fdt::Fdt;
use dtoolkit::model::{DeviceTree, DeviceTreeNode, DeviceTreeProperty};
use dtoolkit::{Node, Property, ToPropertyValue};
use gil_guest_image::gpu::Model;

/// The first of its interrupts, of those that are shared between processors (SPI): QEMU's
/// `virt` has none of its own there (hw/arm/virt.c, `a15irqmap`).
const FIRST_INTERRUPT: u32 = 96;
/// An interrupt of that kind, and that it is one as long as its line is high
/// (Documentation/devicetree/bindings/interrupt-controller/arm,gic.yaml).
const SHARED: u32 = 0;
const HIGH: u32 = 4;
/// The clock that QEMU's machine has.
const CLOCK: &str = "/apb-pclk";

/// Why there is no such tree.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// QEMU's is none.
    #[error("QEMU's device tree cannot be read: {0}")]
    Read(#[from] FdtParseError),
    /// It has no clock.
    #[error("QEMU's device tree has no node {CLOCK}")]
    Clock,
}

/// Numbers by which properties name nodes; QEMU's begin at 0x8000.
const GPU_CLOCK: u32 = 0x6769_6c01;
const GPU_RATES: u32 = 0x6769_6c02;

/// The clocks of a model's node, as the bindings of the kernel's documentation name them
/// (gpu/arm,mali-midgard.yaml, arm,mali-utgard.yaml). The last one is that of which the
/// driver sets the rate.
fn clocks(model: Model) -> &'static [&'static str] {
    match model {
        Model::MaliT628 => &["core"],
        Model::Mali400 => &["bus", "core"],
    }
}

fn property(name: &str, value: impl ToPropertyValue) -> DeviceTreeProperty {
    DeviceTreeProperty::new_unchecked(name, value)
}

/// A node with these properties.
fn node(name: &str, properties: impl IntoIterator<Item = DeviceTreeProperty>) -> DeviceTreeNode {
    let mut node = DeviceTreeNode::new_unchecked(name);
    for property in properties {
        node.add_property(property);
    }
    node
}

/// The clock, at the board's rate; `gil_gpu.ko` provides it.
fn clock(model: Model) -> DeviceTreeNode {
    let hz = model.rates().last().copied().unwrap_or_default();
    node(
        "gpu-clock",
        [
            property("compatible", "gil,gpu-clock"),
            property("#clock-cells", 0_u32),
            property("clock-frequency", hz as u32),
            property("phandle", GPU_CLOCK),
        ],
    )
}

/// The rates that the driver may set (opp/opp-v2.yaml).
fn rates(model: Model) -> DeviceTreeNode {
    let mut table = node(
        "gpu-opp-table",
        [
            property("compatible", "operating-points-v2"),
            property("phandle", GPU_RATES),
        ],
    );
    for hz in model.rates() {
        let hertz = property("opp-hz", cells(*hz).to_vec());
        table.add_child(node(&format!("opp-{hz}"), [hertz]));
    }
    table
}

fn cells(value: u64) -> [u32; 2] {
    [(value >> 32) as u32, value as u32]
}

/// The GPU, whose other clocks are the machine's.
fn gpu(model: Model, (at, len): (u64, u64), machines: u32) -> DeviceTreeNode {
    let (interrupts, names) = (model.lines(), clocks(model));
    let numbers = (FIRST_INTERRUPT..).take(interrupts.len());
    let numbers: Vec<u32> = numbers.flat_map(|n| [SHARED, n, HIGH]).collect();
    let mut clocks = vec![machines; names.len() - 1];
    clocks.push(GPU_CLOCK);
    node(
        &format!("gpu@{at:x}"),
        [
            property("compatible", model.compatible()),
            property("reg", [cells(at), cells(len)].concat()),
            property("interrupts", numbers),
            property("interrupt-names", interrupts),
            property("clocks", clocks),
            property("clock-names", names),
            property("operating-points-v2", GPU_RATES),
        ],
    )
}

/// QEMU's tree with a GPU, whose registers are these bytes of the guest's memory.
///
/// # Errors
/// [`TreeError`].
pub fn with_gpu(tree: &[u8], model: Model, at: u64, len: u64) -> Result<Vec<u8>, TreeError> {
    let mut tree = DeviceTree::from_fdt(&Fdt::new(tree)?);
    let machines = tree.find_node(CLOCK).and_then(|it| it.property("phandle"));
    let machines = machines.and_then(|it| it.value_as::<u32>().ok());
    let machines = machines.ok_or(TreeError::Clock)?;
    for node in [clock(model), rates(model), gpu(model, (at, len), machines)] {
        tree.root.add_child(node);
    }
    Ok(tree.to_dtb())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_has_its_registers_interrupts_and_clock() {
        let mut tree = DeviceTree::new();
        let bare = tree.to_dtb();
        let without = with_gpu(&bare, Model::Mali400, 0x7fff_0000, 0x1_0000);
        assert!(matches!(without, Err(TreeError::Clock)));
        let mut clock = DeviceTreeNode::new_unchecked("apb-pclk");
        clock.add_property(DeviceTreeProperty::new_unchecked("phandle", 0x8000_u32));
        tree.root.add_child(clock);
        for (model, lines) in [(Model::MaliT628, 3), (Model::Mali400, 10)] {
            let made = with_gpu(&tree.to_dtb(), model, 0x1_7fff_0000, 0x1_0000).unwrap();
            let made = DeviceTree::from_fdt(&Fdt::new(&made).unwrap());
            let gpu = made.find_node("/gpu@17fff0000").unwrap();
            let bytes = |name: &str| gpu.property(name).unwrap().value().to_vec();
            let cells = [1_u32, 0x7fff_0000, 0, 0x1_0000].map(u32::to_be_bytes);
            assert_eq!(bytes("reg"), cells.as_flattened());
            assert_eq!(bytes("interrupts").len(), lines * 12);
            let own = bytes("clocks")
                .last_chunk()
                .copied()
                .map(u32::from_be_bytes);
            assert_eq!(own, Some(GPU_CLOCK));
            let table = made.find_node("/gpu-opp-table").unwrap();
            assert_eq!(table.children().count(), model.rates().len());
            let highest = model.rates().last().unwrap();
            let highest = made.find_node(&format!("/gpu-opp-table/opp-{highest}"));
            assert_eq!(
                highest.unwrap().property("opp-hz").unwrap().value().len(),
                8
            );
        }
        assert!(with_gpu(&[1, 2, 3], Model::MaliT628, 0, 0).is_err());
    }
}
