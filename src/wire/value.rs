//! A JSON value with the semantics of Python's `json`: integers of any length, NaN and infinities, and objects with
//! ordered keys. No object has two equal keys.
//!
//! A body may have a million values, so a value has no spare room: a value takes 24 bytes, and a member 40.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use serde::{Serialize, Serializer};

use super::path::MemberPath;

/// Private-use characters in the place of lone surrogates in parsed texts, because a `char` cannot be a surrogate.
const SURROGATE_STAND_INS: RangeInclusive<char> = '\u{10d800}'..='\u{10dfff}';

/// The lone surrogate behind a private-use character.
pub fn lone_surrogate(c: char) -> Option<u32> {
    SURROGATE_STAND_INS.contains(&c).then(|| u32::from(c) - 0x10_0000)
}

#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer beyond `i64`, as decimal digits, with a sign if negative.
    BigInt(Box<str>),
    Float(f64),
    String(Box<str>),
    Array(Box<[Json]>),
    Object(Object),
}

/// The members of an object, in the order of their first occurrence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Object(Box<[Member]>);

type Member = (Box<str>, Json);

/// Of at most this many members each is compared with each.
const FEW_MEMBERS: usize = 16;

impl Object {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Looks at each member, because an object is either short or iterated over.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().map(|(key, value)| (&**key, value))
    }
}

impl Object {
    /// The object with these members, or a repeated name.
    pub fn of_distinct(members: Vec<Member>) -> Result<Object, Box<str>> {
        match repeated_name(&members) {
            Some(name) => Err(name.into()),
            None => Ok(Object(members.into())),
        }
    }
}

impl From<Vec<Member>> for Object {
    /// Of two members of the same name the last value counts, at the place of the first.
    fn from(members: Vec<Member>) -> Object {
        if repeated_name(&members).is_none() {
            return Object(members.into());
        }
        let mut kept: Vec<Member> = Vec::new();
        let mut places: HashMap<Box<str>, usize> = HashMap::new();
        for (name, value) in members {
            if let Some(place) = places.get(&name) {
                kept[*place].1 = value;
            } else {
                places.insert(name.clone(), kept.len());
                kept.push((name, value));
            }
        }
        Object(kept.into())
    }
}

impl FromIterator<(String, Json)> for Object {
    fn from_iter<I: IntoIterator<Item = (String, Json)>>(members: I) -> Object {
        let members = members.into_iter().map(|(name, value)| (name.into(), value));
        members.collect::<Vec<Member>>().into()
    }
}

