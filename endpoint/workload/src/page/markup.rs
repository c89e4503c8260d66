//! Generates the bytes of a page's resources for a browser: HTML, CSS, scripts and images that refer to each other.
//! Pure.
//!
//! The beginning of each resource refers to those that follow from it in the job's graph; padding fills it up to its
//! size. Fonts and resources that scripts fetch are padding alone. Where a type cannot refer to a resource, the
//! document does.

use anyhow::{Result, ensure};
use netwarp_wire::job::{PageResource, ResourceType};

/// The size at which an image is shown, in pixels.
const SHOWN: &str = "width=\"320\" height=\"240\"";
const FILLING: u8 = b'x';

/// Returns the bytes of a resource, padded to its size in the job.
///
/// # Errors
/// The resource is too small for its references.
pub(super) fn content(page: &[PageResource], index: usize) -> Result<Vec<u8>> {
    let resource = &page[index];
    let size_bytes = resource.body_bytes as usize;
    let (front, back) = match resource.resource_type {
        ResourceType::Document => (html(page, index), "-->"),
        ResourceType::Stylesheet => (css(page, index), "*/"),
        ResourceType::Script => (script(page, index), "*/"),
        ResourceType::Image => return Ok(image(size_bytes)),
        ResourceType::Font | ResourceType::Fetch | ResourceType::Other => (String::new(), ""),
    };
    if size_bytes == 0 && children(page, index).next().is_none() {
        return Ok(Vec::new());
    }
    let needed_bytes = front.len() + back.len();
    ensure!(
        needed_bytes <= size_bytes,
        "{} has {size_bytes} bytes, and what it leads to takes {needed_bytes} of markup: a browser cannot load this page",
        resource.path
    );
    let mut content = front.into_bytes();
    content.resize(size_bytes - back.len(), FILLING);
    content.extend_from_slice(back.as_bytes());
    Ok(content)
}

/// Returns the resources, with their indices, to which the resource at `index` refers.
fn children(page: &[PageResource], index: usize) -> impl Iterator<Item = (usize, &PageResource)> {
    let of = move |(_, resource): &(usize, &PageResource)| resource.initiator == Some(index as u32);
    page.iter().enumerate().filter(of)
}

fn html(page: &[PageResource], index: usize) -> String {
    let mut head = String::from(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>A page</title><link rel=\"icon\" href=\"data:,\">",
    );
    let mut body = String::from("<p>A page of netwarp's.</p>");
    for (_, child) in children(page, index) {
        let url = attribute(&child.path);
        let (place, element) = match (child.resource_type, child.render_blocking) {
            (ResourceType::Stylesheet, true) => (&mut head, format!("<link rel=\"stylesheet\" href=\"{url}\">")),
            (ResourceType::Stylesheet, false) => {
                (&mut body, format!("<link rel=\"stylesheet\" media=\"print\" href=\"{url}\">"))
            }
            (ResourceType::Script, true) => (&mut head, format!("<script src=\"{url}\"></script>")),
            (ResourceType::Script, false) => (&mut body, format!("<script async src=\"{url}\"></script>")),
            (ResourceType::Image, _) => (&mut body, format!("<img alt=\"\" {SHOWN} src=\"{url}\">")),
            (ResourceType::Document, _) => (&mut body, format!("<iframe src=\"{url}\"></iframe>")),
            (ResourceType::Font | ResourceType::Fetch | ResourceType::Other, _) => {
                (&mut body, format!("<script>{}</script>", fetch(&child.path)))
            }
        };
        place.push_str(&element);
    }
    if index == 0 {
        page.iter().enumerate().for_each(|(place, resource)| body.push_str(&use_of(page, place, resource)));
    }
    format!("{head}</head><body>{body}</body></html><!--")
}

/// Returns the HTML that makes a browser request a resource to which a stylesheet refers: browsers request only
/// resources that are shown.
fn use_of(page: &[PageResource], index: usize, resource: &PageResource) -> String {
    match initiator(page, resource).map(|initiator| initiator.resource_type) {
        Some(ResourceType::Stylesheet) => match resource.resource_type {
            ResourceType::Font => format!("<p style=\"font-family:r{index}\">Text</p>"),
            ResourceType::Image => format!("<div class=\"r{index}\"></div>"),
            ResourceType::Stylesheet => String::new(),
            _ => format!("<script>{}</script>", fetch(&resource.path)),
        },
        Some(ResourceType::Document | ResourceType::Script) | None => String::new(),
        Some(_) if is_redirected_to(page, resource) => String::new(),
        Some(_) => format!("<script>{}</script>", fetch(&resource.path)),
    }
}

fn initiator<'a>(page: &'a [PageResource], resource: &PageResource) -> Option<&'a PageResource> {
    resource.initiator.map(|initiator| &page[initiator as usize])
}

/// Returns whether a redirect of the page leads to the resource: a browser then requests it without a reference.
fn is_redirected_to(page: &[PageResource], resource: &PageResource) -> bool {
    initiator(page, resource).is_some_and(|before| before.location.as_ref() == Some(&resource.path))
}

