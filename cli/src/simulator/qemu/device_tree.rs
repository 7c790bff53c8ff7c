//! The device tree of a machine with a GPU, whose registers are RAM of the machine's:
//! QEMU's own, with a node more.

use dtoolkit::error::FdtParseError;
use dtoolkit::fdt::Fdt;
use dtoolkit::model::{DeviceTree, DeviceTreeNode, DeviceTreeProperty};
use dtoolkit::{Node, Property};
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

/// The clocks of a model's node, as the bindings of the kernel's documentation name them
/// (gpu/arm,mali-midgard.yaml, arm,mali-utgard.yaml).
fn clocks(model: Model) -> &'static [&'static str] {
    match model {
        Model::MaliT628 => &["core"],
        Model::Mali400 => &["bus", "core"],
    }
}

/// QEMU's tree with a GPU, whose registers are these bytes of the guest's memory.
///
/// # Errors
/// [`TreeError`].
pub fn with_gpu(tree: &[u8], model: Model, at: u64, len: u64) -> Result<Vec<u8>, TreeError> {
    let mut tree = DeviceTree::from_fdt(&Fdt::new(tree)?);
    let clock = tree.find_node(CLOCK).and_then(|it| it.property("phandle"));
    let clock = clock
        .and_then(|it| it.value_as::<u32>().ok())
        .ok_or(TreeError::Clock)?;
    let (interrupts, clocks) = (model.lines(), clocks(model));
    let numbers = (FIRST_INTERRUPT..).take(interrupts.len());
    let numbers: Vec<u32> = numbers.flat_map(|n| [SHARED, n, HIGH]).collect();
    let cells = |value: u64| [(value >> 32) as u32, value as u32];
    let place: Vec<u32> = [cells(at), cells(len)].concat();
    let node = DeviceTreeNode::builder(format!("gpu@{at:x}"))
        .map_err(|_| TreeError::Clock)?
        .build();
    tree.root.add_child(node);
    let Some(node) = tree.find_node_mut(&format!("/gpu@{at:x}")) else {
        return Err(TreeError::Clock);
    };
    let mut add = |property| node.add_property(property);
    add(DeviceTreeProperty::new_unchecked(
        "compatible",
        model.compatible(),
    ));
    add(DeviceTreeProperty::new_unchecked("reg", place));
    add(DeviceTreeProperty::new_unchecked("interrupts", numbers));
    add(DeviceTreeProperty::new_unchecked(
        "interrupt-names",
        interrupts,
    ));
    add(DeviceTreeProperty::new_unchecked(
        "clocks",
        vec![clock; clocks.len()],
    ));
    add(DeviceTreeProperty::new_unchecked("clock-names", clocks));
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
            assert_eq!(bytes("clocks")[..4], 0x8000_u32.to_be_bytes());
        }
        assert!(with_gpu(&[1, 2, 3], Model::MaliT628, 0, 0).is_err());
    }
}
