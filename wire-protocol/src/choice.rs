//! Options that are for the APIs of one back end of a board: `gles=VALUE`. Without
//! a name in front, a value is for every API that no other option names.

use crate::api;
use crate::description::Api;
use crate::driver;
use crate::generated::APIS;
use std::fmt;

/// The APIs that one back end serves together, as EGL and OpenGL ES are.
#[derive(Clone, Copy, Debug)]
pub struct Together {
    name: &'static str,
    back_end: &'static str,
}

/// An API's name that this build does not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no API \"{name}\": name one of {}, or write ./{name}=… if that is a file",
    names()
)]
pub struct UnknownApi {
    /// The name.
    pub name: String,
}

/// Back ends whose devices only some machines have.
const OF_SOME_MACHINES: [&str; 3] = [driver::BACK_END, "cuda", "nvml"];

impl Together {
    /// Those of the back end that serves the API of this name.
    ///
    /// # Errors
    /// [`UnknownApi`] lists the names.
    pub fn named(name: &str) -> Result<Self, UnknownApi> {
        let api = api::named(name);
        let api = api.ok_or_else(|| UnknownApi { name: name.into() })?;
        Ok(Self {
            name: api.name,
            back_end: api.back_end,
        })
    }

    /// Splits `gles=VALUE`; a value alone is for all other APIs.
    ///
    /// # Errors
    /// [`UnknownApi`] if something like an API's name is in front.
    pub fn split(text: &str) -> Result<(Option<Self>, &str), UnknownApi> {
        let is_name = |name: &str| {
            !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
        };
        match text.split_once('=').filter(|(name, _)| is_name(name)) {
            Some((name, value)) => Ok((Some(Self::named(name)?), value)),
            None => Ok((None, text)),
        }
    }

    /// Whether the API of this number is one of them.
    pub fn has(self, number: u16) -> bool {
        let mut all = APIS.iter();
        all.any(|api| api.number == number && api.back_end == self.back_end)
    }

    /// The name of the API that stands for all.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// All that are not among these.
    pub fn all_but(named: &[Self]) -> Vec<Self> {
        let mut others = Vec::new();
        for api in APIS {
            let together = Self {
                name: api.name,
                back_end: api.back_end,
            };
            if !named.contains(&together) && !others.contains(&together) {
                others.push(together);
            }
        }
        others
    }

    /// The only one that has APIs of all these numbers, if there is one.
    pub fn of_all(numbers: &[u16]) -> Option<Self> {
        let first = numbers.first()?;
        let mut all = Self::all_but(&[]).into_iter();
        let together = all.find(|together| together.has(*first))?;
        let has_all = numbers.iter().all(|number| together.has(*number));
        has_all.then_some(together)
    }

    /// Whether these are all APIs of gil's own libraries that any machine may serve. A
    /// kernel driver is there only for a guest that was given one, and CUDA and NVML need a device
    /// of their vendor's: a board that serves it is named.
    pub fn are_all(named: &[Self]) -> bool {
        let is_named = |number| named.iter().any(|together| together.has(number));
        let is_anywhere = |api: &&Api| api.is_own && !OF_SOME_MACHINES.contains(&api.back_end);
        let mut own = APIS.iter().filter(is_anywhere);
        own.all(|api| is_named(api.number))
    }
}

/// The same APIs may be named by any of them.
impl PartialEq for Together {
    fn eq(&self, other: &Self) -> bool {
        self.back_end == other.back_end
    }
}

impl Eq for Together {}

/// Their names for people.
impl fmt::Display for Together {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = APIS.iter().filter(|api| api.back_end == self.back_end);
        let titles: Vec<_> = all.map(|api| api.title).collect();
        f.write_str(&titles.join(" and "))
    }
}

fn names() -> String {
    let own = APIS.iter().filter(|api| api.is_own);
    let names: Vec<_> = own.map(|api| api.name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn egl_and_opengl_es_are_one() {
        let gles = Together::named("gles").unwrap();
        assert_eq!(gles, Together::named("egl").unwrap());
        assert!(gles.has(2) && gles.has(3) && !gles.has(1));
        assert!(gles.to_string().starts_with("EGL and OpenGL ES"));
        let opencl = Together::named("opencl").unwrap();
        assert_ne!(gles, opencl);
        let cuda = Together::named("cuda").unwrap();
        assert_eq!(cuda, Together::named("cudart").unwrap());
        assert!(
            Together::are_all(&[gles, opencl, cuda]),
            "an example's API is nobody's"
        );
        assert!(!Together::are_all(&[gles]) && !Together::are_all(&[]));
    }

    #[test]
    fn values_have_a_name_in_front_or_none() {
        let split = |text| {
            let (api, value) = Together::split(text).unwrap();
            (api.map(Together::name), value)
        };
        for (text, found) in [
            ("gles=unix:/a=b", (Some("gles"), "unix:/a=b")),
            ("opencl=", (Some("opencl"), "")),
            ("virtio_gpu=x", (Some("virtio_gpu"), "x")),
            ("unix:/a=b", (None, "unix:/a=b")),
            ("replay:x=y", (None, "replay:x=y")),
            ("./k=y", (None, "./k=y")),
            ("tcp://h:1", (None, "tcp://h:1")),
            ("", (None, "")),
            ("=x", (None, "=x")),
        ] {
            assert_eq!(split(text), found);
        }
        let error = Together::split("vulkan=tcp://h:1").unwrap_err().to_string();
        assert!(
            error.contains("\"vulkan\"")
                && error.contains("opencl, egl, gles, cuda, cudart, nvml, lima")
        );
    }
}
