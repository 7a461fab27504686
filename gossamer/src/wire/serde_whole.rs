//! [`Whole`]: writes with serde, and refuses a field that is left out. A format that does not describe itself would read
//! the fields behind it in its place, and perhaps find nothing wrong with them.

use serde::ser::{
    Error, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};
use serde::{Serialize, Serializer};
use std::cell::Cell;
use std::fmt;

/// A value, or what writes it or a part of it.
pub(super) struct Whole<'a, S> {
    of: S,
    /// The name of a field that was left out: serde's errors need not keep a text.
    left_out: &'a Cell<Option<&'static str>>,
}

impl<'a, S> Whole<'a, S> {
    pub(super) fn new(of: S, left_out: &'a Cell<Option<&'static str>>) -> Self {
        Self { of, left_out }
    }

    fn refuse<E: Error>(&self, field: &'static str) -> Result<(), E> {
        self.left_out.set(Some(field));
        Err(E::custom("a field is left out"))
    }
}

impl<T: Serialize + ?Sized> Serialize for Whole<'_, &T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.of.serialize(Whole::new(to, self.left_out))
    }
}

/// The methods of single values, which have no fields.
macro_rules! forward {
    ($($method:ident: $value:ty),* $(,)?) => {
        $(
            fn $method(self, value: $value) -> Result<Self::Ok, Self::Error> {
                self.of.$method(value)
            }
        )*
    };
}

/// The methods that begin several values.
macro_rules! begin {
    ($($method:ident($($argument:ident: $type:ty),*) -> $compound:ident;)*) => {
        $(
            fn $method(self, $($argument: $type),*) -> Result<Self::$compound, Self::Error> {
                Ok(Whole::new(self.of.$method($($argument),*)?, self.left_out))
            }
        )*
    };
}

impl<'a, S: Serializer> Serializer for Whole<'a, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Whole<'a, S::SerializeSeq>;
    type SerializeTuple = Whole<'a, S::SerializeTuple>;
    type SerializeTupleStruct = Whole<'a, S::SerializeTupleStruct>;
    type SerializeTupleVariant = Whole<'a, S::SerializeTupleVariant>;
    type SerializeMap = Whole<'a, S::SerializeMap>;
    type SerializeStruct = Whole<'a, S::SerializeStruct>;
    type SerializeStructVariant = Whole<'a, S::SerializeStructVariant>;

    forward! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_i128: i128, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_u128: u128, serialize_f32: f32, serialize_f64: f64, serialize_char: char, serialize_str: &str,
        serialize_bytes: &[u8], serialize_unit_struct: &'static str,
    }

    begin! {
        serialize_seq(len: Option<usize>) -> SerializeSeq;
        serialize_tuple(len: usize) -> SerializeTuple;
        serialize_tuple_struct(name: &'static str, len: usize) -> SerializeTupleStruct;
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, len: usize)
            -> SerializeTupleVariant;
        serialize_map(len: Option<usize>) -> SerializeMap;
        serialize_struct(name: &'static str, len: usize) -> SerializeStruct;
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, len: usize)
            -> SerializeStructVariant;
    }

    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.of.serialize_none()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.of.serialize_some(&Whole::new(value, self.left_out))
    }

    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.of.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        self.of.serialize_unit_variant(name, index, variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.of.serialize_newtype_struct(name, &Whole::new(value, self.left_out))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.of.serialize_newtype_variant(name, index, variant, &Whole::new(value, self.left_out))
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.of.collect_str(value)
    }

    fn is_human_readable(&self) -> bool {
        self.of.is_human_readable()
    }
}

/// Several values without names.
macro_rules! unnamed {
    ($($compound:ident::$method:ident),* $(,)?) => {
        $(
            impl<S: $compound> $compound for Whole<'_, S> {
                type Ok = S::Ok;
                type Error = S::Error;

                fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
                    self.of.$method(&Whole::new(value, self.left_out))
                }

                fn end(self) -> Result<S::Ok, S::Error> {
                    self.of.end()
                }
            }
        )*
    };
}

unnamed! {
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
}

impl<S: SerializeMap> SerializeMap for Whole<'_, S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), S::Error> {
        self.of.serialize_key(&Whole::new(key, self.left_out))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
        self.of.serialize_value(&Whole::new(value, self.left_out))
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        self.of.end()
    }
}

/// Fields with names, which a type may leave out.
macro_rules! named {
    ($($compound:ident),*) => {
        $(
            impl<S: $compound> $compound for Whole<'_, S> {
                type Ok = S::Ok;
                type Error = S::Error;

                fn serialize_field<T: Serialize + ?Sized>(
                    &mut self,
                    name: &'static str,
                    value: &T,
                ) -> Result<(), S::Error> {
                    self.of.serialize_field(name, &Whole::new(value, self.left_out))
                }

                fn skip_field(&mut self, name: &'static str) -> Result<(), S::Error> {
                    self.refuse(name)
                }

                fn end(self) -> Result<S::Ok, S::Error> {
                    self.of.end()
                }
            }
        )*
    };
}

named! { SerializeStruct, SerializeStructVariant }
