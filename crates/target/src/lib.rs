//! A process under our care: launching, `ptrace`, and what the kernel says of it.
//!
//! Start reading at [`launch::Launch`].

pub mod launch;
pub mod machine;
pub mod perf;
pub mod program;
pub mod seize;
pub mod subject;
pub mod trace;
