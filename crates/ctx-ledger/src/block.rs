//! Blocks of a text that its writer put there and did not say: code, and what stands in
//! tags.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::text::ascii_regex;

/// The block that a line may be in.
#[derive(Default)]
pub(crate) struct Blocks {
    fence: Option<char>,
    tag: Option<String>,
    /// Tags known to be never closed: the text is searched once for each.
    unclosed: HashSet<String>,
    indented: bool,
    after_blank: bool,
}

impl Blocks {
    /// Whether the next line of `text` is in a block, or the mark of one.
    pub(crate) fn has(&mut self, line: &str, text: &str) -> bool {
        let trimmed = line.trim_start();
        if let Some(tag) = &self.tag {
            if line.contains(tag.as_str()) {
                self.tag = None;
            }
            return true;
        }
        if let Some(mark) = trimmed
            .get(..3)
            .filter(|mark| ["```", "~~~"].contains(mark))
        {
            match self.fence {
                None => self.fence = mark.chars().next(),
                Some(open) if mark.starts_with(open) => self.fence = None,
                Some(_) => {}
            }
            return true;
        }
        if self.fence.is_some() {
            return true;
        }
        if let Some(end) = end_of_tag(trimmed) {
            if !trimmed.contains(&end) && !self.unclosed.contains(&end) {
                if text.contains(&end) {
                    self.tag = Some(end);
                } else {
                    self.unclosed.insert(end);
                }
            }
            return true;
        }
        self.is_indented(line)
    }

    /// Markdown's indented code: four blanks or a tab after a blank line, and no list item.
    fn is_indented(&mut self, line: &str) -> bool {
        let blank = line.trim().is_empty();
        let deep = line.starts_with("    ") || line.starts_with('\t');
        let may_be = deep && !blank && (self.indented || self.after_blank);
        self.indented = may_be && !without_marker(line.trim()).0;
        self.after_blank = blank;
        self.indented
    }
}

/// `</name>` for a line that begins with `<name`: something a program put there.
fn end_of_tag(line: &str) -> Option<String> {
    static TAG: LazyLock<Regex> = LazyLock::new(|| ascii_regex("^<([A-Za-z][A-Za-z0-9_-]*)[> /]"));
    // Most lines begin otherwise, and what captures is slow to say so.
    let name = line
        .starts_with('<')
        .then(|| TAG.captures(line))
        .flatten()?;
    Some(format!("</{}>", &name[1]))
}

/// The line without `- `, `1. `, `[x] `, `（1）`; whether there was a marker.
pub fn without_marker(line: &str) -> (bool, &str) {
    static MARKER: LazyLock<Regex> = LazyLock::new(|| {
        let bullet = r"(?:[-*+] |• )\s*(?:\[[ xX]\] )?";
        let number = r"(?:（|\(?)[0-9]{1,3}(?:[.)] |、|）)|\([0-9]{1,3}\)|（[0-9]{1,3}\)";
        ascii_regex(&format!("^(?:{bullet}|{number})"))
    });
    match MARKER.find(line) {
        Some(marker) => (true, line[marker.end()..].trim_start()),
        None => (false, line),
    }
}
