//! Describes the damage of a PEM file, by line. The crates that read certificates describe the damage for their own
//! authors, and client libraries do not describe the damage at all.

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// Checks that each section of a file is whole. Does not look into the sections, and accepts a file without sections.
///
/// # Errors
/// A sentence with the line.
pub fn check(text: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(text);
    let mut section: Option<Section> = None;
    let mut last = 0;
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        last = number;
        section = match (line.strip_prefix(BEGIN), line.strip_prefix(END), section) {
            (Some(_), _, Some(open)) => return Err(format!("{} is not ended before line {number}", open.name())),
            (Some(label), _, None) => Some(Section {
                label: whole_label(label, number)?,
                begin: number,
                letters: 0,
            }),
            (None, Some(label), Some(open)) => {
                open.end(whole_label(label, number)?, number)?;
                None
            }
            (None, Some(_), None) => return Err(format!("line {number} ends a section that has not begun")),
            (None, None, Some(open)) => Some(open.with(line, number)?),
            (None, None, None) => None,
        };
    }
    match section {
        Some(open) => Err(format!(
            "the file is cut off after line {last}: {} has no line -----END {}-----",
            open.name(),
            open.label
        )),
        None => Ok(()),
    }
}

/// The label of a line `-----BEGIN LABEL-----`.
fn whole_label(label: &str, number: usize) -> Result<&str, String> {
    let whole = label.strip_suffix("-----");
    whole.ok_or_else(|| format!("line {number} must end with five dashes"))
}

/// A section that has begun.
struct Section<'a> {
    label: &'a str,
    /// The first line of the section.
    begin: usize,
    /// The letters of base64 so far.
    letters: usize,
}

impl<'a> Section<'a> {
    fn name(&self) -> String {
        format!("-----BEGIN {}----- on line {}", self.label, self.begin)
    }

    fn with(mut self, line: &str, number: usize) -> Result<Section<'a>, String> {
        // Headers of encrypted keys, such as `Proc-Type: 4,ENCRYPTED`.
        if line.contains(':') {
            return Ok(self);
        }
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
        if !line.bytes().all(is_base64) {
            return Err(format!("line {number} is no base64, inside of {}", self.name()));
        }
        self.letters += line.len();
        Ok(self)
    }

    fn end(&self, label: &str, number: usize) -> Result<(), String> {
        if label != self.label {
            return Err(format!("line {number} ends another section than {}", self.name()));
        }
        // Four letters are three bytes.
        if self.letters == 0 || !self.letters.is_multiple_of(4) {
            return Err(format!(
                "letters are missing before line {number}, inside of {}",
                self.name()
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    const WHOLE: &str = "a comment\n-----BEGIN CERTIFICATE-----\nMIIB\nnjCC\nAUSg\n-----END CERTIFICATE-----\n";

    #[test]
    fn found_c5_a_damaged_pem_file_is_described_by_its_line() {
        assert_eq!(check(WHOLE.as_bytes()), Ok(()));
        assert_eq!(check(WHOLE.replace('\n', "\r\n").repeat(2).as_bytes()), Ok(()));
        assert_eq!(check(b"no section"), Ok(()));
        let cut: String = WHOLE.lines().take(4).map(|line| format!("{line}\n")).collect();
        for (text, reason) in [
            (
                cut.as_str(),
                "the file is cut off after line 4: -----BEGIN CERTIFICATE----- on line 2 has no line -----END CERTIFICATE-----",
            ),
            (&WHOLE.replace("AUSg", "AUS"), "letters are missing before line 6"),
            (&WHOLE.replace("njCC", "nj*C"), "line 4 is no base64"),
            (
                &WHOLE.replace("END CERT", "END KEY CERT"),
                "line 6 ends another section",
            ),
            (
                &WHOLE.replace("END CERTIFICATE-----", "END CERTIFICATE--"),
                "line 6 must end with five dashes",
            ),
            (
                &WHOLE.replace("-----BEGIN CERTIFICATE-----\n", ""),
                "line 5 ends a section that has not begun",
            ),
            (
                &format!("{cut}{}", &WHOLE["a comment\n".len()..]),
                "is not ended before line 5",
            ),
        ] {
            let found = check(text.as_bytes()).expect_err(reason);
            assert!(found.contains(reason), "{reason}: {found}");
        }
    }
}
