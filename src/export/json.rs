//! What is known of a file as JSON: what it is, its recovery attempts, a replay.
//!
//! Owns the keys, which scripts rely on. Invariants: nanoseconds are texts, since JSON numbers lose digits; what is
//! unknown is null, never 0. The command line prints these very texts, and the page gives all three as one. Pinned by
//! `tests/it/cli.rs` and `tests/it/export.rs`.

use halfopen::{Config, Window};

use crate::calls::{CallOutcome, Edge};
use crate::dataset::Dataset;
use crate::herds::{self, Attempt, AttemptResult, Detail};
use crate::ingest::time::Unit;
use crate::issues::Code;
use crate::observed::{self, Fit, Observed, Withheld};
use crate::replay::{self, Breaker, Replay};
use crate::scene;

/// JSON that is being written: each value with its key, or with none in a list. What encloses a value has begun before.
pub struct Json {
    text: String,
    number: fn(f64) -> String,
}

impl Json {
    /// Writes what `of` says as one object. `number` prints what is no whole number: the browser can, and so need not
    /// the page.
    pub fn print(number: fn(f64) -> String, of: impl FnOnce(&mut Json)) -> String {
        let text = String::new();
        let mut json = Json { text, number };
        json.begin("", '{');
        of(&mut json);
        json.end('}');
        json.text
    }

    /// An object of what `of` says.
    pub fn object(&mut self, key: &str, of: impl FnOnce(&mut Json)) {
        self.begin(key, '{');
        of(self);
        self.end('}');
    }

    /// Begins an object or a list, by its bracket.
    #[inline(never)]
    fn begin(&mut self, key: &str, bracket: char) {
        self.key(key);
        self.text.push(bracket);
    }

    /// Ends it.
    #[inline(never)]
    fn end(&mut self, bracket: char) {
        self.text.push(bracket);
    }

    #[inline(never)]
    fn key(&mut self, key: &str) {
        if !matches!(self.text.as_bytes().last(), None | Some(b'{' | b'[')) {
            self.text.push(',');
        }
        if !key.is_empty() {
            self.quote(key);
            self.text.push(':');
        }
    }

    #[inline(never)]
    fn quote(&mut self, text: &str) {
        self.text.push('"');
        for c in text.chars() {
            match c {
                '"' | '\\' => self.text.extend(['\\', c]),
                '\0'..' ' => {
                    let digit = |of: u32| char::from_digit(of, 16).unwrap_or('0');
                    self.text.push_str("\\u00");
                    self.text
                        .extend([digit(c as u32 >> 4), digit(c as u32 & 15)]);
                }
                _ => self.text.push(c),
            }
        }
        self.text.push('"');
    }

    #[inline(never)]
    fn text(&mut self, key: &str, text: Option<&str>) {
        self.key(key);
        match text {
            Some(text) => self.quote(text),
            None => self.text.push_str("null"),
        }
    }

    #[inline(never)]
    fn plain(&mut self, key: &str, text: Option<&str>) {
        self.key(key);
        self.text.push_str(text.unwrap_or("null"));
    }

    #[inline(never)]
    fn whole(&mut self, key: &str, n: Option<u64>) {
        self.plain(key, n.map(|it| it.to_string()).as_deref());
    }

    #[inline(never)]
    fn count(&mut self, key: &str, n: usize) {
        self.whole(key, Some(n as u64));
    }

    #[inline(never)]
    fn number(&mut self, key: &str, it: Option<f64>) {
        let it = it.filter(|it| it.is_finite()).map(self.number);
        self.plain(key, it.as_deref());
    }

    fn flag(&mut self, key: &str, it: bool) {
        self.plain(key, Some(if it { "true" } else { "false" }));
    }

    /// Nanoseconds since 1970, or of a time that something took.
    #[inline(never)]
    fn time(&mut self, key: &str, ns: Option<i64>) {
        self.text(key, ns.map(|it| it.to_string()).as_deref());
    }

    #[inline(never)]
    fn span(&mut self, key: &str, ns: Option<u64>) {
        self.text(key, ns.map(|it| it.to_string()).as_deref());
    }
}

/// All that is known of an edge without settings, and with them.
pub struct Known<'a> {
    /// The edge.
    pub edge: &'a Edge,
    /// With settings, the replay; its states then stand for the observed ones.
    pub replayed: Option<(Config, Replay)>,
    /// What its breakers evidently did.
    pub observed: Observed,
    /// The recovery attempts, of the replay where there is one.
    pub attempts: Vec<Attempt>,
    /// The calls that breakers refused.
    pub withheld: Option<Withheld>,
    /// The settings that explain what was observed.
    pub fits: Vec<Fit>,
}

