//! Debian's packages of libraries that programs with graphics are often linked with, for
//! the sentence about one that is missing.

/// Each library with its package, which Debian 12 and 13 name the same.
const PACKAGES: &[(&str, &str)] = &[
    ("libGL.so.1", "libgl1"),
    ("libGLX.so.0", "libglx0"),
    ("libOpenGL.so.0", "libopengl0"),
    ("libSDL2-2.0.so.0", "libsdl2-2.0-0"),
    ("libX11-xcb.so.1", "libx11-xcb1"),
    ("libX11.so.6", "libx11-6"),
    ("libXext.so.6", "libxext6"),
    ("libdrm.so.2", "libdrm2"),
    ("libepoxy.so.0", "libepoxy0"),
    ("libgbm.so.1", "libgbm1"),
    ("libglfw.so.3", "libglfw3"),
    ("libinput.so.10", "libinput10"),
    ("libpng16.so.16", "libpng16-16"),
    ("libwayland-client.so.0", "libwayland-client0"),
    ("libwayland-cursor.so.0", "libwayland-cursor0"),
    ("libwayland-egl.so.1", "libwayland-egl1"),
    ("libwayland-server.so.0", "libwayland-server0"),
    ("libxcb.so.1", "libxcb1"),
    ("libxkbcommon.so.0", "libxkbcommon0"),
];

/// Libraries of desktop OpenGL, which no board serves.
const DESKTOP_OPENGL: &[&str] = &["libGL.so.1", "libGLX.so.0", "libOpenGL.so.0"];

/// The package that has the library, if it is one of these.
pub(crate) fn package(library: &str) -> Option<&'static str> {
    let (_, package) = PACKAGES.iter().find(|(name, _)| *name == library)?;
    Some(package)
}

/// What else is to be known of a library, behind what helps.
pub(crate) fn advice(library: &str) -> &'static str {
    if DESKTOP_OPENGL.contains(&library) {
        ". Desktop OpenGL draws on the guest's CPU, not on the board: that has OpenGL ES (libEGL, libGLESv2)"
    } else {
        ""
    }
}
