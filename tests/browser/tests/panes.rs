//! The panes' answers: they say what the library works out of the same file, and a press on a figure leads to
//! its spans or puts settings into the breaker.

use std::path::Path;

use halfopen::Config;
use herdscope::format;
use herdscope::herds::Attempt;
use herdscope::messages::{Answer, Topic};
use herdscope::panes::{Act, Block, Cell};
use herdscope::view::{Pane, View, Viewport};
use herdscope::viewport::{self, Axes};
use herdscope::what_if::KEYS;
use herdscope_browser_tests::files::{self, Folder};
use herdscope_browser_tests::{Button, Held, Page, Point, Result, Truth, suite};
use serde_json::{Value, json};

suite!(
    the_observed_attempts_are_the_librarys,
    a_press_on_an_attempt_goes_to_its_time,
    keys_step_through_the_attempts,
    observed_and_replayed_attempts_are_told_apart,
    fitted_settings_go_into_the_breaker,
    timeouts_are_the_librarys_and_a_pool_is_kept_in_the_link,
    a_proposed_timeout_goes_into_the_breaker,
    a_press_on_a_figure_leads_to_its_spans,
    other_settings_are_tried_as_the_library_does,
    remedies_are_simulated_beside_the_file,
    what_is_in_view_is_compared_with_the_rest,
    another_file_has_answers_of_its_own,
    of_two_questions_the_newer_is_answered,
    names_in_a_file_are_never_markup,
);

/// With settings whose attempts are others than those that were observed.
const HERDS: &str = "/#v=1&src=sample:incident&breaker=open=30s,probes=20";
const TIMEOUTS: &str = "/#v=1&src=sample:incident&pane=timeouts";

// ---- What a pane shows, and what it should

/// The blocks as lines: a heading or a sentence is one, a row of a table is one with bars between its cells.
fn lines(blocks: &[Block]) -> Vec<String> {
    let mut lines = Vec::new();
    for block in blocks {
        match block {
            Block::Heading(text) | Block::Text(text) | Block::Note(text) => {
                lines.push(text.clone());
            }
            Block::Table { head, rows } => {
                lines.push(head.join("|"));
                let row = |row: &Vec<Cell>| {
                    let texts: Vec<&str> = row.iter().map(|it| it.text.as_str()).collect();
                    texts.join("|")
                };
                lines.extend(rows.iter().map(row));
            }
            // They are inputs, and stand apart.
            Block::Field { .. } => {}
        }
    }
    lines
}

/// The same of what an element of the page shows.
const SHOWN: &str = "[...document.querySelector(arguments[0]).children].flatMap((it) => it.matches('table') \
                     ? [...it.rows].map((row) => [...row.cells].map((cell) => cell.textContent).join('|')) \
                     : [it.textContent])";

fn shown(page: &Page, pane: &str) -> Result<Vec<String>> {
    strings(&page.run(&format!("return {SHOWN}"), vec![json!(pane)])?)
}

fn strings(found: &Value) -> Result<Vec<String>> {
    let texts = found.as_array().ok_or("the page gave no list")?;
    let text = |it: &Value| it.as_str().map(str::to_owned);
    Ok(texts.iter().filter_map(text).collect())
}

/// The figures that may be pressed, and what a press does, in the order in which they are shown.
fn acts(answer: &Answer) -> Vec<(String, Act)> {
    let rows = answer.blocks.iter().flat_map(|it| match it {
        Block::Table { rows, .. } => rows.as_slice(),
        _ => &[],
    });
    rows.flatten()
        .filter_map(|it| Some((it.text.clone(), it.act.clone()?)))
        .collect()
}

/// Presses the first figure whose act is like that; the act.
fn press(page: &Page, pane: &str, answer: &Answer, is_it: impl Fn(&Act) -> bool) -> Result<Act> {
    let acts = acts(answer);
    let at = acts.iter().position(|(_, act)| is_it(act));
    let at = at.ok_or_else(|| format!("nothing like that may be pressed: {acts:?}"))?;
    page.click(&format!("{pane} [data-act='{at}']"))?;
    Ok(acts[at].1.clone())
}

