//! The content of a page at its server: files, or bytes made from the seed, different for each resource. Pure except
//! for reading files.

use std::collections::HashMap;

use anyhow::Result;
use netwarp_wire::content::{Part, Reader, hash};
use netwarp_wire::job::{Content, Page, PageResource};

use super::file_names;

/// A page, and where the bytes of its resources come from.
#[derive(Debug)]
pub(super) struct Site {
    /// The page's resources and how they are fetched, as in the job.
    pub page: Page,
    contents: Vec<(Content, Part)>,
    by_path: HashMap<String, usize>,
}

impl Site {
    /// Creates the site that is served: if an installed program is at either end, its resources are the files that were
    /// written for that program.
    pub(super) fn of(page: &Page) -> Result<Self> {
        let mut site = Self::given(page);
        if page.has_programs() {
            for (index, resource) in page.resources.iter().enumerate() {
                let path = file_names::file(index, resource)?.to_string_lossy().into_owned();
                let content = Content::File { path, size_bytes: resource.body_bytes };
                site.contents[index] = (content, Part { offset_bytes: 0, length_bytes: resource.body_bytes });
            }
        }
        Ok(site)
    }

    /// Creates the site as the job describes it: files, or bytes made from the seed.
    pub(super) fn given(page: &Page) -> Self {
        let size_bytes = page.resources.iter().map(|resource| resource.body_bytes).sum();
        let mut offset_bytes = 0;
        let mut contents = Vec::new();
        for PageResource { file, body_bytes, .. } in &page.resources {
            contents.push(match file {
                Some(path) => {
                    let content = Content::File { path: path.clone(), size_bytes: *body_bytes };
                    (content, Part { offset_bytes: 0, length_bytes: *body_bytes })
                }
                None => {
                    let content = Content::Seeded { seed: page.seed, size_bytes };
                    (content, Part { offset_bytes, length_bytes: *body_bytes })
                }
            });
            offset_bytes += body_bytes;
        }
        let by_path = page.resources.iter().enumerate().map(|(index, resource)| (resource.path.clone(), index));
        Self { page: page.clone(), contents, by_path: by_path.collect() }
    }

    /// Returns the index of the resource with this path and query, if the page has one.
    pub(super) fn find(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    /// Opens a resource for reading, without hashing it.
    pub(super) fn open(&self, index: usize) -> Result<Reader> {
        let (content, part) = &self.contents[index];
        Reader::open(content, *part, false)
    }

    /// Returns the hex SHA-256 of a resource.
    pub(super) fn sha256(&self, index: usize) -> Result<String> {
        let (content, part) = &self.contents[index];
        hash(content, *part)
    }
}
