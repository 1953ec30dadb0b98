//! What cannot be opened: one clear sentence in the bar of messages, nothing lost of what was on screen, and a
//! page that goes on.

use std::path::{Path, PathBuf};

use herdscope::view::Source;
use herdscope_browser_tests::files::{self, Folder};
use herdscope_browser_tests::{Failure, Held, Page, Point, Result, suite};

suite!(
    each_bad_file_costs_one_sentence,
    bad_text_costs_one_sentence,
    what_a_bad_file_interrupts_is_read_again,
    a_bad_file_does_not_answer_a_link,
    a_file_cut_in_mid_row_opens_with_a_note,
);

/// Somewhere in the plot.
const PLACE: Point = Point { x: 500.0, y: 450.0 };

/// How a person gives something to the page.
enum Given {
    Dropped(Vec<PathBuf>),
    Chosen(PathBuf),
}

/// What is wrong, how it is given, and the words that must be said.
struct Case {
    name: &'static str,
    given: Given,
    words: Vec<&'static str>,
}

fn cases(folder: &Folder) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    let mut add = |name: &'static str, given: Given, words: &[&'static str]| {
        cases.push(Case {
            name,
            given,
            words: words.to_vec(),
        });
    };
    let file = |name: &str, content: &[u8]| folder.write(name, content);
    let one = |name: &str, content: &[u8]| -> Result<Given> {
        Ok(Given::Dropped(vec![file(name, content)?]))
    };
    let header = files::first_rows(0)?;
    let rows = files::first_rows(50)?;
    let html = "<!doctype html><title>Sign in</title>".as_bytes();

    add("nothing", one("empty.csv", b"")?, &["empty.csv", "empty"]);
    add(
        "a header alone",
        one("header.csv", header.as_bytes())?,
        &["header.csv", "no spans", "no rows"],
    );
    add(
        "a web page",
        one("login.csv", html)?,
        &["login.csv", "HTML", "download"],
    );
    add(
        "a web page, chosen",
        Given::Chosen(file("chosen.csv", html)?),
        &["chosen.csv", "HTML"],
    );
    add(
        "a picture",
        one("photo.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")?,
        &["photo.csv", "picture (PNG)"],
    );
    add(
        "another table",
        one("people.csv", b"name,age\nAda,36\n")?,
        &["people.csv", "no columns of spans", "name, age"],
    );
    add(
        "a folder",
        Given::Dropped(vec![folder.path().to_owned()]),
        &["folder", "drop the span files"],
    );
    let two = vec![file("a.csv", b"")?, file("b.csv", html)?];
    add(
        "two bad files",
        Given::Dropped(two),
        &["a.csv", "empty", "b.csv", "HTML"],
    );
    add(
        "ten megabytes without a line",
        one("endless.csv", &vec![b'x'; 10_000_000])?,
        &["endless.csv", "first line does not end"],
    );
    let bomb_of_rows = format!(
        "trace_id,span_id,start_ms,duration_ms\n{}",
        "t,a,1767607200123,5\n".repeat(5_000_000)
    );
    add(
        "a gz bomb of rows",
        one("rows.csv.gz", &files::gz(bomb_of_rows.as_bytes())?)?,
        &["rows.csv.gz", "unpack to more than"],
    );
    let bomb_of_a_row = [rows.as_bytes(), &vec![b'x'; 100_000_000]].concat();
    add(
        "a gz bomb of one row",
        one("row.csv.gz", &files::gz(&bomb_of_a_row)?)?,
        &["row.csv.gz", "unpack to more than"],
    );
    let mut damaged = files::gz(rows.as_bytes())?;
    let middle = damaged.len() / 2;
    damaged[middle..middle + 40].fill(0x55);
    add(
        "damaged gz",
        one("damaged.csv.gz", &damaged)?,
        &["damaged.csv.gz", "gz data are damaged"],
    );
    Ok(cases)
}

fn give(page: &Page, given: &Given) -> Result<()> {
    match given {
        Given::Dropped(paths) => {
            let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
            page.drop_files(&paths, PLACE)
        }
        Given::Chosen(path) => page.choose_file("#chooser", path),
    }
}

/// A page with something to lose.
fn look_at_something(page: &Page) -> Result<()> {
    page.show("/#v=1&src=sample:incident&hide=tier:1&breaker=open%3D20s&pane=breaker")?;
    page.wheel(page.plot()?.pixel(0.8, 0.5), 0.0, -300.0, Held::NOTHING)?;
    page.wait_for_view("the zoom", |view| view.viewport.is_some())?;
    page.must_be_silent()
}

