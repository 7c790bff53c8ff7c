//! The names of gil's guest libraries: one table, which the generator of the
//! libraries, the command `gil` and the tests read.
//!
//! The code of every API is in [`SHARED`], so that a process has one session,
//! whatever it loads. Programs and loaders open a [`Library`], which exports an
//! API's names and jumps to `SHARED`.

#![forbid(unsafe_code)]

/// The library that has the code of every API.
pub const SHARED: &str = "libgil.so";

/// What precedes an entry point's name in [`SHARED`].
pub const PREFIX: &str = "gil_";

/// A library that programs or loaders open by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Library {
    /// The APIs whose entry points it exports: the names of their descriptions in `api/`.
    /// None for what a loader alone calls.
    pub apis: &'static [&'static str],
    /// The version of the API whose entry points these are, if there are libraries of
    /// several versions; otherwise all of them.
    pub of_version: Option<&'static str>,
    /// The API's name for people.
    pub title: &'static str,
    /// Its file, and its soname.
    pub file: &'static str,
    /// The version of its symbols, where programs are linked against one.
    pub version: Option<&'static str>,
    /// What it exports beside these: what a loader asks for.
    pub also: &'static [&'static str],
    /// How programs come to it, unless they open it themselves.
    pub loader: Option<Loader>,
}

/// A library of the distribution by whose name programs are linked, and which opens the
/// vendors' libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loader {
    /// Its file, which programs open. In a guest without the loader this is a
    /// link to our library.
    pub file: &'static str,
    /// Debian's package of it.
    pub package: &'static str,
    /// How it comes to ours, unless another loader does that for it.
    pub vendors: Option<Vendors>,
}

/// Where a loader looks for the vendors' libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vendors {
    /// What Debian's packages call a vendor's library that they depend on.
    pub package: &'static str,
    /// Debian's packages of the vendor's library that computes on the CPU.
    pub cpu_packages: &'static [&'static str],
    /// The folder that lists the vendors' libraries, a file each.
    pub folder: &'static str,
    /// Our file there.
    pub entry: &'static str,
    /// The file's text.
    pub entry_text: &'static str,
}

impl Vendors {
    /// The path of our file in the folder.
    pub fn entry_path(&self) -> String {
        format!("{}/{}", self.folder, self.entry)
    }
}

impl Library {
    /// Whether programs with pointers of so many bits have it: there are no 32-bit ones of
    /// CUDA and NVML.
    pub fn is_for(&self, bits: u32) -> bool {
        bits == 64 || ![CUDA, CUDART, NVML].contains(self)
    }

    /// Whether it is one of those with which programs draw, or make what they draw to.
    pub fn draws(&self) -> bool {
        *self == GBM || self.apis.iter().any(|api| ["egl", "gles"].contains(api))
    }
}

/// OpenCL's, an ICD vendor library.
pub const OPENCL: Library = Library {
    apis: &["opencl"],
    of_version: None,
    title: "OpenCL",
    file: "libgil_opencl.so",
    // Programs get the versions of the ICD loader, which asks for none.
    version: None,
    also: &[],
    loader: Some(Loader {
        file: "libOpenCL.so.1",
        package: "ocl-icd-libopencl1",
        vendors: Some(Vendors {
            package: "opencl-icd",
            cpu_packages: &["pocl-opencl-icd"],
            folder: "etc/OpenCL/vendors",
            entry: "gil.icd",
            entry_text: "libgil_opencl.so\n",
        }),
    }),
};

/// EGL's, a vendor library of GLVND. It comes before others, whose files there begin
/// with higher numbers.
pub const EGL: Library = Library {
    apis: &["egl"],
    of_version: None,
    title: "EGL",
    file: "libEGL_gil.so.0",
    version: None,
    also: &["__egl_Main"],
    loader: Some(Loader {
        file: "libEGL.so.1",
        package: "libegl1",
        vendors: Some(Vendors {
            package: "libegl-vendor",
            cpu_packages: &["libegl-mesa0", "libgl1-mesa-dri"],
            folder: "usr/share/glvnd/egl_vendor.d",
            entry: "05_gil.json",
            entry_text: "{\"file_format_version\": \"1.0.0\", \"ICD\": {\"library_path\": \"libEGL_gil.so.0\"}}\n",
        }),
    }),
};

