//! Questions to ClickHouse: what a person names stays in its quotes, and what an answer means.

use herdscope::clickhouse::{Asked, Counts, Ending, Query, SCHEME, refused, too_many};
use herdscope::view::{FileRef, Source, View};
use proptest::prelude::*;

/// What a text of SQL consists of, by ClickHouse's rules for quotes.
#[derive(Debug, PartialEq)]
enum Piece {
    Plain(String),
    Quoted(char, String),
}

fn pieces(sql: &str) -> Option<Vec<Piece>> {
    let mut all = Vec::new();
    let mut plain = String::new();
    let mut chars = sql.chars().peekable();
    while let Some(c) = chars.next() {
        if !matches!(c, '\'' | '`' | '"') {
            plain.push(c);
            continue;
        }
        all.push(Piece::Plain(std::mem::take(&mut plain)));
        let mut text = String::new();
        loop {
            match chars.next()? {
                '\\' => text.push(match chars.next()? {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    '0' => '\0',
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'a' => '\u{7}',
                    'v' => '\u{b}',
                    // Two or more digits follow: nothing that is written here.
                    'x' | 'N' => return None,
                    other => other,
                }),
                end if end == c && chars.peek() == Some(&c) => text.extend(chars.next()),
                end if end == c => break,
                other => text.push(other),
            }
        }
        all.push(Piece::Quoted(c, text));
    }
    all.push(Piece::Plain(plain));
    Some(all)
}

/// Texts that try to get out.
fn hostile() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("'".to_owned()),
        Just("\\".to_owned()),
        Just("`".to_owned()),
        Just("\"".to_owned()),
        Just("\\'".to_owned()),
        Just("') OR 1 -- ".to_owned()),
        Just("*/;\0\n\r\t".to_owned()),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

fn query(table: &str, services: &[String]) -> Query {
    Query {
        table: table.to_owned(),
        from: Some(1),
        services: services.to_vec(),
        sample: Some(4),
        ..Query::default()
    }
}

proptest! {
    #[test]
    fn services_stay_in_their_quotes(names in prop::collection::vec(hostile(), 1..4)) {
        let places: Vec<String> = (0..names.len()).map(|n| format!("place {n}")).collect();
        let (meant, tame) = (query("t", &names), query("t", &places));
        for (meant, tame) in [(meant.spans(), tame.spans()), (meant.how_many(), tame.how_many())] {
            let mut expected = pieces(&tame).expect("whole quotes");
            for piece in &mut expected {
                if let Piece::Quoted('\'', text) = piece
                    && let Some(n) = text.strip_prefix("place ")
                {
                    *text = names[n.parse::<usize>().expect("a number")].clone();
                }
            }
            prop_assert_eq!(pieces(&meant), Some(expected));
        }
    }

    #[test]
    fn tables_stay_in_their_quotes(database in hostile(), table in hostile()) {
        let database = database.replace('.', "");
        let meant = query(&format!("{database}.{table}"), &[]).spans();
        let mut expected = pieces(&query("base.spans", &[]).spans()).expect("whole quotes");
        for piece in &mut expected {
            match piece {
                Piece::Quoted('`', text) if text == "base" => *text = database.clone(),
                Piece::Quoted('`', text) if text == "spans" => *text = table.clone(),
                _ => {}
            }
        }
        prop_assert_eq!(pieces(&meant), Some(expected));
    }

    #[test]
    fn a_link_says_all_that_is_asked(
        url in "https?://.{1,20}",
        user in hostile(),
        table in hostile(),
        times in prop::array::uniform2(prop::option::of(any::<i64>())),
        services in prop::collection::vec(hostile(), 0..3),
        sample in prop::option::of(1u32..),
    ) {
        let [from, to] = times;
        let query = Query { table, from, to, services, sample, ..Query::default() };
        let asked = Asked { url, user, query };
        let text = asked.to_string();
        prop_assert!(text.starts_with(SCHEME));
        prop_assert_eq!(Asked::parse(&text), Some(asked.clone()));
        let source = Some(Source::ClickHouse(Box::new(asked)));
        let view = View {
            files: vec![FileRef { source, told: None }],
            ..View::default()
        };
        prop_assert_eq!(View::parse(&view.to_hash()), (view, Vec::new()));
    }

    #[test]
    fn any_text_is_asked_or_not(text in ".{0,60}") {
        let _ = Asked::parse(&format!("{SCHEME}{text}"));
    }

    #[test]
    fn a_sample_fits(spans in 0u64..10_000_000_000, most in 10u64..50_000_000) {
        match (Counts { spans, traces: 1 }).sampling(most) {
            None => prop_assert!(spans <= most),
            Some(rate) => {
                prop_assert!(spans > most && rate > 1);
                prop_assert!(spans / u64::from(rate) <= most);
                // No more is left out than has to be.
                prop_assert!(spans / u64::from(rate - 1) > most - most / 10 - 1);
            }
        }
    }
}

