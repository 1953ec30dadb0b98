//! Which edge of which files a command is about, and the settings of its breaker.

use clap::Args;
use halfopen::Config;
use herdscope::calls::Edge;
use herdscope::dataset::Dataset;

use super::{Failure, Files, YesNo, input, print};

#[derive(Debug, Args)]
pub struct Asked {
    #[command(flatten)]
    pub files: Files,
    /// The edge, as in "checkout->inventory"; by default the one with the most calls.
    #[arg(long, value_name = "A->B")]
    edge: Option<String>,
    /// One breaker an instance, as in production; with no, one for all.
    #[arg(long, value_name = "yes|no", default_value = "yes")]
    per_instance: YesNo,
}

impl Asked {
    /// Reads the files, and says on standard error what would mislead.
    pub fn read(&self) -> Result<Dataset, Failure> {
        // Wrong usage is said before anything is read.
        self.named()?;
        let dataset = input::read(&self.files.input, &self.files.told.told())?;
        input::warn(&dataset);
        Ok(dataset)
    }

    /// The edge that is meant.
    pub fn find<'a>(&self, dataset: &'a Dataset) -> Result<&'a Edge, Failure> {
        find_edge(dataset, &self.named()?)
    }

    /// The edge that is meant, or the one with the most calls, if there is any.
    pub fn find_any<'a>(&self, dataset: &'a Dataset) -> Result<Option<&'a Edge>, Failure> {
        match &self.edge {
            Some(_) => self.find(dataset).map(Some),
            None => Ok(dataset.edges.first()),
        }
    }

    /// A file with a header and no rows is an answer, too: as JSON, which `nothing` prints, or a line.
    pub fn answer_nothing(
        &self,
        dataset: &Dataset,
        nothing: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self.files.json {
            true => nothing(),
            false => print(&format!("{}: no spans, so no calls\n", dataset.name)),
        }
    }

    pub fn shared(&self) -> bool {
        self.per_instance == YesNo::No
    }

    /// The edges that may be meant.
    fn named(&self) -> Result<Vec<(String, String)>, Failure> {
        self.edge.as_deref().map_or(Ok(Vec::new()), named_edges)
    }
}

/// Settings, or the name of a preset.
pub fn config(text: &str) -> Result<Config, Failure> {
    halfopen::presets::read(text).map_err(|error| Failure::Usage(format!("--breaker: {error}")))
}

/// What stands before and after each arrow; names may have some of their own.
fn named_edges(text: &str) -> Result<Vec<(String, String)>, Failure> {
    let arrows = text.match_indices("->").map(|(at, arrow)| {
        let (from, to) = (&text[..at], &text[at + arrow.len()..]);
        (from.trim().to_owned(), to.trim().to_owned())
    });
    let edges: Vec<_> = arrows
        .filter(|(from, to)| !from.is_empty() && !to.is_empty())
        .collect();
    match edges.is_empty() {
        false => Ok(edges),
        true => Err(Failure::Usage(format!(
            "--edge: got \u{201c}{text}\u{201d}, expected CALLER->CALLEE (quoted, because of the >)"
        ))),
    }
}

fn find_edge<'a>(dataset: &'a Dataset, named: &[(String, String)]) -> Result<&'a Edge, Failure> {
    let found = match named {
        [] => dataset.edge(None),
        _ => named.iter().find_map(|it| dataset.edge(Some(it))),
    };
    found.ok_or_else(|| {
        let edges: Vec<String> = dataset
            .edges
            .iter()
            .map(|it| format!("{}->{}", it.from, it.to))
            .collect();
        let name = &dataset.name;
        Failure::Input(match named.first() {
            Some((from, to)) if !edges.is_empty() => {
                let shown = &edges[..edges.len().min(MOST_EDGES)];
                let more = match edges.len() - shown.len() {
                    0 => String::new(),
                    n => format!(" and {n} more"),
                };
                format!(
                    "{name}: there is no edge {from}->{to}; it has {}{more}",
                    shown.join(", ")
                )
            }
            _ => format!("{name}: {}", why_no_edges(dataset)),
        })
    })
}

/// As many edges as a message lists.
const MOST_EDGES: usize = 10;

/// What is missing for calls to be found.
fn why_no_edges(dataset: &Dataset) -> &'static str {
    let table = &dataset.table;
    let (roots, _) = table.roots_and_orphans();
    if table.n_traces() as usize == table.len() {
        "each row is a trace of its own, so who calls whom cannot be told; export trace and parent ids, too"
    } else if roots == table.len() {
        "no span has a parent, so who calls whom cannot be told; export the column of parent ids, too"
    } else {
        "no calls between services are in it, so there is nothing that a breaker guards; export client \
         spans, too"
    }
}
