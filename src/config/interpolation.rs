//! `$name`, `${name}` and `$section.name` inside values (oslo.config's option value interpolation). `$$` and `\$` are a
//! plain `$`.

/// Replaces every name by its value, from `value_of`. A `$` before any further character stays.
///
/// # Errors
/// The first error of `value_of`.
pub fn substitute<E>(text: &str, value_of: &mut impl FnMut(&str) -> Result<String, E>) -> Result<String, E> {
    let text = text.replace(r"\$", "$$");
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(dollar) = rest.find('$') {
        out.push_str(&rest[..dollar]);
        rest = &rest[dollar + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some((name, after)) = braced(rest).or_else(|| bare(rest)) {
            out.push_str(&value_of(name)?);
            rest = after;
        } else {
            out.push('$');
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// The name at the start of `text`, and the rest of the text.
fn bare(text: &str) -> Option<(&str, &str)> {
    let first = text.chars().next()?;
    if !(first.is_ascii_alphabetic() || first == '_') {
        return None;
    }
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
        .unwrap_or(text.len());
    Some(text.split_at(end))
}

fn braced(text: &str) -> Option<(&str, &str)> {
    let (name, after) = bare(text.strip_prefix('{')?)?;
    Some((name, after.strip_prefix('}')?))
}

/// The text that [`substitute`] turns back into `value`.
pub fn escape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            // After a backslash "$$" would be read as an escaped dollar and a second dollar.
            '$' if out.ends_with('\\') => out.push_str(r"\$"),
            '$' => out.push_str("$$"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_oslo_config_finds_them() {
        for (text, expected) in [
            ("a$p", "a<p>"),
            ("a${p}b", "a<p>b"),
            ("$$p", "$p"),
            ("\\$p", "$p"),
            ("$p.x", "<p.x>"),
            ("${g.q}", "<g.q>"),
            ("$p-x", "<p>-x"),
            ("a$", "a$"),
            ("$1", "$1"),
            ("$ {p}", "$ {p}"),
            ("${p", "${p"),
            ("$$$p", "$<p>"),
        ] {
            let result = substitute::<()>(text, &mut |name| Ok(format!("<{name}>")));
            assert_eq!(result.as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn an_escaped_text_is_substituted_back_to_itself() {
        for text in ["pa$word$$${x}", r"\$", r"\$$x", r"\\$\$", "a\\"] {
            let back = substitute(&escape(text), &mut |name| Err(name.to_owned()));
            assert_eq!(back.as_deref(), Ok(text));
        }
    }
}
