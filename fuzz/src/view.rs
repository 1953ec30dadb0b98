//! Links, whatever the text.
//!
//! Holds: a text is a view; each part of it that cannot be read is named by its key; and what is
//! printed of a view reads as that view, without a word.

use herdscope::view::View;

/// Panics where it does not hold.
pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (view, notices) = View::parse(&text);
    for notice in &notices {
        let named = notice.strip_prefix("The link's ");
        let key = named.and_then(|it| it.split_once('=')).map(|it| it.0);
        let of_all = notice.contains("only one of t and y") || notice.contains("newer herdscope");
        assert!(
            of_all || key.is_some_and(|key| text.contains(key)),
            "{text:?}: {notice}"
        );
    }
    let printed = view.to_hash();
    assert_eq!(View::parse(&printed), (view, Vec::new()), "{text:?}");
}

/// Every part, right and wrong.
pub fn seeds() -> Vec<Vec<u8>> {
    crate::owned(&[
        "",
        "#v=1",
        "v=1&src=file:Vorfall%2026%269.csv:13197365:00000000deadbeef&t=-5..1790409661000000001\
         &y=-1.5..740.25&edge=shop-web->catalog&breaker=window=100,min=20,fail=50%25,open=60s,probes=10\
         &shared=1&lanes=1&color=service&hide=tier:0&hide=service:a%20b&trace=b75fa26f&pane=trace",
        "v=1&src=sample:herd&t=0..1&y=0..0.001&pane=breaker",
        "v=1&src=https://example.org/spans.csv?a=b%26c&color=tier&lanes=0&shared=0",
        "t=-6917529027641081856..6917529027641081855&y=-9.999..9.999",
        "as=trace=Trace%20ID,start=when@ms,end=@s,duration=took%2540@us,zone=-05:30,dates=day-first",
        "as=attributes=a,attributes=%252C,attributes=,failed=2.5s,http-failed=400,logical=yes,zone=UTC",
        "as=start=@,zone=Mars&as=failed=0s&as=trace=@ms",
        "as=zone=UTC&as=",
        "t=9..1&y=0..1",
        "t=1..2",
        "t=-9000000000000000000..9000000000000000000&y=0..1",
        "src=sample:../../secret&src=file:name:big:hash",
        "edge=a-->b->c&edge=%20->%20",
        "breaker=window=none&shared=perhaps&lanes=&color=red&pane=window&v=two",
        "v=7&hide=&trace=&hide=%E4%FF%zz%&later=1&&=&x",
        "filter=web%20%22a%26b%22%20-duration%3E2s&rest=hide&rest=dim&filter=%20&rest=gone",
    ])
}
