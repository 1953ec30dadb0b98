//! Where in a document something stands: the keys that lead to spans and what their values are.
//!
//! Owns the shapes of Jaeger's JSON and of OTLP's, as data. A list stands in the place of its
//! elements. Invariant: keys are compared in one form, lower case without `_`, so that every spelling
//! of a format is read. O(keys of a place). Pinned by `tests/ingest/json.rs`.

/// Where in a document.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// Where nothing is wanted.
    #[default]
    Nowhere,
    /// A document, or a trace of Jaeger's, or what is wrapped around either.
    Document,
    Processes,
    Process,
    JaegerSpan,
    Reference,
    ResourceSpans,
    Resource,
    Scope,
    OtlpSpan,
    Status,
    Event,
    Attribute,
    Value,
}

/// The cells that a plain value can fill: first those of the layouts of both formats, but for the
/// last of each, which is the service. The second half of a name is OTLP's.
pub(super) const TRACE: u8 = 0;
pub(super) const SPAN: u8 = 1;
pub(super) const PARENT: u8 = 2;
pub(super) const NAME: u8 = 3;
pub(super) const START: u8 = 4;
pub(super) const DURATION_END: u8 = 5;
pub(super) const REFERENCES_KIND: u8 = 6;
pub(super) const STATE: u8 = 7;
pub(super) const CODE: u8 = 8;
pub(super) const MESSAGE: u8 = 9;
pub(super) const OWNER: u8 = 10;
pub(super) const KEY: u8 = 11;
pub(super) const VALUE: u8 = 12;
pub(super) const SERVICE: u8 = 13;
pub(super) const TYPE: u8 = 14;
pub(super) const TARGET: u8 = 15;
pub(super) const NO_CELL: u8 = 16;

/// Where a key leads: the cell that its plain value fills, and the place of its object or list.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub(super) cell: u8,
    pub(super) place: Place,
}

pub(super) const NO_WAY: Way = Way {
    cell: NO_CELL,
    place: Place::Nowhere,
};

/// Where a key leads.
pub(super) fn way(place: Place, key: &[u8]) -> Way {
    let mut normal = [0; 32];
    let mut length = 0;
    for byte in key.iter().filter(|&&b| b != b'_').take(normal.len()) {
        normal[length] = byte.to_ascii_lowercase();
        length += 1;
    }
    let same = |it: &&(&str, u8, Place)| it.0.as_bytes() == &normal[..length];
    let found = keys(place).iter().find(same);
    found.map_or(NO_WAY, |&(_, cell, place)| Way { cell, place })
}

/// The keys that mean something in a place.
fn keys(place: Place) -> &'static [(&'static str, u8, Place)] {
    use Place::*;
    match place {
        Document => &[
            ("data", NO_CELL, Document),
            ("result", NO_CELL, Document),
            ("trace", NO_CELL, Document),
            ("resourcespans", NO_CELL, ResourceSpans),
            ("batches", NO_CELL, ResourceSpans),
            ("spans", NO_CELL, JaegerSpan),
            ("processes", NO_CELL, Processes),
        ],
        Process => &[
            ("servicename", SERVICE, Nowhere),
            ("tags", NO_CELL, Attribute),
        ],
        JaegerSpan => &[
            ("traceid", TRACE, Nowhere),
            ("spanid", SPAN, Nowhere),
            ("parentspanid", PARENT, Nowhere),
            ("operationname", NAME, Nowhere),
            ("starttime", START, Nowhere),
            ("duration", DURATION_END, Nowhere),
            ("processid", OWNER, Nowhere),
            ("references", NO_CELL, Reference),
            ("tags", NO_CELL, Attribute),
            ("logs", NO_CELL, Event),
        ],
        Reference => &[("reftype", TYPE, Nowhere), ("spanid", TARGET, Nowhere)],
        ResourceSpans => &[
            ("resource", NO_CELL, Resource),
            ("scopespans", NO_CELL, Scope),
            ("instrumentationlibraryspans", NO_CELL, Scope),
        ],
        Resource => &[("attributes", NO_CELL, Attribute)],
        Scope => &[("spans", NO_CELL, OtlpSpan)],
        OtlpSpan => &[
            ("traceid", TRACE, Nowhere),
            ("spanid", SPAN, Nowhere),
            ("parentspanid", PARENT, Nowhere),
            ("name", NAME, Nowhere),
            ("starttimeunixnano", START, Nowhere),
            ("endtimeunixnano", DURATION_END, Nowhere),
            ("kind", REFERENCES_KIND, Nowhere),
            ("tracestate", STATE, Nowhere),
            ("status", NO_CELL, Status),
            ("attributes", NO_CELL, Attribute),
            ("events", NO_CELL, Event),
        ],
        Status => &[("code", CODE, Nowhere), ("message", MESSAGE, Nowhere)],
        Event => &[
            ("attributes", NO_CELL, Attribute),
            ("fields", NO_CELL, Attribute),
        ],
        Attribute => &[("key", KEY, Nowhere), ("value", VALUE, Value)],
        Value => &[
            ("stringvalue", VALUE, Nowhere),
            ("intvalue", VALUE, Nowhere),
            ("boolvalue", VALUE, Nowhere),
            ("doublevalue", VALUE, Nowhere),
        ],
        Nowhere | Processes => &[],
    }
}

impl Default for Way {
    fn default() -> Way {
        NO_WAY
    }
}
