//! Registered OpenCL drivers: one file for each, whose line names a library.

use crate::back_end::{Needs, Registered, Selection, Starts};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Where they are usually registered.
const VENDORS: &str = "/etc/OpenCL/vendors";
/// Names another folder, or one such file.
const VARIABLE: &str = "OCL_ICD_VENDORS";
/// Names libraries instead, to Khronos' loader.
const LIBRARIES: &str = "OCL_ICD_FILENAMES";
/// Longest file that is one.
const MAX_FILE: u64 = 4096;

/// What drivers of OpenCL need, and the loaders that lead to them.
pub const NEEDS: Needs = Needs {
    variables: &[
        "LLVM_", "OMP_", "OCL_", "OPENCL_", "CL_", "POCL_", "CUDA_", "NVIDIA_", "NV_", "__GL_",
        "MESA_", "GALLIUM_", "LIBGL_", "LP_", "RUSTICL_", "AMD_", "ROCR_", "ROCM_", "HIP_", "HSA_",
        "GPU_", "INTEL_", "NEO", "IGC_", "ZE_", "MALI_",
    ],
    // PoCL's, NVIDIA's, Mesa's, Intel's, AMD's.
    caches: &[
        "POCL_CACHE_DIR",
        "CUDA_CACHE_PATH",
        "MESA_SHADER_CACHE_DIR",
        "NEO_CACHE_DIR",
        "AMD_COMGR_CACHE_DIR",
    ],
    read: &[
        "/usr/share/pocl",
        "/usr/share/clc",
        "/etc/OpenCL",
        // PoCL takes a CPU's vendor from the first PCI device: the host bridge.
        "/sys/bus/pci/devices/0000:00:00.0/vendor",
    ],
    // PoCL's library of built-in functions.
    installed: &["share/pocl"],
    // PoCL links each kernel of a CPU device.
    starts: &[Starts {
        library: "libpocl",
        programs: &["ld", "ld.lld", "ld.bfd", "ld.gold"],
    }],
};

/// Where drivers are registered.
pub fn vendors() -> PathBuf {
    let set = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
    set.map_or_else(|| VENDORS.into(), PathBuf::from)
}

/// The drivers that are registered, as far as files say so; else what the
/// machine's OpenCL finds by itself.
pub fn registered() -> Vec<Registered> {
    let named = match std::env::var_os(LIBRARIES) {
        Some(_) => Vec::new(),
        None => registered_in(&vendors()),
    };
    match named.is_empty() {
        true => vec![whole()],
        false => named,
    }
}

fn whole() -> Registered {
    let vendors = vendors();
    let vendors = vendors.display();
    Registered {
        label: format!("OpenCL, for which no driver is registered in {vendors}"),
        ..Registered::default()
    }
}

fn registered_in(place: &Path) -> Vec<Registered> {
    let mut files: Vec<PathBuf> = match std::fs::read_dir(place) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(_) => vec![place.into()],
    };
    files.retain(|file| file.extension() == Some(OsStr::new("icd")));
    files.sort();
    files.into_iter().filter_map(read).collect()
}

fn read(file: PathBuf) -> Option<Registered> {
    let len = std::fs::metadata(&file).ok()?.len();
    let text = std::fs::read_to_string(&file).ok()?;
    let library = text.lines().next()?.trim();
    (len <= MAX_FILE && !library.is_empty()).then(|| Registered {
        label: format!("{} ({library})", file.display()),
        library: Some(library.into()),
        file: Some(file),
    })
}

/// How a loader finds these drivers only: a folder that registers them. Where
/// none was registered by a file, it is left to find what it does.
///
/// # Errors
/// The system's.
pub fn only(drivers: &[&Registered]) -> io::Result<Selection> {
    if drivers.iter().any(|driver| driver.file.is_none()) {
        return Ok(Selection::default());
    }
    let folder = tempfile::Builder::new().prefix("gil-vendors").tempdir()?;
    let libraries = drivers.iter().filter_map(|driver| driver.library.as_ref());
    for (number, library) in libraries.enumerate() {
        let file = folder.path().join(format!("{number:03}.icd"));
        std::fs::write(file, format!("{library}\n"))?;
    }
    // Debian's loader takes a folder only with the slash at its end.
    let mut path = folder.path().as_os_str().to_owned();
    path.push("/");
    Ok(Selection {
        env: vec![(VARIABLE.into(), path)],
        folder: Some(folder),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_are_read_in_the_order_of_their_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
        write("b.icd", "libb.so\n").unwrap();
        write("a.icd", " /opt/liba.so.1 \nignored\n").unwrap();
        write("empty.icd", "").unwrap();
        write("readme", "libc.so\n").unwrap();
        let found = registered_in(folder.path());
        let libraries = found.iter().filter_map(|icd| icd.library.as_deref());
        assert!(libraries.eq(["/opt/liba.so.1", "libb.so"]));
        assert_eq!(registered_in(&folder.path().join("b.icd")).len(), 1);
        assert_eq!(registered_in(&folder.path().join("none")), []);
        let copy = only(&[&found[1]]).unwrap().folder.unwrap();
        let library = registered_in(copy.path())[0].library.clone();
        assert_eq!(library.as_deref(), Some("libb.so"));
        let by_itself = only(&[&whole()]).unwrap();
        assert!(by_itself.env.is_empty() && by_itself.folder.is_none());
    }
}
