//! How long names may be, and those that come again and again, made and kept once.

use crate::demangle::demangle;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Longest name that is kept, in bytes. A few bytes of mangled C++ can unfold to gigabytes, and each symbol of a damaged
/// file can have a name of megabytes that it shares with all others.
pub const LONGEST: usize = 4096;

/// Names of functions and files.
#[derive(Debug, Default)]
pub struct Names {
    plain: RefCell<HashMap<String, Arc<str>>>,
    demangled: RefCell<HashMap<String, Arc<str>>>,
}

impl Names {
    /// The name as it is.
    pub fn plain(&self, name: &str) -> Arc<str> {
        kept(&self.plain, name, |name| name.into())
    }

    /// The name in the terms of its language.
    pub fn demangled(&self, symbol: &str) -> Arc<str> {
        kept(&self.demangled, symbol, |symbol| demangle(symbol).into())
    }
}

fn kept(names: &RefCell<HashMap<String, Arc<str>>>, name: &str, make: impl Fn(&str) -> Arc<str>) -> Arc<str> {
    let mut names = names.borrow_mut();
    if let Some(known) = names.get(name) {
        return Arc::clone(known);
    }
    let made = make(name);
    names.insert(name.to_string(), Arc::clone(&made));
    made
}
