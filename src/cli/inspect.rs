//! `herdscope inspect`: what a file is.

use herdscope::dataset::Dataset;
use herdscope::export::json::{self, Counts};
use herdscope::format;

use super::{Failure, Files, input, print, print_known};

pub fn run(files: &Files) -> Result<(), Failure> {
    let dataset = input::read(&files.input, &files.told.told())?;
    if files.json {
        print_known(|to| json::inspect(to, &dataset))
    } else {
        print(&as_text(&dataset))
    }
}

fn as_text(dataset: &Dataset) -> String {
    let table = &dataset.table;
    let (roots, orphans) = table.roots_and_orphans();
    let mut text = String::new();
    let mut line = |it: String| text.extend([it.as_str(), "\n"]);
    line(format!("{}: {}", dataset.name, dataset.exporter));
    if dataset.files.len() > 1 {
        for it in &dataset.files {
            let twice = match it.rows - it.spans {
                0 => String::new(),
                n => format!(", {} not counted twice", format::counted(n, "row")),
            };
            let spans = format::counted(it.spans, "span");
            line(format!("  {}: {}, {spans}{twice}", it.name, it.exporter));
        }
    }
    line(format!(
        "{} in {}, {}, {}",
        format::counted(table.len() as u64, "span"),
        format::counted(table.n_traces().into(), "trace"),
        format::counted(roots as u64, "root"),
        format::counted(orphans as u64, "orphan"),
    ));
    if let Some(extent) = table.extent() {
        line(format::time_range(extent.start, extent.end));
    }
    let assumed = dataset.assumed_line();
    if !assumed.is_empty() {
        line(assumed);
    }
    let services: Vec<(&str, usize)> = services(dataset).collect();
    if !services.is_empty() {
        line("services".to_owned());
    }
    for (name, spans) in services {
        let name = named(name).unwrap_or("(no service)");
        line(format!(
            "  {name}: {}",
            format::counted(spans as u64, "span")
        ));
    }
    if !dataset.edges.is_empty() {
        line("edges".to_owned());
    }
    for edge in &dataset.edges {
        let count = Counts::of(edge);
        let via = if edge.via.is_empty() {
            String::new()
        } else {
            format!(" via {}", edge.via.join(", "))
        };
        let failed = match (count.failed, count.timed_out) {
            (0, _) => "none failed".to_owned(),
            (failed, 0) => format!("{} failed", format::count(failed as u64)),
            (failed, cut) => {
                format!(
                    "{} failed ({} by timeout)",
                    format::count(failed as u64),
                    format::count(cut as u64)
                )
            }
        };
        let unknown = match count.unknown {
            0 => String::new(),
            n => format!(
                ", {} without an outcome (refused by a breaker, or of unknown duration)",
                format::count(n as u64)
            ),
        };
        let instances = match edge.n_instances() {
            Some(n) => format::counted(n as u64, "instance"),
            None => "instances unknown".to_owned(),
        };
        let retries = match edge.retries {
            it if it.tries == it.logical => String::new(),
            it => format!(
                ", {} tries for {} (\u{d7}{:.2})",
                format::count(it.tries as u64),
                format::counted(it.logical as u64, "logical call"),
                it.amplification().unwrap_or(1.0),
            ),
        };
        line(format!(
            "  {} -> {}{via}: {}{retries}, {failed}{unknown}, {instances}",
            edge.from,
            edge.to,
            format::counted(edge.calls.len() as u64, "call"),
        ));
    }
    if !dataset.issues.is_empty() {
        line("issues".to_owned());
    }
    for issue in dataset.issues.iter() {
        line(format!(
            "  {} \u{d7}{}: {}",
            issue.code.as_str(),
            issue.count,
            issue.message()
        ));
    }
    text
}

/// A service's name; `None` where the file names none.
fn named(name: &str) -> Option<&str> {
    Some(name).filter(|name| !name.is_empty())
}

/// Each service with its number of spans, in the order of names.
fn services(dataset: &Dataset) -> impl Iterator<Item = (&str, usize)> {
    let mut spans = vec![0; dataset.table.services().count()];
    for service in &dataset.table.service {
        spans[service.0 as usize] += 1;
    }
    dataset.table.services().map(|(_, name)| name).zip(spans)
}
