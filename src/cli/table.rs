//! Text tables in the format of Python's prettytable, which scripts around OpenStack's tools parse.

/// A table with a header and centred cells.
pub fn centred(header: &[&str], rows: &[Vec<String>]) -> String {
    let header: Vec<String> = header.iter().map(|cell| (*cell).to_owned()).collect();
    let widths: Vec<usize> = (0..header.len())
        .map(|column| {
            let cells = std::iter::once(&header)
                .chain(rows)
                .map(|row| row[column].chars().count());
            cells.max().unwrap_or_default()
        })
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!(" {} |", centre(cell, *width)));
        format!("|{}\n", cells.collect::<String>())
    };
    let rule: String = widths
        .iter()
        .map(|width| format!("-{}-+", "-".repeat(*width)))
        .collect();
    let body: String = rows.iter().map(line).collect();
    format!("+{rule}\n{}+{rule}\n{body}+{rule}\n", line(&header))
}

/// A table of one column with a rule around each cell. A cell may have several lines.
pub fn boxed(header: &str, cells: &[String]) -> String {
    let lines = cells.iter().flat_map(|cell| cell.lines()).chain([header]);
    let width = lines.map(|line| line.chars().count()).max().unwrap_or_default();
    let rule = format!("+{}+\n", "-".repeat(width + 2));
    let draw = |cell: &str| {
        let lines: String = cell.lines().map(|line| format!("| {line:<width$} |\n")).collect();
        format!("{lines}{rule}")
    };
    let body: String = cells.iter().map(|cell| draw(cell)).collect();
    format!("{rule}{}{body}", draw(header))
}

/// Wraps words at `width` characters as Python's textwrap does; all lines but the first are indented by two. A line may
/// end after a hyphen in a word, and anywhere in a word that is longer than a line.
pub fn wrapped(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let mut gap = " ";
        for part in parts(word) {
            append(&mut lines, gap, part, width);
            gap = "";
        }
    }
    lines.join("\n")
}

/// Appends a part of a word to the last line, or to a new one if it does not fit.
fn append(lines: &mut Vec<String>, gap: &str, part: &str, width: usize) {
    let mut rest = part;
    loop {
        let indent = if lines.len() > 1 { 2 } else { 0 };
        let last = lines.last_mut().expect("lines begin with one line");
        let used = last.chars().count();
        let gap = if used > indent { gap } else { "" };
        let free = width.saturating_sub(used + gap.len());
        let length = rest.chars().count();
        if length <= free {
            last.push_str(gap);
            last.push_str(rest);
            return;
        }
        if length > width - 2 && free > 0 {
            let cut = rest.char_indices().nth(free).map_or(rest.len(), |(at, _)| at);
            last.push_str(gap);
            last.push_str(&rest[..cut]);
            rest = &rest[cut..];
        }
        lines.push("  ".to_owned());
    }
}

/// Splits a word where a line may end: after a hyphen with letters on both sides.
fn parts(word: &str) -> Vec<&str> {
    let is_letter = |c: Option<&char>| c.is_some_and(|c| c.is_alphabetic() || *c == '_');
    let chars: Vec<char> = word.chars().collect();
    let (mut parts, mut start) = (Vec::new(), 0);
    for (number, (at, _)) in word.char_indices().enumerate().filter(|(_, (_, c))| *c == '-') {
        let follows_letters = number >= 2 && is_letter(chars.get(number - 1)) && is_letter(chars.get(number - 2));
        if follows_letters && is_letter(chars.get(number + 1)) && is_letter(chars.get(number + 2)) {
            parts.push(&word[start..=at]);
            start = at + 1;
        }
    }
    parts.push(&word[start..]);
    parts
}

/// Centres a text. If the padding is odd, a text of even length gets the extra blank on the left, as in prettytable.
fn centre(text: &str, width: usize) -> String {
    let length = text.chars().count();
    let free = width - length;
    let before = free / 2 + usize::from(free % 2 == 1 && length.is_multiple_of(2));
    format!("{}{text}{}", " ".repeat(before), " ".repeat(free - before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_drawn_as_prettytable_does() {
        let rows = [vec![
            "set_root_provider_ids".to_owned(),
            "12".to_owned(),
            "2".to_owned(),
        ]];
        assert_eq!(
            centred(&["Migration", "Total Found", "Completed"], &rows),
            "+-----------------------+-------------+-----------+\n\
             |       Migration       | Total Found | Completed |\n\
             +-----------------------+-------------+-----------+\n\
             | set_root_provider_ids |      12     |     2     |\n\
             +-----------------------+-------------+-----------+\n"
        );
    }

    #[test]
    fn words_are_wrapped_as_textwrap_does() {
        assert_eq!(wrapped("one two three four", 9), "one two\n  three\n  four");
        assert_eq!(wrapped("one two three", 13), "one two three");
        assert_eq!(
            wrapped("one backwards-compatible a-b x-ray", 14),
            "one backwards-\n  compatible\n  a-b x-ray"
        );
        assert_eq!(
            wrapped("see https://a.example/bc", 12),
            "see https://\n  a.example/\n  bc"
        );
    }

    #[test]
    fn a_box_is_as_wide_as_its_longest_line() {
        assert_eq!(
            boxed("Head", &["a\nlonger".to_owned()]),
            "+--------+\n| Head   |\n+--------+\n| a      |\n| longer |\n+--------+\n"
        );
    }
}
