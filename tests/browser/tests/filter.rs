//! The filter: what is written in its field decides what is drawn, told and gone through, and is in the link.

use herdscope::format;
use herdscope::messages::FrameRequest;
use herdscope::view::{Pane, View};
use herdscope_browser_tests::{Page, Result, Truth, suite};

suite!(
    what_is_written_is_drawn_and_counted,
    what_is_no_filter_is_marked_and_draws_everything,
    values_are_proposed_and_taken_by_keys,
    enter_goes_from_match_to_match,
);

const FIELD: &str = "#filter";
const LINK: &str = "/#v=1&src=sample:incident";

fn n_painted(page: &Page, least: u8) -> Result<usize> {
    let picture = page.picture()?;
    let spans = picture.spans()?;
    let pixels = (0..spans.height).flat_map(|y| (0..spans.width).map(move |x| (x, y)));
    let painted = pixels.filter(|&(x, y)| spans.at(x, y).is_some_and(|[.., it]| it >= least));
    Ok(painted.count())
}

/// What the page says of a filter that is this.
fn counted(filter: &str) -> Result<String> {
    let view = View {
        filter: Some(filter.to_owned()),
        ..View::default()
    };
    let matches = Truth::of_sample()?.scene(&view).matches;
    let [spans, traces] = matches.ok_or("this is no filter")?;
    Ok([
        format::counted(spans, "span"),
        format::counted(traces, "trace"),
    ]
    .join(" in "))
}

fn wait_for_count(page: &Page, filter: &str) -> Result<()> {
    let expected = counted(filter)?;
    page.wait_for(&format!(
        "document.getElementById('filter-count').textContent == '{expected}'"
    ))
}

fn what_is_written_is_drawn_and_counted(page: &mut Page) -> Result<()> {
    page.show(LINK)?;
    let everything = page.picture()?;
    let all = n_painted(page, 1)?;
    assert!(!page.is_shown("#rest")?);
    page.type_into(FIELD, "timeout")?;
    page.press("Escape")?;
    wait_for_count(page, "timeout")?;
    let dimmed = n_painted(page, 1)?;
    let solid = n_painted(page, 200)?;
    assert_eq!(dimmed, all, "what is passed over is still there");
    page.click("#rest")?;
    page.wait_for_view("hidden spans", |view| view.rest_hidden)?;
    assert_eq!(n_painted(page, 1)?, solid, "and then it is not");
    assert!(solid > 0 && solid < all);

    let link = page.address()?;
    assert!(link.contains("filter=timeout&rest=hide"), "{link}");
    let hidden = page.picture()?;
    page.new_tab()?;
    page.show(&link)?;
    page.must_be_silent()?;
    page.picture()?.must_be(&hidden, "from a link")?;
    assert_eq!(
        page.string("document.getElementById('filter').value")?,
        "timeout"
    );
    wait_for_count(page, "timeout")?;

    page.set(FIELD, "")?;
    page.wait_for_view("no filter", |view| view.filter.is_none())?;
    page.picture()?.must_be(&everything, "without a filter")?;
    page.back()?;
    page.wait_for("document.getElementById('filter').value == 'timeout'")?;
    page.picture()?.must_be(&hidden, "after Back")
}

fn what_is_no_filter_is_marked_and_draws_everything(page: &mut Page) -> Result<()> {
    page.show(LINK)?;
    let everything = page.picture()?;
    page.new_tab()?;
    page.show(&[LINK, "&filter=web%20duration%3Efast&rest=hide"].concat())?;
    page.must_be_silent()?;
    page.picture()?.must_be(&everything, "with a bad filter")?;
    assert_eq!(page.text("#filter-problem mark")?, "fast");
    assert!(page.text("#filter-problem")?.contains("as in 200ms"));
    assert_eq!(
        page.string("document.getElementById('filter').ariaInvalid")?,
        "true"
    );
    assert_eq!(page.text("#filter-count")?, "");

    page.set(FIELD, "http.route=/cart")?;
    let says = page.text("#filter-problem")?;
    assert!(says.contains("not kept in memory"), "{says}");
    page.set(FIELD, "failed")?;
    wait_for_count(page, "failed")?;
    assert!(!page.is_shown("#filter-problem")?);
    // What is written on, and is no filter yet, leaves the picture of the one before.
    let failed = page.picture()?;
    page.set(FIELD, "failed or")?;
    page.wait_for("!document.getElementById('filter-problem').hidden")?;
    page.picture()?.must_be(&failed, "half a filter")
}

fn values_are_proposed_and_taken_by_keys(page: &mut Page) -> Result<()> {
    page.show(LINK)?;
    let service = &Truth::of_sample()?.ask(|engine| engine.complete("service="));
    let first = service.1.first().ok_or("there are services")?;
    page.type_into(FIELD, "serv")?;
    page.wait_for("document.querySelector('#filter-list li')?.textContent == 'service='")?;
    assert_eq!(
        page.string("document.getElementById('filter').ariaExpanded")?,
        "true"
    );
    page.press("ArrowDown")?;
    assert_eq!(
        page.string("document.getElementById('filter').getAttribute('aria-activedescendant')")?,
        "filter-0"
    );
    page.press("Enter")?;
    page.wait_for(&format!(
        "document.querySelector('#filter-list li')?.textContent == '{first}'"
    ))?;
    page.press("ArrowDown")?;
    page.press("Enter")?;
    let filter = format!("service={first} ");
    page.wait_for(&format!(
        "document.getElementById('filter').value == '{filter}'"
    ))?;
    assert!(!page.is_shown("#filter-list")?);
    wait_for_count(page, &filter)?;
    // Keys of the plot are letters here.
    let before = page.view()?.viewport;
    page.press("d")?;
    page.press("0")?;
    page.press("Escape")?;
    page.wait_until_still()?;
    assert_eq!(page.view()?.viewport, before);
    assert_eq!(
        page.string("document.getElementById('filter').value")?,
        filter + "d0"
    );
    Ok(())
}

fn enter_goes_from_match_to_match(page: &mut Page) -> Result<()> {
    const FILTER: &str = "tier=0 timeout";
    let truth = Truth::of_sample()?;
    let view = View {
        filter: Some(FILTER.to_owned()),
        ..View::default()
    };
    let traces = truth.ask(|engine| {
        engine.frame(&FrameRequest::of(&view, [1, 1], [0, 0], Default::default()));
        [false, false, true].map(|back| engine.step_match(back).map(|it| it.trace_id))
    });
    assert_eq!(traces[0], traces[2]);
    page.show(&[LINK, "&filter=", &FILTER.replace(' ', "%20")].concat())?;
    let whole = page.view()?.viewport;
    page.run("document.getElementById('filter').focus()", Vec::new())?;
    page.press("Enter")?;
    let is = |nth: usize| {
        let trace = traces[nth].clone();
        move |view: &View| view.trace == trace
    };
    let first = page.wait_for_view("the first match", is(0))?;
    assert_eq!((first.pane, first.viewport), (Pane::Trace, whole));
    page.press("Enter")?;
    page.wait_for_view("the second match", is(1))?;
    page.press("Shift+Enter")?;
    page.wait_for_view("the first match again", is(0))?;
    assert_eq!(
        page.string("document.activeElement.id")?,
        "filter",
        "the field keeps the focus"
    );
    Ok(())
}