impl<'a> Known<'a> {
    /// With the attempts and what was withheld, which follow from the rest.
    pub fn new(
        dataset: &Dataset,
        edge: &'a Edge,
        replayed: Option<(Config, Replay)>,
        observed: Observed,
        fits: Vec<Fit>,
    ) -> Known<'a> {
        let timelines = match &replayed {
            Some((_, replay)) => replay.into(),
            None => (&observed).into(),
        };
        Known {
            attempts: herds::attempts(&dataset.table, &edge.calls, &timelines),
            withheld: observed::withheld(&observed),
            edge,
            replayed,
            observed,
            fits,
        }
    }
}

/// What a file is: `herdscope inspect`.
#[inline(never)]
pub fn inspect(to: &mut Json, dataset: &Dataset) {
    let table = &dataset.table;
    let (roots, orphans) = table.roots_and_orphans();
    let extent = table.extent();
    to.text("exporter", Some(&dataset.exporter));
    to.begin("files", '[');
    for file in &dataset.files {
        to.begin("", '{');
        to.text("name", Some(&file.name));
        to.text("exporter", Some(file.exporter));
        to.whole("spans", Some(file.spans));
        to.whole("duplicates", Some(file.rows - file.spans));
        to.end('}');
    }
    to.end(']');
    to.count("spans", table.len());
    to.count("traces", table.n_traces() as usize);
    services(to, dataset);
    to.begin("edges", '[');
    for it in &dataset.edges {
        to.begin("", '{');
        edge(to, it);
        to.end('}');
    }
    to.end(']');
    to.time("start_ns", extent.as_ref().map(|it| it.start));
    to.time("end_ns", extent.as_ref().map(|it| it.end));
    to.count("roots", roots);
    to.count("orphans", orphans);
    let assumed = &dataset.assumed;
    to.begin("assumed", '{');
    to.text("zone", assumed.zone);
    to.text("start_unit", assumed.start_unit.map(Unit::as_str));
    to.text("duration_unit", assumed.duration_unit.map(Unit::as_str));
    to.text("dates", assumed.dates);
    to.span("failed_over_proposed", dataset.failed_over_proposed);
    to.end('}');
    to.text("told", Some(&dataset.told.to_string()));
    issues(to, dataset);
}

/// The attempts, and what breakers did: `herdscope herds`. `None` where the file has no edge.
#[inline(never)]
pub fn herds(to: &mut Json, dataset: &Dataset, known: Option<&Known<'_>>) {
    named_edge(to, known.map(|it| it.edge));
    let replayed = known.and_then(|it| it.replayed.as_ref());
    if let Some(known) = known {
        to.text("breaker", replayed.map(|it| it.0.to_string()).as_deref());
        to.flag("per_instance", known.observed.per_instance);
        to.number(
            "agreement",
            replayed.map(|it| observed::agreement(&known.observed, &it.1)),
        );
        let of_time = replayed.and_then(|(_, replay)| {
            let observed = scene::observed_lanes(&known.observed);
            scene::agree(&observed, &scene::lanes(replay))
        });
        to.number("agreement_of_time", of_time.map(|it| f64::from(it) / 1e6));
    }
    to.begin("attempts", '[');
    for it in known.iter().flat_map(|it| &it.attempts) {
        to.begin("", '{');
        attempt(to, it);
        to.end('}');
    }
    to.end(']');
    match known.and_then(|it| it.withheld) {
        Some(it) => {
            to.begin("withheld_share", '{');
            for (key, share) in ["low", "mid", "high"].into_iter().zip(it.share) {
                to.number(key, Some(share));
            }
            to.span("open_ns", Some(it.open_ns));
            to.flag("counted", it.counted);
            to.end('}');
        }
        None => to.plain("withheld_share", None),
    }
    to.begin("observed", '[');
    if let Some(known) = known {
        states(to, known);
    }
    to.end(']');
    to.begin("fitted", '[');
    for it in known.iter().flat_map(|it| &it.fits) {
        to.begin("", '{');
        to.text("breaker", Some(&it.settings.to_string()));
        to.number("agreement", Some(it.agreement));
        to.begin("ranges", '{');
        for range in &it.ranges {
            to.begin(range.setting, '{');
            to.text("low", Some(&range.low));
            to.text("high", Some(&range.high));
            to.end('}');
        }
        to.end('}');
        to.end('}');
    }
    to.end(']');
    issues(to, dataset);
}

