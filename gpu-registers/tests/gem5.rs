//! gem5 describes the GPUs in Python, for its device tree: as this crate does.

use gil_gpu_registers::Gpu;

const GIL_PY: &str = include_str!("../../gem5-patches/gil/Gil.py");

/// A class's text.
fn class<'a>(name: &str) -> &'a str {
    let (_, rest) = GIL_PY
        .split_once(&format!("class {name}(GilGpu):"))
        .unwrap();
    rest.split_once("\n\n\n").unwrap().0
}

/// The text of an attribute, on one line or more.
fn attribute<'a>(class: &'a str, name: &str) -> &'a str {
    let (_, rest) = class.split_once(&format!("    {name} = ")).unwrap();
    let end = rest
        .find("\n    ")
        .map_or(rest.len(), |line| match rest.starts_with("[\n") {
            true => rest.find(']').unwrap() + 1,
            false => line,
        });
    rest[..end].trim()
}

fn strings(list: &str) -> Vec<&str> {
    list.split('"').skip(1).step_by(2).collect()
}

#[test]
fn gem5_has_the_same_gpus() {
    for (gpu, name) in [(Gpu::MaliT628, "GilMaliT628"), (Gpu::Mali400, "GilMali400")] {
        let class = class(name);
        assert_eq!(attribute(class, "model"), format!("\"{}\"", gpu.name()));
        assert_eq!(
            attribute(class, "_compatible"),
            format!("\"{}\"", gpu.compatible())
        );
        assert_eq!(attribute(class, "size"), format!("{:#x}", gpu.window()));
        assert_eq!(strings(attribute(class, "_lines")), gpu.lines());
        let rates = gpu.rates().iter().map(|hz| (hz / 1_000_000).to_string());
        let rates: Vec<_> = rates.collect();
        assert_eq!(
            attribute(class, "_rates_mhz"),
            format!("[{}]", rates.join(", "))
        );
        let count = format!("_free_interrupts({})", gpu.lines().len());
        assert_eq!(attribute(class, "interrupts"), count);
    }
    assert_eq!(GIL_PY.matches("(GilGpu):").count(), Gpu::ALL.len());
}