/// The figures, the story and the time of each card, against the attempts.
fn must_be_cards(page: &Page, attempts: &[Attempt]) -> Result<()> {
    let read = "[...document.querySelectorAll('#herds-list > [data-attempt]')].map((it) => it.textContent)";
    let cards = strings(&page.value(read)?)?;
    assert_eq!(cards.len(), attempts.len());
    for (card, attempt) in cards.iter().zip(attempts) {
        let time = format::time_of_day(attempt.half_open_ns, 0);
        assert!(card.contains(&time), "`{time}` is not in `{card}`");
        let result = format!("{:?}", attempt.result).to_lowercase();
        assert!(card.contains(&result), "`{result}` is not in `{card}`");
        let timed_out = format!("{}timed out", format::count(attempt.timed_out));
        assert!(
            card.contains(&timed_out),
            "`{timed_out}` is not in `{card}`"
        );
        let story = attempt.story();
        assert!(!story.is_empty());
        assert!(
            card.ends_with(&story.concat()),
            "{story:?} do not end `{card}`"
        );
    }
    Ok(())
}

/// The part of the plot that a card goes to: from 1.5 s before the first probe to 2.5 s after the last re-opening,
/// and the traces that began in it.
fn place_of(truth: &Truth, attempt: &Attempt) -> Viewport {
    const SECOND: i64 = 1_000_000_000;
    let limits = truth.summary.limits;
    let end = attempt.reopen_last_ns.or(attempt.reopen_ns);
    let end = end.map_or(attempt.half_open_ns + 30 * SECOND, |it| it + SECOND * 5 / 2);
    let time = viewport::with_time(limits, attempt.half_open_ns - SECOND * 3 / 2, end, limits);
    let ranks = truth.ask(|engine| engine.ranks(time.t0, time.t1));
    viewport::around(time.t0, time.t1, [ranks.start, ranks.end], 0.03, limits)
}

/// Which of the cards are marked.
fn pressed_cards(page: &Page) -> Result<Vec<String>> {
    let read = "[...document.querySelectorAll('#herds-list > [aria-pressed=true]')].map((it) => it.dataset.attempt)";
    strings(&page.value(read)?)
}

// ---- What happened

fn show_observed(page: &Page) -> Result<()> {
    page.show(HERDS)?;
    page.click("#herds-of [data-of=observed]")?;
    page.wait_until_still()
}

fn the_observed_attempts_are_the_librarys(page: &mut Page) -> Result<()> {
    show_observed(page)?;
    page.must_be_silent()?;
    let answer = Truth::of_sample()?.answer(&page.view()?, Topic::Happened)?;
    assert!(
        answer.attempts.len() > 1 && answer.blocks.len() > 2,
        "{answer:?}"
    );
    must_be_cards(page, &answer.attempts)?;
    assert_eq!(shown(page, "#happened")?, lines(&answer.blocks));
    Ok(())
}

fn a_press_on_an_attempt_goes_to_its_time(page: &mut Page) -> Result<()> {
    show_observed(page)?;
    let truth = Truth::of_sample()?;
    let attempts = truth.answer(&page.view()?, Topic::Happened)?.attempts;
    for at in [attempts.len() - 1, 0] {
        page.click(&format!("#herds-list [data-attempt='{at}']"))?;
        let place = place_of(truth, &attempts[at]);
        page.wait_for_viewport("the attempt's time", place)?;
        assert!(place.t0 < attempts[at].half_open_ns && attempts[at].half_open_ns < place.t1);
        assert_eq!(pressed_cards(page)?, [at.to_string()]);
        // Its story is told only now.
        assert!(page.is_shown(&format!("[data-attempt='{at}'] .story"))?);
        let other = (at + 1) % attempts.len();
        assert!(!page.is_shown(&format!("[data-attempt='{other}'] .story"))?);
    }
    // Back is where it was before.
    page.back()?;
    let last = place_of(truth, &attempts[attempts.len() - 1]);
    page.wait_for_viewport("the attempt before", last)
}

