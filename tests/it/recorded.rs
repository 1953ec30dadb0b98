//! States that spans tell, because a breaker recorded them on its calls.

use std::collections::HashMap;
use std::io::Read as _;

use halfopen::{Config, State};
use herdscope::calls::CallOutcome;
use herdscope::dataset::Dataset;
use herdscope::ingest::{Limits, Reader};
use herdscope::observed::{self, Observed, Seen, observe};
use herdscope::replay::{self, Options, Replay};

use crate::given::{dataset, fixture, herd, table};

fn replayed(dataset: &Dataset, settings: &str) -> Replay {
    let config: Config = settings.parse().expect("settings");
    let options = Options {
        config,
        shared: false,
    };
    replay::replay(&dataset.edges[0].calls, &options)
}

/// The sample as it would be had breakers with these settings recorded its calls: the refused ones are
/// spans that failed at once, if they were exported at all.
fn recording(dataset: &Dataset, replay: &Replay, with_refusals: bool) -> Dataset {
    let calls = &dataset.edges[0].calls;
    let mut attributes: HashMap<String, (String, bool)> = HashMap::new();
    for at in 0..calls.len() {
        let breaker = &replay.breakers[calls.instance[at] as usize];
        let before = breaker
            .transitions
            .partition_point(|it| it.at <= calls.start[at]);
        let last = before.checked_sub(1).map(|it| breaker.transitions[it]);
        let state = last.map_or(State::Closed, |it| it.to);
        let refused = replay.rejected[at];
        let text = format!(
            ",'breaker.name':'catalog','breaker.state':'{state}','breaker.generation':'{}',\
             'breaker.rejected':'{refused}'}}",
            last.map_or(0, |it| it.generation),
        );
        attributes.insert(
            dataset.table.span_id(calls.span[at]).to_owned(),
            (text, refused),
        );
    }
    let bytes = std::fs::read(fixture("herd/four.csv.gz")).expect("the herd");
    let mut text = String::new();
    let mut unpacked = flate2::read::GzDecoder::new(bytes.as_slice());
    unpacked.read_to_string(&mut text).expect("text");
    let mut rows = csv::Reader::from_reader(text.as_bytes());
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(rows.headers().expect("a header"))
        .expect("memory");
    for row in rows.records() {
        let row = row.expect("a row");
        let Some((text, refused)) = attributes.get(&row[2]) else {
            out.write_record(&row).expect("memory");
            continue;
        };
        let mut cells: Vec<String> = row.iter().map(str::to_owned).collect();
        cells[11].pop();
        cells[11].push_str(text);
        if !refused || with_refusals {
            out.write_record(&cells).expect("memory");
        }
    }
    let mut reader = Reader::new(Limits::default());
    reader
        .push(&out.into_inner().expect("memory"))
        .expect("a readable file");
    let reading = reader.finish().expect("a readable file");
    Dataset::new("recording".to_owned(), None, reading)
}

/// Checks every state and when it began; an opening lies where the calls leave room for it. Gives how
/// many openings are told to the nanosecond, and how many there are.
fn check(what: &str, observed: &Observed, replay: &Replay) -> (usize, usize) {
    let (mut exact, mut openings) = (0, 0);
    assert_eq!(observed.breakers.len(), replay.breakers.len());
    for (seen, real) in observed.breakers.iter().zip(&replay.breakers) {
        assert_eq!(seen.instance, real.instance);
        let told = format!("{what}: {:#?}\n{:#?}", seen.states, real.transitions);
        assert_eq!(seen.states[0].state, Seen::Closed, "{told}");
        assert_eq!(seen.states.len(), real.transitions.len() + 1, "{told}");
        for (stretch, real) in seen.states[1..].iter().zip(&real.transitions) {
            assert_eq!(stretch.state.as_str(), real.to.as_str(), "{told}");
            assert!(stretch.sure == 1.0, "{told}");
            if real.to == State::Open {
                // A good result may be the one that trips, when it makes up the minimum.
                let early = stretch.from - 100_000_000;
                assert!((early..=stretch.latest).contains(&real.at), "{told}");
                exact += usize::from(stretch.from == real.at);
                openings += 1;
            } else if real.from == State::Ramping {
                // Its last step ends by the clock: the next call sees it.
                assert!(stretch.from >= real.at, "{told}");
            } else {
                assert_eq!(stretch.from, real.at, "{told}");
            }
        }
    }
    (exact, openings)
}

