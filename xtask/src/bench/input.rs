//! What those who measure are told, and the inputs that they make for it.

use std::fs;
use std::path::PathBuf;

use crate::Result;
use crate::generate::{self, Counts};

/// How large, how often, where.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The largest input.
    pub spans: u64,
    /// Rounds of all contenders.
    pub rounds: usize,
    /// Where inputs are kept.
    pub data: PathBuf,
}

/// The seed of all inputs.
const SEED: u64 = 1;

impl Options {
    /// What `cargo xtask bench` hands on.
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Options> {
        let mut options = Options {
            spans: 100_000,
            rounds: 5,
            data: super::data(),
        };
        let mut words = words;
        while let Some(word) = words.next() {
            let value = words
                .next()
                .ok_or_else(|| format!("nothing comes after {word}"))?;
            let number = || {
                value
                    .parse::<u64>()
                    .map_err(|_| format!("{word} wants a number, not `{value}`"))
            };
            match word.as_str() {
                "--spans" => options.spans = number()?,
                "--rounds" => options.rounds = number()? as usize,
                "--data" => options.data = value.into(),
                _ => return Err(format!("`{word}` is none of --spans, --rounds and --data")),
            }
        }
        Ok(options)
    }

    /// Ten thousand spans, ten times as many, and so on, up to the largest.
    pub fn sizes(&self) -> Vec<u64> {
        let sizes = std::iter::successors(Some(10_000), |it| Some(it * 10));
        sizes.take_while(|&it| it <= self.spans).collect()
    }
}

/// A generated file.
#[derive(Debug)]
pub struct Input {
    /// Where it is.
    pub path: PathBuf,
    /// Its name there.
    pub name: String,
    /// Its spans.
    pub spans: u64,
    /// Its bytes.
    pub bytes: u64,
}

impl Input {
    /// The file of so many spans, made where it is not there yet.
    pub fn of(options: &Options, dialect: &str, spans: u64) -> Result<Input> {
        let name = format!("{dialect}-{spans}.csv");
        let path = options.data.join(&name);
        let cannot = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
        if !path.exists() {
            fs::create_dir_all(&options.data).map_err(cannot)?;
            let known = generate::dialect(dialect).ok_or("there is no such dialect")?;
            // Half a file is not taken for a whole one.
            let begun = path.with_extension("begun");
            let Counts { .. } = generate::file(&begun, known, spans, SEED).inspect_err(|_| {
                let _ = fs::remove_file(&begun);
            })?;
            fs::rename(&begun, &path).map_err(cannot)?;
        }
        let bytes = fs::metadata(&path).map_err(cannot)?.len();
        Ok(Input {
            path,
            name,
            spans,
            bytes,
        })
    }

    /// `1 M spans`.
    pub fn size(&self) -> String {
        size(self.spans)
    }
}

/// `1 M spans`, `100 k spans`.
pub fn size(spans: u64) -> String {
    match spans {
        1_000_000.. if spans.is_multiple_of(100_000) => format!("{} M spans", spans as f64 / 1e6),
        1_000.. if spans.is_multiple_of(100) => format!("{} k spans", spans as f64 / 1e3),
        _ => format!("{spans} spans"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_ten_up_to_the_largest() {
        let sizes = |spans| {
            let words = ["--spans".to_owned(), spans];
            Options::parse(words.into_iter()).expect("options").sizes()
        };
        assert_eq!(sizes("1000000".to_owned()), [10_000, 100_000, 1_000_000]);
        assert_eq!(sizes("150000".to_owned()), [10_000, 100_000]);
        assert_eq!(
            [10_000, 3_500_000, 123].map(size),
            ["10 k spans", "3.5 M spans", "123 spans"]
        );
    }
}
