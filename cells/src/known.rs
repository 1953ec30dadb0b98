//! Rows of which a part has been met before.
//!
//! Owns what stood in some columns of the rows so far, and a number for each. Invariants: two rows have one
//! number exactly when those columns are written the same, byte by byte; what is held is bounded, and where rows
//! hardly repeat nothing is held any more. Looking up costs a walk over the bytes. Pinned by `tests`.

use crate::cut::Cut;
use crate::index::Index;
use crate::words;

/// The parts of rows that were met.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The columns, as runs from one to another, both included.
    runs: Vec<[u32; 2]>,
    table: Index,
    text: Vec<u8>,
    /// Of each number where its text begins and then how long each run is.
    places: Vec<u32>,
    n_known: u32,
    /// How often something was found.
    found: u32,
    given_up: bool,
}

/// So much is held.
const MOST_TEXT: usize = 1 << 20;
const MOST: u32 = 8_192;
/// After as many it is looked whether they repeat.
const TRIAL: u32 = 1_024;

impl Known {
    /// Columns of which nothing is known, ascending.
    pub fn new(columns: &[u32]) -> Known {
        let mut runs: Vec<[u32; 2]> = Vec::new();
        for &column in columns {
            match runs.last_mut() {
                Some(run) if run[1] + 1 == column => run[1] = column,
                Some(run) if run[1] == column => {}
                _ => runs.push([column; 2]),
            }
        }
        Known {
            runs,
            ..Known::default()
        }
    }

    /// Whether it is worth asking.
    pub fn is_of_use(&self) -> bool {
        !self.given_up
    }

    /// The number of a record's part, or its hash, to [`Known::add`] it by.
    #[inline(never)]
    pub fn find(&mut self, record: &[u8], cuts: &[Cut]) -> Result<u32, u64> {
        let mut hash = 0;
        for &run in &self.runs {
            hash = words::mix(hash, part(record, cuts, run));
        }
        let hash = words::finished(hash);
        let Known {
            runs, text, places, ..
        } = self;
        let width = runs.len() + 1;
        let found = self.table.find(hash, |number| {
            let at = number as usize * width;
            let Some((&from, lengths)) = places.get(at..at + width).and_then(<[u32]>::split_first)
            else {
                return false;
            };
            let mut from = from as usize;
            runs.iter().zip(lengths).all(|(&run, &length)| {
                let to = from + length as usize;
                let held = text.get(from..to).unwrap_or_default();
                from = to;
                words::same(held, part(record, cuts, run))
            })
        });
        self.found += u32::from(found.is_some());
        found.ok_or(hash)
    }

    /// The number of a part that is new; `None` where no more is held.
    #[inline(never)]
    pub fn add(&mut self, hash: u64, record: &[u8], cuts: &[Cut]) -> Option<u32> {
        let number = self.n_known;
        if number % TRIAL == TRIAL - 1 && self.found < number {
            *self = Known {
                given_up: true,
                ..Known::default()
            };
            return None;
        }
        if number >= MOST || self.text.len() >= MOST_TEXT {
            return None;
        }
        self.places.push(self.text.len() as u32);
        for &run in &self.runs {
            let part = part(record, cuts, run);
            self.text.extend_from_slice(part);
            self.places.push(part.len() as u32);
        }
        self.n_known += 1;
        self.table.add(hash, number);
        Some(number)
    }
}

/// What stands in a run of columns, with all that is between them.
#[inline(always)]
fn part<'a>(record: &'a [u8], cuts: &[Cut], [first, last]: [u32; 2]) -> &'a [u8] {
    let from = match first {
        0 => 0,
        _ => cuts
            .get(first as usize - 1)
            .map_or(0, |it| it.end as usize + 1),
    };
    let to = cuts.get(last as usize).map_or(0, |it| it.end as usize);
    record.get(from..to).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cut::Cutter;

    fn number(known: &mut Known, record: &str) -> Option<u32> {
        let mut cutter = Cutter::new(b',', None);
        cutter.scan(record.as_bytes());
        let found = known.find(record.as_bytes(), cutter.cuts());
        found
            .or_else(|hash| known.add(hash, record.as_bytes(), cutter.cuts()).ok_or(0))
            .ok()
    }

    #[test]
    fn rows_are_told_apart_by_their_columns() {
        let mut known = Known::new(&[1, 2, 2, 4]);
        let records = [
            "0,a,b,0,c\n",
            "0,a,,0,bc\n",
            "0,ab,,0,c\n",
            "0,\"a\",b,0,c\n",
            "0,\"a,\"\"b\",,0,c\n",
        ];
        for (at, record) in records.iter().enumerate() {
            assert_eq!(number(&mut known, record), Some(at as u32));
        }
        for (at, record) in records.iter().enumerate() {
            let other = record.replace('0', "another");
            assert_eq!(number(&mut known, &other), Some(at as u32));
        }
    }

    #[test]
    fn what_does_not_repeat_is_not_held() {
        let mut known = Known::new(&[0, 1]);
        assert!((0..4_000).all(|it| number(&mut known, &format!("x,{}\n", it % 500)).is_some()));
        assert!(known.is_of_use());
        let mut known = Known::new(&[0, 1]);
        assert!(!(0..4_000).all(|it| number(&mut known, &format!("x,{it}\n")).is_some()));
        assert!(!known.is_of_use());
        let mut known = Known::new(&[0, 1]);
        for it in (0..2 * MOST).flat_map(|it| [it, it]) {
            let number = number(&mut known, &format!("x,{it}\n"));
            assert_eq!(number.is_some(), it < MOST);
        }
    }
}
