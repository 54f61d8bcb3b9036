//! Any bytes, at any address: nothing panics, and all ways to look at an instruction agree.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use timewise_isa::*;

/// Bytes of which more than a few decode: prefixes, opcode maps and operands with a displacement.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let prefixes =
        vec(prop::sample::select(vec![0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x48, 0x4f, 0x41]), 0..4);
    let maps =
        prop::sample::select(vec![&[][..], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a], &[0xc5], &[0xc4], &[0x62]]);
    (prefixes, maps, vec(any::<u8>(), 0..24)).prop_map(|(mut all, map, rest)| {
        all.extend(map);
        all.extend(rest);
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 10_000, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn views_of_an_instruction_agree(code in bytes(), address in any::<u64>()) {
        let decoded = decode(&code, address);
        let first = walk(&code, address).next();
        let boundary = boundaries(&code, address).next();
        gs_use(&code);
        prop_assert!(unused_registers(&code).count() <= 6);
        let shown = text(&code, address, &|at| (at % 3 == 0).then(|| "name".into()));
        match decoded {
            Ok(instruction) => {
                let step = first.unwrap();
                prop_assert!(usize::from(instruction.length) <= code.len().min(MAX_LENGTH));
                prop_assert_eq!((step.offset, step.length, step.control), (address, instruction.length, instruction.control));
                prop_assert_eq!(boundary, Some((step.length, step.control)));
                prop_assert_eq!((step.stores, step.repeats), (stores(&code), instruction.repeats));
                prop_assert_ne!(shown, "(bad)");
            }
            Err(_) => {
                prop_assert_eq!(boundary, None);
                prop_assert_eq!(first.map(|step| step.control), first.map(|_| Control::Unsupported));
                prop_assert_eq!(shown, "(bad)");
            }
        }
    }

    #[test]
    fn a_walk_covers_all_bytes(code in vec(any::<u8>(), 0..200), offset in any::<u64>()) {
        let mut next = offset;
        for step in walk(&code, offset) {
            prop_assert!(step.offset == next && step.length > 0);
            next = next.wrapping_add(u64::from(step.length));
        }
        prop_assert_eq!(next, offset.wrapping_add(code.len() as u64));
    }
}
