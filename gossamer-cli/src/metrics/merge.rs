//! Texts of several nodes as one: each metric is described once, and its samples stand together.

use std::collections::HashMap;

/// Merges several texts into one. Both formats of Prometheus begin each metric with a line `# HELP`; the newer one has
/// a last line.
#[must_use]
pub fn merged(texts: &[String], is_open: bool) -> String {
    let (mut places, mut families): (HashMap<&str, usize>, Vec<(String, String)>) = Default::default();
    for text in texts {
        let (mut place, mut is_new) = (None, false);
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("# HELP ").and_then(|rest| rest.split(' ').next()) {
                is_new = !places.contains_key(name);
                let at = *places.entry(name).or_insert(families.len());
                if is_new {
                    families.push((String::new(), String::new()));
                }
                place = Some(at);
            }
            let Some((description, samples)) = place.map(|place| &mut families[place]) else { continue };
            let to = match line.starts_with('#') {
                true if is_new && line != "# EOF" => description,
                true => continue,
                false => samples,
            };
            to.push_str(line);
            to.push('\n');
        }
    }
    let mut all: String = families.into_iter().map(|(description, samples)| description + &samples).collect();
    if is_open {
        all.push_str("# EOF\n");
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_a_metric_stand_together_and_its_description_once() {
        let of = |node: u32, own: &str| {
            format!("# HELP a About a.\n# TYPE a counter\na_total{{node=\"{node}\"}} 1\n{own}# EOF\n")
        };
        let text = merged(&[of(0, ""), of(1, "# HELP b About b.\n# TYPE b gauge\nb 7\n")], true);
        let expected = "# HELP a About a.\n# TYPE a counter\na_total{node=\"0\"} 1\na_total{node=\"1\"} 1\n\
                        # HELP b About b.\n# TYPE b gauge\nb 7\n# EOF\n";
        assert_eq!(text, expected);
        assert_eq!((merged(&[], false), merged(&[], true)), (String::new(), "# EOF\n".to_owned()));
    }
}
