//! The command line of the tooling: reads the arguments, calls the module that does the work.

use std::process::ExitCode;

use xtask::{Result, bench, checks, files::Server, fuzz, generate, pack, page, tools::Toolbox};

const HELP: &str = "\
Usage: cargo xtask COMMAND

  serve [--port N]       install what is missing, build the page, serve it on 127.0.0.1 (from port 8080 on)
  test [--only A,B ...] [--browser A,B]
                         install what is missing, run every check (or the named ones);
                         browser: chromium or firefox, which the page is tested in (chromium)
  bench [NAME ...] [--quick] [--spans N] [--json [FILE]] [--into FILE]
                         print the figures of every benchmark (or the named ones) beside their targets;
                         quick: small inputs and few rounds; N: the largest input (10,000,000);
                         json: rows instead, or into a file; into: a report such as docs/benchmarks.md
  generate --spans N [--dialect NAME] [--seed N] [--into FILE]
                         write so many made-up spans as an exporter does, herd's own by default
  fuzz [--minutes N] [TARGET ...]
                         fuzz every target (or the named ones) for so long each (1); needs a nightly Rust
  dist                   build the page for release into pkg/

Tools are kept in $HERDSCOPE_TOOLS, or else in ~/.cache/herdscope/tools, for all clones.
Tests over real files read the folder that $HERDSCOPE_TRACES names.
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["serve", rest @ ..] => serve(rest),
        ["test", rest @ ..] => checks::test(rest),
        ["bench", rest @ ..] => bench::bench(rest),
        ["generate", rest @ ..] => generate::generate(rest),
        ["fuzz", rest @ ..] => fuzz::fuzz(rest),
        ["dist"] => dist(),
        // Trunk's own, in the middle of a build.
        ["pack"] => match std::env::var_os("TRUNK_STAGING_DIR") {
            Some(folder) => pack::pack(folder.as_ref()),
            None => Err("`cargo xtask pack` is for trunk, which says where the page is".to_owned()),
        },
        ["help" | "--help" | "-h"] => {
            print!("{HELP}\nChecks for --only:\n{}", checks::list());
            print!("\nBenchmarks:\n{}", bench::list());
            fuzz::list().map(|targets| print!("\nTargets to fuzz:\n{targets}"))
        }
        [] => Err(format!("no command given\n\n{HELP}")),
        _ => Err(format!(
            "do not know `cargo xtask {}`\n\n{HELP}",
            words.join(" ")
        )),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("xtask: {sentence}");
            ExitCode::FAILURE
        }
    }
}

fn dist() -> Result<()> {
    page::build(&Toolbox::for_page()?)?;
    println!(
        "The page is in {}: any static host can serve that folder.",
        page::folder().display()
    );
    Ok(())
}

fn serve(args: &[&str]) -> Result<()> {
    let port = match args {
        [] => 8080,
        ["--port", number] => number
            .parse()
            .map_err(|_| format!("--port wants a number from 1 to 65535, not `{number}`"))?,
        _ => {
            return Err(format!(
                "serve takes only --port N, not `{}`",
                args.join(" ")
            ));
        }
    };
    page::build(&Toolbox::for_page()?)?;
    let server = Server::on_free_port_from(port, &[("/", page::folder())])?;
    println!("\nHerdscope is at {}   (Ctrl+C ends it)", server.url("/"));
    server.wait();
    Ok(())
}
