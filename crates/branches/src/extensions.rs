//! Which extensions of the instruction set this machine has.

use std::arch::is_x86_feature_detected;
use timewise_isa::{Extension, Extensions};

/// Those that the processor has and the system has enabled.
pub fn here() -> Extensions {
    macro_rules! detected {
        ($($extension:ident $name:tt)*) => {
            [$((Extension::$extension, is_x86_feature_detected!($name))),*]
        };
    }
    let all = detected! {
        Sse3 "sse3" Ssse3 "ssse3" Sse41 "sse4.1" Sse42 "sse4.2" Popcnt "popcnt" Lzcnt "lzcnt" Movbe "movbe"
        Bmi1 "bmi1" Bmi2 "bmi2" Adx "adx" Aes "aes" Pclmulqdq "pclmulqdq" Sha "sha" Gfni "gfni"
        Avx "avx" Avx2 "avx2" Fma "fma" F16c "f16c" Vaes "vaes" Vpclmulqdq "vpclmulqdq" AvxVnni "avxvnni"
        Avx512F "avx512f" Avx512Vl "avx512vl" Avx512Bw "avx512bw" Avx512Dq "avx512dq" Avx512Cd "avx512cd"
        Avx512Vbmi "avx512vbmi" Avx512Vbmi2 "avx512vbmi2" Avx512Vnni "avx512vnni" Avx512Bitalg "avx512bitalg"
        Avx512Ifma "avx512ifma" Avx512Vpopcntdq "avx512vpopcntdq" Avx512Bf16 "avx512bf16"
    };
    Extensions::of(all.into_iter().filter(|&(_, is_there)| is_there).map(|(extension, _)| extension))
}
