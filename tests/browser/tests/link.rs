//! Links: the address holds all of the view, and brings it back pixel for pixel; what cannot be read in one is
//! said and costs nothing else.

use herdscope::view::{Pane, Source, View};
use herdscope_browser_tests::files::{self, Folder};
use herdscope_browser_tests::{Button, Failure, Held, Page, Picture, Point, Result, Truth, suite};

suite!(
    a_link_brings_everything_back,
    copy_link_copies_or_offers_the_link,
    a_link_to_a_file_asks_for_it_and_takes_it,
    another_file_is_told_apart,
    nonsense_is_said_and_costs_nothing,
    a_link_of_a_newer_version_opens,
    a_link_that_is_followed_in_the_open_page,
);

/// Somewhere in the plot.
const PLACE: Point = Point { x: 500.0, y: 450.0 };

/// Zooms, hides an entry, changes a setting, picks a trace: the address and the picture at the end.
fn change_everything(page: &Page) -> Result<(String, Picture)> {
    let plot = page.plot()?;
    page.drag(
        plot.pixel(0.02, 0.02),
        plot.pixel(0.3, 0.15),
        Button::Left,
        Held::NOTHING,
    )?;
    page.wait_for_view("the zoom", |view| view.viewport.is_some())?;
    page.click("#legend [data-key='tier:1']")?;
    page.wait_for_view("the hidden entry", |view| !view.hidden.is_empty())?;
    page.click("#lanes")?;
    page.click("#tab-breaker")?;
    page.set("#setting-open", "20s")?;
    page.wait_for_view("the setting", |view| {
        let breaker = view.breaker.as_deref().unwrap_or_default();
        breaker.contains("open=20s")
    })?;
    page.wait_until_still()?;
    pick_any_trace(page)?;
    let picture = page.picture()?;
    page.must_be_silent()?;
    Ok((page.address()?, picture))
}

fn pick_any_trace(page: &Page) -> Result<()> {
    let spans = page.picture()?;
    let spans = spans.spans()?;
    let solid = (0..spans.height)
        .flat_map(|y| (0..spans.width).map(move |x| (x, y)))
        .find(|&(x, y)| spans.at(x, y).is_some_and(|[.., alpha]| alpha == 255))
        .ok_or("no span is drawn")?;
    let plot = page.plot()?;
    let at = Point {
        x: plot.x + f64::from(solid.0),
        y: plot.y + f64::from(solid.1),
    };
    page.click_at(at, Held::NOTHING)?;
    let view = page.wait_for_view("the trace", |view| view.trace.is_some())?;
    assert_eq!(view.pane, Pane::Trace);
    Ok(())
}

fn a_link_brings_everything_back(page: &mut Page) -> Result<()> {
    page.show("/")?;
    let at_first = page.picture()?;
    let (link, picture) = change_everything(page)?;
    let view = page.view()?;
    assert!(!picture.differing(&at_first).is_empty());
    let (trace, legend) = (page.text("#trace-spans")?, "#legend [aria-pressed=false]");

    page.new_tab()?;
    page.show(&link)?;
    page.must_be_silent()?;
    page.wait_for("!document.getElementById('trace-some').hidden")?;
    page.picture()?.must_be(&picture, "in a new page")?;
    assert_eq!(page.address()?, link);
    assert_eq!(page.text("#trace-spans")?, trace);
    assert!(page.is_shown("#marked")?);
    assert_eq!(
        page.string(&format!("document.querySelector('{legend}').dataset.key"))?,
        view.hidden[0]
    );
    assert_eq!(
        page.string("document.getElementById('breaker-text').value")?,
        view.breaker.unwrap_or_default()
    );
    Ok(())
}

