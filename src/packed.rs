//! Columns of numbers as bytes, for messages.
//!
//! A picture's lines and bins are thousands of numbers; packed one by one as JavaScript values they
//! cost milliseconds a frame, as bytes next to nothing. Use as `#[serde(with = "packed")]`.
//! Invariant: little-endian, and what is packed unpacks to the same. Pinned by `tests::round_trip`.

use serde::de::{Error, Visitor};
use serde::{Deserializer, Serializer};

/// A number with a fixed number of bytes.
pub trait Number: Copy {
    /// Its bytes, little-endian.
    type Bytes: AsRef<[u8]> + for<'a> TryFrom<&'a [u8]>;
    /// To bytes.
    fn to_bytes(self) -> Self::Bytes;
    /// From bytes.
    fn from_bytes(bytes: Self::Bytes) -> Self;
}

macro_rules! number {
    ($type:ty, $size:literal) => {
        impl Number for $type {
            type Bytes = [u8; $size];
            fn to_bytes(self) -> [u8; $size] {
                self.to_le_bytes()
            }
            fn from_bytes(bytes: [u8; $size]) -> $type {
                <$type>::from_le_bytes(bytes)
            }
        }
    };
}

number!(u32, 4);
number!(f32, 4);
number!(i64, 8);

/// Packs a column.
pub fn serialize<N: Number, S: Serializer>(column: &[N], to: S) -> Result<S::Ok, S::Error> {
    let mut bytes = Vec::with_capacity(size_of_val(column));
    for &number in column {
        bytes.extend_from_slice(number.to_bytes().as_ref());
    }
    to.serialize_bytes(&bytes)
}

/// Unpacks a column.
pub fn deserialize<'de, N: Number, D: Deserializer<'de>>(from: D) -> Result<Vec<N>, D::Error> {
    let bytes = from.deserialize_byte_buf(Bytes)?;
    if bytes.len() % size_of::<N>() != 0 {
        return Err(D::Error::invalid_length(bytes.len(), &"whole numbers"));
    }
    let number = |piece| N::Bytes::try_from(piece).ok().map(N::from_bytes);
    Ok(bytes
        .chunks_exact(size_of::<N>())
        .filter_map(number)
        .collect())
}

struct Bytes;

impl Visitor<'_> for Bytes {
    type Value = Vec<u8>;

    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("the bytes of a column")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }

    fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use serde::de::IntoDeserializer;
    use serde::de::value::{BytesDeserializer, Error};

    use super::*;

    fn unpack<N: Number>(bytes: &[u8]) -> Result<Vec<N>, Error> {
        let bytes: BytesDeserializer<'_, Error> = bytes.into_deserializer();
        deserialize(bytes)
    }

    #[test]
    fn round_trip() {
        let times = [i64::MIN, -1, 0, 1_790_409_600_123_456_789];
        let bytes: Vec<u8> = times.iter().flat_map(|it| it.to_le_bytes()).collect();
        assert_eq!(unpack::<i64>(&bytes), Ok(times.to_vec()));
        assert_eq!(unpack::<u32>(&[1, 0, 0, 0, 0, 1, 0, 0]), Ok(vec![1, 256]));
        assert_eq!(unpack::<f32>(&1.5f32.to_le_bytes()), Ok(vec![1.5]));
        assert!(unpack::<u32>(&[1, 2, 3]).is_err());
    }
}
