//! The breaker's pane: whatever sets it, the page shows what the library replays with the same settings.

use halfopen::presets;
use herdscope::format;
use herdscope::messages::{BandState, Scene};
use herdscope::view::View;
use herdscope_browser_tests::{Page, Result, Truth, suite};
use serde_json::json;

suite!(
    fields_and_sliders_change_the_replay,
    the_text_changes_the_replay,
    a_wrong_text_is_named_and_changes_nothing,
    presets_are_what_they_say,
    one_breaker_for_all_and_lanes_for_each,
    another_edge_is_another_replay,
);

fn open_pane(page: &Page) -> Result<()> {
    page.show("/#v=1&src=sample:incident&pane=breaker")?;
    page.must_be_silent()?;
    must_be_the_librarys(page)
}

/// Everything that the page says about the replay of the sample, against the library's own.
fn must_be_the_librarys(page: &Page) -> Result<()> {
    must_be_as(page, Truth::of_sample()?)
}

fn must_be_as(page: &Page, truth: &Truth) -> Result<()> {
    page.wait_until_still()?;
    let view = page.view()?;
    let scene = truth.scene(&view);
    let replay = &scene.replay;
    let figures = [
        ("withheld", format::count(replay.withheld)),
        ("of calls", format::count(replay.calls)),
        ("transitions", format::count(replay.transitions)),
        ("open", share_in(&scene, BandState::Open)),
        ("half-open", share_in(&scene, BandState::HalfOpen)),
        ("closed", share_in(&scene, BandState::Closed)),
        ("ramping", share_in(&scene, BandState::Ramping)),
    ];
    for (name, expected) in figures {
        let shown = page.string(&format!(
            "document.querySelector('[data-figure=\"{name}\"]').firstChild.textContent.trim()"
        ))?;
        assert_eq!(shown, expected, "{name}, with {:?}", view.breaker);
    }
    let share = format::share(replay.withheld, replay.calls);
    assert!(page.text("[data-figure=withheld]")?.contains(&share));
    let cards = page.number("document.querySelectorAll('#herds-list > button').length")?;
    assert_eq!(cards, replay.attempts.len() as f64, "{:?}", view.breaker);
    Ok(())
}

/// The share of the time in view that breakers are in a state.
fn share_in(scene: &Scene, state: BandState) -> String {
    let bands = scene.replay.lanes.iter().flat_map(|lane| &lane.bands);
    let (mut inside, mut whole) = (0, 0);
    for band in bands {
        let took = band.to.abs_diff(band.from);
        whole += took;
        inside += if band.state == state { took } else { 0 };
    }
    format::share(inside, whole)
}

fn has_setting(view: &View, setting: &str) -> bool {
    let breaker = view.breaker.as_deref().unwrap_or_default();
    breaker.split(',').any(|it| it == setting)
}

fn fields_and_sliders_change_the_replay(page: &mut Page) -> Result<()> {
    open_pane(page)?;
    let mut before = page.picture()?;
    for (field, value, setting, changes_states) in [
        ("[data-slider=probes]", "3", "probes=3", true),
        ("#setting-open", "30s", "open=30s", true),
        ("#setting-window", "10s/1s", "window=10s/1s", true),
        (
            "#setting-judge",
            "first-failure",
            "judge=first-failure",
            false,
        ),
        ("#setting-ramp", "30s", "ramp=30s", true),
        ("[data-slider=fail]", "80", "fail=80%", true),
    ] {
        page.set(field, value)?;
        page.wait_for_view(setting, |view| has_setting(view, setting))?;
        must_be_the_librarys(page)?;
        let after = page.picture()?;
        let states = (
            before.canvas("#states-canvas")?,
            after.canvas("#states-canvas")?,
        );
        let differing = states.0.differing(states.1);
        assert!(
            !changes_states || differing > 0,
            "{setting} changes nothing"
        );
        assert_eq!(before.spans()?.differing(after.spans()?), 0, "{setting}");
        before = after;
    }
    page.must_be_silent()
}

fn the_text_changes_the_replay(page: &mut Page) -> Result<()> {
    open_pane(page)?;
    // By hand once, key by key.
    page.click("#breaker-text")?;
    page.press("Ctrl+a")?;
    page.press("Delete")?;
    page.type_into("#breaker-text", "open=15s probes=5, fail=40%")?;
    for setting in ["open=15s", "probes=5", "fail=40%"] {
        page.wait_for_view(setting, |view| has_setting(view, setting))?;
    }
    must_be_the_librarys(page)?;
    for (text, setting) in [
        ("window=60s/1s,min=10,open=30s,probes=4", "window=60s/1s"),
        ("consecutive=5, open=5s", "consecutive=5"),
        ("timeout=100ms open=10s min=5", "timeout=100ms"),
        ("ramp=10%/50%/100%@5s", "ramp=10%/50%/100%@5s"),
    ] {
        page.write("#breaker-text", text)?;
        page.wait_for_view(setting, |view| has_setting(view, setting))?;
        must_be_the_librarys(page)?;
        // What the person wrote stays as long as it is being written.
        assert_eq!(
            page.string("document.getElementById('breaker-text').value")?,
            text
        );
        assert!(!page.is_shown("#breaker-problem")?);
    }
    // Left, it is the canonical text.
    page.run("document.activeElement.blur()", Vec::new())?;
    page.click("#tab-breaker")?;
    let canonical = page.view()?.breaker.unwrap_or_default();
    page.run(
        "document.getElementById('breaker-text').dispatchEvent(new Event('change', { bubbles: true }))",
        Vec::new(),
    )?;
    page.wait_for(&format!(
        "document.getElementById('breaker-text').value == {}",
        json!(canonical)
    ))
}

