//! What goes between page and engine, as bytes.

use std::fmt::Debug;

use herdscope::messages::Request;
use herdscope::packed::{pack, unpack};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Kind {
    Alone,
    Wraps(Box<Kind>),
    Pair(u8, String),
    Fields { at: [f64; 2], of: Option<Kept> },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kept(u16);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Nothing;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Everything {
    kinds: Vec<Kind>,
    flags: (bool, bool, Option<bool>),
    numbers: (i8, i16, i32, i64, u8, u16, u32, u64),
    shares: Vec<f32>,
    texts: Vec<Option<String>>,
    nothing: (Nothing, ()),
    empty: Vec<u64>,
}

fn comes_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(it: &T) {
    assert_eq!(unpack::<T>(&pack(it)), *it);
}

#[test]
fn what_was_packed_comes_back() {
    let fields = Kind::Fields {
        at: [0.1, -f64::MAX],
        of: Some(Kept(7)),
    };
    let bare = Kind::Fields {
        at: [f64::INFINITY, 0.0],
        of: None,
    };
    comes_back(&Everything {
        kinds: vec![
            Kind::Alone,
            Kind::Wraps(Box::new(Kind::Wraps(Box::new(fields)))),
            Kind::Pair(255, "\u{fc}ber".to_owned()),
            bare,
        ],
        flags: (true, false, Some(false)),
        numbers: (
            i8::MIN,
            i16::MIN,
            i32::MIN,
            i64::MIN,
            u8::MAX,
            u16::MAX,
            u32::MAX,
            u64::MAX,
        ),
        shares: vec![0.5, f32::MIN_POSITIVE],
        texts: vec![None, Some(String::new()), Some("a\0b".to_owned())],
        nothing: (Nothing, ()),
        empty: Vec::new(),
    });
}

#[test]
fn a_message_has_neither_names_nor_types() {
    assert_eq!(pack(&Kept(258)), [2, 1]);
    assert_eq!(pack(&Some("ab")), [1, 2, 0, 0, 0, b'a', b'b']);
    assert_eq!(
        pack(&Kind::Pair(9, String::new())),
        [2, 0, 0, 0, 9, 0, 0, 0, 0]
    );
    assert!(pack(&[Nothing, Nothing]).is_empty());
    assert_eq!(pack(&vec![3u8, 4]), [2, 0, 0, 0, 3, 4]);
}

#[test]
#[should_panic(expected = "cannot be read")]
fn other_bytes_stop_the_program() {
    let bytes = pack(&Request::Cancel);
    unpack::<Request>(&bytes[1..]);
}
