//! Parses query strings and validates the parameters against a schema.

use percent_encoding::percent_decode;

use super::json::decoding_problem;
use super::steps::Steps;
use super::validation;
use super::value::{Json, Object};
use crate::error::{Error, Result};
use crate::version::Version;

/// The parameters of a request in their order.
#[derive(Debug, Clone, Default)]
pub struct Query {
    pairs: Vec<(String, String)>,
    /// The indexes of `pairs` by name. The indexes of equal names keep their order. A query may have many groups, each
    /// with names of its own.
    by_name: Vec<usize>,
}

impl Query {
    /// Parses a query string without the `?`. Parameters are separated by `&` or `;`.
    pub fn parse(raw: &str) -> Result<Query> {
        let pairs = raw.split(['&', ';']).filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(name)?, decode(value)?))
        });
        Ok(Query::of_pairs(pairs.collect::<Result<_>>()?))
    }

    /// Parameters outside of a URL.
    pub fn of_pairs(pairs: Vec<(String, String)>) -> Query {
        let mut by_name: Vec<usize> = (0..pairs.len()).collect();
        by_name.sort_by(|one, other| pairs[*one].0.cmp(&pairs[*other].0));
        Query { pairs, by_name }
    }

    /// Parses and validates a query string. The schema validates only the last of several parameters of the same name.
    pub fn read(steps: &Steps, version: Version, raw: &str) -> Result<Query> {
        let query = Query::parse(raw)?;
        let members = query.pairs.iter().cloned();
        let object: Object = members.map(|(name, text)| (name, Json::String(text.into()))).collect();
        match validation::refusal(steps.at(version), &Json::Object(object)) {
            None => Ok(query),
            Some(sentence) => Err(Error::InvalidQuery(sentence)),
        }
    }

    /// Refuses a parameter if repeated.
    ///
    /// # Errors
    /// [`Error::DuplicateQueryKey`].
    pub fn check_single(&self, name: &str) -> Result<()> {
        match self.all(name).len() {
            0 | 1 => Ok(()),
            _ => Err(Error::DuplicateQueryKey {
                detail: format!("Query parameter '{name}' may be specified only once."),
            }),
        }
    }

    /// All parameters as pairs of name and value.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// All values of a parameter.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let first = self.by_name.partition_point(|at| self.pairs[*at].0.as_str() < name);
        let from_first = self.by_name[first..].iter().map(|at| &self.pairs[*at]);
        from_first
            .take_while(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
            .collect()
    }

    /// The last value of a parameter.
    pub fn last(&self, name: &str) -> Option<&str> {
        self.all(name).pop()
    }
}

fn decode(raw: &str) -> Result<String> {
    let spaced = raw.replace('+', " ");
    let bytes: Vec<u8> = percent_decode(spaced.as_bytes()).collect();
    String::from_utf8(bytes).map_err(|error| {
        let problem = decoding_problem(error.as_bytes(), error.utf8_error());
        Error::InvalidQuery(problem)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(raw: &str) -> Vec<(String, String)> {
        Query::parse(raw).unwrap().pairs
    }

    #[test]
    fn parameters_are_decoded_as_form_data() {
        assert_eq!(
            pairs("a=1+2&b=%41%2b;c&&d=x=y&e=%zz%4"),
            [("a", "1 2"), ("b", "A+"), ("c", ""), ("d", "x=y"), ("e", "%zz%4"),]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
        assert_eq!(pairs(""), []);
    }

    #[test]
    fn all_values_of_a_repeated_parameter_are_kept() {
        let query = Query::parse("a=1&b=2&a=3").unwrap();
        assert_eq!((query.all("a"), query.all("b")), (vec!["1", "3"], vec!["2"]));
        assert_eq!(query.last("a"), Some("3"));
        assert_eq!(query.last("c"), None);
    }

    #[test]
    fn invalid_utf8_is_refused() {
        let error = Query::parse("name=%e2%28").unwrap_err();
        assert_eq!(
            error.to_string(),
            "Invalid query string parameters: 'utf-8' codec can't decode byte 0xe2 in position 0: invalid continuation \
             byte"
        );
    }
}