fn a_wrong_text_is_named_and_changes_nothing(page: &mut Page) -> Result<()> {
    open_pane(page)?;
    page.write("#breaker-text", "open=20s,probes=4")?;
    page.wait_for_view("open=20s", |view| has_setting(view, "open=20s"))?;
    let (view, picture) = (page.view()?, page.picture()?);
    for (text, key) in [
        ("fial=50%", "fial"),
        ("fail=500%", "fail"),
        ("open=soon", "open"),
        ("window=0", "window"),
        ("probes=", "probes"),
        ("judge=court", "judge"),
        ("nonsense", "nonsense"),
    ] {
        page.write("#breaker-text", text)?;
        page.wait_for("!document.getElementById('breaker-problem').hidden")?;
        let problem = page.text("#breaker-problem")?;
        assert!(problem.contains(key), "`{key}` is not in `{problem}`");
        assert!(problem.ends_with('.') && problem.len() < 200, "{problem}");
        assert_eq!(page.view()?, view, "{text}");
        page.picture()?.must_be(&picture, text)?;
    }
    page.write("#setting-fail", "500%")?;
    page.wait_for("!document.getElementById('setting-fail-problem').hidden")?;
    assert!(page.text("#setting-fail-problem")?.contains("fail"));
    assert_eq!(page.view()?, view);

    page.write("#breaker-text", "open=20s,probes=4")?;
    page.wait_for("document.getElementById('breaker-problem').hidden")?;
    page.picture()?.must_be(&picture, "after a right text")?;
    page.must_be_silent()
}

fn presets_are_what_they_say(page: &mut Page) -> Result<()> {
    open_pane(page)?;
    let mut n = 0;
    for preset in presets::ALL {
        let button = format!("[data-preset='{}']", preset.name);
        page.click(&button)?;
        page.wait_for_view(preset.name, |view| {
            view.breaker.as_deref() == Some(preset.text)
        })?;
        must_be_the_librarys(page)?;
        assert_eq!(
            page.string("document.getElementById('breaker-text').value")?,
            preset.text
        );
        assert_eq!(page.text("#preset-note")?, preset.note);
        assert_eq!(
            page.string(&format!(
                "document.querySelector(\"{button}\").getAttribute('aria-pressed')"
            ))?,
            "true"
        );
        n += 1;
    }
    assert_eq!(n, 5);
    Ok(())
}

fn one_breaker_for_all_and_lanes_for_each(page: &mut Page) -> Result<()> {
    open_pane(page)?;
    let height = page.rect("#states")?.height;
    page.click("#lanes")?;
    page.wait_for_view("lanes", |view| view.lanes)?;
    must_be_the_librarys(page)?;
    assert!(page.rect("#states")?.height > height);
    assert!(page.text("#breaker-about")?.contains("4 breakers"));
    page.click("#shared")?;
    page.wait_for_view("one breaker", |view| view.shared)?;
    must_be_the_librarys(page)?;
    assert!(
        page.text("#breaker-about")?
            .contains("real ones trip apart")
    );
    Ok(())
}

/// Two callees: one goes down in the middle, the other is well.
fn two_edges() -> String {
    let mut csv =
        "trace_id,span_id,parent_id,start_ms,duration_ms,service,name,kind,status\n".to_owned();
    for at in 0..400 {
        let (start, status) = (
            1_790_409_600_000_i64 + at * 250,
            if at < 200 { "OK" } else { "ERROR" },
        );
        csv.push_str(&format!(
            "t{at},c{at},,{start},20,shop,GET /stock,client,{status}\n"
        ));
        csv.push_str(&format!(
            "t{at},s{at},c{at},{start},15,stock,GET /stock,server,{status}\n"
        ));
        if at % 2 == 0 {
            csv.push_str(&format!(
                "t{at},d{at},,{start},20,shop,GET /price,client,OK\n"
            ));
            csv.push_str(&format!(
                "t{at},p{at},d{at},{start},15,price,GET /price,server,OK\n"
            ));
        }
    }
    csv
}

fn another_edge_is_another_replay(page: &mut Page) -> Result<()> {
    let csv = two_edges();
    let truth = Truth::of(csv.as_bytes())?;
    let edges = &truth.summary.edges;
    assert_eq!(edges.len(), 2, "{edges:?}");
    open_pane(page)?;
    page.paste(&csv)?;
    page.wait_for_file("pasted text")?;
    let withheld = |view: &View| truth.scene(view).replay.withheld;
    let first = page.view()?;
    must_be_as(page, &truth)?;
    assert!(withheld(&first) > 0, "the breaker on {:?} opens", edges[0]);

    page.set("#edge", &format!("{} → {}", edges[1].from, edges[1].to))?;
    let named = (edges[1].from.clone(), edges[1].to.clone());
    let second = page.wait_for_view("the edge", |view| view.edge.as_ref() == Some(&named))?;
    must_be_as(page, &truth)?;
    assert_eq!(
        withheld(&second),
        0,
        "the breaker on {:?} stays closed",
        edges[1]
    );
    assert!(page.text("#breaker-about")?.contains(&edges[1].to));
    Ok(())
}
