//! A process under our care: launching, `ptrace`, what the kernel says of it, and what its addresses mean.
//!
//! Start reading at [`launch::Launch`].

pub mod address_space;
pub mod family;
pub mod launch;
pub mod machine;
pub mod maps;
pub mod modules;
pub mod perf;
pub mod program;
pub mod remedy;
pub mod run;
pub mod seize;
pub mod subject;
pub mod trace;
