//! The toy API's back end. What every API does alike is in
//! `gil_board::back_end`.

pub mod back_end;
