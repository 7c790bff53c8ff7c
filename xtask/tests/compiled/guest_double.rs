//! What the APIs' guest libraries have in common here: they keep nothing of
//! their objects, and nothing of theirs is called. The compiler looks at the
//! types.

pub fn never<T>() -> T {
    panic!("the stubs are compiled, not called")
}

/// [`gil_guest::Api`] with what every library must have, and `$more`.
macro_rules! api {
    ($guest:ty, $success:expr, $failure:expr $(, $more:item)*) => {
        impl gil_guest::Api for $guest {
            type Details = ();
            const GARBLED: i32 = -2;

            fn registry() -> &'static gil_guest::registry::Registry<gil_guest::api::Kept<Self>> {
                static REGISTRY: gil_guest::registry::Registry<gil_guest::api::Kept<$guest>> =
                    gil_guest::registry::Registry::new();
                &REGISTRY
            }

            fn code(_: gil_wire::Op, _: &gil_guest::Error) -> i32 {
                -3
            }

            fn status(ended: gil_guest::CallResult<()>) -> Self::Status {
                match ended {
                    Ok(()) => $success,
                    #[allow(clippy::redundant_closure_call, reason = "a library's own")]
                    Err(code) => ($failure)(code),
                }
            }

            $($more)*
        }
    };
}
pub(crate) use api;
