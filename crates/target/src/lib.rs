//! A process under our care: launching, `ptrace`, what the kernel says of it, and what its addresses mean.
//!
//! Start reading at [`launch::Launch`].

pub mod address_space;
pub mod attachable;
pub mod bystander;
pub mod child;
#[cfg(test)]
mod compiled;
pub mod control_groups;
pub mod cpu_time;
pub mod end;
mod environment;
pub mod errand;
pub mod family;
pub mod first_instruction;
pub mod group;
pub mod halt;
pub mod inherited;
pub mod keeper;
pub mod launch;
pub mod limits;
pub mod locking;
pub mod machine;
pub mod mapped_file;
pub mod maps;
pub mod memory;
pub mod modules;
pub mod perf;
pub mod program;
pub mod remedy;
pub mod restart;
pub mod restricted;
pub mod rseq;
pub mod run;
pub mod seize;
pub mod socket;
pub mod status;
pub mod subject;
pub mod timeouts;
pub mod trace;
pub mod tracees;
pub mod untraceable;
pub mod user_dispatch;
