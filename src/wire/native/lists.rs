//! The page of a list, as an object of JSON or as lines of JSON (NDJSON). A parameter with several names.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::problem::{none_of, quoted};
use super::types::{Name, Named};
use crate::model::pages::PAGE_BYTES;
use crate::wire::output::{append, separate};

/// The form of the answer of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListForm {
    /// `{"<noun>": […], "next": …}`.
    #[default]
    Object,
    /// A line for each item. The header `Link` has the address of the next page.
    Lines,
}

/// A page, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenPage {
    pub text: Vec<u8>,
    /// The `after` of the next page; `None` on the last page.
    pub next: Option<String>,
}

/// An item of a list.
pub trait ListItem: Serialize + JsonSchema {
    /// The name of the list in a page.
    const LIST: &'static str;
}

/// The page of a list, for the description.
pub struct PageOf<T>(PhantomData<T>);

impl<T: ListItem> JsonSchema for PageOf<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("PageOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let items = generator.subschema_for::<T>();
        json_schema!({
            "type": "object",
            "properties": {
                T::LIST: {"type": "array", "items": items, "description": "The items of the page."},
                "next": {
                    "type": ["string", "null"],
                    "description": "The `after` of the next page; `null` on the last page.",
                },
            },
            "required": [T::LIST, "next"],
        })
    }
}

/// Writes items, each with its key. The page ends with the item that brings the page to [`PAGE_BYTES`]. `next` is the
/// key after which the next page begins if all items are written.
pub fn write_page<'k, T: ListItem>(
    form: ListForm,
    items: impl Iterator<Item = (&'k str, T)>,
    next: Option<&'k str>,
) -> WrittenPage {
    let (mut text, mut begun) = (Vec::new(), false);
    if form == ListForm::Object {
        append(&mut text, "{", T::LIST);
        text.extend_from_slice(b":[");
    }
    let (mut items, mut last) = (items.peekable(), None);
    while let Some((key, item)) = items.next_if(|_| text.len() < PAGE_BYTES) {
        last = Some(key);
        match form {
            ListForm::Object => {
                separate(&mut text, &mut begun);
                append(&mut text, "", &item);
            }
            ListForm::Lines => {
                append(&mut text, "", &item);
                text.push(b'\n');
            }
        }
    }
    let next = if items.peek().is_some() { last } else { next };
    if form == ListForm::Object {
        append(&mut text, "],\"next\":", &next);
        text.push(b'}');
    }
    WrittenPage {
        text,
        next: next.map(str::to_owned),
    }
}

/// Names of values, separated by commas. Each name occurs once.
#[derive(Clone, Debug)]
pub struct NameList<T>(pub Vec<T>);

impl<'de, T: Named> Deserialize<'de> for NameList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut values: Vec<T> = Vec::new();
        for name in text.split(',') {
            let known = T::NAMES.iter().find(|(known, _)| *known == name);
            match known {
                None => {
                    let allowed = none_of(Name::<T>::names());
                    return Err(D::Error::custom(format_args!("{} is {allowed}", quoted(name))));
                }
                Some((_, value)) if values.contains(value) => {
                    return Err(D::Error::custom(format_args!(
                        "{name} occurs more than once; once is allowed"
                    )));
                }
                Some((_, value)) => values.push(*value),
            }
        }
        Ok(NameList(values))
    }
}

impl<T: Named> JsonSchema for NameList<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "NameList".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let name = format!("({})", Name::<T>::names().join("|"));
        json_schema!({"type": "string", "pattern": format!("^{name}(,{name})*$")})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, JsonSchema)]
    struct Thing(String);

    impl ListItem for Thing {
        const LIST: &'static str = "things";
    }

    fn page(form: ListForm, lengths: &[usize]) -> (String, Option<String>) {
        let keys: Vec<String> = (0..lengths.len()).map(|at| format!("k{at}")).collect();
        let items = lengths.iter().map(|length| Thing("x".repeat(*length)));
        let items = keys.iter().map(String::as_str).zip(items);
        let page = write_page(form, items, Some("last"));
        (String::from_utf8(page.text).unwrap(), page.next)
    }

    #[test]
    fn a_page_is_an_object_or_lines() {
        let object = r#"{"things":["xx","x"],"next":"last"}"#;
        assert_eq!(
            page(ListForm::Object, &[2, 1]),
            (object.to_owned(), Some("last".to_owned()))
        );
        let lines = "\"xx\"\n\"x\"\n";
        assert_eq!(
            page(ListForm::Lines, &[2, 1]),
            (lines.to_owned(), Some("last".to_owned()))
        );
        let empty = write_page(ListForm::Object, std::iter::empty::<(&str, Thing)>(), None);
        assert_eq!(String::from_utf8(empty.text).unwrap(), r#"{"things":[],"next":null}"#);
        assert_eq!(empty.next, None);
    }

    #[test]
    fn a_page_ends_with_the_item_that_reaches_its_length() {
        for form in [ListForm::Object, ListForm::Lines] {
            let (text, next) = page(form, &[PAGE_BYTES, 5, 5]);
            assert!(text.len() < PAGE_BYTES + 100);
            assert_eq!(next.as_deref(), Some("k0"));
        }
    }
}
