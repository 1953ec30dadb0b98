//! `herdscope plot`: a view as a picture.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use herdscope::engine::Engine;
use herdscope::filter::Filter;
use herdscope::ingest::Told;
use herdscope::plot::picture;
use herdscope::view::{FileRef, View};
use serde_json::json;

use super::{Failure, Telling, input, ns, print, print_json};

#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    input: input::Input,
    /// What to look at: what stands after # in a link of the page.
    #[arg(
        long,
        value_name = "HASH",
        default_value = "",
        hide_default_value = true
    )]
    view: String,
    #[command(flatten)]
    told: Telling,
    /// The picture to write: a .png or an .svg.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Size in CSS pixels, from 200x300 to 8192x8192.
    #[arg(long, value_name = "WxH", default_value = "1440x900", value_parser = size)]
    size: [u32; 2],
    /// Device pixels of a CSS pixel.
    #[arg(long, value_name = "1..4", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=4))]
    scale: u8,
    /// The colours.
    #[arg(long, default_value = "light")]
    theme: Theme,
    /// Prints JSON: the picture's file, and the part of the plot that it shows.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Theme {
    Light,
    Dark,
}

#[derive(Clone, Copy)]
enum Format {
    Png,
    Svg,
}

impl Options {
    pub fn input(&self) -> &input::Input {
        &self.input
    }
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let format = format(&options.output)?;
    let (view, mut notices) = View::parse(&options.view);
    // Of a link only what can be read is left.
    let told = |it: &FileRef| it.told.as_deref()?.parse::<Told>().ok();
    let of_link: Vec<Told> = view
        .files
        .iter()
        .map(|it| told(it).unwrap_or_default())
        .collect();
    let dataset = input::read_each(&options.input, &of_link, &options.told.told())?;
    input::warn(&dataset);
    let view = dataset.settle(view, &mut notices);
    if let Some(Err(error)) = view.filter.as_deref().map(str::parse::<Filter>) {
        notices.push(format!(
            "The link's filter cannot be read, so all spans are drawn: {error}."
        ));
    }
    for notice in notices {
        eprintln!("herdscope: {}", herdscope::format::printable(&notice));
    }
    let shown = view.viewport.unwrap_or_else(|| dataset.home());
    let mut engine = Engine::with(dataset);
    let how = picture::Options {
        size: options.size,
        scale: options.scale.into(),
        style: match options.theme {
            Theme::Light => picture::light(),
            Theme::Dark => picture::dark(),
        },
    };
    let bytes = match format {
        Format::Png => picture::png(&mut engine, &view, &how),
        Format::Svg => picture::svg(&mut engine, &view, &how).map(String::into_bytes),
    };
    let bytes =
        bytes.map_err(|why| Failure::Input(format!("the picture cannot be drawn: {why}")))?;
    fs::write(&options.output, bytes).map_err(|error| {
        Failure::Input(format!(
            "{}: it cannot be written: {error}",
            options.output.display()
        ))
    })?;
    if options.json {
        return print_json(&json!({
            "output": options.output,
            "t_ns": [ns(shown.t0), ns(shown.t1)],
            "ranks_milli": [shown.y0, shown.y1],
        }));
    }
    print(&format!("{}\n", options.output.display()))
}

fn format(output: &Path) -> Result<Format, Failure> {
    let ending = output
        .extension()
        .and_then(|it| it.to_str())
        .unwrap_or_default();
    match ending.to_ascii_lowercase().as_str() {
        "png" => Ok(Format::Png),
        "svg" => Ok(Format::Svg),
        _ => Err(Failure::Usage(format!(
            "--output: got {}, expected a name that ends in .png or .svg",
            output.display()
        ))),
    }
}

fn size(text: &str) -> Result<[u32; 2], String> {
    const LARGEST: u32 = 8_192;
    let sides = text.split_once('x').and_then(|(width, height)| {
        Some([width.trim().parse().ok()?, height.trim().parse().ok()?])
    });
    match sides {
        Some([width, height])
            if (200..=LARGEST).contains(&width) && (300..=LARGEST).contains(&height) =>
        {
            Ok([width, height])
        }
        _ => Err(format!(
            "expected WIDTHxHEIGHT, from 200x300 to {LARGEST}x{LARGEST}"
        )),
    }
}
