//! What a reader of a file noticed: one entry a kind of trouble, with its count, its first place
//! and what was done about it.
//!
//! Invariant: an issue never stops the reading; what does is an [`Unreadable`](crate::ingest::Unreadable). Noting costs O(number
//! of kinds), which is small. Pinned by `tests::issues_are_counted_by_code_and_column`.

use serde::Serialize;

/// A kind of trouble. The name in JSON is [`Code::as_str`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each is explained by `Code::remedy`")]
pub enum Code {
    NoRows,
    RowTruncated,
    RowShort,
    RowLong,
    QuoteOpen,
    Encoding,
    BadTime,
    BadDuration,
    NegativeDuration,
    BadId,
    MissingId,
    DuplicateRow,
    DuplicateHeader,
    RepeatedHeader,
    ParentMissing,
    ParentCycle,
    LostObjects,
    SpreadsheetIds,
    SpreadsheetTimes,
    MixedDates,
    AllFailed,
    Capped,
    Sampled,
    CoarseTimes,
    JsonBroken,
    ZoneAssumed,
    UnitAssumed,
    RowTooLong,
    NotASpan,
    NoParents,
    NoStatus,
    ToldMissing,
    UnknownStatus,
    NoService,
    SameId,
    GzRest,
    MemoryFull,
}