fn keys_step_through_the_attempts(page: &mut Page) -> Result<()> {
    show_observed(page)?;
    let truth = Truth::of_sample()?;
    let attempts = truth.answer(&page.view()?, Topic::Happened)?.attempts;
    let last = attempts.len() - 1;
    let step = |key: &str, at: usize| {
        page.press(key)?;
        page.wait_for_viewport(
            &format!("attempt {at} by {key}"),
            place_of(truth, &attempts[at]),
        )?;
        assert_eq!(pressed_cards(page)?, [at.to_string()]);
        Ok(())
    };
    for at in 0..=last {
        step("n", at)?;
    }
    // There is none after the last.
    step("n", last)?;
    for at in (0..last).rev() {
        step("p", at)?;
    }
    step("p", 0)?;
    // From all of the time the one before is the last.
    page.press("0")?;
    page.wait_for_view("all of it", |view| view.viewport.is_none())?;
    page.wait_until_still()?;
    step("p", last)
}

fn observed_and_replayed_attempts_are_told_apart(page: &mut Page) -> Result<()> {
    let truth = Truth::of_sample()?;
    let observed = |view: &View| truth.answer(view, Topic::Happened).map(|it| it.attempts);
    let on = "document.querySelector('#herds-of [aria-pressed=true]').dataset.of";
    // A link with settings is about what they do.
    page.show(HERDS)?;
    let view = page.view()?;
    let replayed = truth.scene(&view).replay.attempts;
    assert_ne!(replayed.len(), observed(&view)?.len());
    assert_eq!(page.string(on)?, "replayed");
    must_be_cards(page, &replayed)?;
    page.click("#herds-of [data-of=observed]")?;
    page.wait_until_still()?;
    assert_eq!(page.string(on)?, "observed");
    must_be_cards(page, &observed(&view)?)?;
    // The link says so, and Back takes it back.
    assert_eq!(page.view()?.replayed, Some(false));
    page.back()?;
    page.wait_for_view("what it was", |it| it.replayed.is_none())?;
    page.wait_until_still()?;
    must_be_cards(page, &replayed)?;
    page.show(&[HERDS, "&of=observed"].concat())?;
    page.wait_until_still()?;
    must_be_cards(page, &observed(&view)?)?;
    page.click("#herds-of [data-of=replayed]")?;
    page.wait_until_still()?;
    must_be_cards(page, &replayed)?;

    // Without any, as in a file that was just opened, it is what happened that counts.
    page.new_tab()?;
    page.show("/")?;
    open(page, &files::herd_path(), "four.csv.gz")?;
    let view = page.view()?;
    assert_eq!(view.breaker, None);
    assert_eq!(page.string(on)?, "observed");
    let herd = Truth::of(files::herd_csv()?.as_bytes())?;
    must_be_cards(page, &herd.answer(&view, Topic::Happened)?.attempts)
}

fn fitted_settings_go_into_the_breaker(page: &mut Page) -> Result<()> {
    page.show(HERDS)?;
    let truth = Truth::of_sample()?;
    let answer = truth.answer(&page.view()?, Topic::Happened)?;
    let act = press(page, "#happened", &answer, |it| {
        matches!(it, Act::Settings(_))
    })?;
    let Act::Settings(text) = act else {
        return Err("other settings were pressed".into());
    };
    let view = page.wait_for_view("the settings", |view| {
        view.breaker.as_deref() == Some(text.as_str())
    })?;
    assert_eq!(view.pane, Pane::Breaker);
    page.wait_until_still()?;
    let written = page.string("document.getElementById('breaker-text').value")?;
    assert_eq!(written, text);
    // How well they agree with what was observed is said, as the library counts it.
    let agree = truth
        .scene(&view)
        .replay
        .agree
        .ok_or("nothing to agree with")?;
    let said = page.text("#breaker-agree")?;
    assert!(said.contains(&format::percent(agree)), "{said}");
    assert!(agree > 900_000, "the settings explain the sample: {said}");
    // Others agree less.
    page.click("[data-preset='resilience4j']")?;
    page.wait_for_view("other settings", |view| {
        view.breaker.as_deref() != Some(text.as_str())
    })?;
    page.wait_until_still()?;
    assert_ne!(page.text("#breaker-agree")?, said);
    page.must_be_silent()
}

// ---- Timeouts

