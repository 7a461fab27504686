//! A preprocessor of mdBook: makes the book whole, so that every link and picture of it works where it is served.
//!
//! A page of the book may consist of a document of the repository, and it links to files beside the code. Both are written
//! for readers of the repository: links are relative to the document, and lead out of the book's folder.

mod links;
mod pages;
mod pictures;

use crate::failure::{Context, Failure, Result};
use pages::{Page, Pages};
use serde_json::Value;
use std::io::{self, Read, Write};
use std::path::Path;

/// Make pages of the documents that the book links to; mdBook calls this
#[derive(Debug, clap::Args)]
pub(crate) struct BookPagesArguments {
    /// `supports RENDERER`: mdBook asks whether pages can be made for it
    question: Vec<String>,
}

/// Reads mdBook's context and book, and writes the book.
pub(crate) fn run(arguments: &BookPagesArguments) -> Result<u8> {
    if !arguments.question.is_empty() {
        return Ok(0);
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).context("mdBook's book")?;
    let [context, mut book]: [Value; 2] = serde_json::from_str(&text).context("mdBook's book")?;
    let root =
        context["root"].as_str().ok_or_else(|| Failure::new("mdBook does not say where its book is"))?;
    let sources = context["config"]["book"]["src"].as_str().unwrap_or("src");
    complete(&mut book, &Path::new(root).join(sources))?;
    io::stdout().write_all(book.to_string().as_bytes()).context("the book for mdBook")?;
    Ok(0)
}

/// Replaces the chapters of a book by complete ones, and adds those that they link to.
fn complete(book: &mut Value, sources: &Path) -> Result<()> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut pages = Pages::new(&repository)?;
    let mut chapters = Vec::new();
    visit(&mut book["items"], &mut |chapter| {
        let text = |key: &str| chapter[key].as_str().unwrap_or_default().to_owned();
        chapters.push((text("path"), text("name"), text("content")));
    });
    for (path, name, content) in chapters {
        pages.add(&sources.join(&path), path, name, content)?;
    }
    // It is not a page, and its content is shown beside every page.
    pages.stands_for_first(&sources.join("SUMMARY.md"))?;
    let mut completed = pages.completed()?.into_iter();
    visit(&mut book["items"], &mut |chapter| {
        let Some(page) = completed.next() else { return };
        chapter["content"] = page.content.into();
    });
    let Some(items) = book["items"].as_array_mut() else { return Ok(()) };
    let (documents, others): (Vec<_>, Vec<_>) = completed.partition(Page::is_document);
    for (title, pages) in [("Documents beside the code", documents), ("Files", others)] {
        items.push(serde_json::json!({ "PartTitle": title }));
        items.extend(pages.into_iter().map(chapter));
    }
    Ok(())
}

/// A page in the form in which mdBook passes a chapter.
fn chapter(page: Page) -> Value {
    serde_json::json!({ "Chapter": {
        "name": page.name,
        "content": page.content,
        "number": null,
        "sub_items": [],
        "path": page.path,
        "source_path": null,
        "parent_names": [],
    } })
}

/// Visits the chapters of a book in order, each before those below it.
fn visit(items: &mut Value, with: &mut impl FnMut(&mut Value)) {
    for item in items.as_array_mut().into_iter().flatten() {
        if let Some(chapter) = item.get_mut("Chapter") {
            with(chapter);
            visit(&mut chapter["sub_items"], with);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::{Component, PathBuf};

    /// The book of this repository, in the form in which mdBook passes it.
    fn book(sources: &Path) -> Value {
        let summary = fs::read_to_string(sources.join("SUMMARY.md")).unwrap();
        let paths = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let chapters = paths.map(|path| {
            let content = fs::read_to_string(sources.join(path)).unwrap();
            serde_json::json!({ "Chapter": { "name": path, "content": content, "path": path, "sub_items": [] } })
        });
        serde_json::json!({ "items": chapters.collect::<Vec<_>>() })
    }

    /// A path without `..`, as text.
    fn plain(path: &Path) -> String {
        let mut plain = PathBuf::new();
        for component in path.components() {
            match component {
                Component::ParentDir => _ = plain.pop(),
                component => plain.push(component),
            }
        }
        plain.display().to_string()
    }

    #[test]
    fn every_link_of_the_book_leads_to_a_page_and_a_heading_of_it_and_every_picture_is_in_it() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/book/src");
        let mut book = book(&sources);
        complete(&mut book, &sources).unwrap();
        let mut pages = BTreeMap::new();
        visit(&mut book["items"], &mut |chapter| {
            let text = |key: &str| chapter[key].as_str().unwrap().to_owned();
            assert!(pages.insert(text("path"), text("content")).is_none(), "{} is there twice", text("path"));
        });
        let (mut seen, mut wrong) = (0, Vec::new());
        for (path, content) in &pages {
            assert!(!content.replace("\\{{#", "").contains("{{#"), "{path}: something is not included");
            for link in links::links(content) {
                let target = &content[link.target];
                if target.contains("://") || target.starts_with("data:") {
                    continue;
                }
                seen += 1;
                let (page, heading) = target.split_once('#').unwrap_or((target, ""));
                let page = match page {
                    "" => path.clone(),
                    page => plain(&Path::new(path).with_file_name(page)),
                };
                match pages.get(&page) {
                    None => wrong.push(format!("{path}: {target} is no page")),
                    Some(text)
                        if !heading.is_empty() && !links::headings(text).any(|there| there == heading) =>
                    {
                        wrong.push(format!("{path}: {target} is no heading"));
                    }
                    Some(_) => {}
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert!(seen > 50, "{seen} links");
    }

    #[test]
    fn chapters_are_visited_in_order_and_nothing_else_is() {
        let mut items = serde_json::json!([
            { "Chapter": { "name": "a", "sub_items": [{ "Chapter": { "name": "b", "sub_items": [] } }] } },
            "Separator",
            { "PartTitle": "d" },
            { "Chapter": { "name": "c", "sub_items": [] } },
        ]);
        let mut seen = Vec::new();
        visit(&mut items, &mut |chapter| seen.push(chapter["name"].as_str().unwrap().to_owned()));
        assert_eq!(seen, ["a", "b", "c"]);
    }
}