#[test]
fn recorded_states_are_read_exactly() {
    let dataset = herd();
    let herd = "window=100,min=20,fail=50%,open=60s,probes=10";
    let cases = [
        (herd, 12),
        ("window=100,min=50,fail=50%,open=20s,probes=5", 10),
        (
            "window=20,min=10,fail=50%,open=90s,probes=3,judge=first-failure",
            8,
        ),
        (
            "window=100,min=20,fail=50%,open=60s,probes=10,ramp=10%/50%@5s",
            8,
        ),
    ];
    for (settings, at_least) in cases {
        let replay = replayed(&dataset, settings);
        for with_refusals in [true, false] {
            let what = format!("{settings}, refusals {with_refusals}");
            let recorded = recording(&dataset, &replay, with_refusals);
            let calls = &recorded.edges[0].calls;
            let refused = calls.count(CallOutcome::Rejected) as u64;
            let expected = if with_refusals { replay.withheld } else { 0 };
            assert_eq!(refused, expected, "{what}");
            let mut observed = observe(&recorded.table, calls, false);
            let (exact, openings) = check(&what, &observed, &replay);
            assert!(
                openings >= at_least && exact > 0,
                "{what}: {exact} of {openings}"
            );
            if settings == herd {
                // The settings that explain it tell which of the results opened it.
                let fits = observed::fit(&mut observed, calls);
                assert_eq!(fits[0].agreement, 1.0, "{what}");
                assert_eq!(check(&what, &observed, &replay), (openings, openings));
            }
        }
    }
}

/// A minute of calls of one process, each with what it records: `START+DURATION STATE/GENERATION`, in
/// milliseconds; `x` for refused, `-` for failed.
fn told(calls: &[&str]) -> Vec<(i64, Seen)> {
    let line = |(at, text): (usize, &&str)| {
        let mut words = text.split(' ');
        let (times, state) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let flag = words.next().unwrap_or("");
        let outcome = match flag {
            "x" => "rejected",
            "-" => "failed",
            _ => "",
        };
        let refused = u8::from(flag == "x");
        format!("t{at} 1 - web client {times} {outcome} >api %{state}/{refused}/api\n")
    };
    let text: String = calls.iter().enumerate().map(line).collect();
    let dataset = dataset(&text);
    let observed = observe(&dataset.table, &dataset.edges[0].calls, false);
    let states = &observed.breakers[0].states;
    assert!(
        states.windows(2).all(|pair| pair[0].to == pair[1].from),
        "{states:#?}"
    );
    let ends = (states[0].from, states[states.len() - 1].to);
    assert_eq!(ends, (observed.from, observed.to), "{states:#?}");
    states
        .iter()
        .map(|it| (it.from / 1_000_000, it.state))
        .collect()
}

/// Calls, and the states that follow.
type Case = (&'static [&'static str], &'static [(i64, Seen)]);

