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

/// Wraps words at `width` characters as Python's textwrap does; all lines but the first are indented by two. The words
/// are shorter than a line, and have no hyphens.
pub fn wrapped(text: &str, width: usize) -> String {
    let (mut wrapped, mut column) = (String::new(), 0);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        let gap = match column {
            0 => "",
            _ if column + 1 + length <= width => " ",
            _ => {
                column = 0;
                "\n  "
            }
        };
        wrapped += gap;
        wrapped += word;
        column += gap.trim_start_matches('\n').len() + length;
    }
    wrapped
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
    }

    #[test]
    fn a_box_is_as_wide_as_its_longest_line() {
        assert_eq!(
            boxed("Head", &["a\nlonger".to_owned()]),
            "+--------+\n| Head   |\n+--------+\n| a      |\n| longer |\n+--------+\n"
        );
    }
}
