//! The known name that was probably meant by a mistyped name.

/// A known name at most this number of edits away is suggested.
const MAX_EDITS: usize = 2;

/// The known name with the fewest edits, if the name could be a typing mistake.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let length = name.chars().count();
    // A name may be megabytes long, so the lengths are compared first.
    known
        .filter(|known| known.chars().count().abs_diff(length) <= MAX_EDITS)
        .map(|known| (strsim::osa_distance(known, &name), known))
        .filter(|(edits, known)| *edits <= MAX_EDITS && *edits < known.len().min(name.len()))
        .min()
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_is_near_no_other_one() {
        let known = || ["db", "sslmode", "port"].into_iter();
        assert_eq!(nearest("sslmod", known()), Some("sslmode"));
        assert_eq!(nearest("SSLMODE", known()), Some("sslmode"));
        assert_eq!(nearest("xy", known()), None);
        assert_eq!(nearest("timeout", known()), None);
        assert_eq!(nearest(&"port".repeat(10_000_000), known()), None);
    }
}
