//! Waiting for another timewise to be done with a program: its keeper gives that back when it was killed, which takes some
//! time, and must not be disturbed.

use crate::occupant::Occupant;
use std::time::Duration;
use timewise_target::attachable::{self, AttachError, once_given_back};
use timewise_target::group::Group;

/// Looks, without touching it, whether process `pid` can be attached to. One that is being given back is waited for.
///
/// # Errors
/// Why not.
pub fn await_left_alone(pid: i32) -> Result<(), AttachError> {
    once_given_back(|| attachable::check(pid).and_then(|()| is_left_alone(pid)))?;
    attachable::check_room(pid)
}

/// Waits while process `pid` is being given back, whatever else is done with it, if it is not counted: it would not
/// execute its own code.
///
/// # Errors
/// [`AttachError::BeingGivenBack`], or that it is counted.
pub fn await_uncounted(pid: i32) -> Result<(), AttachError> {
    let is_uncounted = || {
        if let Err(error @ AttachError::BeingGivenBack { .. }) = attachable::check(pid) {
            return Err(error);
        }
        // What the system refuses to tell it refuses to whoever samples, too.
        let Ok(Some(occupant)) = Occupant::of(pid) else { return Ok(()) };
        match (occupant, occupant.obstacle(pid)) {
            (Occupant::Counting { .. }, error) | (_, error @ AttachError::BeingGivenBack { .. }) => {
                Err(error)
            }
            _ => Ok(()),
        }
    };
    once_given_back(is_uncounted)
}

/// Stops all threads of process `pid` as [`Group::stop`] does, when it is left alone.
///
/// # Errors
/// Those of [`Group::stop`], and who else sees to it.
pub fn stop_left_alone(pid: i32, patience: Duration) -> Result<Group, AttachError> {
    once_given_back(|| {
        is_left_alone(pid)?;
        let group = match Group::stop(pid, patience) {
            // Whoever traced a thread then may be gone by now.
            Err(AttachError::Refused { .. }) => Group::stop(pid, patience),
            stopped => stopped,
        }?;
        // Whoever attached to it meanwhile was as fast as we were.
        is_left_alone(pid).map(|()| group)
    })
}

/// Looks whether process `pid` is left alone by all that was put into programs, without touching it.
///
/// # Errors
/// Who sees to it.
fn is_left_alone(pid: i32) -> Result<(), AttachError> {
    match Occupant::of(pid) {
        Ok(Some(occupant)) if occupant.is_seen_to(pid) => Err(occupant.obstacle(pid)),
        // What the system refuses to tell it refuses to whoever attaches, too.
        _ => Ok(()),
    }
}