fn each_bad_file_costs_one_sentence(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    look_at_something(page)?;
    let (picture, view, spans) = (page.picture()?, page.view()?, page.spans()?);
    for case in cases(&folder)? {
        let in_this = |error: Failure| Failure::new(format!("{}: {error}", case.name));
        give(page, &case.given).map_err(in_this)?;
        let message = page.wait_for_message(&case.words).map_err(in_this)?;
        assert!(message.len() < 400, "{}: {message}", case.name);
        assert!(
            message.ends_with(|it: char| it == '.' || it.is_alphanumeric() || it == ')'),
            "{}: {message}",
            case.name
        );
        page.wait_until_still().map_err(in_this)?;
        assert!(!page.is_shown("#reading")? && !page.is_shown("#drop")?);
        assert_eq!(page.text("#file-name")?, "sample incident", "{}", case.name);
        assert_eq!(
            (page.view()?, page.spans()?),
            (view.clone(), spans),
            "{}",
            case.name
        );
        page.dismiss_messages().map_err(in_this)?;
        page.picture()?.must_be(&picture, case.name)?;
    }
    // The page goes on: to look elsewhere, and to open something better.
    page.press("d")?;
    page.wait_for_view("a move", |it| *it != view)?;
    page.drop_file(&folder.write("good.csv", files::first_rows(60)?)?, PLACE)?;
    page.wait_for_file("good.csv")?;
    assert_eq!(page.spans()?, 60.0);
    page.must_be_silent()
}

fn bad_text_costs_one_sentence(page: &mut Page) -> Result<()> {
    look_at_something(page)?;
    let (picture, view) = (page.picture()?, page.view()?);
    for (text, words) in [
        (
            "see you at nine",
            vec!["pasted text", "no columns of spans"],
        ),
        ("  \n \n", vec!["no text in the clipboard"]),
        (
            "{\"spans\": 3}",
            vec!["pasted text", "this JSON has no traces"],
        ),
    ] {
        page.paste(text)?;
        page.wait_for_message(&words)
            .map_err(|error| Failure::new(format!("`{text}`: {error}")))?;
        page.wait_until_still()?;
        assert_eq!(page.view()?, view);
        page.dismiss_messages()?;
        page.picture()?.must_be(&picture, text)?;
    }
    Ok(())
}

fn what_a_bad_file_interrupts_is_read_again(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let bad = folder.write("photo.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")?;
    let large = folder.write("large.csv", files::repeated(3)?)?;
    let reading = "document.documentElement.dataset.state == 'reading' && document.getElementById('file').hidden";
    for hash in ["", "#v=1&src=sample:incident&hide=tier:1&pane=breaker"] {
        for twice in [false, true] {
            page.open(&format!("/{hash}"))?;
            page.wait_for(reading)?;
            page.drop_file(&bad, PLACE)?;
            if twice {
                page.drop_file(&bad, PLACE)?;
            }
            page.wait_for_message(&["photo.csv", "picture (PNG)"])?;
            page.wait_for_file("sample incident")?;
            page.wait_for_message(&["photo.csv", "picture (PNG)"])?;
            let view = page.view()?;
            assert_eq!(
                view.files[0].source,
                Some(Source::Sample("incident".to_owned()))
            );
            assert_eq!(view.hidden.is_empty(), hash.is_empty(), "{view:?}");
        }
    }
    // Stopped, not failed; then a reading that was good itself.
    page.open("/")?;
    page.wait_for(reading)?;
    page.drop_file(&large, PLACE)?;
    page.wait_for("document.getElementById('reading-text').textContent.includes('large.csv')")?;
    page.press("Escape")?;
    page.wait_for_message(&["large.csv", "was stopped"])?;
    page.wait_for_file("sample incident")?;
    Ok(())
}

/// A link that waits for its file goes on waiting.
fn a_bad_file_does_not_answer_a_link(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    page.open("/#v=1&src=file:shop.csv:1000:0123456789abcdef")?;
    page.wait_for_message(&["shop.csv", "drop it here"])?;
    page.drop_file(&folder.write("shop.csv", b"see you at nine")?, PLACE)?;
    page.wait_for("document.querySelectorAll('#notices > .notice').length == 2")?;
    let said = page.messages()?.join(" ");
    assert!(
        said.contains("drop it here") && said.contains("no columns of spans"),
        "{said}"
    );
    assert_eq!(page.text("#empty-text")?, "Drop shop.csv here.");
    Ok(())
}

fn a_file_cut_in_mid_row_opens_with_a_note(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let rows = files::first_rows(100)?;
    let plain = &rows.as_bytes()[..rows.len() - 150];
    let packed = files::gz(files::first_rows(20_000)?.as_bytes())?;
    page.show("/")?;
    for (name, bytes, least) in [
        ("cut.csv", plain, 99.0),
        ("cut.csv.gz", &packed[..packed.len() / 2], 1_000.0),
    ] {
        page.drop_file(&folder.write(name, bytes)?, PLACE)?;
        page.wait_for_file(name)?;
        page.must_be_silent()?;
        assert!(page.spans()? >= least && page.spans()? < 20_000.0);
        assert!(page.is_shown("#issues")?);
        let note = page.string(
            "document.querySelector('#issues-list [data-code=row_truncated]').textContent",
        )?;
        assert!(note.contains("cut off"), "{note}");
    }
    page.click("#issues-count")?;
    assert!(page.text("#issues-list")?.contains("cut off"));
    Ok(())
}
