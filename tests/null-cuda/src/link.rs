//! The linker: of texts it makes one, which is a module of this driver.

use crate::state::{Link, State};
use crate::*;
use gil_cuda_common::jit::PTX;

/// Writes to where the program wants to be told, which it keeps until the state is destroyed.
fn tell(link: &Link, info: &str, error: &str) {
    let (count, names, values) = link.options;
    let names: *mut c_int = std::ptr::with_exposed_provenance_mut(names);
    let values: *mut *mut c_void = std::ptr::with_exposed_provenance_mut(values);
    for (n, value) in link.values.iter().enumerate() {
        // A text has the space that it had at the beginning, however much of it was filled.
        unsafe {
            values
                .add(n)
                .write(std::ptr::with_exposed_provenance_mut(*value))
        };
    }
    unsafe { jit::tell((count, names, values), (info, error)) };
}

fn known(state: &mut State, link: Object) -> Result<&mut Link, Code> {
    state.links.get_mut(link).ok_or(INVALID_HANDLE)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLinkCreate_v2(
    count: c_uint,
    options: *mut c_int,
    values: *mut *mut c_void,
    place: *mut Object,
) -> Code {
    run(|state| {
        state.current()?;
        // SAFETY: the caller's: as many values as options.
        let value = |n: usize| unsafe { *values.add(n) }.expose_provenance();
        let link = state.links.add(Link {
            values: (0..count as usize).map(value).collect(),
            options: (
                count,
                options.expose_provenance(),
                values.expose_provenance(),
            ),
            ..Link::default()
        });
        unsafe { put(place, link) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLinkAddData_v2(
    link: Object,
    input: c_int,
    data: *mut c_void,
    size: usize,
    name: *const c_char,
    count: c_uint,
    options: *mut c_int,
    values: *mut *mut c_void,
) -> Code {
    run(|state| {
        state.current()?;
        let link = known(state, link)?;
        if data.is_null() || name.is_null() || count > 0 && (options.is_null() || values.is_null())
        {
            return Err(INVALID_VALUE);
        }
        // Of the others it knows as little as of modules.
        if input != PTX {
            tell(link, "", "null: it links PTX alone");
            return Err(INVALID_IMAGE);
        }
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        if let Err(error) = unsafe { declared(data.cast_const()) } {
            tell(link, "", &format!("null: {name} is no PTX that it knows"));
            return Err(error);
        }
        // SAFETY: the caller's.
        let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>().cast_const(), size) };
        let text = bytes.strip_suffix(&[0]).ok_or(INVALID_VALUE)?;
        let text = std::str::from_utf8(text).map_err(|_| INVALID_PTX)?;
        // One module has one head.
        let body = match link.text.is_empty() {
            true => text,
            false => text.find(".visible").map_or("", |at| &text[at..]),
        };
        link.text.push_str(body);
        tell(link, &format!("null: {name} and {count} options"), "");
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLinkComplete(
    link: Object,
    place: *mut *mut c_void,
    size: *mut usize,
) -> Code {
    run(|state| {
        state.current()?;
        let link = known(state, link)?;
        if link.text.is_empty() {
            tell(link, "", "null: nothing was added");
            return Err(INVALID_VALUE);
        }
        link.linked = [link.text.as_bytes(), &[0]].concat();
        tell(link, &format!("null: {} bytes", link.linked.len()), "");
        unsafe {
            put(size, link.linked.len())?;
            put(place, link.linked.as_mut_ptr().cast())
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLinkDestroy(link: Object) -> Code {
    run(|state| {
        let known = state.links.remove(link).ok_or(INVALID_HANDLE)?;
        tell(&known, "null: destroyed", "");
        Ok(())
    })
}
