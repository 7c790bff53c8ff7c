//! From where in the program a call was made, if the run asks for it: the first return
//! address in the chain of frames that is in neither this library nor a loader in front of
//! it. Without the question a call executes nothing of this.

mod frames;
mod modules;

use gil_wire::control::Modules;
pub(crate) use modules::Known;

/// Most frames between the driver's call and the program's.
const DEPTH_MAX: usize = 64;

/// The address to which the program's call returns; 0 if it is not known. Files that are
/// found on the way are told. Instructions count: a call makes it.
#[inline(always)]
pub(crate) fn called_from(known: &mut Known, tell: impl FnMut(&Modules)) -> u64 {
    first_outside(known, frames::returns(), tell)
}

#[inline(always)]
fn first_outside(
    known: &mut Known,
    returns: impl Iterator<Item = usize>,
    mut tell: impl FnMut(&Modules),
) -> u64 {
    let mut outside = 0;
    for at in returns.take(DEPTH_MAX) {
        if known.is_ours(at) {
            continue;
        }
        if !known.is_latest(at) && known.look_up(at, &mut tell).is_ours() {
            continue;
        }
        outside = at as u64;
        if !known.is_loader(at) {
            break;
        }
    }
    outside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_address_outside_is_the_programs() {
        let mut known = Known::new();
        let mut told = Vec::new();
        let ours = the_first_address_outside_is_the_programs as fn() as usize;
        let libc = libc::getpid as *const () as usize;
        let stack = 0x10;
        let all = [ours, ours + 4, libc, stack];
        let mut note = |modules: &Modules| told.extend(modules.modules.clone());
        let site = first_outside(&mut known, all.into_iter(), &mut note);
        assert_eq!(site, libc as u64);
        assert!(
            told.iter().any(|it| it.path.contains("libc.so")),
            "{told:?}"
        );
        let count = told.len();
        let mut none = |_: &Modules| panic!("it was told");
        let none_at_all = first_outside(&mut known, [ours].into_iter(), &mut none);
        assert_eq!(none_at_all, 0);
        let made_up = first_outside(&mut known, [stack].into_iter(), |_| {});
        assert_eq!((made_up, count > 1), (0x10, true));
        assert_eq!(
            first_outside(&mut known, [stack].into_iter(), &mut none),
            0x10
        );
    }
}
