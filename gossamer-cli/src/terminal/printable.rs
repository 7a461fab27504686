//! Text from elsewhere, made fit for a terminal.

/// Text from elsewhere without anything that could control a terminal. Line ends stay.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() && character != '\n' {
            clean.extend(character.escape_default());
        } else {
            clean.push(character);
        }
    }
    clean
}