/// A replay: `herdscope replay`. `None` where the file has no edge.
#[inline(never)]
pub fn replay(to: &mut Json, dataset: &Dataset, config: &Config, of: Option<(&Edge, &Replay)>) {
    let replay = of.map(|it| it.1);
    named_edge(to, of.map(|it| it.0));
    to.text("breaker", Some(&config.to_string()));
    match replay {
        Some(it) => to.flag("per_instance", it.per_instance),
        None => to.plain("per_instance", None),
    }
    to.count("calls", of.map_or(0, |it| it.0.calls.len()));
    to.whole("withheld", Some(replay.map_or(0, |it| it.withheld)));
    to.whole(
        "outcome_unknown",
        Some(replay.map_or(0, |it| it.outcome_unknown)),
    );
    let unreliable = of.is_some() && counts_sampled_calls(config, dataset);
    to.flag("count_window_unreliable", unreliable);
    to.begin("breakers", '[');
    for (replay, it) in replay
        .iter()
        .flat_map(|it| it.breakers.iter().map(move |of| (*it, of)))
    {
        breaker(to, it, replay);
    }
    to.end(']');
    issues(to, dataset);
}

/// Whether the breaker's window counts calls of which only a part is in the file.
pub fn counts_sampled_calls(config: &Config, dataset: &Dataset) -> bool {
    let counts = matches!(config.settings().window, Window::Calls(_));
    counts && dataset.issues.count(Code::Sampled) > 0
}

#[inline(never)]
fn services(to: &mut Json, dataset: &Dataset) {
    let table = &dataset.table;
    let mut spans = vec![0; table.services().count()];
    for service in &table.service {
        spans[service.0 as usize] += 1;
    }
    to.begin("services", '[');
    for ((_, name), n_spans) in table.services().zip(spans) {
        to.begin("", '{');
        to.text("name", Some(name).filter(|it| !it.is_empty()));
        to.count("spans", n_spans);
        to.end('}');
    }
    to.end(']');
}

#[inline(never)]
fn issues(to: &mut Json, dataset: &Dataset) {
    to.begin("issues", '[');
    for it in dataset.issues.iter() {
        to.begin("", '{');
        to.text("code", Some(it.code.as_str()));
        to.whole("count", Some(it.count));
        if it.file.is_some() {
            to.text("file", it.file.as_deref());
        }
        to.whole("first_row", it.first_row);
        to.text("column", it.column.as_deref());
        to.text("message", Some(&it.message()));
        to.end('}');
    }
    to.end(']');
}

#[inline(never)]
fn ends(to: &mut Json, edge: &Edge) {
    to.text("from", Some(&edge.from));
    to.text("to", Some(&edge.to));
    to.begin("via", '[');
    for it in &edge.via {
        to.text("", Some(it));
    }
    to.end(']');
}

fn named_edge(to: &mut Json, edge: Option<&Edge>) {
    match edge {
        Some(edge) => {
            to.begin("edge", '{');
            ends(to, edge);
            to.end('}');
        }
        None => to.plain("edge", None),
    }
}

fn edge(to: &mut Json, edge: &Edge) {
    let count = Counts::of(edge);
    ends(to, edge);
    to.count("calls", edge.calls.len());
    to.count("failed", count.failed);
    to.count("timed_out", count.timed_out);
    to.count("outcome_unknown", count.unknown);
    to.whole("instances", edge.n_instances().map(|it| it as u64));
    to.begin("retries", '{');
    to.count("attempts", edge.retries.tries);
    to.count("logical_calls", edge.retries.logical);
    to.number("amplification", edge.retries.amplification());
    to.end('}');
}

/// Calls of an edge that did not go well. A timeout is a failure, too.
pub struct Counts {
    /// Failures of any kind.
    pub failed: usize,
    /// Timeouts among them.
    pub timed_out: usize,
    /// Of unknown outcome, or refused by a breaker.
    pub unknown: usize,
}

impl Counts {
    /// Counts them.
    pub fn of(edge: &Edge) -> Counts {
        let timed_out = edge.calls.count(CallOutcome::TimedOut);
        Counts {
            failed: edge.calls.count(CallOutcome::Failure) + timed_out,
            timed_out,
            unknown: edge.calls.count(CallOutcome::Unknown)
                + edge.calls.count(CallOutcome::Rejected),
        }
    }
}

