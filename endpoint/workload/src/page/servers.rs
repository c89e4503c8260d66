//! The installed web servers Caddy and nginx: their configuration, for serving a page's files.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use netwarp_programs::files_of::below_root;
use netwarp_transport::PORT;
use netwarp_transport::identity::{Identity, SERVER_NAME};
use netwarp_wire::job::{Command, Http, Page, Ready, WebProgram, WebProgramKind};
use serde_json::{Value, json};

use super::file_names::{FOLDER, file_name};
use super::response::{caching, media_type};
use crate::command::PATH;

/// The path of a server's configuration, certificate and key, as the server sees it.
const CONFIGURATION: &str = "/tmp/server.conf";
const CERTIFICATE: &str = "/tmp/certificate.pem";
const KEY: &str = "/tmp/key.pem";

/// Caddy's idle time-out, which is its default. It must be long: on a path with losses, the last response may be in
/// flight for many seconds after Caddy has written it, and closing would reset the connection.
const IDLE_TIMEOUT: &str = "5m";
/// Caddy's idle time-out if the page is visited again, on new connections: less than the time between visits
/// ([`super::chromium`]).
const IDLE_TIMEOUT_BETWEEN_VISITS: &str = "30s";

/// Returns the path of an installed program: the first of its possible names that is found.
///
/// # Errors
/// None of them is installed.
pub(super) fn find(program: &WebProgram) -> Result<String> {
    let places =
        program.names.iter().flat_map(|name| PATH.split(':').map(move |directory| Path::new(directory).join(name)));
    for place in places {
        if below_root(&place)?.exists() {
            return Ok(place.to_string_lossy().into_owned());
        }
    }
    bail!("there is no {} in {}", program.names.join(" or "), PATH)
}