fn css(page: &[PageResource], index: usize) -> String {
    let mut imports = String::new();
    let mut rules = String::new();
    for (place, child) in children(page, index) {
        let url = child.path.replace('\\', "%5C").replace('"', "%22");
        match child.resource_type {
            ResourceType::Stylesheet => imports.push_str(&format!("@import \"{url}\";")),
            ResourceType::Font => {
                rules.push_str(&format!("@font-face{{font-family:r{place};src:url(\"{url}\")}}"));
            }
            ResourceType::Image => {
                rules.push_str(&format!(".r{place}{{width:320px;height:240px;background:url(\"{url}\")}}"));
            }
            _ => {}
        }
    }
    format!("{imports}body{{color:#222}}{rules}/*")
}

/// Returns the beginning of a script that loads the resources to which it refers. It holds on to its images, so that
/// the page's load event waits for them.
fn script(page: &[PageResource], index: usize) -> String {
    let mut text = String::from("var kept=window.kept||(window.kept=[]),made;");
    for (_, child) in children(page, index) {
        let url = quoted(&child.path);
        text.push_str(&match child.resource_type {
            ResourceType::Script => {
                format!("made=document.createElement(\"script\");made.src={url};document.head.append(made);")
            }
            ResourceType::Stylesheet => format!(
                "made=document.createElement(\"link\");made.rel=\"stylesheet\";made.href={url};document.head.append(made);"
            ),
            ResourceType::Image => format!("made=new Image(320,240);made.src={url};kept.push(made);"),
            _ => fetch(&child.path),
        });
    }
    text + "/*"
}

fn fetch(path: &str) -> String {
    format!("fetch({});", quoted(path))
}

/// Returns a text as a string literal of JavaScript that cannot end a `<script>` element.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('<', "\\u003c")
}

fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;")
}

/// Returns an image of this many bytes that browsers show: a PNG (ISO/IEC 15948) with a private chunk as padding. If
/// the size is too small for a PNG, it is padding alone, and browsers show nothing.
fn image(size_bytes: usize) -> Vec<u8> {
    const WIDTH: usize = 16;
    const HEIGHT: usize = 12;
    let mut rows = Vec::new();
    for row in 0..HEIGHT {
        rows.push(0); // no filter
        rows.extend((0..WIDTH).map(|column| (16 * (row + column)) as u8));
    }
    // One stored block of deflate (RFC 1951) in the zlib format (RFC 1950).
    let length = rows.len() as u16;
    let mut zlib = vec![0x78, 0x01, 0x01];
    zlib.extend(length.to_le_bytes());
    zlib.extend((!length).to_le_bytes());
    zlib.extend(&rows);
    zlib.extend(adler32(&rows).to_be_bytes());
    let mut header = Vec::new();
    header.extend((WIDTH as u32).to_be_bytes());
    header.extend((HEIGHT as u32).to_be_bytes());
    header.extend([8, 0, 0, 0, 0]); // eight bits of grey
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    png.extend(chunk(b"IHDR", &header));
    png.extend(chunk(b"IDAT", &zlib));
    let end = chunk(b"IEND", &[]);
    let Some(room) = size_bytes.checked_sub(png.len() + end.len() + CHUNK_BYTES) else {
        return vec![FILLING; size_bytes];
    };
    png.extend(chunk(b"nwPd", &vec![FILLING; room]));
    png.extend(end);
    png
}

/// The size of a PNG chunk without its data: length, name and checksum.
const CHUNK_BYTES: usize = 12;

fn chunk(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let mut chunk = (content.len() as u32).to_be_bytes().to_vec();
    chunk.extend(name);
    chunk.extend(content);
    chunk.extend(crc32(&chunk[4..]).to_be_bytes());
    chunk
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

fn adler32(bytes: &[u8]) -> u32 {
    let (low, high) = bytes.iter().fold((1_u32, 0_u32), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    high << 16 | low
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;

    use super::*;

    fn page() -> Vec<PageResource> {
        let mut resources = golden::page("page-tls").resources;
        resources.iter_mut().for_each(|resource| resource.body_bytes = resource.body_bytes.max(2_000));
        resources
    }

    #[test]
    fn every_resource_has_its_size_and_refers_to_what_follows() {
        let page = page();
        for (index, resource) in page.iter().enumerate() {
            let content = content(&page, index).unwrap();
            assert_eq!(content.len() as u64, resource.body_bytes, "{}", resource.path);
            let text = String::from_utf8_lossy(&content);
            for (_, child) in children(&page, index) {
                let followed = is_redirected_to(&page, child) || text.contains(&child.path);
                assert!(followed, "{} does not refer to {}", resource.path, child.path);
            }
        }
    }

    #[test]
    fn what_is_too_small_for_its_markup_is_refused() {
        let mut page = page();
        page[0].body_bytes = 40;
        let message = content(&page, 0).unwrap_err().to_string();
        assert!(message.starts_with("/ has 40 bytes, and what it leads to takes"), "{message}");
    }

    #[test]
    fn checksums_are_those_of_their_standards() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
        assert_eq!(image(40), [FILLING; 40]);
        assert_eq!(image(5_000).len(), 5_000);
    }

    #[test]
    fn a_path_cannot_leave_the_place_it_stands_in() {
        assert_eq!(attribute("/a?b=\"1\"&c=<"), "/a?b=&quot;1&quot;&amp;c=&lt;");
        assert_eq!(quoted("/\"</script>"), "\"/\\\"\\u003c/script>\"");
    }
}