fn breaker(to: &mut Json, it: &Breaker, replay: &Replay) {
    to.begin("", '{');
    to.text("instance", it.instance.as_deref());
    to.begin("transitions", '[');
    for it in &it.transitions {
        to.begin("", '{');
        to.time("t_ns", Some(it.at));
        to.text("from", Some(it.from.as_str()));
        to.text("to", Some(it.to.as_str()));
        to.text("cause", Some(it.cause.as_str()));
        to.end('}');
    }
    to.end(']');
    to.begin("time_in", '{');
    let keys = ["closed", "open", "half_open", "ramping"];
    for (key, time) in keys.into_iter().zip(replay::time_in(it, replay)) {
        to.time(key, Some(time));
    }
    to.end('}');
    to.end('}');
}

fn attempt(to: &mut Json, it: &Attempt) {
    to.begin("instances", '[');
    for instance in &it.instances {
        to.text("", Some(instance));
    }
    to.end(']');
    let times = [
        ("half_open_ns", Some(it.half_open_ns)),
        ("close_ns", it.close_ns),
        ("close_last_ns", it.close_last_ns),
        ("reopen_ns", it.reopen_ns),
        ("reopen_last_ns", it.reopen_last_ns),
        ("first_timeout_ns", it.first_timeout_ns),
    ];
    for (key, time) in times {
        to.time(key, time);
    }
    let counts = [
        ("probes", it.probes),
        ("probes_ok", it.probes_ok),
        ("calls", it.calls),
        ("timed_out", it.timed_out),
        ("wasted", it.wasted),
    ];
    for (key, count) in counts {
        to.whole(key, Some(count));
    }
    to.span("wasted_ns", Some(it.wasted_ns));
    to.number("rate_before", it.rate_before);
    to.number("rate_after", it.rate_after);
    let result = match it.result {
        AttemptResult::Refused => "refused",
        AttemptResult::Trampled => "trampled",
        AttemptResult::Held => "held",
    };
    to.text("result", Some(result));
    to.begin("detail", '{');
    detail(to, &it.detail);
    to.end('}');
}

fn detail(to: &mut Json, it: &Detail) {
    to.begin("tiers", '[');
    for tier in &it.tiers {
        to.begin("", '{');
        to.text("service", Some(&tier.service));
        to.span("probes_p50_ns", tier.probes_p50_ns);
        to.span("herd_p50_ns", tier.herd_p50_ns);
        to.end('}');
    }
    to.end(']');
    match it.queued_ns {
        Some(queued) => {
            to.begin("queued_ns", '[');
            for ns in queued {
                to.span("", Some(ns));
            }
            to.end(']');
        }
        None => to.plain("queued_ns", None),
    }
    to.whole("served_by", it.served_by);
    match &it.burst {
        Some(it) => {
            to.begin("burst", '{');
            to.whole("busiest_second", Some(it.busiest_second));
            to.number("minute_average", Some(it.minute_average));
            to.number("autoscaler", Some(it.autoscaler));
            to.number("share_of_minute", Some(it.share_of_minute));
            to.end('}');
        }
        None => to.plain("burst", None),
    }
    to.span("seen_ns", it.seen_ns);
}

#[inline(never)]
fn states(to: &mut Json, known: &Known<'_>) {
    if let Some((_, replay)) = &known.replayed {
        for it in &replay.breakers {
            let bands = replay::bands(it, replay.from, replay.to);
            let bands = bands
                .into_iter()
                .map(|(from, to, it)| (from, to, it.as_str(), None));
            lane(to, it.instance.as_deref(), &mut bands.into_iter());
        }
        return;
    }
    for it in &known.observed.breakers {
        let states = it.states.iter();
        let mut states = states.map(|it| (it.from, it.to, it.state.as_str(), Some(it.sure)));
        lane(to, it.instance.as_deref(), &mut states);
    }
}

/// A breaker's states: from, to, which, and how sure that is.
type Stretch = (i64, i64, &'static str, Option<f64>);

fn lane(to: &mut Json, instance: Option<&str>, states: &mut dyn Iterator<Item = Stretch>) {
    to.begin("", '{');
    to.text("instance", instance);
    to.begin("states", '[');
    for (from, until, state, sure) in states {
        to.begin("", '{');
        to.time("from_ns", Some(from));
        to.time("to_ns", Some(until));
        to.text("state", Some(state));
        if sure.is_some() {
            to.number("sure", sure);
        }
        to.end('}');
    }
    to.end(']');
    to.end('}');
}