/// Writes the files that a server needs to serve a page, and returns the command that starts it.
///
/// # Errors
/// The server is not installed, or cannot serve the page.
pub(super) fn prepare(program: &WebProgram, page: &Page, identity: &Identity) -> Result<Command> {
    let executable = find(program)?;
    let (configuration, arguments): (String, &[&str]) = match program.kind {
        WebProgramKind::Caddy => (caddy(page).to_string(), &["run", "--config", CONFIGURATION]),
        WebProgramKind::Nginx => (nginx(page)?, &["-e", "stderr", "-c", CONFIGURATION]),
        WebProgramKind::Chromium => bail!("chromium is a client, and serves nothing"),
    };
    let [certificate, key] = identity.to_pem();
    for (path, text) in [(CONFIGURATION, configuration), (CERTIFICATE, certificate), (KEY, key)] {
        let path = below_root(Path::new(path))?;
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(command(std::iter::once(executable).chain(arguments.iter().map(|&word| word.to_owned())).collect()))
}

/// Returns the command that the workload `command` starts. A server counts as ready once it listens at netwarp's port.
pub(super) fn command(argv: Vec<String>) -> Command {
    Command {
        server: argv.clone(),
        client: argv,
        ready: Ready::Listening { port: Some(PORT) },
        environment: Vec::new(),
        working_directory: "/tmp".to_owned(),
        memory_bytes: 0,
        start_date_s: 0,
        exact_coarse_clocks: false,
        shared: true,
        keep: false,
        metrics: Vec::new(),
        programs: Vec::new(),
    }
}

/// Returns Caddy's configuration for the page, as JSON: in that format values need no escaping.
fn caddy(page: &Page) -> Value {
    let protocols: &[&str] = match page.http {
        Http::H1 => &["h1"],
        // Go's servers do not have HTTP/2 without HTTP/1.1.
        Http::H2 => &["h1", "h2"],
        Http::H3 => &["h1", "h2", "h3"],
    };
    let files = page.resources.iter().enumerate().map(|(index, resource)| {
        let outputs =
            [file_name(index, resource), media_type(resource.resource_type).to_owned(), caching(index).to_owned()];
        json!({ "input": resource.path, "outputs": outputs })
    });
    let mut fields = json!({ "Content-Type": ["{page_type}"] });
    if page.cache {
        fields["Cache-Control"] = json!(["{page_caching}"]);
    }
    let handlers = json!([
        {
            "handler": "map",
            "source": "{http.request.uri}",
            "destinations": ["{page_file}", "{page_type}", "{page_caching}"],
            "mappings": files.collect::<Vec<_>>(),
            "defaults": ["missing", "", ""],
        },
        { "handler": "headers", "response": { "set": fields } },
        { "handler": "rewrite", "uri": "/{page_file}" },
        { "handler": "file_server", "root": FOLDER, "canonical_uris": false },
    ]);
    json!({
        "admin": { "disabled": true },
        "logging": { "logs": { "default": { "level": "ERROR" } } },
        "apps": {
            "http": { "servers": { "page": {
                "listen": [format!(":{PORT}")],
                "protocols": protocols,
                "idle_timeout": if page.visits > 1 { IDLE_TIMEOUT_BETWEEN_VISITS } else { IDLE_TIMEOUT },
                "automatic_https": { "disable": true },
                "routes": [{ "handle": handlers }],
                "tls_connection_policies": [{}],
            } } },
            "tls": { "certificates": { "load_files": [{ "certificate": CERTIFICATE, "key": KEY }] } },
        },
    })
}

/// Returns nginx's configuration for the page.
///
/// # Errors
/// A path that cannot be written in nginx's configuration; HTTP/3, which distributions' nginx does not speak.
fn nginx(page: &Page) -> Result<String> {
    let protocol = match page.http {
        Http::H1 => "",
        Http::H2 => " http2",
        Http::H3 => bail!("the distributions' nginx speaks HTTP/1.1 and HTTP/2, not HTTP/3"),
    };
    let mut files = String::new();
    for (index, resource) in page.resources.iter().enumerate() {
        let path = &resource.path;
        ensure!(!path.contains(['"', '\\', '\n']), "nginx's configuration cannot say the path {path:?}");
        files.push_str(&format!("    \"{path}\" /{};\n", file_name(index, resource)));
    }
    Ok(format!(
        "daemon off;\npid /tmp/nginx.pid;\nuser root;\nerror_log stderr;\nevents {{}}\nhttp {{\n  access_log off;\n  \
         map_hash_bucket_size 4096;\n  map_hash_max_size 65536;\n  \
         types {{ text/html html; text/css css; text/javascript js; image/webp webp; font/woff2 woff2; \
         application/json json; }}\n  \
         map $request_uri $page_file {{\n    default /missing;\n{files}  }}\n  server {{\n    \
         listen {PORT} ssl{protocol};\n    server_name {SERVER_NAME};\n    ssl_certificate {CERTIFICATE};\n    \
         ssl_certificate_key {KEY};\n    ssl_protocols TLSv1.3;\n    root {FOLDER};\n    \
         location / {{ try_files $page_file =404; }}\n  }}\n}}\n"
    ))
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;

    use super::*;

    #[test]
    fn caddy_speaks_the_version_that_was_asked_for() {
        let protocols = |http| {
            caddy(&Page { http, ..golden::page("page-nginx") })["apps"]["http"]["servers"]["page"]["protocols"].clone()
        };
        assert_eq!(protocols(Http::H1), json!(["h1"]));
        assert_eq!(protocols(Http::H2), json!(["h1", "h2"]));
        assert_eq!(protocols(Http::H3), json!(["h1", "h2", "h3"]));
    }

    #[test]
    fn connections_are_closed_early_between_visits_alone() {
        let idle_timeout = |visits| {
            let page = Page { visits, ..golden::page("page-nginx") };
            caddy(&page)["apps"]["http"]["servers"]["page"]["idle_timeout"].clone()
        };
        assert_eq!((idle_timeout(1), idle_timeout(2)), (json!("5m"), json!("30s")));
    }

    #[test]
    fn every_path_has_its_file() {
        let text = nginx(&golden::page("page-nginx")).unwrap();
        let mapped =
            caddy(&golden::page("page-nginx"))["apps"]["http"]["servers"]["page"]["routes"][0]["handle"][0]["mappings"]
                .clone();
        for (index, resource) in golden::page("page-nginx").resources.iter().enumerate() {
            let file = file_name(index, resource);
            assert!(text.contains(&format!("    \"{}\" /{file};\n", resource.path)), "{text}");
            assert_eq!((&mapped[index]["input"], &mapped[index]["outputs"][0]), (&json!(resource.path), &json!(file)));
        }
    }

    #[test]
    fn what_nginx_cannot_do_is_refused() {
        let mut page = golden::page("page-nginx");
        page.resources[1].path = "/a\"b".to_owned();
        assert!(nginx(&page).unwrap_err().to_string().contains("cannot say the path"));
        assert!(nginx(&Page { http: Http::H3, ..page }).unwrap_err().to_string().contains("not HTTP/3"));
    }
}
