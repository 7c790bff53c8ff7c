//! gil's guest OpenCL library: an ICD vendor library, and a libOpenCL.so.1.