#[test]
fn states_follow_from_generations() {
    use Seen::{Closed, HalfOpen, Open, Ramping, Unknown};
    let cases: &[Case] = &[
        // Tripped by the failure that ended at 30; the refusals tell that it was no later than 40.
        (
            &[
                "0+10 closed/0",
                "20+10 closed/0 -",
                "40+0 open/1 x",
                "2000+10 half_open/2",
                "2020+1 closed/3",
            ],
            &[(0, Closed), (30, Open), (2000, HalfOpen), (2010, Closed)],
        ),
        // Refusals are no spans: the generation that lacks was open.
        (
            &[
                "0+10 closed/0",
                "20+10 closed/0 -",
                "2000+10 half_open/2 -",
                "4000+10 half_open/4",
            ],
            &[
                (0, Closed),
                (30, Open),
                (2000, HalfOpen),
                (2010, Open),
                (4000, HalfOpen),
            ],
        ),
        // The first failure decides although another probe is out.
        (
            &[
                "0+10 half_open/2",
                "1+5000 half_open/2",
                "2+30 half_open/2 -",
                "50+0 open/3 x",
            ],
            &[(0, HalfOpen), (32, Open)],
        ),
        // The closing is not before the last probe's result; ramps end when they are seen to have ended.
        (
            &[
                "0+10 half_open/2",
                "1+30 half_open/2",
                "40+1 ramping/3",
                "60+1 closed/4",
            ],
            &[(0, HalfOpen), (31, Ramping), (60, Closed)],
        ),
        // A span that begins a little later than the call that was admitted before it.
        (
            &[
                "0+10 closed/0 -",
                "20+0 open/1 x",
                "21+5 closed/0",
                "22+0 open/1 x",
            ],
            &[(0, Closed), (10, Open)],
        ),
        // The process starts anew; nobody knows when.
        (
            &[
                "0+10 closed/4",
                "20+0 open/5 x",
                "900+1 closed/0",
                "950+1 closed/0",
            ],
            &[(0, Closed), (10, Open), (20, Unknown), (900, Closed)],
        ),
        // Too much is missing between them.
        (
            &["0+10 closed/0", "5000+10 closed/9"],
            &[(0, Closed), (0, Unknown), (5000, Closed)],
        ),
        // States without generations.
        (
            &[
                "0+10 closed/",
                "20+10 closed/ -",
                "40+0 open/ x",
                "2000+10 half_open/",
                "2020+1 closed/",
            ],
            &[(0, Closed), (30, Open), (2000, HalfOpen), (2010, Closed)],
        ),
        // A state that does not exist tells nothing, nor does a span without any.
        (
            &["0+10 closed/0", "10+10 ajar/7", "20+10 /", "30+10 closed/0"],
            &[(0, Closed)],
        ),
    ];
    for (calls, expected) in cases {
        assert_eq!(told(calls), *expected, "{calls:?}");
    }
}

/// Around the call in the same service, as `breaker.call` is; a refused one has no client span in it.
#[test]
fn the_span_around_a_call_tells_its_state() {
    let dataset = dataset(
        "a 1 - web internal 0+12 %closed/0/0/stock
         a 2 1 web client 1+10
         a 3 2 api server 2+8
         a 4 1 web client 1+10 :other
         a 5 4 cart server 2+8
         b 1 - web server 15+100
         b 2 1 web internal 20+0 rejected %open/1/1/stock
         c 1 - web internal 40+12 %half_open/2/0/stock
         c 2 1 web client 41+10
         c 3 2 api server 42+8
         d 1 - web internal 60+12 %closed/0/0/cart
         d 2 1 web client 61+10 :other
         d 3 2 cart server 62+8
         e 1 - web internal 80+0 rejected %open/1/1/cart",
    );
    let edge = |to: &str| {
        let found = dataset.edges.iter().find(|it| it.is_named("web", to));
        &found.unwrap_or_else(|| panic!("no edge to {to}")).calls
    };
    let outcomes = |to| edge(to).outcome.clone();
    use CallOutcome::{Rejected, Success};
    assert_eq!(outcomes("api"), [Success, Rejected, Success]);
    assert_eq!(outcomes("cart"), [Success, Success, Rejected]);
    let observed = observe(&dataset.table, edge("api"), false);
    let states: Vec<_> = observed.breakers[0]
        .states
        .iter()
        .map(|it| (it.from / 1_000_000, it.state))
        .collect();
    // Since the first call, and with the span around the call.
    assert_eq!(
        states,
        [(1, Seen::Closed), (11, Seen::Open), (40, Seen::HalfOpen)]
    );
    assert_eq!(observed.refused, [false, true, false]);
}

