//! Links: what is printed parses back, and nothing stops the data from opening.

use herdscope::view::{ColorBy, FileMark, FileRef, Pane, Source, View, Viewport, fingerprint};
use proptest::prelude::*;

#[test]
fn a_full_view_reads_as_it_says() {
    let view = View {
        files: vec![
            FileRef {
                source: Some(Source::File(FileMark {
                    name: "Vorfall 26&9.csv".to_owned(),
                    size: 13_197_365,
                    hash: 0xdead_beef,
                })),
                told: Some("trace=Trace ID,start=when@ms,zone=+02:00".to_owned()),
            },
            FileRef {
                source: Some(Source::Url("https://host/b.json".to_owned())),
                told: None,
            },
        ],
        viewport: Some(Viewport {
            t0: -5,
            t1: 1_790_409_661_000_000_001,
            y0: -1_500,
            y1: 740_250,
        }),
        edge: Some(("shop-web".to_owned(), "catalog".to_owned())),
        breaker: Some("window=100,min=20,fail=50%,open=60s,probes=10".to_owned()),
        shared: true,
        lanes: true,
        color_by: ColorBy::Service,
        hidden: vec!["tier:0".to_owned(), "service:a b".to_owned()],
        trace: Some("b75fa26f".to_owned()),
        pane: Pane::Trace,
        replayed: Some(false),
        pool: Some(200),
        grid: [0, 1],
        simulate: Some("file,with=ramp_2m+shed,pods=4".to_owned()),
        filter: Some("web \"a&b\" -duration>=2s".to_owned()),
        rest_hidden: true,
    };
    assert_eq!(
        view.to_hash(),
        "v=1&src=file:Vorfall%2026%269.csv:13197365:00000000deadbeef\
         &as=trace=Trace%20ID,start=when@ms,zone=%2B02:00&src=https://host/b.json&t=-5..1790409661000000001&y=-1.5..740.25&edge=shop-web->catalog\
         &breaker=window=100,min=20,fail=50%25,open=60s,probes=10&shared=1&lanes=1&color=service\
         &hide=tier:0&hide=service:a%20b&trace=b75fa26f&pane=trace&of=observed&pool=200&grid=window,min&simulate=file,with=ramp_2m%2Bshed,pods=4\
         &filter=web%20%22a%26b%22%20-duration>=2s&rest=hide"
    );
    assert_eq!(View::parse(&view.to_hash()), (view, Vec::new()));
}

#[test]
fn what_cannot_be_read_is_named_and_left() {
    let cases = [
        ("t=9..1&y=0..1", "t="),
        ("t=soon..later&y=0..1", "t="),
        ("t=1..2", "only one of t and y"),
        ("t=1..2&y=0..1.2345", "y="),
        ("t=1..99999999999999999999&y=0..1", "t="),
        ("t=-9000000000000000000..9000000000000000000&y=0..1", "t="),
        ("src=ftp://host/file", "src="),
        ("grid=fail,fail", "grid="),
        ("grid=fail,wait", "grid="),
        ("pool=0", "pool="),
        ("rest=gone", "rest="),
        ("of=guessed", "of="),
        ("src=http://host/file", "src="),
        ("src=http://localhost.host/file", "src="),
        ("src=sample:../../secret", "src="),
        ("src=file:name:big:hash", "src="),
        ("edge=web", "edge="),
        ("as=start=when@min", "as="),
        ("as=colour=blue", "as="),
        ("breaker=window=none", "breaker="),
        ("shared=perhaps", "shared="),
        ("color=red", "color="),
        ("pane=window", "pane="),
        ("v=two", "v="),
        ("v=7", "newer herdscope"),
    ];
    for (hash, named) in cases {
        let (view, notices) = View::parse(hash);
        assert_eq!(view, View::default(), "{hash}");
        assert!(
            notices.iter().any(|notice| notice.contains(named)),
            "{hash}: {notices:?}"
        );
    }
}

#[test]
fn addresses_of_https_and_of_this_machine_are_sources() {
    for address in [
        "https://host/a.csv",
        "http://localhost/a.csv",
        "http://127.0.0.1:8080/a.csv",
    ] {
        let (view, notices) = View::parse(&format!("src={address}"));
        let source = Some(Source::Url(address.to_owned()));
        assert_eq!(notices, Vec::<String>::new());
        assert_eq!(view.files, [FileRef { source, told: None }]);
    }
}