impl Code {
    /// The code as the command line's JSON and the docs write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::NoRows => "no_rows",
            Code::RowTruncated => "row_truncated",
            Code::RowShort => "row_short",
            Code::RowLong => "row_long",
            Code::QuoteOpen => "quote_open",
            Code::Encoding => "encoding",
            Code::BadTime => "bad_time",
            Code::BadDuration => "bad_duration",
            Code::NegativeDuration => "negative_duration",
            Code::BadId => "bad_id",
            Code::MissingId => "missing_id",
            Code::DuplicateRow => "duplicate_row",
            Code::DuplicateHeader => "duplicate_header",
            Code::RepeatedHeader => "repeated_header",
            Code::ParentMissing => "parent_missing",
            Code::ParentCycle => "parent_cycle",
            Code::LostObjects => "lost_objects",
            Code::SpreadsheetIds => "spreadsheet_ids",
            Code::SpreadsheetTimes => "spreadsheet_times",
            Code::MixedDates => "mixed_dates",
            Code::AllFailed => "all_failed",
            Code::Capped => "capped",
            Code::Sampled => "sampled",
            Code::CoarseTimes => "coarse_times",
            Code::JsonBroken => "json_broken",
            Code::ZoneAssumed => "zone_assumed",
            Code::UnitAssumed => "unit_assumed",
            Code::RowTooLong => "row_too_long",
            Code::NotASpan => "not_a_span",
            Code::NoParents => "no_parents",
            Code::NoStatus => "no_status",
            Code::ToldMissing => "told_missing",
            Code::UnknownStatus => "unknown_status",
            Code::NoService => "no_service",
            Code::SameId => "same_id",
            Code::GzRest => "gz_rest",
            Code::MemoryFull => "memory_full",
        }
    }

    /// What was done about it, and what the person can do.
    pub fn remedy(self) -> &'static str {
        match self {
            Code::NoRows => {
                "the file has no spans (of a table a header and no rows, of JSON an empty list): check the query's time range \
                 and export again"
            }
            Code::RowTruncated => {
                "the file ends in the middle of a row, which was left out: the export was cut off, take it again"
            }
            Code::RowShort => "rows with fewer cells than the header were left out",
            Code::RowLong => {
                "cells beyond the header were joined to the last column: the exporter does not quote its cells"
            }
            Code::QuoteOpen => "a quoted cell never ends: the rest of the file belongs to it",
            Code::Encoding => "bytes that are not UTF-8 were read as Latin-1",
            Code::BadTime => {
                "rows whose start time cannot be read were left out: name its column and unit (start=when@ms)"
            }
            Code::BadDuration => {
                "the spans were kept with an unknown duration and count in no latency"
            }
            Code::NegativeDuration => {
                "the spans were kept with an unknown duration: clocks that disagree, or a wrong unit"
            }
            Code::BadId => {
                "ids that cannot be ids were not used, the spans stand alone: export again with another tool"
            }
            Code::MissingId => "rows without a trace id stand as traces of one span each",
            Code::DuplicateRow => {
                "rows that say the same as another, or that are the same span in another file, were dropped"
            }
            Code::DuplicateHeader => "two columns have the same name: the first one was read",
            Code::RepeatedHeader => {
                "the header occurs again inside the file (several files joined): those lines were skipped"
            }
            Code::ParentMissing => {
                "their parents are not in the file: they are drawn as incomplete traces; export whole traces"
            }
            Code::ParentCycle => {
                "spans that are their own ancestors were taken as incomplete traces"
            }
            Code::LostObjects => {
                "the exporter wrote [object Object] where attributes were: they are lost, export again with another tool"
            }
            Code::SpreadsheetIds => {
                "a spreadsheet rewrote the ids: no traces can be built from them, take the exporter's own file"
            }
            Code::SpreadsheetTimes => {
                "a spreadsheet rewrote the times and lost their last digits: the spans stand at a few instants, no order or \
                 rate can be told from them; take the exporter's own file"
            }
            Code::MixedDates => {
                "the dates of the file begin with the day (29/3) and with the month (3/29): those like 3/4 were read as \
                 told, else as the first clear one; tell the order (dates=day-first or dates=month-first)"
            }
            Code::AllFailed => {
                "every trace failed: either the export was filtered to errors, and a breaker replayed over it misleads, or \
                 everything failed (a total outage); export the minutes around it without a filter"
            }
            Code::Capped => {
                "exactly the exporter's row limit: expect cut traces, and export a shorter range"
            }
            Code::Sampled => {
                "the spans are sampled: counts and count windows are not what the breaker saw"
            }
            Code::CoarseTimes => "times only to the second: order within a second is unknown",
            Code::JsonBroken => {
                "the JSON is broken there: the rest of that document was left out, export it again"
            }
            Code::ZoneAssumed => "times without a zone were read as UTC",
            Code::UnitAssumed => {
                "a unit was guessed from the numbers; if they are another's, tell it (start=@ms, duration=@us)"
            }
            Code::RowTooLong => {
                "rows longer than any span were left out, in a table up to the next line break: a quote that is never closed does this"
            }
            Code::NotASpan => "rows of events and links between the spans were left out",
            Code::NoParents => {
                "the file has no column of parent ids, so who calls whom and what a breaker saw cannot be told: \
                 export that column, too (parent_span_id in SigNoz and most others)"
            }
            Code::NoStatus => {
                "the file has no column that tells failures, so none is counted: tell from which duration on \
                 a span failed (failed=3s), or export the status, too"
            }
            Code::NoService => {
                "no span names its service, so who calls whom cannot be told: name its column (service=app)"
            }
            Code::SameId => {
                "spans with the ids of another that say something else were kept and count twice: another zone or unit?"
            }
            Code::ToldMissing => {
                "the file has no column of the name that was told for it: what the headers say was read"
            }
            Code::UnknownStatus => {
                "not known to tell a failure, so these spans count as good: tell the column that does (status=COLUMN, or \
                 grpc=COLUMN for gRPC's codes), or from which duration on a span failed (failed=3s)"
            }
            Code::GzRest => {
                "what follows the end of the gz data was left out: if spans are missing, download the file again"
            }
            Code::MemoryFull => {
                "the memory for spans is full, so what comes after this row was not read: read one of several traces \
                 of the whole file (sample=8)"
            }
        }
    }
}

/// One kind of trouble in one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// What it is.
    pub code: Code,
    /// How often it was met.
    pub count: u64,
    /// The row it was first met at: the header is row 1, as in a spreadsheet.
    pub first_row: Option<u64>,
    /// The file's name, where there are several.
    pub file: Option<String>,
    /// The column's name, when it is about one.
    pub column: Option<String>,
    /// What stood there the first time, shortened.
    pub got: Option<String>,
}

impl Issue {
    /// One sentence: where, what was got, what was done and what to do.
    pub fn message(&self) -> String {
        let mut place = self.file.clone().unwrap_or_default();
        if let Some(row) = self.first_row {
            let comma = if place.is_empty() { "" } else { ", " };
            place.push_str(&format!("{comma}row {row}"));
        }
        if let Some(column) = &self.column {
            let comma = if place.is_empty() { "" } else { ", " };
            place.push_str(&format!("{comma}column {column}"));
        }
        if let Some(got) = &self.got {
            let colon = if place.is_empty() { "" } else { ": " };
            place.push_str(&format!("{colon}\u{201c}{got}\u{201d}"));
        }
        let dash = if place.is_empty() { "" } else { " \u{2013} " };
        format!("{place}{dash}{}", self.code.remedy())
    }
}

