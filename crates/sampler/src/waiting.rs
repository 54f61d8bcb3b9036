//! Who watches threads wait while performance events sample where they compute: the kernel's records of switches
//! where they are permitted and not too many, else looks from time to time.

use crate::options::Options;
use crate::record::{Record, Stamped};
use crate::refusal::Refusal;
use crate::stops::Bystander;
use crate::switches::Switches;
use std::io;

/// The watch over one program.
pub struct Waiting {
    pid: i32,
    options: Options,
    means: Means,
}

/// By which means.
enum Means {
    /// Every switch is told of.
    Switches(Switches),
    /// Looks; none where the system tells nothing of threads.
    Looks { bystander: Option<Box<Bystander>>, why: Refusal },
}

impl Waiting {
    /// By the best means that are granted for a process that stands before its first instruction.
    pub fn of(pid: i32, options: &Options) -> Waiting {
        let means = match Switches::open(pid, options) {
            Ok(switches) => Means::Switches(switches),
            Err(why) => looks(pid, options, why),
        };
        Waiting { pid, options: options.clone(), means }
    }

    /// For a process that runs already: its threads are looked at, whichever there are.
    pub fn of_running(pid: i32, options: &Options) -> Waiting {
        let why = Refusal {
            event: "context-switches".into(),
            why: "they are not watched in a program that runs already".into(),
            enable: None,
        };
        Waiting { pid, options: options.clone(), means: looks(pid, options, why) }
    }

    /// Starts to watch.
    ///
    /// # Errors
    /// The kernel's.
    pub fn enable(&self) -> io::Result<()> {
        match &self.means {
            Means::Switches(switches) => switches.enable(),
            Means::Looks { .. } => Ok(()),
        }
    }

    /// Hands out what happened since the last time.
    pub fn drain(&mut self, now_ns: u64, mut each: impl FnMut(Stamped)) {
        match &mut self.means {
            Means::Switches(switches) => {
                switches.drain(now_ns, &mut each);
                if let Some(why) = switches.too_many() {
                    each(Stamped { time_ns: now_ns, record: Record::SwitchesEnd });
                    self.means = looks(self.pid, &self.options, why);
                }
            }
            Means::Looks { bystander, .. } => {
                bystander.iter_mut().flat_map(|bystander| bystander.look()).for_each(each);
            }
        }
    }

    /// The rest, when the program has ended and before it is waited for; and why not all switches are in it, if so.
    pub fn finish(self, now_ns: u64, each: impl FnMut(Stamped)) -> Option<Refusal> {
        match self.means {
            Means::Switches(mut switches) => {
                switches.drain(now_ns, each);
                None
            }
            Means::Looks { bystander, why } => {
                bystander.into_iter().flat_map(|bystander| bystander.finish()).for_each(each);
                Some(why)
            }
        }
    }
}

fn looks(pid: i32, options: &Options, why: Refusal) -> Means {
    Means::Looks { bystander: Bystander::of(pid, options).map(Box::new), why }
}
