//! Macros that every OpenCL C compiler defines (OpenCL C 3.0, 6.12.9).

use super::macros::Macros;
use super::options::Options;
use super::{SignatureError, Target};

const VERSIONS: [u32; 6] = [100, 110, 120, 200, 210, 300];

/// Defines them.
///
/// # Errors
/// [`SignatureError::TooLong`].
pub fn define(
    macros: &mut Macros,
    target: &Target,
    options: &Options,
) -> Result<(), SignatureError> {
    // Without -cl-std it is 1.2, or less on an older device.
    let language = options.standard.unwrap_or(target.version.min(120));
    macros.define_as("__OPENCL_VERSION__", &target.version.to_string())?;
    macros.define_as("__OPENCL_C_VERSION__", &language.to_string())?;
    for version in VERSIONS {
        let name = format!("CL_VERSION_{}_{}", version / 100, version / 10 % 10);
        macros.define_as(&name, &version.to_string())?;
    }
    macros.define_as("__ENDIAN_LITTLE__", "1")?;
    if target.has_images {
        macros.define_as("__IMAGE_SUPPORT__", "1")?;
    }
    if options.is_fast {
        macros.define_as("__FAST_RELAXED_MATH__", "1")?;
    }
    let hint = "kernel_exec(X, T) kernel __attribute__((work_group_size_hint(X, 1, 1))) __attribute__((vec_type_hint(T)))";
    macros.define_as(&format!("__{hint}"), "")?;
    for extension in target.extensions.split_ascii_whitespace().take(1024) {
        macros.define_as(extension, "1")?;
    }
    Ok(())
}
