//! What holds for any input, as functions of bytes that panic where it does not.
//!
//! Owns the properties and the inputs to begin with. One piece of code for both uses: libFuzzer calls
//! [`Target::check`] from `targets/`, without end and with an eye on coverage; the test below calls it
//! with every seed and a few thousand spoiled ones, on any Rust. A property is a module, a name in
//! [`TARGETS`], a file in `targets/` and its entry in Cargo.toml; the last test holds these together.

pub mod draw;
pub mod grammar;
pub mod machine;
pub mod page;
pub mod reader;
pub mod settings;
pub mod view;

/// One property.
pub struct Target {
    /// Its name, and that of its program for libFuzzer.
    pub name: &'static str,
    /// Panics where it does not hold.
    pub check: fn(&[u8]),
    /// Inputs that reach far, for others to be made of.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// Every property.
pub const TARGETS: &[Target] = &[
    Target {
        name: "grammar",
        check: grammar::check,
        seeds: grammar::seeds,
    },
    Target {
        name: "machine",
        check: machine::check,
        seeds: machine::seeds,
    },
    Target {
        name: "page",
        check: page::check,
        seeds: page::seeds,
    },
    Target {
        name: "reader",
        check: reader::check,
        seeds: reader::seeds,
    },
    Target {
        name: "settings",
        check: settings::check,
        seeds: settings::seeds,
    },
    Target {
        name: "view",
        check: view::check,
        seeds: view::seeds,
    },
];

/// The property of that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|it| it.name == name)
}

fn owned(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|it| it.as_bytes().to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::draw::Random;

    /// How many spoiled seeds each property is checked with here.
    const SPOILED: usize = 2_000;

    fn holds(name: &str) {
        let target = target(name).expect("a property of that name");
        let seeds = (target.seeds)();
        assert!(seeds.len() >= 10, "{name}: {} seeds", seeds.len());
        for seed in &seeds {
            (target.check)(seed);
        }
        let mut random = Random(1);
        for _ in 0..SPOILED {
            (target.check)(&random.spoiled(&seeds));
        }
    }

    #[test]
    fn grammar_holds() {
        holds("grammar");
    }

    #[test]
    fn machine_holds() {
        holds("machine");
    }

    #[test]
    fn page_holds() {
        holds("page");
    }

    #[test]
    fn reader_holds() {
        holds("reader");
    }

    #[test]
    fn settings_hold() {
        holds("settings");
    }

    #[test]
    fn view_holds() {
        holds("view");
    }

    #[test]
    fn every_target_has_its_program() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("targets");
        let files = std::fs::read_dir(folder).expect("the targets' folder");
        let programs: BTreeSet<String> = files
            .map(|it| it.expect("an entry").path())
            .map(|it| {
                it.file_stem()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        let names = TARGETS.iter().map(|it| it.name.to_owned()).collect();
        assert_eq!(programs, names);
    }
}
