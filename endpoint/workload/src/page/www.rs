//! Writes a page as files ([`super::file_names`]), for servers and browsers that are not part of netwarp.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use netwarp_programs::files_of::below_root;
use netwarp_wire::job::Page;

use super::file_names::{FOLDER, file};
use super::markup;
use super::site::Site;

/// Writes the files of all resources. If a browser loads the page, they refer to each other so that it finds them;
/// netwarp's own client knows them from the job.
///
/// # Errors
/// A resource is too small for its references; a file cannot be read; memory is full.
pub(super) fn write(page: &Page) -> Result<()> {
    let folder = below_root(Path::new(FOLDER))?;
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let site = Site::given(page);
    for (index, resource) in page.resources.iter().enumerate() {
        let path = file(index, resource)?;
        let attempt = || format!("write {} to {}", resource.path, path.display());
        let mut file = fs::File::create(&path).with_context(attempt)?;
        if page.client.is_some() && resource.file.is_none() {
            file.write_all(&markup::content(&page.resources, index)?).with_context(attempt)?;
            continue;
        }
        site.open(index).and_then(|mut reader| reader.copy_to(&mut file)).with_context(attempt)?;
    }
    Ok(())
}