fn timeouts_are_the_librarys_and_a_pool_is_kept_in_the_link(page: &mut Page) -> Result<()> {
    page.show(TIMEOUTS)?;
    page.must_be_silent()?;
    let truth = Truth::of_sample()?;
    let of_library = |view: &View| {
        truth
            .answer(view, Topic::Timeouts)
            .map(|it| lines(&it.blocks))
    };
    let without = shown(page, "#timeouts")?;
    assert_eq!(without, of_library(&page.view()?)?);
    let edges = truth.summary.edges.len();
    let headings = page.number("document.querySelectorAll('#timeouts h3').length")?;
    assert!(
        headings >= edges as f64 && edges > 0,
        "{headings} headings for {edges} edges"
    );

    page.set("#pool", "200")?;
    let view = page.wait_for_view("the pool", |view| view.pool == Some(200))?;
    page.wait_until_still()?;
    let with = shown(page, "#timeouts")?;
    assert_eq!(with, of_library(&view)?);
    assert!(
        with.iter().any(|it| it.starts_with("A pool of 200")),
        "{with:?}"
    );
    let link = page.address()?;
    assert!(
        link.contains("pane=timeouts") && link.contains("pool=200"),
        "{link}"
    );

    page.new_tab()?;
    page.show(&link)?;
    page.must_be_silent()?;
    assert_eq!(page.address()?, link);
    assert_eq!(page.string("document.getElementById('pool').value")?, "200");
    assert_eq!(shown(page, "#timeouts")?, with);

    // What is no number of threads is none.
    for no_pool in ["0", "many", "-3", ""] {
        page.set("#pool", "40")?;
        page.wait_for_view("a pool", |view| view.pool == Some(40))?;
        page.set("#pool", no_pool)?;
        page.wait_for_view("no pool", |view| view.pool.is_none())?;
        page.wait_until_still()?;
        assert_eq!(page.string("document.getElementById('pool').value")?, "");
        assert_eq!(shown(page, "#timeouts")?, without, "`{no_pool}`");
    }
    Ok(())
}

fn a_proposed_timeout_goes_into_the_breaker(page: &mut Page) -> Result<()> {
    page.show(TIMEOUTS)?;
    let before = page.view()?;
    let answer = Truth::of_sample()?.answer(&before, Topic::Timeouts)?;
    let is_it = |it: &Act| matches!(it, Act::Setting(key, _) if key == "timeout");
    let Act::Setting(_, value) = press(page, "#timeouts", &answer, is_it)? else {
        return Err("something else was pressed".into());
    };
    let view = page.wait_for_view("the timeout", |view| view.breaker != before.breaker)?;
    assert_eq!(view.pane, Pane::Breaker);
    // Nothing else is another than it was.
    let config = |text: &str| text.parse::<Config>().map_err(|it| it.to_string());
    let settings = before.breaker.unwrap_or_default();
    let expected = config(&format!("{settings},timeout={value}"))?;
    assert_eq!(config(&view.breaker.unwrap_or_default())?, expected);
    page.wait_until_still()?;
    let field = page.string("document.getElementById('setting-timeout').value")?;
    assert_eq!(config(&format!("{settings},timeout={field}"))?, expected);
    page.must_be_silent()
}

fn a_press_on_a_figure_leads_to_its_spans(page: &mut Page) -> Result<()> {
    page.show(TIMEOUTS)?;
    let truth = Truth::of_sample()?;
    let answer = truth.answer(&page.view()?, Topic::Timeouts)?;
    let acts = acts(&answer);
    let is_trace = |(at, (_, act)): (usize, &(String, Act))| match act {
        Act::Trace(id) => Some((at, id.clone())),
        _ => None,
    };
    // Percentiles of each edge come first, the longest work for nobody last.
    let traces: Vec<(usize, String)> = acts.iter().enumerate().filter_map(is_trace).collect();
    let ends = [traces.first(), traces.last()];
    let [Some(first), Some(last)] = ends else {
        return Err(format!("no trace may be pressed: {acts:?}").into());
    };
    assert_ne!(first.1, last.1);
    for (at, id) in [first, last] {
        page.click("#tab-timeouts")?;
        page.wait_until_still()?;
        page.click(&format!("#timeouts [data-act='{at}']"))?;
        let view = page.wait_for_view("the trace", |view| view.trace.as_ref() == Some(id))?;
        assert_eq!(view.pane, Pane::Trace);
        page.wait_until_still()?;
        assert_eq!(page.text("#trace-id")?, *id);
        page.wait_for("!document.getElementById('marked').hidden")?;
    }

    // The calls that a timeout cut are shown together.
    let cut = acts
        .iter()
        .enumerate()
        .find_map(|(at, (_, act))| match act {
            Act::Look(there) => Some((at, *there)),
            _ => None,
        });
    let (at, there) = cut.ok_or("no timeout is in use")?;
    page.click("#tab-timeouts")?;
    page.wait_until_still()?;
    page.click(&format!("#timeouts [data-act='{at}']"))?;
    let limits = truth.summary.limits;
    let expected = viewport::zoom(there, [0.5, 0.5], 1.1, Axes::Both, limits);
    page.wait_for_viewport("the calls that were cut", expected)
}

