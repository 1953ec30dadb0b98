//! What the feature `tracing` tells a subscriber.
#![cfg(feature = "tracing")]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use halfopen::{Breaker, Builder, ManualClock};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::with_default;
use tracing::{Event, Metadata, Subscriber};

const S: i64 = 1_000_000_000;

type Fields = BTreeMap<&'static str, String>;

/// Keeps the fields of all spans and events.
#[derive(Clone, Default)]
struct Kept(Arc<Inner>);

#[derive(Default)]
struct Inner {
    next: AtomicU64,
    spans: Mutex<BTreeMap<u64, (&'static str, Fields)>>,
    events: Mutex<Vec<(tracing::Level, Fields)>>,
    entered: Mutex<Vec<(u64, &'static Metadata<'static>)>>,
    /// Fields that were recorded again.
    twice: Mutex<Vec<&'static str>>,
}

struct Read<'a>(&'a mut Fields);

impl Visit for Read<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Subscriber for Kept {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed) + 1;
        let mut fields = Fields::new();
        attributes.record(&mut Read(&mut fields));
        let name = attributes.metadata().name();
        self.0.spans.lock().unwrap().insert(id, (name, fields));
        METADATA
            .lock()
            .unwrap()
            .insert((Arc::as_ptr(&self.0) as usize, id), attributes.metadata());
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut fields = Fields::new();
        values.record(&mut Read(&mut fields));
        let mut spans = self.0.spans.lock().unwrap();
        let known = &mut spans.get_mut(&span.into_u64()).unwrap().1;
        for (name, value) in fields {
            if known.insert(name, value).is_some() {
                self.0.twice.lock().unwrap().push(name);
            }
        }
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::new();
        event.record(&mut Read(&mut fields));
        let level = *event.metadata().level();
        self.0.events.lock().unwrap().push((level, fields));
    }

    fn enter(&self, span: &Id) {
        let metadata = METADATA.lock().unwrap();
        let key = (Arc::as_ptr(&self.0) as usize, span.into_u64());
        self.0.entered.lock().unwrap().push((key.1, metadata[&key]));
    }

    fn exit(&self, _: &Id) {
        self.0.entered.lock().unwrap().pop();
    }

    fn current_span(&self) -> tracing_core::span::Current {
        match self.0.entered.lock().unwrap().last() {
            Some((id, metadata)) => tracing_core::span::Current::new(Id::from_u64(*id), metadata),
            None => tracing_core::span::Current::none(),
        }
    }
}

static METADATA: Mutex<BTreeMap<(usize, u64), &'static Metadata<'static>>> =
    Mutex::new(BTreeMap::new());

fn breaker() -> (Breaker, ManualClock) {
    let clock = ManualClock::new(0);
    let config = "window=2 min=2 open=5s probes=1".parse().unwrap();
    let breaker = Builder::with_clock(config, clock.clone())
        .name("catalog")
        .build();
    (breaker, clock)
}

fn span(kept: &Kept, nth: u64) -> (&'static str, Vec<(&'static str, String)>) {
    let spans = kept.0.spans.lock().unwrap();
    let (name, fields) = &spans[&nth];
    (name, fields.clone().into_iter().collect())
}

fn attributes(state: &str, generation: &str, rejected: &str) -> Vec<(&'static str, String)> {
    vec![
        ("breaker.generation", generation.into()),
        ("breaker.name", "catalog".into()),
        ("breaker.rejected", rejected.into()),
        ("breaker.state", state.into()),
    ]
}

#[test]
fn each_call_has_its_attributes() {
    let kept = Kept::default();
    with_default(kept.clone(), || {
        let (breaker, clock) = breaker();
        for _ in 0..3 {
            let _ = breaker.call(|| Err::<(), _>("down"));
        }
        clock.set(5 * S);
        breaker.call(|| Ok::<_, ()>(())).unwrap();
    });
    assert_eq!(*kept.0.twice.lock().unwrap(), [""; 0]);
    let seen: Vec<_> = (1..=4).map(|nth| span(&kept, nth)).collect();
    assert_eq!(
        seen,
        [
            ("breaker.call", attributes("closed", "0", "false")),
            ("breaker.call", attributes("closed", "0", "false")),
            ("breaker.call", attributes("open", "1", "true")),
            ("breaker.call", attributes("half_open", "2", "false")),
        ]
    );
}

#[test]
fn what_has_no_name_records_none() {
    let kept = Kept::default();
    with_default(kept.clone(), || {
        let breaker = Breaker::with_clock("window=1 min=1".parse().unwrap(), || 0);
        let _ = breaker.call(|| Err::<(), _>("down"));
        let own = tracing::info_span!("own", breaker.name = tracing::field::Empty);
        own.in_scope(|| breaker.acquire().unwrap_err());
    });
    let named = |fields: &Fields| fields.contains_key("breaker.name");
    let spans = kept.0.spans.lock().unwrap();
    assert!(spans.len() == 2 && !spans.values().any(|it| named(&it.1)));
    let events = kept.0.events.lock().unwrap();
    assert!(events.len() == 1 && !named(&events[0].1));
}

#[test]
fn a_span_of_your_own_gets_the_attributes_it_declares() {
    let kept = Kept::default();
    with_default(kept.clone(), || {
        let (breaker, _) = breaker();
        let span = tracing::info_span!(
            "http.client",
            breaker.state = tracing::field::Empty,
            breaker.rejected = tracing::field::Empty,
        );
        span.in_scope(|| breaker.acquire().unwrap().success());
    });
    let expected = vec![
        ("breaker.rejected", "false".to_string()),
        ("breaker.state", "closed".to_string()),
    ];
    assert_eq!(span(&kept, 1), ("http.client", expected));
}

#[test]
fn each_transition_is_an_event_with_cause_and_figures() {
    let kept = Kept::default();
    with_default(kept.clone(), || {
        let (breaker, clock) = breaker();
        for _ in 0..2 {
            let _ = breaker.call(|| Err::<(), _>("down"));
        }
        clock.set(6 * S);
        breaker.call(|| Ok::<_, ()>(())).unwrap();
    });
    let events = kept.0.events.lock().unwrap();
    let keys = [
        "breaker.at_ns",
        "breaker.calls",
        "breaker.cause",
        "breaker.failures",
        "breaker.from",
        "breaker.generation",
        "breaker.name",
        "breaker.slow",
        "breaker.to",
    ];
    let seen: Vec<String> = events
        .iter()
        .map(|(level, fields)| {
            let fields: Vec<_> = keys.iter().map(|key| fields[key].as_str()).collect();
            format!("{level} {}", fields.join(" "))
        })
        .collect();
    assert_eq!(
        seen,
        [
            "WARN 0 2 failure_rate 2 closed 1 catalog 0 open",
            "INFO 6000000000 2 wait_over 2 open 2 catalog 0 half_open",
            "INFO 6000000000 1 probes_passed 0 half_open 3 catalog 0 closed",
        ]
    );
}
