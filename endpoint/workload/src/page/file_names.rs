//! The files of a page for servers and browsers that are not part of netwarp: each resource is a file named after its
//! index.

use std::path::{Path, PathBuf};

use anyhow::Result;
use netwarp_programs::files_of::below_root;
use netwarp_wire::job::{PageResource, ResourceType};

/// The directory of the page's files, as programs see it.
pub(super) const FOLDER: &str = "/tmp/page";

/// Returns the name of a resource's file. Servers derive its media type from the extension.
pub(super) fn file_name(index: usize, resource: &PageResource) -> String {
    let ending = match resource.resource_type {
        ResourceType::Document => "html",
        ResourceType::Stylesheet => "css",
        ResourceType::Script => "js",
        ResourceType::Image => "webp",
        ResourceType::Font => "woff2",
        ResourceType::Fetch => "json",
        ResourceType::Other => "bin",
    };
    format!("{index}.{ending}")
}

/// Returns the path of a resource's file, as netwarp's own processes see it.
pub(super) fn file(index: usize, resource: &PageResource) -> Result<PathBuf> {
    below_root(&Path::new(FOLDER).join(file_name(index, resource)))
}