// ---- What if, and what differs

fn other_settings_are_tried_as_the_library_does(page: &mut Page) -> Result<()> {
    page.show("/#v=1&src=sample:incident&pane=what-if")?;
    page.must_be_silent()?;
    let truth = Truth::of_sample()?;
    let answer = truth.answer(&page.view()?, Topic::WhatIf)?;
    assert_eq!(shown(page, "#what-if")?, lines(&answer.blocks));
    // The present settings are marked in the list and in the grid.
    let marked =
        "[...document.querySelectorAll('#what-if [aria-current]')].map((it) => it.textContent)";
    assert_eq!(strings(&page.value(marked)?)?.len(), 2);

    let place = |key: &str| KEYS.iter().position(|it| *it == key).map(|at| at as u8);
    let probes = place("probes").ok_or("no grid of probes")?;
    page.set("#grid-x", "probes")?;
    let view = page.wait_for_view("the grid", |view| view.grid[0] == probes)?;
    page.wait_until_still()?;
    let other = truth.answer(&view, Topic::WhatIf)?;
    assert_ne!(answer, other);
    assert_eq!(shown(page, "#what-if")?, lines(&other.blocks));
    let (link, with) = (page.address()?, shown(page, "#what-if")?);
    page.new_tab()?;
    page.show(&link)?;
    assert_eq!(shown(page, "#what-if")?, with);

    // The last cell of the grid is of other settings.
    let acts = acts(&other);
    let Some((_, Act::Settings(text))) = acts.last() else {
        return Err(format!("no cell may be pressed: {acts:?}").into());
    };
    page.click(&format!("#what-if [data-act='{}']", acts.len() - 1))?;
    let view = page.wait_for_view("the settings", |view| {
        view.breaker.as_deref() == Some(text.as_str())
    })?;
    // There are more to be compared.
    assert_eq!(view.pane, Pane::WhatIf);
    page.must_be_silent()
}

/// The table of what is simulated is as the library works it out; the same seeds give the same figures here and
/// there.
fn remedies_are_simulated_beside_the_file(page: &mut Page) -> Result<()> {
    page.show("/#v=1&src=sample:incident&pane=what-if")?;
    page.must_be_silent()?;
    assert_eq!(
        page.value("document.getElementById('beside').hidden")?,
        json!(true)
    );

    page.set("#simulate", "file")?;
    page.wait_for_view("a choice", |view| view.simulate.as_deref() == Some("file"))?;
    page.click("#remedies [data-remedy='scale_on_queue']")?;
    let chosen = "file,with=scale_on_queue";
    let view = page.wait_for_view("a remedy", |view| view.simulate.as_deref() == Some(chosen))?;
    let ended = "document.getElementById('simulated').textContent.startsWith('50 of 50')";
    page.wait_for(ended)?;
    let truth = Truth::of_sample()?;
    let answer = truth.answer(&view, Topic::Simulated)?;
    assert_eq!(shown(page, "#simulated")?, lines(&answer.blocks));

    // Both plots are there, as wide as each other, and spans are in both.
    assert_eq!(
        page.value("document.getElementById('beside').hidden")?,
        json!(false)
    );
    let width = |id: &str| page.number(&format!("document.getElementById('{id}').width"));
    assert_eq!(width("simulated-canvas")?, width("span-canvas")?);
    let painted = "(() => { const it = document.getElementById('simulated-canvas'); \
                   const pixels = it.getContext('2d').getImageData(0, 0, it.width, it.height).data; \
                   return pixels.some((value) => value > 0); })()";
    assert_eq!(page.value(painted)?, json!(true));

    // A figure is corrected; what is no figure changes nothing and says what is expected.
    page.set("#supposed-pods", "12")?;
    let corrected = "file,with=scale_on_queue,pods=12";
    page.wait_for_view("a figure", |view| {
        view.simulate.as_deref() == Some(corrected)
    })?;
    page.wait_until_still()?;
    page.set("#supposed-pods", "a few")?;
    assert_eq!(page.view()?.simulate.as_deref(), Some(corrected));
    let invalid = "document.getElementById('supposed-pods').getAttribute('aria-invalid')";
    assert_eq!(page.string(invalid)?, "true");

    let link = page.address()?;
    page.new_tab()?;
    page.show(&link)?;
    page.must_be_silent()?;
    assert_eq!(page.view()?.simulate.as_deref(), Some(corrected));
    assert_eq!(
        page.string("document.getElementById('supposed-pods').value")?,
        "12"
    );
    page.set("#simulate", "")?;
    page.wait_for_view("nothing", |view| view.simulate.is_none())?;
    page.wait_until_still()?;
    assert_eq!(
        page.value("document.getElementById('beside').hidden")?,
        json!(true)
    );
    page.must_be_silent()
}