fn copy_link_copies_or_offers_the_link(page: &mut Page) -> Result<()> {
    page.show("/")?;
    page.wheel(page.plot()?.pixel(0.8, 0.5), 0.0, -200.0, Held::NOTHING)?;
    page.wait_for_view("the zoom", |view| view.viewport.is_some())?;
    page.allow_clipboard()?;
    page.click("#copy")?;
    page.wait_for("document.getElementById('copy').textContent.includes('Copied')")?;
    assert_eq!(page.clipboard()?, page.address()?);
    page.must_be_silent()?;
    page.wait_for("document.getElementById('copy').textContent == 'Copy link'")?;

    for refusal in [
        "navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))",
        "Object.defineProperty(navigator, 'clipboard', { value: undefined })",
    ] {
        page.run(refusal, Vec::new())?;
        page.click("#copy")?;
        page.wait_for_message(&["here is the link"])?;
        let offered = page.string("document.querySelector('#notices input').value")?;
        assert_eq!(offered, page.address()?);
        let selected = "getSelection().toString() || document.activeElement.value";
        assert_eq!(page.string(selected)?, offered);
        page.dismiss_messages()?;
    }
    Ok(())
}

/// A file of its own, opened and looked at: its path, the link and the picture.
fn a_local_file(page: &Page, folder: &Folder) -> Result<(std::path::PathBuf, String, Picture)> {
    let csv = files::first_rows(3_000)?;
    let path = folder.write("shop: a & b.csv", &csv)?;
    page.show("/")?;
    page.drop_file(&path, PLACE)?;
    page.wait_for_file("shop: a & b.csv")?;
    let plot = page.plot()?;
    page.wheel(plot.pixel(0.5, 0.4), 0.0, -300.0, Held::NOTHING)?;
    page.wait_for_view("the zoom", |view| view.viewport.is_some())?;
    page.click("#legend [data-key='tier:0']")?;
    page.wait_for_view("the hidden entry", |view| !view.hidden.is_empty())?;
    let picture = page.picture()?;
    let is_file = matches!(page.view()?.files[0].source, Some(Source::File(_)));
    assert!(is_file, "{}", page.address()?);
    Ok((path, page.address()?, picture))
}

/// Opens a link to a file in a new tab, where nothing is drawn yet.
fn follow_to_the_question(page: &Page, link: &str) -> Result<()> {
    page.new_tab()?;
    page.open(link)?;
    page.wait_for_message(&["shop: a & b.csv", "drop it here", "choose"])?;
    page.wait_for("document.documentElement.dataset.state == 'idle'")?;
    assert_eq!(page.frames()?, 0.0);
    assert!(page.is_shown("#empty")?);
    assert_eq!(page.address()?, link);
    Ok(())
}

fn a_link_to_a_file_asks_for_it_and_takes_it(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let (path, link, picture) = a_local_file(page, &folder)?;
    type Give = fn(&Page, &std::path::Path) -> Result<()>;
    let ways: [Give; 2] = [
        |page, path| page.drop_file(path, PLACE),
        |page, path| page.choose_file("#chooser", path),
    ];
    for give in ways {
        follow_to_the_question(page, &link)?;
        give(page, &path)?;
        page.wait_for_file("shop: a & b.csv")?;
        page.must_be_silent()?;
        page.picture()?.must_be(&picture, "with the file given")?;
        assert_eq!(page.address()?, link);
    }
    // Or the sample instead.
    follow_to_the_question(page, &link)?;
    page.click("#notices button:nth-of-type(2)")?;
    page.wait_for_file("sample incident")?;
    page.must_be_silent()
}

fn another_file_is_told_apart(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let (_, link, _) = a_local_file(page, &folder)?;
    let csv = files::first_rows(3_000)?;
    let elsewhere = Folder::new()?;
    let (last, start) = (csv.len() - 20, csv.len() - 19);
    for (content, words) in [
        // Of the same name and size, but for one digit; shorter.
        (
            format!("{}#{}", &csv[..last], &csv[start..]),
            "its contents are others",
        ),
        (files::first_rows(2_900)?, "not "),
    ] {
        let other = elsewhere.write("shop: a & b.csv", content)?;
        follow_to_the_question(page, &link)?;
        page.drop_file(&other, PLACE)?;
        page.wait_for_file("shop: a & b.csv")?;
        page.wait_for_message(&["is not the file that the link was made from", words])?;
        // It is shown all the same, and the address names what is shown.
        assert!(page.spans()? > 2_000.0);
        assert_ne!(page.address()?, link);
    }
    Ok(())
}

