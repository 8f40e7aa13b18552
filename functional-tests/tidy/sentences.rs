//! The rules of length: of the sentences of a document, and of the document.

use super::source::File;

const MOST_WORDS: usize = 30;

/// Complaints about sentences that are too long, outside of tables, code and generated text.
pub fn long_sentences(document: &File) -> Vec<String> {
    let units = units(&without_generated(&document.text));
    let sentences = units
        .iter()
        .flat_map(|(line, unit)| sentences(unit).into_iter().map(move |it| (line, it)));
    let mut complaints = Vec::new();
    for (line, sentence) in sentences {
        let words = words(&sentence);
        if words > MOST_WORDS {
            complaints.push(format!(
                "{}:{line}: {words} words in a sentence, and {MOST_WORDS} are the most. Give each thought a sentence: \
                 \"{sentence}\"",
                document.path
            ));
        }
    }
    complaints
}

/// A complaint about a page that is too long to be read to its end. `CHANGELOG.md` and `STYLE.md` are for looking up,
/// and have no limit.
pub fn page(document: &File) -> Option<String> {
    let (most, text) = match document.path.as_str() {
        "README.md" => (8_192, document.text.clone()),
        "ARCHITECTURE.md" => (15_360, document.text.clone()),
        path if path.starts_with("docs/") => (12_288, without_generated(&document.text)),
        _ => return None,
    };
    (text.len() > most).then(|| {
        format!(
            "{}: {} bytes, but the most are {most}: move what only some readers need to a page of its own",
            document.path,
            text.len()
        )
    })
}

/// The text without the lines between `<!-- … begins … -->` and `<!-- … ends … -->`, which become empty.
fn without_generated(text: &str) -> String {
    let (mut kept, mut rest) = (String::new(), text);
    while let Some((before, begin)) = next_mark(rest, " begin") {
        let Some((inside, end)) = next_mark(begin, " end") else {
            break;
        };
        kept.push_str(before);
        kept.extend(inside.matches('\n'));
        rest = end;
    }
    kept + rest
}

/// The text before and after the next remark that has this word.
fn next_mark<'a>(text: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    let mut from = 0;
    loop {
        let begin = from + text[from..].find("<!--")?;
        let end = begin + text[begin..].find("-->")? + "-->".len();
        if text[begin..end].contains(word) {
            return Some((&text[..begin], &text[end..]));
        }
        from = end;
    }
}

/// The paragraphs and items of lists, each with the number of its first line.
fn units(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut inside_code, mut open, mut in_list) = (false, false, false);
    for (number, line) in text.lines().enumerate() {
        let words = line.trim().trim_start_matches("> ");
        let fence = words.starts_with("```");
        inside_code ^= fence;
        let code = if in_list { "      " } else { "    " };
        let indented = line.starts_with(code) && !open;
        if fence || inside_code || indented || words.is_empty() || words.starts_with(['|', '#', '<']) {
            in_list &= words.is_empty() || line.starts_with(' ');
            open = false;
            continue;
        }
        let item = item(words);
        in_list = item.is_some() || (in_list && (open || line.starts_with(' ')));
        match found.last_mut().filter(|_| open && item.is_none()) {
            Some((_, unit)) => {
                unit.push(' ');
                unit.push_str(words);
            }
            None => found.push((number + 1, item.unwrap_or(words).to_owned())),
        }
        open = true;
    }
    found
}

/// The text of a list item, if the line begins one.
fn item(line: &str) -> Option<&str> {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = (number.len() < line.len()).then(|| number.strip_prefix(". ")).flatten();
    numbered
        .or_else(|| line.strip_prefix("- "))
        .or_else(|| line.strip_prefix("* "))
}

/// The sentences of a paragraph: they end with `.`, `!` or `?`, and the next one does not begin with a small letter.
pub fn sentences(unit: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut words = unit.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let last = found.len() - 1;
        if !found[last].is_empty() {
            found[last].push(' ');
        }
        found[last].push_str(word);
        let ends = word
            .trim_end_matches(['"', ')', '*', '_', '`', '\u{201d}'])
            .ends_with(['.', '!', '?']);
        let goes_on = words.peek().is_none_or(|next| {
            next.trim_start_matches(['(', '*', '_', '"', '['])
                .starts_with(char::is_lowercase)
        });
        if ends && !goes_on {
            found.push(String::new());
        }
    }
    found
}

/// The number of words. Text in backquotes is one word, and only the text of a link counts.
fn words(sentence: &str) -> usize {
    let mut plain = String::new();
    for (number, part) in sentence.split('`').enumerate() {
        plain.push_str(if number % 2 == 0 { part } else { "code" });
    }
    while let Some(begin) = plain.find("](") {
        let end = plain[begin..].find(')').map_or(plain.len(), |end| begin + end + 1);
        plain.replace_range(begin..end, "");
    }
    plain
        .split_whitespace()
        .filter(|word| word.contains(char::is_alphanumeric))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_a_reader_ends_them() {
        assert_eq!(
            sentences("One two (e.g. three). Four! `five` is 1.39, six. \"Seven?\" Eight"),
            [
                "One two (e.g. three).",
                "Four!",
                "`five` is 1.39, six.",
                "\"Seven?\"",
                "Eight"
            ]
        );
        assert_eq!(words("One `two three` of [four five](six/seven.md), – 8."), 6);
    }

    #[test]
    fn paragraphs_and_items_are_taken_apart() {
        let text = "# Head\n\nOne\ntwo.\n- Three\n  four\n- Five\n\n      code of the item\n\n1. Six\n\n    seven\n\n\
                    ```\ncode\n```\n| a | b |\n> Eight\n> nine\n";
        let expected = [
            (3, "One two."),
            (5, "Three four"),
            (7, "Five"),
            (11, "Six"),
            (13, "seven"),
            (19, "Eight nine"),
        ];
        let found = units(text);
        let found: Vec<(usize, &str)> = found.iter().map(|(line, unit)| (*line, unit.as_str())).collect();
        assert_eq!(found, expected);
        assert_eq!(units("One:\n\n    code\n\nTwo").len(), 2);
    }

    #[test]
    fn what_scripts_write_is_left_out() {
        assert_eq!(
            without_generated("a\n<!-- x begins here -->\n| t |\n<!-- and ends here -->\nb <!-- remark --> c"),
            "a\n\n\n\nb <!-- remark --> c"
        );
        assert_eq!(
            without_generated("a <!-- begins, for ever -->"),
            "a <!-- begins, for ever -->"
        );
    }
}
