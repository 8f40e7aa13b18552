//! Calls with an id, which a client may repeat.

use std::fmt::{self, Display, Formatter};

use ::uuid::Uuid;

use crate::model::claims::memory::{ClaimId, RepeatableCall};
use crate::wire::defaults::Defaults;
use crate::wire::value::Json;

/// The id of a call, with the digests of the body. White space, the order of members and escapes make no new call.
pub fn repeatable(id: String, body: &Json, raw_body: &[u8], defaults: &Defaults) -> RepeatableCall {
    RepeatableCall {
        id: ClaimId {
            id,
            project: defaults.project.clone().unwrap_or_default(),
        },
        digest: digest(Canonical(body).to_string().as_bytes()),
        digest_of_bytes: digest(raw_body),
    }
}

/// A text that is equal for equal bytes.
pub fn digest(bytes: &[u8]) -> String {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, bytes).to_string()
}

/// A body as a text, the same for each order of members.
struct Canonical<'a>(&'a Json);

impl Display for Canonical<'_> {
    fn fmt(&self, text: &mut Formatter<'_>) -> fmt::Result {
        let separator = |at| if at == 0 { "" } else { "," };
        match self.0 {
            Json::Array(items) => {
                text.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    write!(text, "{}{}", separator(at), Canonical(item))?;
                }
                text.write_str("]")
            }
            Json::Object(object) => {
                let mut members: Vec<(&str, &Json)> = object.iter().collect();
                members.sort_unstable_by_key(|(name, _)| *name);
                text.write_str("{")?;
                for (at, (name, value)) in members.into_iter().enumerate() {
                    write!(text, "{}{name:?}:{}", separator(at), Canonical(value))?;
                }
                text.write_str("}")
            }
            Json::Null => text.write_str("null"),
            Json::Bool(truth) => write!(text, "{truth}"),
            Json::Int(number) => write!(text, "{number}"),
            Json::BigInt(digits) => text.write_str(digits),
            Json::Float(number) => write!(text, "{number:?}"),
            Json::String(string) => write!(text, "{string:?}"),
        }
    }
}