fn nonsense_is_said_and_costs_nothing(page: &mut Page) -> Result<()> {
    let spans = Truth::of_sample()?.summary.spans as f64;
    page.show("/")?;
    let sample = page.picture()?;
    for (hash, words) in [
        ("v=one", vec!["v=", "whole number"]),
        ("src=ftp://example.org/a.csv", vec!["src=", "https"]),
        ("src=sample:nosuch", vec!["no sample", "nosuch"]),
        (
            "t=yesterday..today&y=0..5",
            vec!["t=", "only one of t and y"],
        ),
        ("src=sample:incident&t=9..4&y=1..2", vec!["t=", "FROM..TO"]),
        ("t=5..6", vec!["only one of t and y"]),
        ("edge=shop", vec!["edge=", "CALLER->CALLEE"]),
        ("breaker=fial%3D3", vec!["breaker=", "settings"]),
        ("shared=perhaps", vec!["shared=", "1 or 0"]),
        ("pane=window", vec!["pane=", "herds, breaker", "or trace"]),
        ("color=mauve", vec!["color=", "tier or service"]),
        (
            "src=sample:incident&t=1..2&y=0..1",
            vec!["outside of this data"],
        ),
        (
            "src=sample:incident&trace=%3Cb%3Enobody%3C/b%3E",
            vec!["<b>nobody</b>", "not in this file"],
        ),
        (
            "v=1&src=sample:incident&breaker=window%3D0&trace=nope&t=1..2&y=0..1",
            vec![
                "breaker=",
                "outside of this data",
                "trace nope",
                "not in this file",
            ],
        ),
        (
            "src=sample:incident&edge=shop->nowhere&hide=tier:77",
            vec!["shop → nowhere", "is replayed on", "does not have: tier:77"],
        ),
        ("v=1&%%%&=&&x&%F0%9F=%C3%28&t=%00", vec!["t="]),
    ] {
        let in_this = |error: Failure| Failure::new(format!("#{hash}: {error}"));
        page.show(&format!("/#{hash}")).map_err(in_this)?;
        page.wait_for_message(&words).map_err(in_this)?;
        assert_eq!(page.spans()?, spans, "#{hash}");
        page.dismiss_messages()?;
        page.picture()?
            .must_be(&sample, &format!("after #{hash}"))?;
        let view = page.view()?;
        assert_eq!(
            view.files[0].source,
            Some(Source::Sample("incident".to_owned()))
        );
    }
    // What is not known is passed over in silence.
    page.show("/#v=1&later=5&x")?;
    page.must_be_silent()?;
    page.picture()?.must_be(&sample, "with unknown parameters")
}

fn a_link_of_a_newer_version_opens(page: &mut Page) -> Result<()> {
    page.show("/#v=7&src=sample:incident&hide=timed_out&dimension=4")?;
    page.wait_for_message(&["newer", "version 7"])?;
    assert_eq!(page.spans()?, Truth::of_sample()?.summary.spans as f64);
    assert_eq!(page.view()?.hidden, ["timed_out"]);
    Ok(())
}

fn a_link_that_is_followed_in_the_open_page(page: &mut Page) -> Result<()> {
    page.show("/")?;
    let (link, picture) = change_everything(page)?;
    let hash = link.split_once('#').map_or("", |(_, hash)| hash);
    page.show("/")?;
    let before = page.picture()?;
    // As when somebody pastes the link over the address.
    page.run("location.hash = arguments[0]", vec![hash.into()])?;
    let (view, _) = View::parse(hash);
    page.wait_for_view("the link's view", |it| *it == view)?;
    page.wait_for("!document.getElementById('trace-some').hidden")?;
    page.picture()?.must_be(&picture, "of the link")?;
    page.back()?;
    page.wait_for_view("the view of before", |it| it.viewport.is_none())?;
    page.picture()?.must_be(&before, "after Back")
}