/// That of OpenGL ES from 2.0 on, whose loader gets the functions from EGL's vendor
/// library.
pub const GLES: Library = Library {
    apis: &["gles"],
    of_version: Some("3.2"),
    title: "OpenGL ES",
    file: "libGLESv2_gil.so.0",
    version: None,
    also: &[],
    loader: Some(Loader {
        file: "libGLESv2.so.2",
        package: "libgles2",
        vendors: None,
    }),
};

/// That of OpenGL ES 1.1, which gets them from there, too.
pub const GLES1: Library = Library {
    apis: &["gles"],
    of_version: Some("1.1"),
    title: "OpenGL ES",
    file: "libGLESv1_CM_gil.so.0",
    version: None,
    also: &[],
    loader: Some(Loader {
        file: "libGLESv1_CM.so.1",
        package: "libgles1",
        vendors: None,
    }),
};

/// That of libgbm, a back end of Mesa's library: buffers of the guest's display.
pub const GBM: Library = Library {
    apis: &[],
    of_version: None,
    title: "GBM",
    file: "gil_gbm.so",
    version: None,
    also: &["gbmint_get_backend"],
    loader: None,
};

/// Where libgbm looks for back ends, in the folder of libraries.
pub const GBM_FOLDER: &str = "gbm";

/// The kernel's display drivers of a guest, by whose names libgbm looks.
pub const GBM_DRIVERS: &[&str] = &["virtio_gpu"];

/// The one that Android's loader opens, which looks for `libGLES_NAME.so` with all of EGL and
/// OpenGL ES; see `synthetic-lib/egl/include/gil_buffers.h` for the rest.
pub const ANDROID: Library = Library {
    apis: &["egl", "gles"],
    of_version: None,
    title: "EGL and OpenGL ES of Android",
    file: "libGLES_gil.so",
    version: None,
    also: &["gilDescribeBuffer", "gilForgetBuffer", "gilRefusal"],
    loader: None,
};

/// That of CUDA's driver API, whose name programs and NVIDIA's runtime open themselves.
pub const CUDA: Library = Library {
    apis: &["cuda"],
    of_version: None,
    title: "CUDA",
    file: "libcuda.so.1",
    version: None,
    also: &[],
    loader: None,
};

/// That of CUDA's runtime, whose name programs are linked against.
pub const CUDART: Library = Library {
    apis: &["cudart"],
    of_version: None,
    title: "CUDA runtime",
    file: "libcudart.so.13",
    version: Some("libcudart.so.13"),
    also: &[],
    loader: None,
};

/// That of NVML, whose name programs open themselves.
pub const NVML: Library = Library {
    apis: &["nvml"],
    of_version: None,
    title: "NVML",
    file: "libnvidia-ml.so.1",
    version: None,
    also: &[],
    loader: None,
};

/// The toy API's, which only tests have: see `examples/toy-api`.
pub const TOY: Library = Library {
    apis: &["toy"],
    of_version: None,
    title: "Toy",
    file: "libtoy.so.1",
    version: Some("TOY_1"),
    also: &[],
    loader: None,
};

/// Every library but [`SHARED`].
pub const LIBRARIES: &[Library] = &[OPENCL, EGL, GLES, GLES1, GBM, ANDROID, CUDA, CUDART, NVML];

/// The loaders among them.
pub fn loaders() -> impl Iterator<Item = Loader> {
    LIBRARIES.iter().filter_map(|library| library.loader)
}

/// Where they look for vendors' libraries.
pub fn vendors() -> impl Iterator<Item = Vendors> {
    loaders().filter_map(|loader| loader.vendors)
}

/// The files of all of them that programs with pointers of so many bits have.
pub fn files(bits: u32) -> impl Iterator<Item = &'static str> {
    let libraries = LIBRARIES.iter().filter(move |library| library.is_for(bits));
    [SHARED]
        .into_iter()
        .chain(libraries.map(|library| library.file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_stands_for_two_libraries() {
        let links = loaders().map(|loader| loader.file);
        let mut names: Vec<_> = files(64).chain(links).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
