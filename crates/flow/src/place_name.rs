//! Places in code as people write them: module and offset, such as `libc.so.6+0x1a2b`, with as much more as it takes
//! where a profile holds several files of one name, builds of one file, or codes that stood at one place.
//!
//! ```text
//! app+0x1220              by the file's name
//! /opt/new/app+0x1220     by its path
//! app@1a2b3c4d+0x1220     by the first digits of its build id, or none of a file that has no build id
//! [jit 0x7f00]+0x40#2     the third code that stood there
//! ```

use timewise_profile::{ModuleId, Offset, Place, Profile};

/// Path of a module.
pub fn module_path(profile: &Profile, module: ModuleId) -> String {
    String::from_utf8_lossy(&profile.modules[module.index()].path).into_owned()
}

/// Last part of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path)
}

/// A place in code as `libc.so.6+0x1a2b`.
pub fn offset(profile: &Profile, place: Place) -> String {
    Form::SHORT.write(profile, place)
}

/// How much of a place is written.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    path: bool,
    build_id: bool,
    version: bool,
}

impl Form {
    const SHORT: Form = Form { path: false, build_id: false, version: false };

    /// All there is to tell.
    pub const LONGEST: Form = Form { path: true, build_id: true, version: true };

    /// The shortest first.
    pub const ALL: [Form; 6] = [
        Form::SHORT,
        Form { path: true, ..Form::SHORT },
        Form { build_id: true, ..Form::SHORT },
        Form { version: true, ..Form::SHORT },
        Form { path: true, build_id: true, version: false },
        Form::LONGEST,
    ];

    /// The place in this form.
    pub fn write(self, profile: &Profile, place: Place) -> String {
        let path = module_path(profile, place.module);
        let mut name = if self.path { path } else { file_name(&path).to_string() };
        if self.build_id {
            // As many as people use of a hash; two builds of one file share them once in four thousand millions.
            const DIGITS: usize = 8;
            let digits = digits(profile, place.module);
            name += &format!("@{}", &digits[..digits.len().min(DIGITS)]);
        }
        name += &format!("+{:#x}", place.offset.0);
        if self.version {
            name += &format!("#{}", place.version.0);
        }
        name
    }
}

/// Build id of a module in hexadecimal digits.
fn digits(profile: &Profile, module: ModuleId) -> String {
    profile.modules[module.index()].build_id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A place that somebody named, in whichever form.
#[derive(Clone, Copy, Debug)]
pub struct PlaceName<'a> {
    module: &'a str,
    /// Where in the module.
    pub offset: Offset,
    version: Option<u32>,
}

impl<'a> PlaceName<'a> {
    /// Reads the name of a place; `None` if it is none.
    pub fn read(name: &'a str) -> Option<PlaceName<'a>> {
        let (module, offset) = name.rsplit_once('+')?;
        let offset = offset.strip_prefix("0x")?;
        let (offset, version) = match offset.split_once('#') {
            Some((offset, version)) => (offset, Some(version.parse().ok()?)),
            None => (offset, None),
        };
        let offset = Offset(u64::from_str_radix(offset, 16).ok()?);
        Some(PlaceName { module, offset, version })
    }

    /// Whether the code that `place` is in is the code that is meant, wherever in it.
    pub fn is_of_code(&self, profile: &Profile, place: Place) -> bool {
        let path = module_path(profile, place.module);
        let is_file = |name: &str| name == path || name == file_name(&path);
        let is_build = || {
            let (file, build_id) = self.module.rsplit_once('@')?;
            let known = digits(profile, place.module);
            Some(is_file(file) && known.starts_with(build_id) && known.is_empty() == build_id.is_empty())
        };
        self.version.is_none_or(|version| version == place.version.0)
            && (is_file(self.module) || is_build().unwrap_or(false))
    }

    /// Whether it is this place.
    pub fn is(&self, profile: &Profile, place: Place) -> bool {
        self.offset == place.offset && self.is_of_code(profile, place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::{CodeVersion, Module, ModuleKind};

    /// Files of one name in two folders, one of them in two builds and without a build id.
    fn profile() -> Profile {
        let module = |path: &str, build_id: &[u8]| Module {
            kind: ModuleKind::File,
            path: path.into(),
            build_id: build_id.into(),
        };
        Profile {
            modules: vec![
                module("/old/app", &[0x1a, 0x2b, 0x3c, 0x4d, 0x5e]),
                module("/old/app", &[0x1a, 0x2b, 0x3c, 0x00, 0x5e]),
                module("/old/app", &[]),
                module("/new/app", &[0x1a, 0x2b, 0x3c, 0x4d, 0x5e]),
                module("/old/lib@2", &[0x77]),
            ],
            ..Profile::default()
        }
    }

    fn place(module: u32, version: u32) -> Place {
        Place { module: ModuleId(module), version: CodeVersion(version), offset: Offset(0x1220) }
    }

    #[test]
    fn a_place_is_found_by_each_of_its_names() {
        let profile = profile();
        for place in [0, 1, 2, 3, 4].into_iter().flat_map(|module| [place(module, 0), place(module, 3)]) {
            for form in Form::ALL {
                let name = form.write(&profile, place);
                assert!(PlaceName::read(&name).unwrap().is(&profile, place), "{name}");
            }
        }
    }

    #[test]
    fn names_tell_files_builds_and_codes_apart() {
        let profile = profile();
        for (name, wanted) in [
            ("app+0x1220", vec![0, 1, 2, 3]),
            ("/old/app+0x1220", vec![0, 1, 2]),
            ("app@1a2b3c4d+0x1220", vec![0, 3]),
            ("app@1a2b3c+0x1220", vec![0, 1, 3]),
            ("/old/app@1a2b3c4d+0x1220", vec![0]),
            ("app@+0x1220", vec![2]),
            ("lib@2+0x1220", vec![4]),
            ("lib@2@77+0x1220", vec![4]),
            ("pp+0x1220", vec![]),
            ("app+0x1221", vec![]),
            ("app+0x1220#1", vec![]),
        ] {
            let named = PlaceName::read(name).unwrap();
            let found: Vec<u32> = (0..5).filter(|&module| named.is(&profile, place(module, 0))).collect();
            assert_eq!(found, wanted, "{name}");
        }
        assert!(PlaceName::read("app+0x1220#1").unwrap().is(&profile, place(0, 1)));
    }

    #[test]
    fn other_names_are_no_places() {
        for name in ["app", "app+1220", "app+0x", "app+0xg", "operator+", "app+0x12#", "app+0x12#x"] {
            assert!(PlaceName::read(name).is_none(), "{name}");
        }
    }
}
