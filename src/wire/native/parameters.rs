//! The parameters of a query. Several structs may share the parameters of a query. Parameters whose names end with the
//! same suffix are a group, which is read into a struct of its own.

use indexmap::IndexMap;
use serde::de::value::Error as NoValue;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;

use super::input::Input;
use super::problem::{InputKind, Problem, check_no_nul, quoted};
use super::texts::is_suffix;
use crate::error::Result;
use crate::spelling::nearest;
use crate::wire::filters;
use crate::wire::query::Query;
use crate::wire::value::{Json, Object};

/// The parameters without a struct.
pub struct UnreadParameters {
    /// The text or the texts of each parameter, in the order of the query.
    left: IndexMap<String, Json>,
    /// The names of the parameters of the structs so far, with and without a value.
    known: Vec<&'static str>,
    /// The names before a suffix.
    of_groups: &'static [&'static str],
    suffixes: Vec<String>,
}

impl UnreadParameters {
    /// The parameters of a query.
    ///
    /// # Errors
    /// A name or a text with a NUL.
    pub fn of(query: &Query) -> Result<UnreadParameters> {
        let mut left = IndexMap::new();
        for (name, _) in query.pairs() {
            if !left.contains_key(name) {
                left.insert(name.to_owned(), value(&query.all(name)));
            }
        }
        let members = Json::Object(left.into_iter().collect());
        check_no_nul(&members)?;
        Ok(UnreadParameters {
            left: members.into_members().collect(),
            known: Vec::new(),
            of_groups: &[],
            suffixes: Vec::new(),
        })
    }

    /// Reads all parameters into a struct, which refuses unknown parameters.
    ///
    /// # Errors
    /// The first wrong parameter.
    pub fn into_struct<T: DeserializeOwned>(self) -> Result<T> {
        let members = Json::Object(self.left.into_iter().collect());
        T::deserialize(Input::of_query(&members)).map_err(|problem| problem.refusal(InputKind::Query))
    }

    /// Reads the parameters with the names of the struct's members.
    ///
    /// # Errors
    /// The first wrong parameter of the struct.
    pub fn take<T: DeserializeOwned>(&mut self) -> Result<T> {
        let names = names::<T>();
        self.known.extend(names);
        let taken: Object = (names.iter())
            .filter_map(|name| self.left.shift_remove_entry(*name))
            .collect();
        T::deserialize(Input::of_query(&Json::Object(taken))).map_err(|problem| problem.refusal(InputKind::Query))
    }

    /// Reads the parameters with the names of the struct's members, each followed by a suffix, or by none. Returns the
    /// struct of each suffix, in the order of the query.
    ///
    /// # Errors
    /// More than `most` groups, or the first wrong parameter of a group.
    pub fn take_groups<T: DeserializeOwned>(&mut self, most: usize) -> Result<Vec<(String, T)>> {
        self.of_groups = names::<T>();
        self.known.extend(self.of_groups);
        let mut groups: IndexMap<String, Vec<(String, Json)>> = IndexMap::new();
        for (name, value) in std::mem::take(&mut self.left) {
            match split(self.of_groups, &name).filter(|(_, suffix)| is_suffix(suffix)) {
                Some((member, suffix)) => groups
                    .entry(suffix.to_owned())
                    .or_default()
                    .push((member.to_owned(), value)),
                None => {
                    self.left.insert(name, value);
                }
            }
        }
        if groups.len() > most {
            return filters::too_many_groups(most);
        }
        self.suffixes = groups.keys().cloned().collect();
        groups.into_iter().map(group).collect()
    }

    /// Refuses a parameter without a struct.
    ///
    /// # Errors
    /// The first of these parameters, with the known names.
    pub fn check_all_taken(mut self) -> Result<()> {
        let Some(name) = self.left.keys().next() else {
            return Ok(());
        };
        if let Some((_, suffix)) = split(self.of_groups, name) {
            let problem = Problem::value(quoted(suffix), "not a suffix of at most 64 letters, digits, _ and -");
            return Err(problem.in_member(name).refusal(InputKind::Query));
        }
        let meant = self.meant(name);
        let name = name.clone();
        // A name with a suffix may also be a parameter by itself.
        self.known.sort_unstable();
        self.known.dedup();
        Err(Problem::unknown(&name, self.known, meant).refusal(InputKind::Query))
    }

    /// The nearest known name, with a suffix of the query if need be.
    fn meant(&self, name: &str) -> Option<String> {
        let of_group = |suffix: &String| {
            let near = nearest(name.strip_suffix(suffix)?, self.of_groups.iter().copied())?;
            Some(format!("{near}{suffix}"))
        };
        let alone = nearest(name, self.known.iter().copied()).map(str::to_owned);
        alone.or_else(|| self.suffixes.iter().find_map(of_group))
    }
}

/// The value of a parameter: a text, or the list of the texts of a repeated parameter.
fn value(texts: &[&str]) -> Json {
    let text = |text: &&str| Json::String((*text).into());
    match texts {
        [single] => text(single),
        texts => Json::Array(texts.iter().map(text).collect()),
    }
}

/// The name of a parameter as the name of a member and the rest.
fn split<'a>(members: &[&'static str], name: &'a str) -> Option<(&'static str, &'a str)> {
    let mut members = members.iter();
    members.find_map(|member| Some((*member, name.strip_prefix(member)?)))
}

fn group<T: DeserializeOwned>((suffix, members): (String, Vec<(String, Json)>)) -> Result<(String, T)> {
    let members = Json::Object(members.into_iter().collect());
    match T::deserialize(Input::of_query(&members)) {
        Ok(group) => Ok((suffix, group)),
        Err(problem) => Err(problem.with_suffix(&suffix).refusal(InputKind::Query)),
    }
}

/// The names of the members of a struct.
fn names<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    let _no_value = T::deserialize(NameReader(&mut names));
    names
}

/// Reads the names of a struct's members, and no value.
struct NameReader<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for NameReader<'_> {
    type Error = NoValue;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> std::result::Result<V::Value, NoValue> {
        Err(NoValue::custom("no value is read"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> std::result::Result<V::Value, NoValue> {
        *self.0 = names;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
