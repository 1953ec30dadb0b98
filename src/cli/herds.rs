//! `herdscope herds`: the recovery attempts, what the breakers evidently did, and the settings that
//! explain it.

use clap::Args;
use halfopen::Config;
use herdscope::calls::Edge;
use herdscope::dataset::Dataset;
use herdscope::export::json::{self, Known};
use herdscope::format;
use herdscope::herds::{Attempt, AttemptResult};
use herdscope::observed::{self, Seen};
use herdscope::panes;
use herdscope::replay;

use super::edge::{self, Asked};
use super::{Failure, print, print_known};

#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    pub asked: Asked,
    /// Settings to replay, as in window=100,min=20,fail=50%,open=60s,probes=10, or the name of a
    /// preset. Without them the states are told from the calls alone.
    #[arg(long, value_name = "TEXT")]
    breaker: Option<String>,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let config = options.breaker.as_deref().map(edge::config).transpose()?;
    let dataset = options.asked.read()?;
    if dataset.table.is_empty() {
        let nothing = || print_known(|to| json::herds(to, &dataset, None));
        return options.asked.answer_nothing(&dataset, nothing);
    }
    let edge = options.asked.find(&dataset)?;
    let answer = answer(&dataset, edge, config, options.asked.shared());
    if options.asked.files.json {
        print_known(|to| json::herds(to, &dataset, Some(&answer)))
    } else {
        print(&as_text(&answer))
    }
}

fn answer<'a>(
    dataset: &Dataset,
    edge: &'a Edge,
    config: Option<Config>,
    shared: bool,
) -> Known<'a> {
    let mut observed = observed::observe(&dataset.table, &edge.calls, shared);
    let fits = observed::fit(&mut observed, &edge.calls);
    let replayed = config.map(|config| {
        let how = replay::Options { config, shared };
        let replay = replay::replay(&edge.calls, &how);
        (how.config, replay)
    });
    Known::new(dataset, edge, replayed, observed, fits)
}

fn as_text(answer: &Known<'_>) -> String {
    let mut text = String::new();
    let mut line = |it: String| text.extend([it.as_str(), "\n"]);
    let edge = answer.edge;
    let how = match &answer.replayed {
        Some((config, _)) => format!("replayed with {config}"),
        None => "told from the calls alone".to_owned(),
    };
    line(format!("{} -> {}, {how}", edge.from, edge.to));
    if !answer.observed.per_instance {
        line("one breaker for all instances: real ones trip apart".to_owned());
    }
    if let Some(withheld) = &answer.withheld {
        line(panes::withheld(withheld));
    }
    if answer.attempts.is_empty() {
        line("no recovery attempts".to_owned());
    }
    for (at, it) in answer.attempts.iter().enumerate() {
        line(attempt_line(at + 1, it));
        for said in it.story() {
            line(format!("  {said}"));
        }
    }
    match &answer.replayed {
        Some((_, replay)) => {
            let share = 100.0 * observed::agreement(&answer.observed, replay);
            line(format!(
                "{share:.0} % of the transitions agree with those that the calls show"
            ));
        }
        None => {
            for breaker in &answer.observed.breakers {
                let name = breaker.instance.as_deref().unwrap_or("all instances");
                line(format!("{name}:"));
                for it in &breaker.states {
                    line(format!(
                        "  {} {} {}{}",
                        format::date(it.from),
                        format::time_of_day(it.from, 3),
                        it.state.as_str(),
                        sureness(it.state, it.sure),
                    ));
                }
            }
        }
    }
    for (at, fit) in answer.fits.iter().enumerate() {
        let rank = if at == 0 { "explained by" } else { "or by" };
        line(format!(
            "{rank} {}: {:.0} % of the transitions agree",
            fit.settings,
            100.0 * fit.agreement
        ));
        let ranges: Vec<String> = fit.ranges.iter().map(range_text).collect();
        line(format!("  others, together, within {}", ranges.join(", ")));
    }
    text
}

fn range_text(range: &observed::Range) -> String {
    let text = match panes::range(range) {
        [Some(low), Some(high)] if low == high => low,
        [Some(low), Some(high)] => format!("{low} to {high}"),
        [None, Some(high)] => format!("up to {high}"),
        [_, None] => "anything".to_owned(),
    };
    format!("{} {text}", range.setting)
}

fn sureness(state: Seen, sure: f64) -> String {
    match state {
        Seen::Unknown => ": the calls do not tell".to_owned(),
        _ if sure >= 0.995 => String::new(),
        _ => format!(" ({:.0} % sure)", 100.0 * sure),
    }
}

/// An attempt in one line.
pub(super) fn attempt_line(number: usize, attempt: &Attempt) -> String {
    let jump = match (attempt.rate_before, attempt.rate_after) {
        (Some(before), Some(after)) if before > 0.0 => {
            format!(", rate \u{d7}{:.1}", after / before)
        }
        _ => String::new(),
    };
    let outcome = match (attempt.result, attempt.close_ns, attempt.reopen_ns) {
        (AttemptResult::Held, ..) => "held".to_owned(),
        (AttemptResult::Trampled, Some(closed), Some(opened)) => {
            format!(
                "trampled {} after closing",
                format::duration(opened.abs_diff(closed))
            )
        }
        (AttemptResult::Trampled, ..) => "trampled".to_owned(),
        (AttemptResult::Refused, ..) => "refused: the probes failed".to_owned(),
    };
    format!(
        "attempt {number} at {} {}: {} of {} probes ok{jump}, {} of {} timed out, {outcome}",
        format::date(attempt.half_open_ns),
        format::time_of_day(attempt.half_open_ns, 3),
        attempt.probes_ok,
        attempt.probes,
        attempt.timed_out,
        format::counted(attempt.calls, "call"),
    )
}
