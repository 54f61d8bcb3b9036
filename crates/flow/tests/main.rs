//! Tests of the library, in one program, which is linked once.

mod any_profile;
mod attribution;
mod correlation;
mod differing_runs;
mod differing_work;
mod figure_1;
mod figure_8;
mod hints;
mod loops;
mod modelled;
mod routines;
mod totals;
mod turns;
mod verify;