fn what_is_in_view_is_compared_with_the_rest(page: &mut Page) -> Result<()> {
    page.show("/#v=1&src=sample:incident&pane=compare")?;
    page.must_be_silent()?;
    let truth = Truth::of_sample()?;
    let of_library = |view: &View| {
        truth
            .answer(view, Topic::Compare)
            .map(|it| lines(&it.blocks))
    };
    let all = shown(page, "#compare")?;
    assert_eq!(all, of_library(&page.view()?)?);
    // It follows the plot.
    let plot = page.plot()?;
    page.drag(
        plot.pixel(0.02, 0.02),
        plot.pixel(0.4, 0.2),
        Button::Left,
        Held::NOTHING,
    )?;
    let view = page.wait_for_view("the zoom", |view| view.viewport.is_some())?;
    page.wait_until_still()?;
    let part = shown(page, "#compare")?;
    assert_ne!(part, all);
    assert_eq!(part, of_library(&view)?);
    page.press("0")?;
    page.wait_for_view("all of it", |view| view.viewport.is_none())?;
    page.wait_until_still()?;
    assert_eq!(shown(page, "#compare")?, all);
    Ok(())
}

// ---- Other data, other questions

/// Keeps what panes show at each change of an element.
fn record(page: &Page, of: &str, panes: &[&str]) -> Result<()> {
    let watch = format!(
        "window.recorded = []; const shown = (name) => (function () {{ return {SHOWN} }})(name); \
         new MutationObserver(() => recorded.push(arguments[1].map(shown))) \
           .observe(document.querySelector(arguments[0]), {{ childList: true, characterData: true, subtree: true }})"
    );
    page.run(&watch, vec![json!(of), json!(panes)]).map(|_| ())
}

/// What was kept: of each change, of each pane, its lines.
fn recorded(page: &Page) -> Result<Vec<Vec<Vec<String>>>> {
    let found = page.value("window.recorded")?;
    serde_json::from_value(found).map_err(|error| error.to_string().into())
}

const WORKING: &str = "Working it out";

fn another_file_has_answers_of_its_own(page: &mut Page) -> Result<()> {
    page.show(TIMEOUTS)?;
    let csv = calls_between("till", "warehouse");
    let truth = Truth::of(csv.as_bytes())?;
    let before = [shown(page, "#timeouts")?, shown(page, "#happened")?];
    record(
        page,
        "#file-name",
        &["#timeouts", "#happened", "#herds-list"],
    )?;
    page.paste(&csv)?;
    page.wait_for_file("pasted text")?;
    // From the moment when it is open nothing is said of the old one.
    let at_opening = recorded(page)?;
    assert!(!at_opening.is_empty());
    for panes in &at_opening {
        for (pane, before) in panes.iter().zip(&before) {
            assert_ne!(pane, before);
            assert!(pane[0].starts_with(WORKING), "{pane:?}");
        }
        assert!(
            panes[2].is_empty(),
            "attempts of the old file: {:?}",
            panes[2]
        );
    }
    let view = page.view()?;
    for (topic, pane) in [
        (Topic::Timeouts, "#timeouts"),
        (Topic::Happened, "#happened"),
    ] {
        let answer = truth.answer(&view, topic)?;
        assert_eq!(shown(page, pane)?, lines(&answer.blocks), "{topic:?}");
    }
    must_be_cards(page, &truth.answer(&view, Topic::Happened)?.attempts)
}

