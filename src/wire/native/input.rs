//! Reads parsed JSON, or the parameters of a query string, into any struct with serde.

use std::iter::Enumerate;
use std::slice::Iter;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::problem::{InputKind, Problem, given};
use crate::wire::value::Json;

/// A value of a request.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    value: &'a Json,
    /// In a query all values are texts, from which `true` and `5` are read. A list is a repeated parameter.
    part: InputKind,
}

impl<'a> Input<'a> {
    /// A value of a body.
    pub fn of_body(value: &'a Json) -> Input<'a> {
        let part = InputKind::Body;
        Input { value, part }
    }

    /// The parameters of a query, as an object of texts and of lists of texts.
    pub fn of_query(value: &'a Json) -> Input<'a> {
        let part = InputKind::Query;
        Input { value, part }
    }

    fn is_query(self) -> bool {
        self.part == InputKind::Query
    }

    /// Refuses a repeated parameter.
    fn check_single(self) -> Result<(), Problem> {
        match self.value {
            Json::Array(_) if self.is_query() => Err(Problem::repeated()),
            _ => Ok(()),
        }
    }

    fn is_not(self, allowed: &str) -> Problem {
        Problem::value(given(self.value), format_args!("not {allowed}"))
    }

    /// The whole number of 64 bits.
    fn whole(self) -> Result<i64, Problem> {
        self.check_single()?;
        let number = match self.value {
            Json::Int(number) => Some(*number),
            // JSON has a single kind of number, so 1.0 is whole.
            Json::Float(number) if number.fract() == 0.0 => format!("{number:.0}").parse().ok(),
            Json::String(text) if self.is_query() && is_digits(text) => text.parse().ok(),
            Json::BigInt(_) => None,
            _ => return Err(self.is_not("a whole number")),
        };
        number.ok_or_else(|| self.is_not("a whole number of 64 bits"))
    }

    fn items<V: Visitor<'a>>(self, items: &'a [Json], visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_seq(UnreadItems {
            items: items.iter().enumerate(),
            part: self.part,
        })
    }

    fn unread_members(self) -> UnreadMembers<'a, impl Iterator<Item = (&'a str, &'a Json)>> {
        UnreadMembers {
            members: self.value.members(),
            member: None,
            part: self.part,
        }
    }
}

/// `+5` and `5_0` are no digits.
fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl<'a> Deserializer<'a> for Input<'a> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.check_single()?;
        match self.value {
            Json::Null => visitor.visit_unit(),
            Json::Bool(boolean) => visitor.visit_bool(*boolean),
            Json::Int(number) => visitor.visit_i64(*number),
            Json::BigInt(_) => Err(self.is_not("a number of 64 bits")),
            Json::Float(number) if !number.is_finite() => Err(self.is_not("a finite number")),
            Json::Float(number) => visitor.visit_f64(*number),
            Json::String(text) => visitor.visit_borrowed_str(text),
            Json::Array(items) => self.items(items, visitor),
            Json::Object(_) => visitor.visit_map(self.unread_members()),
        }
    }

    fn deserialize_bool<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.check_single()?;
        match self.value {
            Json::Bool(boolean) => visitor.visit_bool(*boolean),
            Json::String(text) if self.is_query() && &**text == "true" => visitor.visit_bool(true),
            Json::String(text) if self.is_query() && &**text == "false" => visitor.visit_bool(false),
            _ => Err(self.is_not("true or false")),
        }
    }

    fn deserialize_i64<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_i64(self.whole()?)
    }

    fn deserialize_str<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.check_single()?;
        match self.value {
            Json::String(text) => visitor.visit_borrowed_str(text),
            _ => Err(self.is_not("a text")),
        }
    }

    fn deserialize_string<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.value {
            Json::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(self, name: &'static str, visitor: V) -> Result<V::Value, Problem> {
        let read = visitor.visit_newtype_struct(self);
        match name {
            "Nullable" => read.map_err(Problem::or_null),
            _ => read,
        }
    }

    fn deserialize_seq<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.value {
            Json::Array(items) => self.items(items, visitor),
            value if self.is_query() => self.items(std::slice::from_ref(value), visitor),
            _ => Err(self.is_not("a list")),
        }
    }

    fn deserialize_map<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.value {
            Json::Object(_) => visitor.visit_map(self.unread_members()),
            _ => Err(self.is_not("an object")),
        }
    }

    fn deserialize_struct<V: Visitor<'a>>(
        self,
        _name: &'static str,
        _members: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.deserialize_map(visitor)
    }

    forward_to_deserialize_any! {
        <V: Visitor<'a>> i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct
        tuple tuple_struct enum identifier
    }

    fn deserialize_ignored_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_unit()
    }
}

/// The unread items of a list.
struct UnreadItems<'a> {
    items: Enumerate<Iter<'a, Json>>,
    part: InputKind,
}

impl<'a> SeqAccess<'a> for UnreadItems<'a> {
    type Error = Problem;

    fn next_element_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<Option<T::Value>, Problem> {
        let Some((at, value)) = self.items.next() else {
            return Ok(None);
        };
        let part = self.part;
        let item = seed.deserialize(Input { value, part });
        item.map(Some).map_err(|problem| match part {
            InputKind::Body => problem.in_item(at),
            // All texts of a parameter have the name of the parameter.
            InputKind::Query => problem,
        })
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// The unread members of an object, and the member whose name was read.
struct UnreadMembers<'a, I> {
    members: I,
    member: Option<(&'a str, &'a Json)>,
    part: InputKind,
}

impl<'a, I: Iterator<Item = (&'a str, &'a Json)>> MapAccess<'a> for UnreadMembers<'a, I> {
    type Error = Problem;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>, Problem> {
        self.member = self.members.next();
        let Some((name, _)) = self.member else {
            return Ok(None);
        };
        let key = seed.deserialize(BorrowedStrDeserializer::new(name));
        key.map(Some).map_err(|problem: Problem| problem.in_name(name))
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Problem> {
        let (name, value) = self.member.take().unwrap_or(("", &Json::Null));
        let part = self.part;
        let member = seed.deserialize(Input { value, part });
        member.map_err(|problem| problem.in_member(name))
    }
}
