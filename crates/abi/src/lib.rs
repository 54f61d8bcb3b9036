//! Layout of the memory that the host and the in-target runtime share, versioned, in both directions.
#![no_std]
#![forbid(unsafe_code)]
