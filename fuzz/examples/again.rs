//! Checks a property with inputs that were kept: `again TARGET FILE...`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let named = args.split_first();
    let Some((target, files)) = named.and_then(|(name, files)| {
        let target = herdscope_fuzz::target(name)?;
        (!files.is_empty()).then_some((target, files))
    }) else {
        let names: Vec<&str> = herdscope_fuzz::TARGETS.iter().map(|it| it.name).collect();
        eprintln!(
            "usage: again TARGET FILE...; targets are {}",
            names.join(", ")
        );
        return ExitCode::FAILURE;
    };
    for file in files {
        match std::fs::read(file) {
            Ok(bytes) => (target.check)(&bytes),
            Err(error) => {
                eprintln!("cannot read {file}: {error}");
                return ExitCode::FAILURE;
            }
        }
        println!("{} holds for {file}", target.name);
    }
    ExitCode::SUCCESS
}
