//! Filters: the language, and what it means in a table, against a list of spans and their texts.

use herdscope::dataset::Dataset;
use herdscope::filter::complete::{MOST, complete};
use herdscope::filter::{Bits, Compare, ErrorKind, Field, Filter, Matches, Status, Test};
use herdscope::outcome::Outcome;
use herdscope::rows::{Kind, NONE, UNKNOWN_DURATION};
use herdscope::spans::{SpanIdx, SpanTable};
use proptest::prelude::*;

use crate::given::dataset;

fn read(text: &str) -> Filter {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A shop: a call that timed out, one that failed otherwise, one that was rejected, one without a duration.
const SHOP: &str = "
    a 1 - web client 0+300 timed_out @web-1 :checkout
    a 2 1 cart server 10+40 :load_cart
    b 1 - web client 20+250 failed @web-2 :checkout >cart
    b 2 1 cart server 30+0.5 :load_cart
    c 1 - web client 40+5 rejected @web-1 :browse
    d 1 - batch client 50+? @job-1 :Checkout";

/// The spans that a filter means, as trace and span id.
fn means(dataset: &Dataset, text: &str) -> String {
    let table = &dataset.table;
    let matches = Matches::of(&read(text), table);
    let ids = (0..table.len()).filter(|&at| matches.bits.has(at));
    let ids = ids.map(|at| {
        let trace = table.trace_id(table.rank[at]).to_owned();
        trace + &table.span_id(SpanIdx(at as u32))
    });
    ids.collect::<Vec<_>>().join(" ")
}

#[test]
fn each_test_means_its_spans() {
    let shop = dataset(SHOP);
    let cases = [
        ("check", "a1 b1 d1"),
        ("\"load_cart\"", "a2 b2"),
        ("cart", "a2 b1 b2"),
        ("service=web", "a1 b1 c1"),
        ("service.name = WEB", "a1 b1 c1"),
        ("service!=web", "a2 b2 d1"),
        ("operation=checkout", "a1 b1 d1"),
        ("name~*out", "a1 b1 d1"),
        ("name~?heckou", ""),
        ("name~\"load?c*\"", "a2 b2"),
        ("instance=web-1", "a1 c1"),
        ("k8s.pod.name~*-1", "a1 c1 d1"),
        ("-instance~*", "a2 b2"),
        ("peer=cart", "b1"),
        ("duration>250ms", "a1"),
        ("duration>=.25s", "a1 b1"),
        ("duration < 1ms", "b2"),
        ("duration<=500us", "b2"),
        ("duration=5000000ns", "c1"),
        ("duration>=0.005m", "a1"),
        ("status=error", "a1 b1 c1"),
        ("failed", "a1 b1 c1"),
        ("status=ok", "a2 b2 d1"),
        ("status=timeout", "a1"),
        ("TIMEOUT", "a1"),
        ("status=rejected", "c1"),
        ("failed -timeout", "b1 c1"),
        ("tier=1", "a2 b2"),
        ("tier<1", "a1 b1 c1 d1"),
        ("kind=server", "a2 b2"),
        ("trace=b", "b1 b2"),
        ("trace=nowhere", ""),
        ("web timeout or batch", "a1 d1"),
        ("web (timeout or rejected)", "a1"),
        ("web (timeout or status=rejected)", "a1 c1"),
        ("web AND failed AND -(timeout or browse)", "b1"),
        ("--web", "a1 b1 c1"),
        ("-web-1 client", ""),
        ("web-1", "a1 c1"),
        ("-web-1 kind=client", "b1 d1"),
    ];
    for (text, expected) in cases {
        assert_eq!(means(&shop, text), expected, "{text}");
    }
    let failed = Matches::of(&read("status=error or tier=1"), &shop.table);
    assert_eq!((failed.spans, failed.traces), (5, 3));
    let none = Matches::of(&read("web"), &SpanTable::default());
    assert_eq!(
        (none.spans, none.traces, none.step(None, false)),
        (0, 0, None)
    );
}

#[test]
fn what_is_no_filter_is_told_with_its_place() {
    let cases = [
        ("", "", ErrorKind::Unexpected, "a word"),
        ("web or", "", ErrorKind::Unexpected, "a word"),
        ("or web", "or", ErrorKind::Unexpected, "a word"),
        ("web and and", "and", ErrorKind::Unexpected, "a word"),
        (
            "web )",
            ")",
            ErrorKind::Unexpected,
            "a parenthesis that is open",
        ),
        ("(web", "(", ErrorKind::Open, ")"),
        ("web \"cart", "\"", ErrorKind::Open, "\""),
        ("()", ")", ErrorKind::Unexpected, "a word"),
        ("web -", "", ErrorKind::Unexpected, "a word"),
        ("service=", "", ErrorKind::Unexpected, "a value"),
        (
            "service=(web or cart)",
            "(",
            ErrorKind::Unexpected,
            "a value",
        ),
        ("=web", "=", ErrorKind::Unexpected, "a word"),
        ("service>web", ">", ErrorKind::Unexpected, "= or ~"),
        ("trace~a*", "~", ErrorKind::Unexpected, "="),
        ("duration~1s", "~", ErrorKind::Unexpected, ">="),
        ("duration>200", "200", ErrorKind::Value, "200ms"),
        ("duration>fast", "fast", ErrorKind::Value, "ms"),
        (
            "duration>99999999999999m",
            "99999999999999m",
            ErrorKind::Value,
            "ms",
        ),
        ("tier=web", "web", ErrorKind::Value, "whole number"),
        ("web tier>300", "300", ErrorKind::Value, "whole number"),
        ("status=500", "500", ErrorKind::Value, "timeout"),
        (
            "kind=\"big one\"",
            "\"big one\"",
            ErrorKind::Value,
            "client",
        ),
        (
            "é http.route=/cart",
            "http.route",
            ErrorKind::NotKept,
            "a click on its span",
        ),
    ];
    for (text, got, kind, expected) in cases {
        let error = text.parse::<Filter>().expect_err(text);
        assert_eq!((error.kind, error.got.as_str()), (kind, got), "{text}");
        assert_eq!(&text[error.at.clone()], got, "{text}");
        assert!(error.to_string().contains(expected), "{text}: {error}");
    }
    for deep in ["(", "-"] {
        let error = deep.repeat(100_000).parse::<Filter>();
        assert_eq!(error.map_err(|it| it.kind), Err(ErrorKind::Deep));
    }
}

#[test]
fn what_may_follow_is_what_the_table_has() {
    let shop = dataset(SHOP);
    let cases = [
        ("", 0, "service= operation= name~ status="),
        ("web se", 4, "service= operation=browse"),
        ("-(ser", 2, "service="),
        ("service=", 8, "web cart batch"),
        ("service=C", 8, "cart batch"),
        ("service!= b", 10, "batch web"),
        ("name~", 5, "checkout load_cart browse Checkout"),
        ("operation=\"che", 10, "checkout Checkout"),
        ("instance=web-", 9, "web-1 web-2"),
        ("status=e", 7, "error timeout rejected"),
        ("duration>=", 10, "10ms 100ms 1s 3s 10s"),
        ("tier=", 5, "0 1"),
        ("kind=s", 5, "server consumer unset"),
        ("trace=", 6, ""),
        ("cart", 0, "service=cart operation=load_cart"),
        ("service=web timeo", 12, "timeout"),
        ("\"che", 0, ""),
        ("colour=", 7, ""),
    ];
    for (text, from, expected) in cases {
        let (at, found) = complete(&shop.table, text);
        assert_eq!(at, from, "{text}");
        let found = found.join(" ");
        match text {
            "" => assert!(found.starts_with(expected), "{found}"),
            "cart" => assert!(found.contains("operation=load_cart"), "{found}"),
            _ => assert_eq!(found, expected, "{text}"),
        }
    }
}

#[test]
fn matches_are_gone_through_in_both_directions() {
    let shop = dataset(SHOP);
    let matches = Matches::of(&read("failed"), &shop.table);
    let walk = |back: bool| {
        let mut at = None;
        let mut met = Vec::new();
        for _ in 0..4 {
            at = matches.step(at, back);
            met.push(at.expect("a match").0);
        }
        met
    };
    let forth = walk(false);
    assert_eq!(forth[0], forth[3]);
    let back = walk(true);
    assert_eq!([back[0], back[1], back[2]], [forth[2], forth[1], forth[0]]);
}

#[test]
fn ten_thousand_spans_in_words_of_bits() {
    let bits = Bits::of(10_000, &|at| at % 7 == 3);
    assert_eq!(bits.count(), 1_429);
    let all: Vec<usize> = (0..10_000).filter(|at| at % 7 == 3).collect();
    let mut met = Vec::new();
    let mut at = 0;
    while let Some(found) = bits.next(at) {
        met.push(found);
        at = found + 1;
    }
    assert_eq!(met, all);
    assert_eq!(bits.previous(10_000), all.last().copied());
    assert_eq!(bits.previous(3), None);
    assert_eq!(bits.inverted().count(), 10_000 - 1_429);
}

/// A filter over one span, by its texts.
fn naive(filter: &Filter, table: &SpanTable, at: usize) -> bool {
    match filter {
        Filter::Not(of) => !naive(of, table, at),
        Filter::All(of) => of.iter().all(|it| naive(it, table, at)),
        Filter::Any(of) => of.iter().any(|it| naive(it, table, at)),
        Filter::Test(test) => naive_test(test, table, at),
    }
}

fn naive_test(test: &Test, table: &SpanTable, at: usize) -> bool {
    let small = |text: &str| text.to_ascii_lowercase();
    let name = |index: u32| (index != NONE).then(|| small(table.names.get(index)));
    let text = |field: Field| match field {
        Field::Service => Some(small(table.service_name(table.service[at]))),
        Field::Operation => name(table.operation(at)),
        Field::Instance => name(table.instance(at)),
        Field::Peer => name(table.peer(at)),
        Field::Message => name(table.message(at)),
    };
    let compares = |compare: &Compare, a: u64, b: u64| match compare {
        Compare::Less => a < b,
        Compare::AtMost => a <= b,
        Compare::Equal => a == b,
        Compare::AtLeast => a >= b,
        Compare::More => a > b,
    };
    let trace = table.trace_id(table.rank[at]).to_owned();
    match test {
        Test::Word(word) => {
            let fields = [
                Field::Service,
                Field::Operation,
                Field::Instance,
                Field::Peer,
                Field::Message,
            ];
            let word_small = small(word);
            fields
                .iter()
                .filter_map(|&it| text(it))
                .any(|it| it.contains(&word_small))
                || trace == *word
        }
        Test::Is(field, value) => text(*field) == Some(small(value)),
        Test::Like(field, value) => {
            let pattern: Vec<char> = small(value).chars().collect();
            text(*field).is_some_and(|it| like(&it.chars().collect::<Vec<_>>(), &pattern))
        }
        Test::Duration(compare, ns) => {
            let duration = table.duration[at];
            duration != UNKNOWN_DURATION && compares(compare, duration, *ns)
        }
        Test::Tier(compare, tier) => compares(
            compare,
            table.tier(table.service[at]).into(),
            (*tier).into(),
        ),
        Test::Status(status) => match status {
            Status::Ok => table.outcome[at] == Outcome::Success,
            Status::Error => table.outcome[at] != Outcome::Success,
            Status::Timeout => table.outcome[at] == Outcome::TimedOut,
            Status::Rejected => table.outcome[at] == Outcome::Rejected,
        },
        Test::Kind(kind) => table.kind[at] == *kind,
        Test::Trace(id) => trace == *id,
    }
}

fn like(text: &[char], pattern: &[char]) -> bool {
    match (pattern, text) {
        ([], []) => true,
        (['*', rest @ ..], _) => like(text, rest) || !text.is_empty() && like(&text[1..], pattern),
        (['?', rest @ ..], [_, after @ ..]) => like(after, rest),
        ([c, rest @ ..], [it, after @ ..]) => c == it && like(after, rest),
        _ => false,
    }
}

fn a_test() -> impl Strategy<Value = Test> {
    let field = prop_oneof![
        Just(Field::Service),
        Just(Field::Operation),
        Just(Field::Instance),
        Just(Field::Peer),
        Just(Field::Message)
    ];
    let compare = prop_oneof![
        Just(Compare::Less),
        Just(Compare::AtMost),
        Just(Compare::Equal),
        Just(Compare::AtLeast),
        Just(Compare::More)
    ];
    let text = prop_oneof![
        "[sopit]?[0-3é]{0,2}",
        Just("or".to_owned()),
        Just("Timeout".to_owned()),
        "\\PC{0,6}"
    ];
    let status = prop_oneof![
        Just(Status::Ok),
        Just(Status::Error),
        Just(Status::Timeout),
        Just(Status::Rejected)
    ];
    let kind = prop_oneof![Just(Kind::Client), Just(Kind::Server), Just(Kind::Unset)];
    prop_oneof![
        text.clone().prop_map(Test::Word),
        (field.clone(), text).prop_map(|(field, text)| Test::Is(field, text)),
        (field, "[sopitSO*?é0-3]{0,5}").prop_map(|(field, text)| Test::Like(field, text)),
        (compare.clone(), 0..60_000_000u64).prop_map(|(it, ns)| Test::Duration(it, ns)),
        (compare, 0..4u8).prop_map(|(it, tier)| Test::Tier(it, tier)),
        status.prop_map(Test::Status),
        kind.prop_map(Test::Kind),
        "t[0-9]{0,2}".prop_map(Test::Trace),
    ]
}

fn a_filter() -> impl Strategy<Value = Filter> {
    a_test()
        .prop_map(Filter::Test)
        .prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                inner.clone().prop_map(|it| Filter::Not(Box::new(it))),
                prop::collection::vec(inner.clone(), 2..4).prop_map(Filter::All),
                prop::collection::vec(inner, 2..4).prop_map(Filter::Any),
            ]
        })
}

