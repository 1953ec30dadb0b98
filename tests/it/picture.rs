//! Whole pictures, exactly.

use std::fs;
use std::path::Path;

use herdscope::engine::Engine;
use herdscope::messages::Style;
use herdscope::plot::picture::{self, Options};
use herdscope::view::View;

use crate::given::herd;
use crate::golden::{check_png, check_text};

const HERD: &str = "v=1&t=1790409661500000000..1790409664500000000&y=330..740\
                    &breaker=window=100,min=20,fail=50%25,open=60s,probes=10";

fn options(style: Style) -> Options {
    Options {
        size: [720, 480],
        scale: 1.0,
        style,
    }
}

#[test]
fn golden_pictures() {
    let mut engine = Engine::with(herd());
    let (herd, notices) = View::parse(HERD);
    assert_eq!(notices, Vec::<String>::new());
    let lanes = View {
        lanes: true,
        ..herd.clone()
    };
    let cases = [
        ("picture-all", View::default(), options(picture::light())),
        ("picture-herd", herd.clone(), options(picture::dark())),
        (
            "picture-lanes",
            lanes,
            Options {
                scale: 2.0,
                ..options(picture::light())
            },
        ),
    ];
    for (name, view, options) in cases {
        check_png(
            name,
            &picture::png(&mut engine, &view, &options).expect("a picture"),
        );
    }
    let svg = picture::svg(&mut engine, &herd, &options(picture::light())).expect("a picture");
    // The spans are one embedded image, which the PNGs pin.
    let vectors: Vec<&str> = svg
        .lines()
        .filter(|line| !line.starts_with("<image"))
        .collect();
    assert_eq!(svg.lines().count(), vectors.len() + 2);
    check_text("picture-herd.svg", &vectors.join("\n"));
}

#[test]
fn the_bundled_styles_are_those_of_the_page() {
    let css = Path::new(env!("CARGO_MANIFEST_DIR")).join("www/style.css");
    let css = fs::read_to_string(css).expect("the stylesheet");
    // `--NAME: light-dark(LIGHT, DARK);` with short colours, too.
    let property = |name: &str, theme: usize| {
        let value = css.split(&format!("--{name}: light-dark(")).nth(1);
        let value = value.unwrap_or_else(|| panic!("the stylesheet has no --{name}"));
        let pair = value.split(')').next().unwrap_or_default();
        let color = pair.split(',').nth(theme).unwrap_or_default().trim();
        match color.strip_prefix('#').map(str::as_bytes) {
            Some(&[r, g, b]) => [r, r, g, g, b, b]
                .iter()
                .map(|&it| char::from(it))
                .collect(),
            _ => color.trim_start_matches('#').to_owned(),
        }
    };
    for (theme, style) in [picture::light(), picture::dark()].into_iter().enumerate() {
        let of = |name: &str| property(name, theme);
        let hex = |rgb: [u8; 3]| format!("{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]);
        for (at, &color) in style.series.iter().enumerate() {
            assert_eq!(of(&format!("series-{at}")), hex(color), "--series-{at}");
        }
        let named = [
            ("failed", style.failed),
            ("timed-out", style.timed_out),
            ("closed", style.closed),
            ("open", style.open),
            ("half-open", style.half_open),
            ("ramping", style.ramping),
            ("plot", style.plot),
            ("grid", style.grid),
            ("ink", style.ink),
            ("ink-2", style.ink_2),
            ("ink-3", style.ink_3),
        ];
        for (name, color) in named {
            assert_eq!(of(name), hex(color), "--{name}");
        }
    }
}
