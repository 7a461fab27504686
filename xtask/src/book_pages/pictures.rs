//! Pictures as part of the page that shows them, since mdBook copies only those in the folder of the book.

use crate::failure::{Context, Failure, Result};
use base64::prelude::{BASE64_STANDARD, Engine};
use std::fs;
use std::path::Path;

/// The address of a picture that contains it.
pub(super) fn address(path: &Path) -> Result<String> {
    let kind = match path.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => "svg+xml",
        Some("png") => "png",
        _ => return Err(Failure::new(format!("{}: a picture of the book is SVG or PNG", path.display()))),
    };
    Ok(format!("data:image/{kind};base64,{}", BASE64_STANDARD.encode(fs::read(path).at(path)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_browser_shows_is_refused() {
        assert!(address(Path::new("a.tiff")).is_err_and(|failure| failure.to_string().contains("a.tiff")));
    }
}
