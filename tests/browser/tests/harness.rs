//! The harness itself, on a page of its own: that hands, eyes and ears of the other tests are real ones.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use herdscope_browser_tests::{Brand, Button, Held, Page, Point, Result, Test, run_on};

fn main() -> ExitCode {
    let tests: &[(&str, Test)] = &[
        (
            "the_browser_is_the_one_that_was_asked_for",
            the_browser_is_the_one_that_was_asked_for,
        ),
        (
            "the_page_is_served_at_the_root_and_under_a_path",
            the_page_is_served_at_the_root_and_under_a_path,
        ),
        (
            "statements_are_run_before_the_pages_own",
            statements_are_run_before_the_pages_own,
        ),
        ("a_drop_is_a_real_one", a_drop_is_a_real_one),
        ("a_file_is_chosen", a_file_is_chosen),
        ("a_text_is_pasted_and_copied", a_text_is_pasted_and_copied),
        (
            "the_mouse_presses_drags_and_turns_its_wheel",
            the_mouse_presses_drags_and_turns_its_wheel,
        ),
        (
            "fingers_come_move_and_go_together",
            fingers_come_move_and_go_together,
        ),
        (
            "keys_are_pressed_alone_and_together",
            keys_are_pressed_alone_and_together,
        ),
        (
            "keys_of_any_keyboard_are_struck",
            keys_of_any_keyboard_are_struck,
        ),
        ("a_slider_is_set", a_slider_is_set),
        ("pixels_are_read_as_drawn", pixels_are_read_as_drawn),
        (
            "size_ratio_and_theme_are_as_asked",
            size_ratio_and_theme_are_as_asked,
        ),
        (
            "errors_of_page_and_workers_are_heard",
            errors_of_page_and_workers_are_heard,
        ),
        (
            "waiting_in_vain_says_for_what",
            waiting_in_vain_says_for_what,
        ),
        (
            "a_link_that_differs_after_the_hash_loads_anew",
            a_link_that_differs_after_the_hash_loads_anew,
        ),
    ];
    run_on(&fixture(), tests)
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixture")
}

fn said(page: &Page, line: &str) -> Result<()> {
    page.wait_for(&format!(
        "document.getElementById('log').textContent.includes({line:?})"
    ))
    .map_err(|error| {
        let log = page.text("#log").unwrap_or_default();
        format!("{error}\nit said:\n{log}").into()
    })
}

const PLACE: Point = Point { x: 150.0, y: 100.0 };

fn the_browser_is_the_one_that_was_asked_for(page: &mut Page) -> Result<()> {
    let name = match Brand::chosen()? {
        Brand::Chromium => "Chrome/",
        Brand::Firefox => "Firefox/",
    };
    let agent = page.string("navigator.userAgent")?;
    assert!(agent.contains(name), "{agent}");
    Ok(())
}

fn the_page_is_served_at_the_root_and_under_a_path(page: &mut Page) -> Result<()> {
    for path in ["/", "/any/sub/path/"] {
        page.open(path)?;
        assert_eq!(page.string("document.title")?, "Fixture");
        assert!(page.address()?.ends_with(path));
    }
    Ok(())
}

fn statements_are_run_before_the_pages_own(page: &mut Page) -> Result<()> {
    page.run_first("window.first = typeof plot + document.title")?;
    for _ in 0..2 {
        page.open("/")?;
        assert_eq!(page.string("first + typeof plot")?, "undefinedobject");
    }
    page.new_tab()?;
    page.open("/")?;
    assert_eq!(page.string("typeof window.first")?, "undefined");
    Ok(())
}

fn a_drop_is_a_real_one(page: &mut Page) -> Result<()> {
    page.open("/")?;
    page.drag_files(&[&fixture()], PLACE)?;
    said(page, "trusted dragenter")?;
    page.drop_file(&fixture().join("index.html"), PLACE)?;
    said(page, "trusted drop at 150,100: index.html (file)")?;
    page.drop_files(&[&fixture(), &fixture().join("index.html")], PLACE)?;
    said(
        page,
        "trusted drop at 150,100: fixture index.html (folder file)",
    )
}

fn a_file_is_chosen(page: &mut Page) -> Result<()> {
    page.open("/")?;
    page.choose_file("#file", &fixture().join("index.html"))?;
    said(page, "trusted chosen index.html <!doctype html>")
}

fn a_text_is_pasted_and_copied(page: &mut Page) -> Result<()> {
    page.open("/")?;
    page.paste("a,b\n1,2")?;
    said(page, "trusted paste a,b\n1,2")?;
    assert_eq!(page.clipboard()?, "a,b\n1,2");
    Ok(())
}

fn the_mouse_presses_drags_and_turns_its_wheel(page: &mut Page) -> Result<()> {
    page.open("/")?;
    page.click_at(PLACE, Held::NOTHING)?;
    said(
        page,
        "trusted pointerdown 0 50,50\ntrusted pointerup 0 50,50",
    )?;
    page.double_click(PLACE)?;
    said(page, "trusted dblclick 0 50,50")?;

    let plot = page.rect("#plot")?;
    page.drag(
        plot.at(0.25, 0.25),
        plot.at(0.75, 0.75),
        Button::Left,
        Held::SHIFT,
    )?;
    said(
        page,
        "trusted pointerdown 0 50,25 shift\ntrusted pointerup 0 150,75 shift",
    )?;
    assert!(page.number("moves")? >= 2.0);
    page.drag(
        plot.at(0.25, 0.25),
        plot.at(0.75, 0.75),
        Button::Middle,
        Held::NOTHING,
    )?;
    said(
        page,
        "trusted pointerdown 1 50,25\ntrusted pointerup 1 150,75",
    )?;

    page.wheel(PLACE, 0.0, -120.0, Held::NOTHING)?;
    said(page, "trusted wheel 0,-120 at 50,50")
}