fn of_two_questions_the_newer_is_answered(page: &mut Page) -> Result<()> {
    page.show(TIMEOUTS)?;
    let truth = Truth::of_sample()?;
    let of_library = |pool: u32| {
        let view = View {
            pool: Some(pool),
            ..View::default()
        };
        truth
            .answer(&view, Topic::Timeouts)
            .map(|it| lines(&it.blocks))
    };
    let (older, newer) = (of_library(5)?, of_library(7)?);
    assert_ne!(older, newer);
    record(page, "#timeouts", &["#timeouts"])?;
    // Until it is there, what was answered before is dimmed.
    let ask = "const pool = document.getElementById('pool'), pane = document.getElementById('timeouts'); \
               const ask = (n) => { pool.value = n; pool.dispatchEvent(new Event('change', { bubbles: true })) }; \
               ask(5); ask(7); return pane.getAttribute('aria-busy')";
    assert_eq!(page.run(ask, Vec::new())?, "true");
    page.wait_for_view("the newer", |view| view.pool == Some(7))?;
    page.wait_until_still()?;
    // What comes late would be here by now.
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(shown(page, "#timeouts")?, newer);
    let at_times = recorded(page)?;
    let said: Vec<&Vec<String>> = at_times.iter().map(|it| &it[0]).collect();
    assert!(!said.contains(&&older), "the older was answered, too");
    assert!(said.iter().all(|it| **it == newer), "{said:?}");
    Ok(())
}

/// 300 calls of one service to another, of which some are cut after 1 s though the callee goes on.
fn calls_between(from: &str, to: &str) -> String {
    let mut csv =
        "trace_id,span_id,parent_id,start_ms,duration_ms,service,name,kind,status\n".to_owned();
    for at in 0..300 {
        let start = 1_790_409_600_000_i64 + at * 250;
        let cut = at % 10 == 9;
        let (client, server, status) = match cut {
            true => (1_000, 4_000, "ERROR"),
            false => (20 + at % 7, 15, "OK"),
        };
        csv.push_str(&format!(
            "t{at},c{at},,{start},{client},{from},GET /stock,client,{status}\n\
             t{at},s{at},c{at},{start},{server},{to},GET /stock,server,OK\n"
        ));
    }
    csv
}

fn names_in_a_file_are_never_markup(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let (from, to) = ("<b>x", "<img src=x onerror=document.title='taken'>");
    let csv = calls_between(from, to);
    let truth = Truth::of(csv.as_bytes())?;
    assert_eq!(
        (&*truth.summary.edges[0].from, &*truth.summary.edges[0].to),
        (from, to)
    );
    page.show(TIMEOUTS)?;
    open(page, &folder.write("names.csv", &csv)?, "names.csv")?;
    let view = page.view()?;
    for (topic, pane) in [
        (Topic::Timeouts, "#timeouts"),
        (Topic::Happened, "#happened"),
    ] {
        let answer = truth.answer(&view, topic)?;
        assert_eq!(shown(page, pane)?, lines(&answer.blocks), "{topic:?}");
    }
    let text = page.text("#timeouts")?;
    assert!(
        text.contains(from) && text.contains("Work for nobody"),
        "{text}"
    );
    let markup =
        "document.querySelectorAll('aside :is(.blocks, .pane > h2, .pane > p) :is(b, img)').length";
    assert_eq!(page.number(markup)?, 0.0);
    assert_eq!(page.number("document.querySelectorAll('img').length")?, 0.0);
    assert_eq!(page.string("document.title")?, "names.csv — herdscope");
    Ok(())
}

fn open(page: &Page, file: &Path, name: &str) -> Result<()> {
    page.drop_file(file, Point { x: 500.0, y: 450.0 })?;
    page.wait_for_file(name)
}