#[test]
fn what_stands_after_a_source_is_about_it() {
    let (view, _) = View::parse("src=sample:a&as=zone=UTC&src=sample:b&src=sample:c&as=failed=2s");
    let told: Vec<Option<&str>> = view.files.iter().map(|it| it.told.as_deref()).collect();
    assert_eq!(told, [Some("zone=UTC"), None, Some("failed=2s")]);
    // As links had it that name the file last.
    let (view, _) = View::parse("as=zone=UTC&src=sample:a");
    assert_eq!(view.files.len(), 1);
    assert_eq!(view.files[0].told.as_deref(), Some("zone=UTC"));
}

#[test]
fn what_this_version_does_not_know_is_passed_over() {
    for hash in ["", "#", "#v=1", "v=1&scenario=herd&&=&x"] {
        assert_eq!(View::parse(hash), (View::default(), Vec::new()), "{hash}");
    }
}

#[test]
fn fingerprints_are_fnv_1a_over_size_head_and_tail() {
    // FNV-1a of eight zero bytes, and of those with "a" behind them, by the published definition.
    let by_hand = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(14_695_981_039_346_656_037_u64, |hash, &byte| {
                (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211)
            })
    };
    assert_eq!(fingerprint(0, b"", b""), by_hand(&[0; 8]));
    assert_eq!(
        fingerprint(1, b"a", b"a"),
        by_hand(&[1, 0, 0, 0, 0, 0, 0, 0, b'a', b'a'])
    );
    assert_ne!(fingerprint(2, b"ab", b"ab"), fingerprint(3, b"ab", b"ab"));
}

proptest! {
    #[test]
    fn no_text_is_too_much(hash in ".{0,200}") {
        View::parse(&hash);
    }

    #[test]
    fn every_view_parses_back(view in views()) {
        let (parsed, notices) = View::parse(&view.to_hash());
        prop_assert_eq!(notices, Vec::<String>::new());
        prop_assert_eq!(parsed, view);
    }
}

fn views() -> impl Strategy<Value = View> {
    let name = "[^ ].{0,12}";
    let source = || {
        prop_oneof![
            "[a-z0-9-]{1,9}".prop_map(Source::Sample),
            "https://.{1,20}".prop_map(Source::Url),
            (name, any::<u64>(), any::<u64>())
                .prop_map(|(name, size, hash)| Source::File(FileMark { name, size, hash })),
        ]
    };
    let told = || prop::option::of("trace=[a-z][a-z &#+]{1,9}[a-z]");
    let named = (source(), told()).prop_map(|(source, told)| FileRef {
        source: Some(source),
        told,
    });
    let pasted = "trace=[a-z]{1,9}".prop_map(|told| {
        vec![FileRef {
            source: None,
            told: Some(told),
        }]
    });
    let files = prop_oneof![prop::collection::vec(named, 0..4), pasted];
    let edge = -(1i64 << 61)..=3i64 << 61;
    let range = (edge.clone(), edge).prop_filter("not empty", |(from, to)| from < to);
    let ranks = (-9_999_999..9_999_999i64, 1..9_999_999i64).prop_map(|(from, n)| (from, from + n));
    let viewport = (range, ranks).prop_map(|((t0, t1), (y0, y1))| Viewport { t0, t1, y0, y1 });
    let edge = ("[a-z&=%#]{1,9}", "[a-z&=%#]{1,9}");
    let pane = prop_oneof![
        Just(Pane::Herds),
        Just(Pane::Breaker),
        Just(Pane::WhatIf),
        Just(Pane::Timeouts),
        Just(Pane::Compare),
        Just(Pane::Trace)
    ];
    let replayed = prop::option::of(any::<bool>());
    let pool = prop::option::of(1..9_999u32);
    let grid = (0..8u8, 0..9u8).prop_map(|(x, y)| if x == y { [x, 8] } else { [x, y] });
    let color = prop_oneof![Just(ColorBy::Tier), Just(ColorBy::Service)];
    (
        files,
        prop::option::of(viewport),
        prop::option::of(edge),
        (
            any::<bool>(),
            any::<bool>(),
            color,
            pane,
            (replayed, pool, grid),
        ),
        prop::collection::vec(".{1,9}", 0..3),
        (
            prop::option::of(".{1,30}"),
            prop::option::of("[a-z].{0,30}"),
            any::<bool>(),
        ),
    )
        .prop_map(
            |(
                files,
                viewport,
                edge,
                (shared, lanes, color_by, pane, (replayed, pool, grid)),
                hidden,
                (trace, filter, rest_hidden),
            )| View {
                files,
                viewport,
                edge,
                breaker: None,
                shared,
                lanes,
                color_by,
                hidden,
                trace,
                pane,
                replayed,
                pool,
                grid,
                simulate: None,
                filter,
                rest_hidden,
            },
        )
}
