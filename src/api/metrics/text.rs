//! Prometheus's text form (version 0.0.4): families of samples, each sample with labels.

use std::fmt::{Display, Write};

use super::families::FAMILIES;
use crate::statistics::Distribution;

type Labels<'a> = &'a [(&'a str, &'a str)];

/// A page, written family by family.
#[derive(Debug, Default)]
pub struct MetricsPage {
    text: String,
    family: &'static str,
}

impl MetricsPage {
    /// Begins the family with this name in [`FAMILIES`].
    pub fn family(&mut self, name: &'static str) {
        let row = FAMILIES
            .lines()
            .find_map(|row| row.strip_prefix(name)?.strip_prefix(' '));
        let (kind, help) = row.and_then(|row| row.split_once(' ')).unwrap_or(("untyped", name));
        self.family = name;
        self.line(format_args!("# HELP {name} {help}.\n# TYPE {name} {kind}\n"));
    }

    /// A sample of the family.
    pub fn sample(&mut self, labels: Labels<'_>, value: impl Display) {
        self.suffixed("", labels, value);
    }

    /// A family of one sample without labels.
    pub fn one(&mut self, name: &'static str, value: impl Display) {
        self.family(name);
        self.sample(&[], value);
    }

    /// A family whose samples differ by one label.
    pub fn by<L: AsRef<str>, V: Display>(
        &mut self,
        label: &str,
        name: &'static str,
        samples: impl IntoIterator<Item = (L, V)>,
    ) {
        self.family(name);
        for (text, value) in samples {
            self.sample(&[(label, text.as_ref())], value);
        }
    }

    /// A family of one histogram without labels.
    pub fn one_histogram(&mut self, name: &'static str, read: &Distribution) {
        self.family(name);
        self.histogram(&[], read);
    }

    /// The samples of a histogram.
    pub fn histogram(&mut self, labels: Labels<'_>, read: &Distribution) {
        for (bound, count) in &read.buckets {
            let bound = bound.to_string();
            let labels = [labels, &[("le", bound.as_str())]].concat();
            self.suffixed("_bucket", &labels, count);
        }
        self.suffixed("_bucket", &[labels, &[("le", "+Inf")]].concat(), read.count);
        self.suffixed("_sum", labels, read.sum);
        self.suffixed("_count", labels, read.count);
    }

    pub fn into_text(self) -> String {
        self.text
    }

    fn suffixed(&mut self, suffix: &str, labels: Labels<'_>, value: impl Display) {
        let family = self.family;
        self.line(format_args!("{family}{suffix}"));
        for (at, (name, text)) in labels.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            self.line(format_args!("{before}{name}=\"{}\"", escaped(text)));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        self.line(format_args!("{end} {value}\n"));
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing into a `String` cannot fail.
        let _ = self.text.write_fmt(text);
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_families_with_samples_whose_labels_are_escaped() {
        let mut page = MetricsPage::default();
        page.one("process_threads", 1.5);
        page.family("placet_writer_batch_size");
        page.histogram(
            &[("x", "1\"\\\n")],
            &Distribution {
                buckets: vec![(0.5, 1), (1.0, 2)],
                sum: 2.25,
                count: 3,
            },
        );
        let expected = concat!(
            "# HELP process_threads Threads.\n# TYPE process_threads gauge\nprocess_threads 1.5\n",
            "# HELP b Commands in a committed transaction.\n# TYPE b histogram\n",
            "b_bucket{x=\"1\\\"\\\\\\n\",le=\"0.5\"} 1\nb_bucket{x=\"1\\\"\\\\\\n\",le=\"1\"} 2\n",
            "b_bucket{x=\"1\\\"\\\\\\n\",le=\"+Inf\"} 3\nb_sum{x=\"1\\\"\\\\\\n\"} 2.25\nb_count{x=\"1\\\"\\\\\\n\"} 3\n",
        );
        assert_eq!(page.into_text().replace("placet_writer_batch_size", "b"), expected);
    }
}
