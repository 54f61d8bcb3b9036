//! Programs of others that make programs faster by our profiles.

use super::Ability;
use super::abilities::{no, yes};
use timewise_fdo::tools::find;

/// What some programs are for, which Debian's package has them, and which.
struct Kit {
    name: &'static str,
    detail: bool,
    purpose: &'static str,
    package: &'static str,
    programs: &'static [&'static str],
}

const KITS: [Kit; 5] = [
    Kit {
        name: "BOLT",
        detail: false,
        purpose: "timewise fdo --bolt, export --to bolt-preaggregated",
        package: "bolt-19",
        programs: &["llvm-bolt", "perf2bolt"],
    },
    Kit {
        name: "merging",
        detail: true,
        purpose: "profiles of several runs for BOLT in one",
        package: "bolt-19",
        programs: &["merge-fdata"],
    },
    Kit {
        name: "Clang by profile",
        detail: false,
        purpose: "timewise fdo --clang, export --to llvm-profgen",
        package: "clang-19 llvm-19",
        programs: &["clang", "llvm-profgen"],
    },
    Kit {
        name: "linking",
        detail: true,
        purpose: "builds with -fuse-ld=lld",
        package: "lld-19",
        programs: &["ld.lld"],
    },
    Kit {
        name: "AutoFDO",
        detail: false,
        purpose: "export --to autofdo",
        package: "autofdo",
        programs: &["create_llvm_prof", "create_gcov"],
    },
];

/// Whether they are there, and where.
pub fn all() -> impl Iterator<Item = Ability> {
    KITS.iter().map(|kit| Ability { detail: kit.detail, ..ability(kit) })
}

fn ability(kit: &Kit) -> Ability {
    let (mut places, mut missing) = (Vec::new(), Vec::new());
    for &program in kit.programs {
        match find(program, kit.package) {
            Ok(place) => places.push(place.display().to_string()),
            Err(_) => missing.push(program),
        }
    }
    if missing.is_empty() {
        return yes(kit.name, format!("{}: {}", kit.purpose, places.join(", ")));
    }
    let enable = format!("sudo apt-get install {}", kit.package);
    let cause = format!("there is no {}", missing.join(" and no "));
    Ability { note: kit.purpose.into(), ..no(kit.name, cause, Some(&enable)) }
}
