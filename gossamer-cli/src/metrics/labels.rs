//! Adds labels to each sample of a text, which say where the sample comes from. A text in another format is refused: it
//! would spoil the texts of all other nodes.

/// A node's text with the application as a label of each sample; nothing if it is not in the format of Prometheus.
#[must_use]
pub fn labelled(text: &str, application: &str) -> Option<String> {
    let application = quoted(application);
    let mut all = String::with_capacity(text.len() * 2);
    let mut family = "";
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            match comment.split_once(' ') {
                None if comment == "EOF" => {}
                Some(("HELP", rest)) => family = rest.split(' ').next()?,
                Some(("TYPE" | "UNIT", _)) => {}
                _ => return None,
            }
            all += line;
        } else {
            let name = line.find(|c: char| !is_of_name(c)).and_then(|end| line.get(..end))?;
            if family.is_empty() || !name.starts_with(family) {
                return None;
            }
            let (labels, value) = split_labels(line.get(name.len()..)?)?;
            value.strip_prefix(' ')?.split(' ').next()?.parse::<f64>().ok()?;
            all += &format!("{name}{{application=\"{application}\"");
            for label in labels {
                // A label of the program's own.
                let other = if label.starts_with("application=") { "exported_" } else { "" };
                all += &format!(",{other}{label}");
            }
            all += &format!("}}{value}");
        }
        all.push('\n');
    }
    Some(all)
}

/// A value of a label, as it stands between quotation marks.
#[must_use]
pub fn quoted(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn is_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | ':')
}

/// `{a="b",c="d"} 7`, or ` 7`: the labels and the rest.
fn split_labels(text: &str) -> Option<(Vec<&str>, &str)> {
    let mut labels = Vec::new();
    let Some(mut rest) = text.strip_prefix('{') else { return Some((labels, text)) };
    while !rest.starts_with('}') {
        let name = rest.find(|c: char| !is_of_name(c)).filter(|end| *end > 0)?;
        let value = rest.get(name..)?.strip_prefix("=\"")?;
        let mut is_escaped = false;
        let end = value.find(|character| {
            let is_end = character == '"' && !is_escaped;
            is_escaped = character == '\\' && !is_escaped;
            is_end
        })?;
        let label = rest.get(..name + 2 + end + 1)?;
        labels.push(label);
        rest = rest.get(label.len()..)?;
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None if rest.starts_with('}') => {}
            None => return None,
        }
    }
    Some((labels, rest.get(1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_get_the_application_and_what_is_no_text_of_metrics_is_refused() {
        let told = |samples: &str| labelled(&format!("# HELP a About.\n# TYPE a gauge\n{samples}"), "x\"y");
        let samples =
            told("a 1\na_sum{node=\"0\",b=\"}\\\" \"} +Inf\na{application=\"z\"} NaN\n# EOF\n").unwrap();
        let expected = "a{application=\"x\\\"y\"} 1\n\
                        a_sum{application=\"x\\\"y\",node=\"0\",b=\"}\\\" \"} +Inf\n\
                        a{application=\"x\\\"y\",exported_application=\"z\"} NaN\n# EOF\n";
        assert_eq!(samples, format!("# HELP a About.\n# TYPE a gauge\n{expected}"));
        for garbage in [
            "b 1\n",
            "a one\n",
            "a\n",
            "a{ 1\n",
            "a{b} 1\n",
            "a{b=\"c} 1\n",
            "a{b=\"c\"d=\"e\"} 1\n",
            "a{=\"c\"} 1\n",
            "\n",
            "\u{1b}[2J\n",
            "# what\n",
            "a{b=\"c\"}1\n",
            "ä 1\n",
        ] {
            assert_eq!(told(garbage), None, "{garbage:?}");
        }
        assert_eq!(labelled("a 1\n", ""), None, "a sample of no metric");
        assert_eq!(labelled("", ""), Some(String::new()));
    }
}
