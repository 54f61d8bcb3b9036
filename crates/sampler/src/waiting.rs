//! Who watches threads wait while performance events sample where they compute: the kernel's records of switches
//! where they are permitted and not too many, else looks from time to time.

use crate::options::Options;
use crate::record::{Record, Stamped};
use crate::refusal::Refusal;
use crate::root::Root;
use crate::roster::Roster;
use crate::stops::Bystander;
use crate::switches::Switches;
use std::io;
use std::time::Duration;
use timewise_target::cpu_time::monotonic_ns;
use timewise_target::family;

/// The watch over one program.
pub struct Waiting {
    roster: Roster,
    options: Options,
    means: Means,
}

/// By which means.
enum Means {
    /// Every switch is told of.
    Switches(Switches),
    /// Looks, which begin when sampling does.
    Looks { bystander: Option<Box<Bystander>>, why: Refusal },
}

impl Waiting {
    /// By the best means that are granted for a process that stands before its first instruction.
    pub fn of(root: &Root, options: &Options) -> Waiting {
        let means = match Switches::open(root.pid as i32, options) {
            Ok(switches) => Means::Switches(switches),
            Err(why) => Means::Looks { bystander: None, why },
        };
        Waiting { roster: root.roster(), options: options.clone(), means }
    }

    /// For a process that runs already: its threads are looked at, whichever there are.
    pub fn of_running(root: &Root, options: &Options) -> Waiting {
        let why = Refusal {
            event: "context-switches".into(),
            why: "they are not watched in a program that runs already".into(),
            enable: None,
        };
        Waiting {
            roster: root.roster(),
            options: options.clone(),
            means: Means::Looks { bystander: None, why },
        }
    }

    /// Starts to watch.
    ///
    /// # Errors
    /// The kernel's.
    pub fn enable(&mut self) -> io::Result<()> {
        match &mut self.means {
            Means::Switches(switches) => switches.enable(),
            Means::Looks { bystander, .. } => {
                // Of those that began since the first look at the process, nobody told.
                for pid in self.roster.processes() {
                    self.roster.add(pid, family::threads(pid), monotonic_ns());
                }
                *bystander = Some(Bystander::of(&self.roster, &self.options).into());
                Ok(())
            }
        }
    }

    /// How long nothing need be done, if it is known.
    pub fn rests_for(&self, now_ns: u64) -> Option<Duration> {
        match &self.means {
            Means::Looks { bystander: Some(bystander), .. } => bystander.due_in(now_ns),
            _ => None,
        }
    }

    /// Takes note of processes and threads that begin and end.
    pub fn hear(&mut self, records: &[Stamped]) {
        self.roster.hear(records);
    }

    /// Hands out what happened since the last time, after all that is known was heard.
    pub fn drain(&mut self, now_ns: u64, mut each: impl FnMut(Stamped)) {
        match &mut self.means {
            Means::Switches(switches) => {
                switches.drain(now_ns, &mut each);
                // Who ended is of interest to looks alone.
                self.roster.take_ended();
                if let Some(why) = switches.too_many() {
                    // What is waited from this moment on is looked at; the records are all of earlier ones.
                    let bystander = Some(Bystander::of(&self.roster, &self.options).into());
                    self.means = Means::Looks { bystander, why };
                    each(Stamped { time_ns: monotonic_ns(), record: Record::SwitchesEnd });
                }
            }
            Means::Looks { bystander, .. } => {
                if let Some(bystander) = bystander {
                    bystander.look(&mut self.roster).into_iter().for_each(each);
                }
            }
        }
    }

    /// The rest, when the program has ended and before it is waited for; and why not all switches are in it, if so.
    pub fn finish(mut self, now_ns: u64, each: impl FnMut(Stamped)) -> Option<Refusal> {
        match self.means {
            Means::Switches(mut switches) => {
                switches.drain(now_ns, each);
                None
            }
            Means::Looks { bystander, why } => {
                if let Some(bystander) = bystander {
                    bystander.finish(&mut self.roster).into_iter().for_each(each);
                }
                Some(why)
            }
        }
    }
}
