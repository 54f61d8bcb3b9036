//! Values along a path: equal numbers are equal values, whatever holds them.

use std::collections::HashMap;

/// A value: what a root stands for, and a constant added to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Value {
    root: u32,
    offset: u64,
}

/// What a root stands for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Root {
    /// Zero: the value is its offset.
    Zero,
    /// Where the module was loaded.
    Image,
    /// Nothing that is known.
    Unknown(u32),
    /// The lower bytes of a value.
    Low(Value, u8),
    /// Bits 8 to 15 of a value.
    SecondByte(Value),
    /// A sum of roots, each multiplied.
    Sum([(u32, u8); 2]),
    /// A result of an instruction.
    Result(Box<Computed>),
}

/// A result of an instruction of which nothing more is known.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Computed {
    /// Which instruction, by its encoding.
    pub encoding: u16,
    /// What it computes the result from.
    pub inputs: Vec<Value>,
    /// Which of its results.
    pub role: u8,
}

/// All values of a path.
#[derive(Clone, Debug)]
pub struct Values {
    roots: HashMap<Root, u32>,
    /// Bytes that each root may have; those above are zero.
    bytes: Vec<u8>,
}

/// Terms of a sum: roots, each with a factor, 0 where there is none.
pub type Terms = [(u32, u8); 2];

impl Value {
    /// A constant.
    pub fn constant(value: u64) -> Value {
        Value { root: 0, offset: value }
    }

    /// The value with a constant added, in 64 bits.
    pub fn plus(self, addend: u64) -> Value {
        Value { offset: self.offset.wrapping_add(addend), ..self }
    }

    /// What is added to the root.
    pub fn offset(self) -> u64 {
        self.offset
    }

    /// The value times a power of two as a term of a sum, and what is to be added to the sum; constants are no terms.
    pub fn term(self, factor: u8) -> ((u32, u8), u64) {
        let rest = self.offset.wrapping_mul(u64::from(factor));
        if self.root == 0 { ((0, 0), rest) } else { ((self.root, factor), rest) }
    }
}

impl Values {
    /// None yet.
    pub fn new() -> Values {
        let mut values = Values { roots: HashMap::new(), bytes: Vec::new() };
        values.root(Root::Zero, 0);
        values.root(Root::Image, 8);
        values
    }

    fn root(&mut self, root: Root, bytes: u8) -> Value {
        let next = self.bytes.len() as u32;
        let root = *self.roots.entry(root).or_insert(next);
        if root == next {
            self.bytes.push(bytes);
        }
        Value { root, offset: 0 }
    }

    /// A value like no other, of so many bytes.
    pub fn unknown(&mut self, bytes: u8) -> Value {
        let number = self.bytes.len() as u32;
        self.root(Root::Unknown(number), bytes)
    }

    /// A place in the module.
    pub fn in_image(&mut self, offset: u64) -> Value {
        self.root(Root::Image, 8).plus(offset)
    }

    /// The lower bytes of a value.
    pub fn low(&mut self, value: Value, bytes: u8) -> Value {
        if value.root == 0 {
            let kept = if bytes < 8 { value.offset & ((1 << (8 * bytes)) - 1) } else { value.offset };
            return Value::constant(kept);
        }
        let has = if value.offset == 0 { self.bytes[value.root as usize] } else { 8 };
        if has <= bytes { value } else { self.root(Root::Low(value, bytes), bytes) }
    }

    /// Bits 8 to 15 of a value.
    pub fn second_byte(&mut self, value: Value) -> Value {
        self.root(Root::SecondByte(value), 1)
    }

    /// A sum.
    pub fn sum(&mut self, terms: Terms, offset: u64) -> Value {
        match terms {
            [(0, _), (0, _)] => Value::constant(offset),
            [(root, 1), (0, _)] | [(0, _), (root, 1)] => Value { root, offset },
            _ => self.root(Root::Sum(terms), 8).plus(offset),
        }
    }

    /// A result of so many bytes.
    pub fn result(&mut self, computed: Computed, bytes: u8) -> Value {
        self.root(Root::Result(Box::new(computed)), bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_parts_of_what_is_short_are_all_of_it() {
        let mut values = Values::new();
        let (long, short) = (values.unknown(8), values.unknown(4));
        assert_eq!(values.low(short, 4), short);
        let low = values.low(long, 4);
        assert!(low != long && low == values.low(long, 4) && values.low(low, 8) == low);
        assert_eq!(values.low(Value::constant(u64::MAX), 2), Value::constant(0xffff));
        let added = short.plus(1);
        assert_ne!(values.low(added, 4), added, "a carry leaves the lower half");
    }

    #[test]
    fn sums_are_equal_however_they_were_made() {
        let mut values = Values::new();
        let one = values.unknown(8);
        let (term, rest) = one.plus(3).term(1);
        assert_eq!(values.sum([term, (0, 0)], rest + 5), one.plus(8));
        let (twice, rest) = one.plus(3).term(2);
        assert_eq!(rest, 6);
        assert_eq!(values.sum([twice, (0, 0)], 1), values.sum([twice, (0, 0)], 0).plus(1));
    }
}
