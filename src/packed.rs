//! Messages as bytes, for the one program that stands at both ends of them.
//!
//! Owns their form, which nothing else reads and nobody keeps: numbers of fixed width, little end first, and
//! neither names nor types. Invariant: [`unpack`] gives what [`pack`] was given. What was packed can be
//! unpacked, so there is no error to hand on ([`Mistake`]): other bytes stop the program. That is why it is not
//! one of the formats that exist: the ways out at each field, which are never taken, weigh more in the page than
//! the fields do. Cost: proportional to the bytes. Pinned by `tests/it/messages.rs`.

use std::fmt;

use serde::de::value::U32Deserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, SeqAccess,
    VariantAccess, Visitor,
};
use serde::ser::{
    Impossible, Serialize, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde::{de, forward_to_deserialize_any, ser};

/// The bytes of a message.
pub fn pack<T: Serialize>(message: &T) -> Vec<u8> {
    let mut out = Out(Vec::new());
    let Ok(()) = message.serialize(&mut out);
    out.0
}

/// The message of these bytes, which [`pack`] has made of the same type.
pub fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> T {
    let Ok(message) = T::deserialize(&mut In(bytes));
    message
}

/// What goes wrong with a message: nothing.
#[derive(Debug)]
pub enum Mistake {}

#[cold]
#[inline(never)]
fn mistaken() -> ! {
    panic!("a message between the page and its engine cannot be read")
}

impl fmt::Display for Mistake {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl std::error::Error for Mistake {}

impl ser::Error for Mistake {
    fn custom<T: fmt::Display>(_: T) -> Mistake {
        mistaken()
    }
}

impl de::Error for Mistake {
    fn custom<T: fmt::Display>(_: T) -> Mistake {
        mistaken()
    }
}

/// The bytes so far.
struct Out(Vec<u8>);

impl Out {
    #[inline(never)]
    fn put(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    #[inline(never)]
    fn word(&mut self, word: u32) {
        self.put(&word.to_le_bytes());
    }

    fn number(&mut self, number: usize) {
        match number.try_into() {
            Ok(number) => self.word(number),
            Err(_) => mistaken(),
        }
    }
}

/// Numbers of a width, as bytes.
macro_rules! written {
    ($($write:ident: $number:ty,)*) => {
        $(fn $write(self, number: $number) -> Result<(), Mistake> {
            self.put(&number.to_le_bytes());
            Ok(())
        })*
    };
}

impl Serializer for &mut Out {
    type Ok = ();
    type Error = Mistake;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Impossible<(), Mistake>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    written! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_f32: f32, serialize_f64: f64,
    }

    fn serialize_bool(self, it: bool) -> Result<(), Mistake> {
        self.serialize_u8(it.into())
    }

    fn serialize_char(self, it: char) -> Result<(), Mistake> {
        self.serialize_u32(it.into())
    }

    fn serialize_str(self, text: &str) -> Result<(), Mistake> {
        self.serialize_bytes(text.as_bytes())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Mistake> {
        self.number(bytes.len());
        self.put(bytes);
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Mistake> {
        self.serialize_bool(false)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, it: &T) -> Result<(), Mistake> {
        self.serialize_bool(true)?;
        it.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Mistake> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Mistake> {
        Ok(())
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        variant: u32,
        _: &'static str,
    ) -> Result<(), Mistake> {
        self.word(variant);
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        it: &T,
    ) -> Result<(), Mistake> {
        it.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        it: &T,
    ) -> Result<(), Mistake> {
        self.word(variant);
        it.serialize(self)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self, Mistake> {
        match length {
            Some(length) => self.number(length),
            None => mistaken(),
        }
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Mistake> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Mistake> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Mistake> {
        self.word(variant);
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Mistake> {
        mistaken()
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Mistake> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Mistake> {
        self.word(variant);
        Ok(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// What consists of parts is its parts, one after the other.
macro_rules! parts_written {
    ($($kind:ident: $write:ident($($name:ty)?),)*) => {
        $(impl $kind for &mut Out {
            type Ok = ();
            type Error = Mistake;

            fn $write<T: Serialize + ?Sized>(
                &mut self,
                $(_: $name,)?
                it: &T,
            ) -> Result<(), Mistake> {
                it.serialize(&mut **self)
            }

            fn end(self) -> Result<(), Mistake> {
                Ok(())
            }
        })*
    };
}

parts_written! {
    SerializeSeq: serialize_element(),
    SerializeTuple: serialize_element(),
    SerializeTupleStruct: serialize_field(),
    SerializeTupleVariant: serialize_field(),
    SerializeStruct: serialize_field(&'static str),
    SerializeStructVariant: serialize_field(&'static str),
}

/// The bytes that are left.
struct In<'a>(&'a [u8]);

impl<'a> In<'a> {
    #[inline(never)]
    fn take(&mut self, n: usize) -> &'a [u8] {
        match self.0.split_at_checked(n) {
            Some((taken, rest)) => {
                self.0 = rest;
                taken
            }
            None => mistaken(),
        }
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        match self.take(N).first_chunk() {
            Some(array) => *array,
            None => mistaken(),
        }
    }

    #[inline(never)]
    fn word(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    #[inline(never)]
    fn flag(&mut self) -> bool {
        self.array() == [1]
    }

    #[inline(never)]
    fn text(&mut self) -> &'a str {
        let length = self.word() as usize;
        match std::str::from_utf8(self.take(length)) {
            Ok(text) => text,
            Err(_) => mistaken(),
        }
    }
}

/// Numbers of a width, from their bytes.
macro_rules! read {
    ($($read:ident: $visit:ident($number:ty),)*) => {
        $(fn $read<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
            visitor.$visit(<$number>::from_le_bytes(self.array()))
        })*
    };
}

impl<'de> Deserializer<'de> for &mut In<'de> {
    type Error = Mistake;

    read! {
        deserialize_i8: visit_i8(i8), deserialize_i16: visit_i16(i16),
        deserialize_i32: visit_i32(i32), deserialize_i64: visit_i64(i64),
        deserialize_u8: visit_u8(u8), deserialize_u16: visit_u16(u16),
        deserialize_u32: visit_u32(u32), deserialize_u64: visit_u64(u64),
        deserialize_f32: visit_f32(f32), deserialize_f64: visit_f64(f64),
    }

    /// The bytes do not tell what they are.
    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Mistake> {
        mistaken()
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_bool(self.flag())
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_borrowed_str(self.text())
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_borrowed_str(self.text())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.flag() {
            true => visitor.visit_some(self),
            false => visitor.visit_none(),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        let left = self.word();
        visitor.visit_seq(Sequence { bytes: self, left })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_seq(Fields(self))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        visitor.visit_seq(Fields(self))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        visitor.visit_seq(Fields(self))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        visitor.visit_enum(Fields(self))
    }

    forward_to_deserialize_any! { char bytes byte_buf map identifier ignored_any }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// As many parts as were counted.
struct Sequence<'a, 'de> {
    bytes: &'a mut In<'de>,
    left: u32,
}

impl<'de> SeqAccess<'de> for Sequence<'_, 'de> {
    type Error = Mistake;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Mistake> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        self.left = left;
        seed.deserialize(&mut *self.bytes).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left as usize)
    }
}

/// As many parts as the type has.
struct Fields<'a, 'de>(&'a mut In<'de>);

impl<'de> SeqAccess<'de> for Fields<'_, 'de> {
    type Error = Mistake;

    #[inline(always)]
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Mistake> {
        seed.deserialize(&mut *self.0).map(Some)
    }
}

impl<'de> EnumAccess<'de> for Fields<'_, 'de> {
    type Error = Mistake;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Mistake> {
        let variant: U32Deserializer<Mistake> = self.0.word().into_deserializer();
        Ok((seed.deserialize(variant)?, self))
    }
}

impl<'de> VariantAccess<'de> for Fields<'_, 'de> {
    type Error = Mistake;

    fn unit_variant(self) -> Result<(), Mistake> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Mistake> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_seq(self)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        visitor.visit_seq(self)
    }
}