#[test]
fn a_window_is_whole_nanoseconds_and_takes_whole_traces() {
    let query = Query {
        from: Some(1_774_745_970_000_000_001),
        to: Some(1_774_746_030_000_000_000),
        ..Query::default()
    };
    let sql = query.spans().replace("\n    ", " ");
    let inner = "TraceId GLOBAL IN (SELECT TraceId FROM `otel_traces` \
                 WHERE Timestamp >= fromUnixTimestamp64Nano(toInt64(1774745970000000001)) \
                 AND Timestamp < fromUnixTimestamp64Nano(toInt64(1774746030000000000)))";
    let outer = "WHERE Timestamp >= fromUnixTimestamp64Nano(toInt64(1774745670000000001)) \
                 AND Timestamp < fromUnixTimestamp64Nano(toInt64(1774746330000000000)) AND TraceId";
    assert!(sql.contains(inner) && sql.contains(outer), "{sql}");
    assert!(
        !sql.contains("cityHash64") && sql.contains("1 AS SampleRate"),
        "{sql}"
    );
    // Beyond what a time can be, it stays where it is.
    let ends = Query {
        from: Some(i64::MIN),
        to: Some(i64::MAX),
        ..Query::default()
    };
    assert!(ends.spans().contains("toInt64(-9223372036854775808)"));
}

#[test]
fn all_of_a_table_needs_no_choice_of_traces() {
    let sql = Query::default().spans();
    assert!(
        !sql.contains("IN (SELECT") && !sql.contains("WHERE"),
        "{sql}"
    );
    let sampled = Query {
        sample: Some(3),
        ..Query::default()
    }
    .spans();
    assert!(
        sampled.contains("WHERE cityHash64(TraceId) % 3 = 0"),
        "{sampled}"
    );
    assert!(sampled.contains("3 AS SampleRate"), "{sampled}");
}

#[test]
fn the_query_says_its_limits() {
    let query = Query {
        max_rows: 5_000_000,
        max_seconds: 60,
        ..Query::default()
    };
    for sql in [query.spans(), query.how_many()] {
        for limit in [
            "readonly = 2",
            "max_result_rows = 5000000",
            "result_overflow_mode = 'throw'",
            "max_execution_time = 60",
            "timeout_overflow_mode = 'throw'",
        ] {
            assert!(sql.contains(limit), "{limit}: {sql}");
        }
    }
}

#[test]
fn counts_are_read() {
    let counts = Counts {
        spans: 1904,
        traces: 553,
    };
    assert_eq!(Counts::parse("1904\t553\n"), Some(counts));
    for other in ["", "Ok.\n", "1904", "<html>\t</html>", "-1\t2"] {
        assert_eq!(Counts::parse(other), None, "{other}");
    }
    assert_eq!(counts.sampling(1904), None);
    assert_eq!(counts.sampling(1000), Some(3));
}

#[test]
fn too_many_spans_are_refused_with_a_rate() {
    let counts = Counts {
        spans: 12_000_000,
        traces: 2_000_000,
    };
    let query = Query {
        max_rows: 5_000_000,
        ..Query::default()
    };
    let sentence = too_many(counts, &query).expect("too many");
    assert!(
        sentence.contains("12,000,000 spans in about 2,000,000 traces"),
        "{sentence}"
    );
    assert!(sentence.contains("1 whole trace in 3"), "{sentence}");
    // Where a sample was counted already, the rates multiply.
    let sampled = Query {
        sample: Some(2),
        ..query
    };
    let sentence = too_many(counts, &sampled).expect("too many");
    assert!(sentence.contains("1 whole trace in 6"), "{sentence}");
    assert_eq!(too_many(counts, &Query::default()), None);
}

#[track_caller]
fn ending(body: &str, sample: Option<u32>) -> Result<(), String> {
    // However it is cut.
    let query = Query {
        sample,
        ..Query::default()
    };
    let check = |step: usize| {
        let mut ending = Ending::default();
        for piece in body.as_bytes().chunks(step) {
            ending.push(piece);
        }
        ending.check(&query)
    };
    let result = check(1 << 20);
    for step in [1, 7, 16 << 10] {
        assert_eq!(check(step), result);
    }
    result
}

const HEADER: &str = "\"Timestamp\",\"Duration\",\"SampleRate\"\n";

