//! Pictures as part of the page that shows them, since mdBook copies only those in the folder of the book.

use crate::failure::{Context, Failure, Result};
use std::fs;
use std::path::Path;

/// The address of a picture that contains it.
pub(super) fn address(path: &Path) -> Result<String> {
    let kind = match path.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => "svg+xml",
        Some("png") => "png",
        _ => return Err(Failure::new(format!("{}: a picture of the book is SVG or PNG", path.display()))),
    };
    Ok(format!("data:image/{kind};base64,{}", encoded(&fs::read(path).at(path)?)))
}

/// Base64 of RFC 4648.
fn encoded(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let number = (0..3).fold(0, |sum, at| (sum << 8) | u32::from(three.get(at).copied().unwrap_or(0)));
        for place in 0..4 {
            let digit = (number >> (18 - 6 * place)) & 63;
            text.push(if place <= three.len() { char::from(DIGITS[digit as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_encoded_as_the_rfc_has_it() {
        let examples = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (bytes, text) in examples {
            assert_eq!(encoded(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn what_no_browser_shows_is_refused() {
        assert!(address(Path::new("a.tiff")).is_err_and(|failure| failure.to_string().contains("a.tiff")));
    }
}
