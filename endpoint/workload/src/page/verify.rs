//! Verifies that a client received the page's resources unchanged.

use anyhow::Result;
use netwarp_wire::job::Page;
use netwarp_wire::record::{Record, ResourceRecord};

use super::site::Site;

/// Returns how the received resources differ from the page's; `None` if they do not. If the job asks for hashes, each
/// resource is hashed at its source for the comparison.
pub(super) fn difference(records: &[Record], page: &Page) -> Result<Option<String>> {
    let site = Site::of(page)?;
    let mut missing: Vec<bool> = vec![true; page.resources.len()];
    for record in records {
        let Record::Resource(ResourceRecord { resource, bytes, sha256, .. }) = record else { continue };
        let index = *resource as usize;
        let Some(expected) = page.resources.get(index) else {
            return Ok(Some(format!("resource {index}: the page has none such")));
        };
        let path = &expected.path;
        if !std::mem::take(&mut missing[index]) {
            return Ok(Some(format!("{path} was received twice")));
        }
        // A browser discards the content of a redirect: it is not compared.
        let is_kept = page.client.is_none() || expected.location.is_none();
        if is_kept && *bytes != expected.body_bytes {
            return Ok(Some(format!("{path}: {bytes} bytes were received instead of {}", expected.body_bytes)));
        }
        if page.is_hashed() && *sha256 != Some(site.sha256(index)?) {
            let ours = sha256.as_deref().unwrap_or("missing");
            return Ok(Some(format!("{path}: the client's SHA-256 is {ours}, which is not the server's")));
        }
    }
    let first_missing = (0..missing.len()).find(|&index| missing[index] && page.is_fetched(index));
    Ok(first_missing.map(|index| format!("{} was not received", page.resources[index].path)))
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;

    use super::*;

    fn received(page: &Page) -> Vec<ResourceRecord> {
        let site = Site::of(page).unwrap();
        let record = |index: usize| ResourceRecord {
            resource: index as u32,
            connection: 0,
            request: index as u32,
            http: page.http,
            status: page.resources[index].status,
            bytes: page.resources[index].body_bytes,
            fetch_start_ns: 1,
            request_start_ns: 2,
            response_start_ns: 3,
            response_end_ns: 4,
            sha256: Some(site.sha256(index).expect("seeded bytes can be read")),
        };
        (0..page.resources.len()).map(record).collect()
    }

    #[test]
    fn the_page_s_own_bytes_are_no_difference() {
        let page = golden::page("page-tls");
        let records: Vec<Record> = received(&page).into_iter().map(Record::Resource).collect();
        assert_eq!(difference(&records, &page).unwrap(), None);
    }

    #[test]
    fn wrong_bytes_are_noticed() {
        let page = golden::page("page-tls");
        type Spoil = fn(&mut Vec<ResourceRecord>);
        let spoil: [(&str, Spoil); 6] = [
            ("the page has none such", |records| records[1].resource = 99),
            ("was received twice", |records| records[1].resource = 0),
            ("bytes were received instead of", |records| records[1].bytes += 1),
            ("SHA-256 is missing", |records| records[1].sha256 = None),
            ("which is not the server's", |records| records[1].sha256 = records[0].sha256.clone()),
            ("was not received", |records| drop(records.pop())),
        ];
        for (expected, spoil) in spoil {
            let mut records = received(&page);
            spoil(&mut records);
            let records: Vec<Record> = records.into_iter().map(Record::Resource).collect();
            let message = difference(&records, &page).unwrap().expect("there is a difference");
            assert!(message.contains(expected), "{message}");
        }
    }
}
