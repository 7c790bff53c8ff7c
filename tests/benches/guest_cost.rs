//! What a call costs in the guest: instructions of the program's thread from
//! its entry into the library to its return, driver and system call included.
//!
//!     cargo bench -p gil-tests --bench guest_cost
//!
//! One JSON line a row. Simulated times are exact: two runs print the same.

fn main() {
    let opencl = gil_tests::cost::measure().into_iter();
    let opengl = gil_tests::cost::measure_gles();
    let cuda = gil_tests::cost::measure_cuda();
    for row in opencl.chain(opengl).chain(cuda) {
        println!(
            "{{\"bench\":\"guest_cost\",\"kind\":\"{}\",\"instructions\":{},\"call\":\"{}\"}}",
            row.kind, row.instructions, row.name
        );
    }
}