#[test]
fn whether_a_file_records_breakers_is_told() {
    let plain = table("a 1 - web client 0+10 >api\n b 1 - web client 20+10 >api");
    assert!(!plain.records_breakers());
    let mixed = table("a 1 - web client 0+10 >api\n b 1 - web client 20+10 >api %closed/3/0/x");
    assert!(mixed.records_breakers());
    let told: Vec<_> = (0..2)
        .map(|at| {
            mixed
                .recorded(herdscope::spans::SpanIdx(at))
                .map(|it| (it.generation, it.name))
        })
        .collect();
    assert_eq!(told, [None, Some((Some(3), "x"))]);
}

#[test]
fn columns_by_the_attributes_names_are_read() {
    let csv = "trace_id,span_id,service,start_ns,duration_ns,breaker.generation,breaker.state\n\
               a,1,web,1544712660000000000,500,7,half_open\n\
               b,2,web,1544712661000000000,500,,\n";
    let mut reader = Reader::new(Limits::default());
    reader.push(csv.as_bytes()).expect("readable");
    let it = Dataset::new("csv".to_owned(), None, reader.finish().expect("readable"));
    let told: Vec<_> = (0..2)
        .map(|at| it.table.recorded(herdscope::spans::SpanIdx(at)))
        .map(|it| it.map(|it| (it.state, it.generation, it.rejected)))
        .collect();
    assert_eq!(told, [Some((Some(State::HalfOpen), Some(7), false)), None]);
}

#[test]
fn attributes_of_json_are_read() {
    let attribute = |key: &str, value: &str| format!(r#"{{"key":"{key}","value":{{{value}}}}}"#);
    let attributes = [
        attribute("breaker.name", r#""stringValue":"api""#),
        attribute("breaker.state", r#""stringValue":"open""#),
        attribute("breaker.generation", r#""intValue":"7""#),
        attribute("breaker.rejected", r#""boolValue":true"#),
    ];
    let text = format!(
        r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"web"}}}}]}},
        "scopeSpans":[{{"spans":[{{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174",
        "name":"breaker.call","kind":1,"startTimeUnixNano":"1544712660000000000",
        "endTimeUnixNano":"1544712660000000500","attributes":[{}]}}]}}]}}]}}"#,
        attributes.join(",")
    );
    let mut reader = Reader::new(Limits::default());
    reader.push(text.as_bytes()).expect("readable");
    let it = Dataset::new("json".to_owned(), None, reader.finish().expect("readable"));
    let recorded = it
        .table
        .recorded(herdscope::spans::SpanIdx(0))
        .expect("a record");
    let told = (
        recorded.state,
        recorded.generation,
        recorded.rejected,
        recorded.name,
    );
    assert_eq!(told, (Some(State::Open), Some(7), true, "api"));
    assert_eq!(it.table.outcome[0], herdscope::outcome::Outcome::Rejected);
}

/// Of several breakers in one process the one that most calls passed is told of.
#[test]
fn the_breaker_that_most_calls_passed_counts() {
    let dataset = dataset(
        "a 1 - web client 0+1 >api %closed/0/0/b
         b 1 - web client 10+1 >api %open/7/0/a
         c 1 - web client 20+1 >api %closed/0/0/b
         d 1 - web client 30+1 >api %open/9/0/c",
    );
    let observed = observe(&dataset.table, &dataset.edges[0].calls, false);
    let states: Vec<Seen> = observed.breakers[0]
        .states
        .iter()
        .map(|it| it.state)
        .collect();
    assert_eq!(states, [Seen::Closed]);
}