/// A name of two members.
fn repeated_name(members: &[Member]) -> Option<&str> {
    if members.len() <= FEW_MEMBERS {
        let mut each = members.iter().enumerate();
        let repeated = each.find(|(at, (name, _))| members[..*at].iter().any(|(before, _)| before == name));
        return repeated.map(|(_, (name, _))| &**name);
    }
    let mut names: Vec<&str> = members.iter().map(|(name, _)| &**name).collect();
    names.sort_unstable();
    let mut pairs = names.windows(2);
    pairs.find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// Accessors for validated values. A wrong type, which cannot occur after validation, gives an empty value.
impl Json {
    /// The member of this name; `Null` if there is none.
    pub fn field(&self, name: &str) -> &Json {
        self.get(name).unwrap_or(&Json::Null)
    }

    /// The member of this name.
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(object) => object.get(name),
            _ => None,
        }
    }

    /// The members of an object.
    pub fn members(&self) -> impl ExactSizeIterator<Item = (&str, &Json)> {
        let members: &[Member] = match self {
            Json::Object(object) => &object.0,
            _ => &[],
        };
        members.iter().map(|(name, value)| (&**name, value))
    }

    /// The members of an object, moved out of the object. So each member can be freed before the next is read.
    pub fn into_members(self) -> impl ExactSizeIterator<Item = (String, Json)> {
        let members = match self {
            Json::Object(object) => object.0.into_vec(),
            _ => Vec::new(),
        };
        members.into_iter().map(|(name, value)| (name.into_string(), value))
    }

    /// The member of this name, moved out of the object; `Null` if there is none.
    pub fn into_field(self, name: &str) -> Json {
        let found = self.into_members().find(|(key, _)| key == name);
        found.map_or(Json::Null, |(_, value)| value)
    }

    /// The items of an array, moved out of it.
    pub fn into_items(self) -> Vec<Json> {
        match self {
            Json::Array(items) => items.into_vec(),
            _ => Vec::new(),
        }
    }

    /// The items of an array.
    pub fn items(&self) -> &[Json] {
        match self {
            Json::Array(items) => items,
            _ => &[],
        }
    }

    pub fn text(&self) -> &str {
        match self {
            Json::String(text) => text,
            _ => "",
        }
    }

    /// A number as an integer. Saturates at the limits of `i64`.
    pub fn integer(&self) -> i64 {
        match self {
            Json::Int(number) => *number,
            Json::BigInt(digits) if digits.starts_with('-') => i64::MIN,
            Json::BigInt(_) => i64::MAX,
            Json::Float(number) => *number as i64,
            _ => 0,
        }
    }

    /// A number as a float; infinite if too large.
    pub fn float(&self) -> Option<f64> {
        match self {
            Json::Int(number) => Some(*number as f64),
            Json::BigInt(digits) => digits.parse().ok(),
            Json::Float(number) => Some(*number),
            _ => None,
        }
    }

    /// The path from the value to the first text or name of a member that `is_sought`. A value without the text costs
    /// no memory.
    pub fn path_to_text(&self, is_sought: fn(&str) -> bool) -> Option<MemberPath> {
        match self {
            Json::String(text) => is_sought(text).then(MemberPath::default),
            Json::Array(items) => {
                let mut items = items.iter().enumerate();
                items.find_map(|(at, item)| Some(item.path_to_text(is_sought)?.in_item(at)))
            }
            Json::Object(object) => object.iter().find_map(|(name, item)| {
                if is_sought(name) {
                    return Some(MemberPath::of(name));
                }
                Some(item.path_to_text(is_sought)?.in_member(name))
            }),
            _ => None,
        }
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(boolean) => serializer.serialize_bool(*boolean),
            Json::Int(number) => serializer.serialize_i64(*number),
            Json::BigInt(_) | Json::Float(_) => self.float().serialize(serializer),
            Json::String(text) => serializer.serialize_str(text),
            Json::Array(items) => serializer.collect_seq(items),
            Json::Object(object) => serializer.collect_map(object.iter()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_saturates() {
        assert_eq!(Json::BigInt("9".repeat(30).into()).integer(), i64::MAX);
        assert_eq!(Json::BigInt(format!("-{}", "9".repeat(30)).into()).integer(), i64::MIN);
        assert_eq!(Json::Float(1e300).integer(), i64::MAX);
        assert_eq!(Json::Float(4.0).integer(), 4);
    }

    #[test]
    fn a_missing_member_reads_as_null() {
        let object = Json::Object([("a".to_owned(), Json::Int(1))].into_iter().collect());
        assert_eq!(object.field("a").integer(), 1);
        assert_eq!(object.field("b"), &Json::Null);
        assert_eq!(object.field("b").field("c").text(), "");
        assert!(Json::Null.items().is_empty());
    }

    #[test]
    fn hostile_10_a_value_takes_24_bytes_and_a_member_40() {
        assert_eq!((size_of::<Json>(), size_of::<Member>()), (24, 40));
    }

    #[test]
    fn of_two_members_of_one_name_the_last_value_counts_at_the_place_of_the_first() {
        for most in [3, 100] {
            let names = (0..most).chain([1, 1]).map(|number| number.to_string());
            let object: Object = (names.enumerate())
                .map(|(at, name)| (name, Json::Int(at as i64)))
                .collect();
            assert_eq!(object.len(), most);
            assert_eq!(object.iter().nth(1), Some(("1", &Json::Int(most as i64 + 1))));
            assert_eq!(object.get("2"), Some(&Json::Int(2)));
        }
    }

    #[test]
    fn hostile_16_a_nul_is_named_by_its_path() {
        for (body, path) in [
            (r#""a\u0000""#, Some("")),
            (r#"["a", "b\u0000"]"#, Some("[1]")),
            (r#"{"a": [{"b": "\u0000"}]}"#, Some("a[0].b")),
            (r#"{"a": [["", "\u0000"]]}"#, Some("a[0][1]")),
            (r#"{"a": {"b\u0000": 1}}"#, Some("a.b\\0")),
            (r#"{"a": ["b", {"c": "\\u0000"}], "d": 0, "e": null}"#, None),
        ] {
            let value = crate::wire::json::read(body.as_bytes(), |_| Ok(())).expect(body);
            let found = value.path_to_text(|text| text.contains('\0'));
            assert_eq!(found.map(|path| path.to_string()).as_deref(), path, "{body}");
        }
    }
}
