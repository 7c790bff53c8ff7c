//! Objects of the program's that graphs keep alive: an address, and a function that is called when
//! nobody keeps it any more.

use crate::generated::manual::Object;
use crate::generated::types::*;
use crate::support::{Details, context, create};
use gil_guest::api::{CallResult, new_number};
use gil_wire::generated::cuda::Kind;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The one flag that there must be: nobody waits for the function.
const NO_DESTRUCTOR_SYNC: u32 = 1;
/// The program's own references go to the graph.
pub const MOVE: u32 = 1;

/// One.
#[derive(Debug)]
pub struct User {
    address: usize,
    destroy: unsafe extern "C" fn(*mut c_void),
    /// References; none once it is destroyed.
    count: Mutex<u64>,
    /// The program's handle.
    handle: AtomicUsize,
}

impl User {
    /// More references, or fewer.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if there are not so many.
    fn change(&self, by: i64) -> CallResult<()> {
        let is_last = {
            let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
            let new = count.checked_add_signed(by).filter(|_| *count > 0);
            *count = new.ok_or(CUDA_ERROR_INVALID_VALUE)?;
            *count == 0
        };
        if is_last {
            let handle = self.handle.load(Ordering::Acquire);
            let handle = std::ptr::with_exposed_provenance_mut::<CUuserObject_st>(handle);
            // It is there, unless the process is ending.
            let _ = Object::release(Kind::UserObject, handle, gil_guest::entry());
            let address = std::ptr::with_exposed_provenance_mut(self.address);
            // SAFETY: the program's function, with what it was given with.
            context::call_out(|| unsafe { (self.destroy)(address) });
        }
        Ok(())
    }
}

fn number(count: u32) -> CallResult<i64> {
    match count {
        0 => Err(CUDA_ERROR_INVALID_VALUE),
        count => Ok(count.into()),
    }
}

/// Makes one.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`.
pub fn make(
    address: *mut c_void,
    destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    count: u32,
    flags: u32,
) -> CallResult<CUuserObject> {
    let destroy = destroy.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let count = number(count)?;
    if flags != NO_DESTRUCTOR_SYNC {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let user = Arc::new(User {
        address: address.expose_provenance(),
        destroy,
        count: Mutex::new(count.unsigned_abs()),
        handle: AtomicUsize::new(0),
    });
    let details = Details::User(user.clone());
    let made: CUuserObject = create(Kind::UserObject, new_number(), details)?;
    let address = made.expose_provenance();
    user.handle.store(address, Ordering::Release);
    Ok(made)
}

/// The object of a handle.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`.
pub fn find(handle: CUuserObject) -> CallResult<Arc<User>> {
    let object = Object::find(Kind::UserObject, handle)?;
    match object.details() {
        Details::User(user) => Ok(user.clone()),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

/// More references of the program's.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`.
pub fn retain(handle: CUuserObject, count: u32) -> CallResult<()> {
    find(handle)?.change(number(count)?)
}

/// Fewer references of the program's.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`.
pub fn release(handle: CUuserObject, count: u32) -> CallResult<()> {
    find(handle)?.change(-number(count)?)
}

/// What a graph keeps.
#[derive(Debug, Default)]
pub struct Held(Vec<(Arc<User>, u64)>);

impl Held {
    /// Keeps one; `is_moved`: by references that were the program's.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE`.
    pub fn keep(&mut self, user: Arc<User>, count: u32, is_moved: bool) -> CallResult<()> {
        let more = number(count)?;
        user.change(if is_moved { 0 } else { more })?;
        let known = self
            .0
            .iter_mut()
            .find(|(known, _)| Arc::ptr_eq(known, &user));
        match known {
            Some((_, count)) => *count += more.unsigned_abs(),
            None => self.0.push((user, more.unsigned_abs())),
        }
        Ok(())
    }

    /// Keeps one less; what to let go of.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if it does not keep it so often.
    pub fn drop_some(&mut self, user: &Arc<User>, count: u32) -> CallResult<Self> {
        let less = number(count)?.unsigned_abs();
        let mut all = self.0.iter_mut();
        let known = all.find(|(known, has)| Arc::ptr_eq(known, user) && *has >= less);
        known.ok_or(CUDA_ERROR_INVALID_VALUE)?.1 -= less;
        self.0.retain(|(_, has)| *has > 0);
        Ok(Self(vec![(user.clone(), less)]))
    }

    /// Keeps what another kept, too.
    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// Whether it keeps nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same, kept once more.
    pub fn copied(&self) -> Self {
        let kept = |(user, count): &(Arc<User>, u64)| {
            let count = i64::try_from(*count).ok()?;
            user.change(count).ok()?;
            Some((user.clone(), count.unsigned_abs()))
        };
        Self(self.0.iter().filter_map(kept).collect())
    }

    /// Keeps nothing any more. It calls functions of the program's: no lock may be held.
    pub fn let_go(self) {
        for (user, count) in self.0 {
            if let Ok(count) = i64::try_from(count) {
                // They are there: they were kept.
                let _ = user.change(-count);
            }
        }
    }
}
