//! The pages of the book: its chapters, and a page for each file of the repository that one of them links to.

use super::links::{headings, links};
use super::pictures;
use crate::failure::{Context, Failure, Result};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the book where the files of the repository are.
const FILES: &str = "repository";

pub(super) struct Page {
    /// Its path in the book.
    pub(super) path: String,
    pub(super) name: String,
    pub(super) content: String,
    /// The file that its links are relative to.
    file: PathBuf,
}

impl Page {
    pub(super) fn is_document(&self) -> bool {
        is_markdown(&self.file)
    }
}

pub(super) struct Pages {
    repository: PathBuf,
    pages: Vec<Page>,
    /// The page that shows a file.
    shown: HashMap<PathBuf, usize>,
}

impl Pages {
    pub(super) fn new(repository: &Path) -> Result<Self> {
        let repository = repository.canonicalize().at(repository)?;
        Ok(Self { repository, pages: Vec::new(), shown: HashMap::new() })
    }

    /// Adds a chapter with its file: its own content, or the content of the document that it consists of.
    pub(super) fn add(&mut self, file: &Path, path: String, name: String, content: String) -> Result<()> {
        let file = file.canonicalize().at(file)?;
        self.shown.insert(file.clone(), self.pages.len());
        let page = match included(&content) {
            Some(other) => {
                let file = beside(&file, other)?;
                self.shown.insert(file.clone(), self.pages.len());
                Page { path, name, content: fs::read_to_string(&file).at(&file)?, file }
            }
            None => Page { path, name, content, file },
        };
        self.pages.push(page);
        Ok(())
    }

    /// A file that needs no page, because links to it mean the first chapter.
    pub(super) fn stands_for_first(&mut self, file: &Path) -> Result<()> {
        self.shown.insert(file.canonicalize().at(file)?, 0);
        Ok(())
    }

    /// The complete chapters, and after them the pages of files, by path.
    pub(super) fn completed(mut self) -> Result<Vec<Page>> {
        let (chapters, mut next) = (self.pages.len(), 0);
        while next < self.pages.len() {
            self.follow(next)?;
            next += 1;
        }
        let contents = (0..self.pages.len()).map(|index| self.resolved(index)).collect::<Result<Vec<_>>>()?;
        let completed = self.pages.into_iter().zip(contents).map(|(page, content)| Page { content, ..page });
        let mut pages: Vec<_> = completed.collect();
        pages[chapters..].sort_by(|one, other| one.file.cmp(&other.file));
        Ok(pages)
    }

    /// Adds pages for the files that a page links to and that have none yet.
    fn follow(&mut self, index: usize) -> Result<()> {
        let page = &self.pages[index];
        let targets = links(&page.content).into_iter().filter(|link| !link.is_picture);
        let targets = targets.map(|link| &page.content[link.target]).filter(|target| is_file(target));
        let files = targets.map(|target| beside(&page.file, target)).collect::<Result<Vec<_>>>()?;
        for file in files {
            if !self.shown.contains_key(&file) {
                let page = self.page_of(file.clone())?;
                self.shown.insert(file, self.pages.len());
                self.pages.push(page);
            }
        }
        Ok(())
    }

    /// A page that shows a file: a document as it is, anything else as a block of code.
    fn page_of(&self, file: PathBuf) -> Result<Page> {
        let Ok(place) = file.strip_prefix(&self.repository) else {
            return Err(Failure::new(format!(
                "{}: the book links to it, but it is not in the repository",
                file.display()
            )));
        };
        // Directives of mdBook that it mentions are not meant for mdBook.
        let text = fs::read_to_string(&file).at(&file)?.replace("{{#", "\\{{#");
        let shown = place.display().to_string();
        let (path, name, content) = if is_markdown(&file) {
            // mdBook would take a README for the index of its folder.
            let path = match place.file_name().is_some_and(|name| name == "README.md") {
                true => place.with_file_name("about.md"),
                false => place.to_owned(),
            };
            let title = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or(&shown);
            (path.display().to_string(), title.replace('`', ""), text)
        } else {
            let code = match file.extension().and_then(|extension| extension.to_str()) {
                Some("service") => "ini",
                Some("rs") => "rust,ignore",
                kind => kind.unwrap_or("text"),
            };
            (format!("{shown}.md"), shown.clone(), format!("# `{shown}`\n\n~~~{code}\n{text}~~~\n"))
        };
        Ok(Page { path: format!("{FILES}/{path}"), name, content, file })
    }

    /// Where a link of a page leads in the book.
    fn address(&self, index: usize, target: &str) -> Result<String> {
        let page = &self.pages[index];
        let there = &self.pages[self.shown[&beside(&page.file, target)?]];
        let Some((_, heading)) = target.split_once('#') else {
            return Ok(format!("{}{}", up(page), there.path));
        };
        if headings(&there.content).any(|name| name == heading) {
            return Ok(format!("{}{}#{heading}", up(page), there.path));
        }
        Err(Failure::new(format!("{} links to {target}, but there is no such heading", page.file.display())))
    }

    /// The content of a page whose links lead to pages of the book and whose pictures are in it.
    fn resolved(&self, index: usize) -> Result<String> {
        let page = &self.pages[index];
        let (mut content, mut copied) = (String::new(), 0);
        for link in links(&page.content) {
            let target = &page.content[link.target.clone()];
            if !is_file(target) {
                continue;
            }
            content.push_str(&page.content[copied..link.target.start]);
            content.push_str(&if link.is_picture {
                pictures::address(&beside(&page.file, target)?)?
            } else {
                self.address(index, target)?
            });
            copied = link.target.end;
        }
        content.push_str(&page.content[copied..]);
        Ok(content)
    }
}

fn is_markdown(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "md")
}

/// The way from a page to the book's folder.
fn up(page: &Page) -> String {
    "../".repeat(page.path.matches('/').count())
}

/// The document that a page consists of, by the name that the page gives it.
fn included(content: &str) -> Option<&str> {
    content.trim().strip_prefix("{{#include ")?.strip_suffix("}}").filter(|name| !name.contains('{'))
}

/// Whether a link leads to a file of the repository: not to another site, nor to a heading of its own page.
fn is_file(target: &str) -> bool {
    !target.starts_with('#') && !target.contains("://") && !target.starts_with("mailto:")
}

/// The file that another one names relative to itself.
fn beside(file: &Path, target: &str) -> Result<PathBuf> {
    let path = file.with_file_name(target.split('#').next().unwrap_or(target));
    path.canonicalize().context(format!("{} links to {target}", file.display()))
}
