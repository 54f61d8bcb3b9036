//! Extensions of the instruction set: which of them an instruction needs, and which ones a machine has.

use crate::evaluate::Decoded;
use iced_x86::CpuidFeature as F;

/// What instructions need that not every x86-64 processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are the manuals'")]
pub enum Extension {
    Sse3,
    Ssse3,
    Sse41,
    Sse42,
    Popcnt,
    Lzcnt,
    Movbe,
    Bmi1,
    Bmi2,
    Adx,
    Aes,
    Pclmulqdq,
    Sha,
    Gfni,
    Avx,
    Avx2,
    Fma,
    F16c,
    Vaes,
    Vpclmulqdq,
    AvxVnni,
    Avx512F,
    Avx512Vl,
    Avx512Bw,
    Avx512Dq,
    Avx512Cd,
    Avx512Vbmi,
    Avx512Vbmi2,
    Avx512Vnni,
    Avx512Bitalg,
    Avx512Ifma,
    Avx512Vpopcntdq,
    Avx512Bf16,
}

/// A set of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Extensions(u64);

impl Extensions {
    /// The set of these.
    pub fn of(all: impl IntoIterator<Item = Extension>) -> Extensions {
        Extensions(all.into_iter().fold(0, |set, one| set | 1 << one as u8))
    }

    /// The set as a number.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The set of such a number.
    pub const fn from_bits(bits: u64) -> Extensions {
        Extensions(bits)
    }

    /// Whether an instruction can be executed where these are: without what it needs, it is none there.
    pub fn suffice_for(self, decoded: &Decoded) -> bool {
        let mut needed =
            decoded.instruction.cpuid_features().iter().filter_map(|&feature| extension(feature));
        needed.all(|one| self.0 >> one as u8 & 1 == 1)
    }
}

/// The extension that the decoder library's feature is, if not every processor has it.
fn extension(feature: F) -> Option<Extension> {
    use Extension as E;
    Some(match feature {
        F::SSE3 => E::Sse3,
        F::SSSE3 => E::Ssse3,
        F::SSE4_1 => E::Sse41,
        F::SSE4_2 => E::Sse42,
        F::POPCNT => E::Popcnt,
        F::LZCNT => E::Lzcnt,
        F::MOVBE => E::Movbe,
        F::BMI1 => E::Bmi1,
        F::BMI2 => E::Bmi2,
        F::ADX => E::Adx,
        F::AES => E::Aes,
        F::PCLMULQDQ => E::Pclmulqdq,
        F::SHA => E::Sha,
        F::GFNI => E::Gfni,
        F::AVX => E::Avx,
        F::AVX2 => E::Avx2,
        F::FMA => E::Fma,
        F::F16C => E::F16c,
        F::VAES => E::Vaes,
        F::VPCLMULQDQ => E::Vpclmulqdq,
        F::AVX_VNNI => E::AvxVnni,
        F::AVX512F => E::Avx512F,
        F::AVX512VL => E::Avx512Vl,
        F::AVX512BW => E::Avx512Bw,
        F::AVX512DQ => E::Avx512Dq,
        F::AVX512CD => E::Avx512Cd,
        F::AVX512_VBMI => E::Avx512Vbmi,
        F::AVX512_VBMI2 => E::Avx512Vbmi2,
        F::AVX512_VNNI => E::Avx512Vnni,
        F::AVX512_BITALG => E::Avx512Bitalg,
        F::AVX512_IFMA => E::Avx512Ifma,
        F::AVX512_VPOPCNTDQ => E::Avx512Vpopcntdq,
        F::AVX512_BF16 => E::Avx512Bf16,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{Decoded, Extension, Extensions};

    #[test]
    fn an_instruction_needs_all_its_extensions() {
        let decoded = |bytes: &[u8]| Decoded::new(bytes, 0x1000).unwrap();
        let add = decoded(&[0x48, 0x01, 0xc8]); // add rax, rcx
        let wide = decoded(&[0xc5, 0xfd, 0xfe, 0xc1]); // vpaddd ymm0, ymm0, ymm1
        let masked = decoded(&[0x62, 0xf1, 0x7d, 0x28, 0xfe, 0xc1]); // vpaddd ymm0, ymm0, ymm1, as AVX-512 has it
        let both = Extensions::of([Extension::Avx512F, Extension::Avx512Vl]);
        assert!(Extensions::default().suffice_for(&add));
        assert!(!both.suffice_for(&wide) && Extensions::of([Extension::Avx2]).suffice_for(&wide));
        assert!(both.suffice_for(&masked) && !Extensions::of([Extension::Avx512Vl]).suffice_for(&masked));
        assert_eq!(Extensions::from_bits(both.bits()), both);
    }
}