fn fingers_come_move_and_go_together(page: &mut Page) -> Result<()> {
    page.open("/")?;
    let plot = page.rect("#plot")?;
    let from = [plot.at(0.25, 0.5), plot.at(0.75, 0.5)];
    page.finger_down(&from[..1])?;
    said(page, "trusted finger down 50,50 first\n")?;
    page.finger_down(&from)?;
    said(page, "trusted finger down 150,50\n")?;
    let to = [plot.at(0.1, 0.5), plot.at(0.9, 0.5)];
    page.fingers_move(&to)?;
    said(page, "trusted finger move 20,50 first\n")?;
    said(page, "trusted finger move 180,50\n")?;
    page.fingers_up(&to)?;
    said(page, "trusted finger up 20,50 first\n")?;
    said(page, "trusted finger up 180,50\n")
}

fn keys_are_pressed_alone_and_together(page: &mut Page) -> Result<()> {
    page.open("/")?;
    page.press("w")?;
    said(page, "trusted key w KeyW\n")?;
    page.press("0")?;
    said(page, "trusted key 0 Digit0\n")?;
    page.press("Shift+ArrowLeft")?;
    said(page, "trusted key ArrowLeft ArrowLeft shift\n")?;
    assert!(page.press("NoSuchKey").is_err());
    Ok(())
}

/// What a key writes need not be what stands in its place on other keyboards.
fn keys_of_any_keyboard_are_struck(page: &mut Page) -> Result<()> {
    page.open("/")?;
    page.strike("KeyW", "z", Held::NOTHING)?;
    said(page, "trusted key z KeyW\n")?;
    page.strike("Slash", "?", Held::SHIFT)?;
    said(page, "trusted key ? Slash shift\n")
}

fn a_slider_is_set(page: &mut Page) -> Result<()> {
    page.open("/")?;
    page.set("#slider", "70")?;
    said(page, "slider 70")
}

fn pixels_are_read_as_drawn(page: &mut Page) -> Result<()> {
    page.open("/")?;
    let drawn = |it: [u8; 4]| it == [213, 94, 0, 255];
    let canvas = page.canvas("#plot")?;
    assert_eq!((canvas.width, canvas.height), (200, 100));
    assert_eq!(canvas.count(drawn), 30 * 40);
    assert_eq!(
        (canvas.at(10, 20).map(drawn), canvas.at(9, 20)),
        (Some(true), Some([0, 0, 0, 0]))
    );

    let screen = page.screenshot()?;
    assert_eq!(screen.count(drawn), 30 * 40);
    assert_eq!(screen.at(110, 70).map(drawn), Some(true));
    assert_eq!(page.screenshot()?.differing(&screen), 0);
    assert!(page.canvas("#log").is_err());
    Ok(())
}

fn size_ratio_and_theme_are_as_asked(page: &mut Page) -> Result<()> {
    page.resize(640, 480, 2.0)?;
    page.prefer(&[("prefers-color-scheme", "dark")])?;
    page.open("/")?;
    assert_eq!(
        (page.number("innerWidth")?, page.number("innerHeight")?),
        (640.0, 480.0)
    );
    assert_eq!(page.number("devicePixelRatio")?, 2.0);
    let screen = page.screenshot()?;
    assert_eq!((screen.width, screen.height), (1280, 960));
    assert_eq!(screen.at(1279, 959), Some([0, 0, 0, 255]));
    Ok(())
}

fn errors_of_page_and_workers_are_heard(page: &mut Page) -> Result<()> {
    page.open("/")?;
    assert_eq!(page.take_errors()?, Vec::<String>::new());
    let misbehave = "console.error('said by the page'); \
        const worker = (code) => new Worker(URL.createObjectURL(new Blob([code]))); \
        worker('console.error(\"said by a worker\")'); \
        worker('Promise.reject(new Error(\"rejected in a worker\"))'); \
        worker('reportError(new Error(\"reported by a worker\"))'); \
        fetch('no-such-file')";
    page.run(misbehave, Vec::new())?;
    let mut missing = vec![
        "said by the page",
        "said by a worker",
        "rejected in a",
        "reported by a",
        "no-such-file",
    ];
    for _ in 0..100 {
        let errors = page.take_errors()?;
        missing.retain(|part| !errors.iter().any(|error| error.contains(part)));
        if missing.is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(missing, Vec::<&str>::new());
    page.take_errors()?;
    Ok(())
}

fn waiting_in_vain_says_for_what(page: &mut Page) -> Result<()> {
    page.open("/")?;
    match page.wait_at_most(
        std::time::Duration::from_millis(50),
        "document.title == 'Other'",
    ) {
        Ok(()) => Err("the title is another one".into()),
        Err(error) => {
            assert!(
                error.to_string().contains("document.title == 'Other'"),
                "{error}"
            );
            Ok(())
        }
    }
}

fn a_link_that_differs_after_the_hash_loads_anew(page: &mut Page) -> Result<()> {
    page.open("/#a=1")?;
    page.run("window.mark = 1", Vec::new())?;
    page.open("/#a=2")?;
    assert_eq!(page.string("typeof window.mark")?, "undefined");
    assert!(page.address()?.ends_with("/#a=2"));
    Ok(())
}
