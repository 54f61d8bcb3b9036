//! A process under our care: launching, `ptrace`, what the kernel says of it, and what its addresses mean.
//!
//! Start reading at [`launch::Launch`].

pub mod address_space;
pub mod cpu_time;
pub mod family;
pub mod halt;
pub mod launch;
pub mod machine;
pub mod maps;
pub mod memory;
pub mod modules;
pub mod perf;
pub mod program;
pub mod remedy;
mod restart;
pub mod run;
pub mod seize;
pub mod status;
pub mod subject;
pub mod trace;
pub mod untraceable;
