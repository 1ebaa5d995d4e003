//! Reading the `meta.json` of a snapshot never panics, whatever it contains, even if its hash is
//! valid.

use std::fmt::Write;

use ctx_store::Meta;
use ring::digest::{SHA256, digest};

const ID: &str = "demo-20261121T234307.123456Z-0007";

pub(crate) fn run(bytes: &[u8]) {
    let _ = Meta::from_bytes(bytes, ID);
    // A fuzzer cannot guess a valid hash, so the hash is added here.
    let text = String::from_utf8_lossy(bytes);
    let body = text.trim_end().trim_end_matches('}');
    let sealed = format!("{body},\"meta_sha256\":\"{}\"}}\n", sha256(body));
    let Ok(meta) = Meta::from_bytes(sealed.as_bytes(), ID) else { return };
    let written = meta.to_bytes();
    let again = Meta::from_bytes(&written, ID).expect("what is written is read");
    assert_eq!(again.to_bytes(), written, "it is written in one way");
}

fn sha256(body: &str) -> String {
    digest(&SHA256, body.as_bytes()).as_ref().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
