//! The stack of return addresses.

/// A ring in which the oldest is overwritten by one too many.
#[derive(Debug)]
pub struct Returns {
    addresses: Vec<u64>,
    top: usize,
}

impl Returns {
    /// A stack of so many.
    pub fn new(entries: usize) -> Returns {
        Returns { addresses: vec![0; entries], top: 0 }
    }

    /// A call whose return goes to this address.
    pub fn push(&mut self, address: u64) {
        self.top = (self.top + 1) % self.addresses.len();
        self.addresses[self.top] = address;
    }

    /// Where a return is expected to go.
    pub fn pop(&mut self) -> u64 {
        let address = std::mem::take(&mut self.addresses[self.top]);
        self.top = (self.top + self.addresses.len() - 1) % self.addresses.len();
        address
    }
}

#[cfg(test)]
mod tests {
    use super::Returns;

    #[test]
    fn deep_calls_lose_the_oldest() {
        let mut returns = Returns::new(2);
        (1..=3).for_each(|n| returns.push(n));
        assert_eq!([returns.pop(), returns.pop(), returns.pop()], [3, 2, 0]);
    }
}