impl Serialize for Issue {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct View<'a> {
            code: &'a str,
            count: u64,
            #[serde(skip_serializing_if = "Option::is_none")]
            file: Option<&'a str>,
            first_row: Option<u64>,
            column: Option<&'a str>,
            message: String,
        }
        let view = View {
            code: self.code.as_str(),
            count: self.count,
            file: self.file.as_deref(),
            first_row: self.first_row,
            column: self.column.as_deref(),
            message: self.message(),
        };
        view.serialize(to)
    }
}

/// All that was noticed about a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Issues(Vec<Issue>);

impl Issues {
    /// Notes one more case of `code`. Place and value are kept from the first row alone.
    pub fn note(&mut self, code: Code, row: Option<u64>, column: Option<&str>, got: Option<&str>) {
        self.add(code, 1, row, column, got);
    }

    /// Notes `count` cases at once, of which `row` is the first.
    pub fn add(
        &mut self,
        code: Code,
        count: u64,
        row: Option<u64>,
        column: Option<&str>,
        got: Option<&str>,
    ) {
        let same = |issue: &Issue| {
            issue.code == code && issue.file.is_none() && issue.column.as_deref() == column
        };
        let at = self.0.iter().position(same).unwrap_or_else(|| {
            self.0.push(Issue {
                code,
                count: 0,
                first_row: None,
                file: None,
                column: column.map(str::to_owned),
                got: None,
            });
            self.0.len() - 1
        });
        let issue = &mut self.0[at];
        let earlier = || issue.first_row.is_some_and(|first| row < Some(first));
        if issue.count == 0 || row.is_some() && earlier() {
            (issue.first_row, issue.got) = (row, got.map(shortened));
        }
        issue.count += count;
    }

    /// Takes over what another part noticed.
    pub fn extend(&mut self, other: Issues) {
        for issue in other.0 {
            let (column, got) = (issue.column.as_deref(), issue.got.as_deref());
            self.add(issue.code, issue.count, issue.first_row, column, got);
        }
    }

    /// Takes over what was noticed about one of several files.
    pub fn extend_of(&mut self, other: Issues, file: &str) {
        let of_file = |issue| Issue {
            file: Some(file.to_owned()),
            ..issue
        };
        self.0.extend(other.0.into_iter().map(of_file));
    }

    /// Leaves out what is settled.
    pub fn forget(&mut self, code: Code) {
        self.0.retain(|issue| issue.code != code);
    }

    /// The issues, in the order in which they were first met.
    pub fn iter(&self) -> impl Iterator<Item = &Issue> {
        self.0.iter()
    }

    /// How often `code` was met, over all columns.
    pub fn count(&self, code: Code) -> u64 {
        let of_code = self.0.iter().filter(|issue| issue.code == code);
        of_code.map(|issue| issue.count).sum()
    }

    /// Whether nothing was noticed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Issues {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

/// At most 60 characters of what stood there, on one line.
pub fn shortened(text: &str) -> String {
    const LONGEST: usize = 60;
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let mut short: String = text.chars().take(LONGEST).map(clean).collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push('\u{2026}');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issues_are_counted_by_code_and_column() {
        let mut issues = Issues::default();
        issues.note(Code::BadTime, Some(7), Some("Timestamp"), Some("soon"));
        issues.note(Code::BadTime, Some(9), Some("Timestamp"), Some("later"));
        issues.note(Code::BadTime, Some(9), Some("EndTime"), None);
        issues.add(Code::ParentMissing, 3, None, None, None);
        assert_eq!(issues.count(Code::BadTime), 3);
        let first = issues.iter().next().unwrap();
        assert_eq!((first.count, first.first_row), (2, Some(7)));
        assert_eq!(
            first.message(),
            "row 7, column Timestamp: \u{201c}soon\u{201d} \u{2013} \
             rows whose start time cannot be read were left out: name its column and unit (start=when@ms)"
        );
    }
}
