//! The same spans of the same parts, drawn by ours and by what a person would use instead, in turns.
//!
//! A contender is done when a pixel of its canvas can be read back. One that cannot be had, dies or takes over a minute
//! gets a row that says so; one that would take that long, by its time for a tenth of the spans, is not tried.

use std::collections::BTreeMap;

use herdscope_browser_tests::{Brand, Browser, Result, Site};
use serde_json::{Value, json};
use xtask::bench::input::{Input, Options, size};
use xtask::bench::row::{Better, Row, spread};

use crate::peers;

const OURS: &str = "ours";
const PEERS: [&str; 3] = ["uPlot", "plotters-canvas", "fillRect"];

/// Parts of everything: from left to right, from top to bottom.
const VIEWS: [(&str, [f64; 4]); 2] = [
    ("everything", [0.0, 1.0, 0.0, 1.0]),
    ("a tenth", [0.45, 0.55, 0.45, 0.55]),
];

/// Whoever takes longer is out, in milliseconds.
const PATIENCE: f64 = 60_000.0;
/// Whoever takes longer has one round.
const SLOW: f64 = 10_000.0;

/// One drawing: its milliseconds, or why not.
const TURN: &str = "\
    const [name, part] = arguments; \
    return (async () => { \
      try { \
        const { loaded } = window.spans, room = document.getElementById('room'); \
        const draw = (window.drawing ??= {})[name] ??= drawers[name]?.(window.spans, room, 1600, 1000); \
        if (!draw) return 'it could not be had'; \
        const view = loaded.view(...part), begun = performance.now(); \
        const context = await draw(view, part); \
        context.getImageData(800, 500, 1, 1); \
        return performance.now() - begun; \
      } catch (why) { return String(why); } \
    })()";

/// Milliseconds, round by round, for each of the views; or why there are none.
type Rounds = std::result::Result<[Vec<f64>; VIEWS.len()], String>;

pub fn measure(options: &Options) -> Result<()> {
    let site = peers::site(options)?;
    let mut sizes = options.sizes();
    sizes.retain(|&it| it >= 100_000);
    if sizes.is_empty() {
        sizes.push(options.spans);
    }
    let mut before: BTreeMap<&str, f64> = BTreeMap::new();
    for spans in sizes {
        let input = Input::of(options, "herd", spans)?;
        let mut rounds: BTreeMap<&str, Rounds> = BTreeMap::new();
        let mut alive = vec![OURS];
        for peer in PEERS {
            match before
                .get(peer)
                .map(|ms| ms * 10.0)
                .filter(|ms| *ms > PATIENCE)
            {
                None => alive.push(peer),
                Some(ms) => {
                    let why = format!("not tried: by a tenth of the spans, {:.0} s", ms / 1e3);
                    rounds.insert(peer, Err(why));
                }
            }
        }
        // A tab that has died takes all with it: again, without who killed it.
        while let Err((peer, why)) = together(options, &site, &input, &alive, &mut rounds)? {
            if peer == OURS {
                return Err(why.into());
            }
            alive.retain(|it| *it != peer);
            rounds.insert(peer, Err(why));
        }
        let Some(Ok(ours)) = rounds.get(OURS).cloned() else {
            return Err("ours could not be drawn".into());
        };
        for peer in PEERS {
            for (at, (view, _)) in VIEWS.iter().enumerate() {
                let what = format!("{view} of {}, ms", size(spans));
                match &rounds[peer] {
                    Ok(peers) => {
                        Row::beside(what, &ours[at], peer, &peers[at], Better::Less).print()
                    }
                    Err(why) => Row::without(what, peer, why.as_str()).print(),
                }
            }
            if let Some(Ok(peers)) = rounds.get(peer) {
                before.insert(peer, spread(&peers[0])[1]);
            }
        }
    }
    Ok(())
}

/// All that are alive, in turns, in one page. The error is who broke it.
fn together(
    options: &Options,
    site: &Site,
    input: &Input,
    alive: &[&'static str],
    all: &mut BTreeMap<&'static str, Rounds>,
) -> Result<std::result::Result<(), (&'static str, String)>> {
    let browser = Browser::of(Brand::Chromium)?;
    let page = peers::open(&browser, site)?;
    peers::load(&page, input, true)?;
    for name in alive {
        all.insert(name, Ok(Default::default()));
    }
    // The first round warms up, and is all that slow ones have.
    for round in 0..=options.rounds {
        for name in alive {
            for (at, (_, part)) in VIEWS.iter().enumerate() {
                let Some(Ok(rounds)) = all.get_mut(name) else {
                    continue;
                };
                let slow = rounds[at].first().is_some_and(|it| *it > SLOW);
                if slow {
                    continue;
                }
                match page.run(TURN, vec![json!(name), json!(part)]) {
                    Ok(Value::String(why)) => {
                        all.insert(name, Err(why));
                    }
                    Ok(ms) => {
                        let ms = ms.as_f64().ok_or("no time was taken")?;
                        if round == 1 {
                            rounds[at].clear();
                        }
                        rounds[at].push(ms);
                    }
                    Err(why) => {
                        let took = format!("its tab died, or it took over a minute: {why}");
                        let sentence = took.lines().next().unwrap_or_default();
                        return Ok(Err((name, sentence.chars().take(160).collect())));
                    }
                }
            }
        }
    }
    Ok(Ok(()))
}
