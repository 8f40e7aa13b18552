//! A JSON value with the semantics of Python's `json`: integers of any length, NaN and infinities, and objects that
//! keep the order of their keys. Of two equal keys the last value counts.

use indexmap::IndexMap;

/// The members of an object, in the order of their first occurrence.
pub type Object = IndexMap<String, Value>;

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer beyond `i64`, as its decimal digits with a sign if it is negative.
    BigInt(String),
    Float(f64),
    String(String),
    Array(Vec<Value>),
    Object(Object),
}

/// Accessors for validated values. After validation a wrong type cannot occur, so they return an empty value for it.
impl Value {
    /// The member of this name; `Null` if there is none.
    pub fn field(&self, name: &str) -> &Value {
        self.get(name).unwrap_or(&Value::Null)
    }

    /// The member of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Object(object) => object.get(name),
            _ => None,
        }
    }

    /// The members of an object.
    pub fn members(&self) -> impl Iterator<Item = (&str, &Value)> {
        let object = match self {
            Value::Object(object) => Some(object),
            _ => None,
        };
        object.into_iter().flatten().map(|(key, value)| (key.as_str(), value))
    }

    /// The items of an array.
    pub fn items(&self) -> &[Value] {
        match self {
            Value::Array(items) => items,
            _ => &[],
        }
    }

    pub fn text(&self) -> &str {
        match self {
            Value::String(text) => text,
            _ => "",
        }
    }

    /// A number as an integer. Saturates at the limits of `i64`.
    pub fn integer(&self) -> i64 {
        match self {
            Value::Int(number) => *number,
            Value::BigInt(digits) if digits.starts_with('-') => i64::MIN,
            Value::BigInt(_) => i64::MAX,
            Value::Float(number) => *number as i64,
            _ => 0,
        }
    }

    /// A number as a float; infinite if it is too large.
    pub fn float(&self) -> Option<f64> {
        match self {
            Value::Int(number) => Some(*number as f64),
            Value::BigInt(digits) => digits.parse().ok(),
            Value::Float(number) => Some(*number),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_saturates() {
        assert_eq!(Value::BigInt("9".repeat(30)).integer(), i64::MAX);
        assert_eq!(Value::BigInt(format!("-{}", "9".repeat(30))).integer(), i64::MIN);
        assert_eq!(Value::Float(1e300).integer(), i64::MAX);
        assert_eq!(Value::Float(4.0).integer(), 4);
    }

    #[test]
    fn a_missing_member_reads_as_null() {
        let object = Value::Object(Object::from([("a".to_owned(), Value::Int(1))]));
        assert_eq!(object.field("a").integer(), 1);
        assert_eq!(object.field("b"), &Value::Null);
        assert_eq!(object.field("b").field("c").text(), "");
        assert!(Value::Null.items().is_empty());
    }
}