fn text(spans: &[(u8, u8, i64, u64, u8)]) -> String {
    let line = |(at, &(trace, service, start, duration, luck)): (usize, &_)| {
        let outcome = ["timed_out", "failed", "rejected"].get(usize::from(luck));
        let outcome = outcome.copied().unwrap_or_default();
        let kind = if luck % 2 == 0 { "client" } else { "server" };
        let more = match luck {
            4 => format!("@i{service}é"),
            5 => format!(">p{luck}"),
            _ => String::new(),
        };
        format!("t{trace} {at} - s{service} {kind} {start}+{duration} {outcome} {more} :o{luck}é\n")
    };
    spans.iter().enumerate().map(line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_filter_reads_as_it_is_printed(filter in a_filter()) {
        let printed = filter.to_string();
        prop_assert_eq!(printed.parse(), Ok(filter), "{}", printed);
    }

    #[test]
    fn any_text_is_a_filter_or_has_a_place(text in "([a-z()\"=~<>! -]|or |service=|duration>|1s|\\PC){0,24}") {
        match text.parse::<Filter>() {
            Ok(filter) => prop_assert_eq!(filter.to_string().parse(), Ok(filter)),
            Err(error) => prop_assert_eq!(text.get(error.at), Some(error.got.as_str())),
        }
        let shop = dataset(SHOP);
        let (from, found) = complete(&shop.table, &text);
        prop_assert!(text.is_char_boundary(from) && found.len() <= MOST);
    }

    #[test]
    fn it_means_what_it_says_of_each_span(
        filter in a_filter(),
        spans in prop::collection::vec((0..40u8, 0..4u8, 0..900i64, 0..60u64, 0..9u8), 1..200),
    ) {
        let dataset = dataset(&text(&spans));
        let table = &dataset.table;
        let matches = Matches::of(&filter, table);
        let expected: Vec<usize> = (0..table.len()).filter(|&at| naive(&filter, table, at)).collect();
        let met: Vec<usize> = (0..table.len() + 70).filter(|&at| matches.bits.has(at)).collect();
        let mut ranks: Vec<u32> = expected.iter().map(|&at| table.rank[at].0).collect();
        ranks.dedup();
        prop_assert_eq!((met, matches.traces), (expected, ranks.len() as u64), "{}", filter);
    }
}