#[test]
fn a_whole_answer_is_known_by_its_end() {
    let rows = "\"2026-01-01 00:00:00.000000000Z\",5,4\n";
    let whole = format!("{HEADER}{}", rows.repeat(5_000));
    assert_eq!(ending(HEADER, Some(4)), Ok(()));
    assert_eq!(ending(&whole, Some(4)), Ok(()));
    assert_eq!(ending(&whole.replace('\n', "\r\n"), Some(4)), Ok(()));
    assert_eq!(
        ending(
            "\"SampleRate\"\n\"Code: 60. DB::Exception: said of a span\",1\n",
            None
        ),
        Ok(())
    );
    for cut in [
        &whole[..whole.len() - 2],
        &whole[..whole.len() - 9],
        &HEADER[..9],
        "",
    ] {
        let sentence = ending(cut, Some(4)).expect_err("cut");
        assert!(sentence.contains("ends in the middle"), "{sentence}");
    }
}

#[test]
fn an_exception_in_the_middle_is_told() {
    let rows = format!("{HEADER}\"2026-01-01 00:00:00.000000000Z\",5,1\n");
    let exception = "Code: 241. DB::Exception: Memory limit (total) exceeded: would use 9.31 GiB. \
                     (MEMORY_LIMIT_EXCEEDED) (version 25.3.1.1 (official build))\n";
    let tagged = format!(
        "{rows}\r\n__exception__\r\nabcdefghijklmnop\r\n{exception}{} abcdefghijklmnop\r\n__exception__\r\n",
        exception.len()
    );
    // As long as what is held, so that it is let go in the middle of the exception.
    let long = rows.repeat((32 << 10) / rows.len());
    for body in [
        format!("{long}{exception}"),
        format!("{rows}{exception}"),
        format!("{rows}__exception__\r\n{exception}"),
        tagged,
    ] {
        let sentence = ending(&body, None).expect_err("an exception");
        assert!(
            sentence.starts_with("ClickHouse stopped in the middle of its answer: Memory limit")
                && sentence.contains("[code 241]")
                && sentence.ends_with("sample whole traces")
                && !sentence.contains("version"),
            "{sentence}"
        );
    }
}

#[test]
fn refusals_say_what_to_do() {
    let cases = [
        (
            404,
            "Code: 60. DB::Exception: Table default.x does not exist. (UNKNOWN_TABLE) (version 25.8.1.1)",
            "DATABASE.TABLE",
        ),
        (
            404,
            "Code: 60, e.displayText() = DB::Exception: Table default.x doesn't exist (version 21.3.1.1)",
            "DATABASE.TABLE",
        ),
        (
            403,
            "Code: 516. DB::Exception: default: Authentication failed: password is incorrect",
            "the user and the password",
        ),
        (
            500,
            "Code: 164. DB::Exception: Cannot modify 'max_result_rows' setting in readonly mode. (READONLY)",
            "readonly = 2",
        ),
        (
            500,
            "Code: 396. DB::Exception: Limit for result exceeded, max rows: 10.00 (TOO_MANY_ROWS_OR_BYTES)",
            "a shorter time",
        ),
        (502, "<html>Bad gateway</html>", "port 8123"),
        (200, "", "port 8123"),
    ];
    for (status, body, advice) in cases {
        let sentence = refused(status, body);
        assert!(sentence.contains(advice), "{sentence}");
        assert!(
            !sentence.contains('\n') && !sentence.contains("(version"),
            "{sentence}"
        );
    }
    let long = refused(500, &"\u{7}x ".repeat(5_000));
    assert!(long.len() < 500 && !long.contains('\u{7}'), "{long}");
}

#[test]
fn a_link_to_a_clickhouse_is_readable() {
    let asked = Asked {
        url: "https://clickhouse.example:8443".to_owned(),
        user: "reader".to_owned(),
        query: Query {
            table: "otel.otel_traces".to_owned(),
            from: Some(1),
            to: Some(2),
            services: vec!["shop, web".to_owned()],
            sample: Some(4),
            ..Query::default()
        },
    };
    assert_eq!(
        asked.to_string(),
        "clickhouse:https://clickhouse.example:8443,user=reader,table=otel.otel_traces,from=1,to=2,\
         service=shop%2C%20web,sample=4"
    );
    assert_eq!(asked.name(), "otel.otel_traces at clickhouse.example:8443");
    let address = asked.address(&["a=1", "b=2"]);
    assert_eq!(address, "https://clickhouse.example:8443?a=1&b=2");

    // What is missing is as if it had not been said, what is new is passed over; a wrong time is no query.
    let least =
        Asked::parse("clickhouse:http://localhost:8123,later=1").expect("an address is enough");
    assert_eq!((least.user.as_str(), &least.query), ("", &Query::default()));
    for text in [
        "clickhouse:",
        "clickhouse:http://a,from=soon",
        "clickhouse:http://a,sample=-1",
        "file:a:1:2",
    ] {
        assert_eq!(Asked::parse(text), None, "{text}");
    }
}
