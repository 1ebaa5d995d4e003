//! Content that an API rejects in a message of its own, whatever the other messages are, and its
//! repair.
//!
//! An [`Outline`] lists the faults of its message. The faults are found in the raw JSON, so that no
//! text has to be decoded.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::problems::{Problem, Rule};
use crate::dialect::content::{bad_images, kind_of};
use crate::record::edit::{cut_members, cuts};
use crate::record::unescape::unit;
use crate::{Dialect, Edits, Member, Object, Origin, Outline, ShortHash, json};

/// The text that replaces empty content.
pub const NO_CONTENT: &str = "(no content)";

/// Facts about the content of a message that rules need, apart from those in its [`Outline`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// The rules that the message violates, each with the id of the call or an empty string.
    pub(crate) faults: Vec<(Rule, String)>,
    /// The id of an item, unless the item is a result.
    pub(crate) item_id: Option<String>,
    /// The type of result that a call needs, or the type of the result itself.
    pub(crate) result_type: Option<&'static str>,
    /// Whether the message refers to an item of an earlier request that may be a call.
    pub(crate) may_be_call: bool,
    /// Whether the message consists of reasoning, which belongs to the reply that follows it.
    pub(crate) is_reasoning: bool,
    /// Whether a reply in which a model reasoned before it made calls has this reasoning.
    pub(crate) has_reasoning: Option<bool>,
    /// The model that wrote the message.
    pub(crate) model: Option<String>,
    /// The number of blocks that are marked as the end of a cached prefix.
    pub(crate) cache_marks: usize,
    /// Whether a summary by the server in the message, which may begin the session, must begin it.
    pub(crate) summary: Option<bool>,
    /// Whether the message ends with the result of a server tool.
    pub(crate) ends_with_result: bool,
    /// The ids of the calls that the API itself answers. Those after the first `answered` ones are
    /// answered in a later message: if their code makes calls, after the results of these.
    pub(crate) server_calls: Vec<String>,
    /// The number of the calls whose results are in the message, too.
    pub(crate) answered: usize,
    /// The ids of the calls that the API answers itself and whose code makes calls of the message.
    pub(crate) callers: Vec<String>,
    /// The ids of the calls in earlier messages whose results the API itself added.
    pub(crate) server_results: Vec<String>,
}

impl Outline<'_> {
    /// Returns the facts about the content, for changes.
    pub(crate) fn content_mut(&mut self) -> &mut Content {
        self.content.get_or_insert_default()
    }

    /// The ids of the calls that later messages answer.
    pub fn awaited(&self) -> impl Iterator<Item = &str> {
        let own = self.calls.iter().map(|id| &**id);
        own.chain(self.of_server(|content| &content.server_calls[content.answered..]))
    }

    /// The ids of the calls in earlier messages that the message answers.
    pub fn answered(&self) -> impl Iterator<Item = &str> {
        let own = self.results.iter().map(|id| &**id);
        own.chain(self.of_server(|content| &content.server_results))
    }

    fn of_server(&self, ids: fn(&Content) -> &[String]) -> impl Iterator<Item = &str> {
        self.content.as_deref().into_iter().flat_map(ids).map(String::as_str)
    }

    /// Returns the outline without the facts about the content, which a change to a result alters.
    #[must_use]
    pub fn without_content(self) -> Self {
        Self { content: None, ..self }
    }

    /// Adds a fault of the content. `id` is the id of the call, if any.
    pub(crate) fn fault(&mut self, rule: Rule, id: &str) {
        self.content_mut().faults.push((rule, id.to_owned()));
    }

    /// Adds a fault of the content if there is one.
    pub(crate) fn fault_if(&mut self, is_fault: bool, rule: Rule, id: &str) {
        if is_fault {
            self.fault(rule, id);
        }
    }

    /// Adds a fault if the API does not accept the name of the tool in `call`, whose id is `id`.
    pub(crate) fn check_tool_name(&mut self, call: &Object<'_>, naming: Naming, id: &str) {
        let name = call.text_of("name").unwrap_or_default();
        let rule = if name.is_empty() { Rule::EmptyToolName } else { Rule::BadToolName };
        self.fault_if(!naming.accepts(&name), rule, id);
    }

    /// Adds a fault if the text of a message has an escape that stands for half a character.
    pub(crate) fn check_surrogates(&mut self, text: &str) {
        self.fault_if(lone_surrogates(text).next().is_some(), Rule::LoneSurrogate, "");
    }
}

/// What an API accepts as the id of a call or the name of a tool.
#[derive(Clone, Copy)]
pub struct Naming {
    /// The minimum number of bytes.
    pub(crate) min: usize,
    /// The maximum number of characters.
    pub(crate) max: usize,
    /// Whether only ASCII letters, digits, `_` and `-` are accepted.
    pub(crate) is_word: bool,
    /// The beginning of the names that the server gives itself, which are accepted nowhere else.
    pub(crate) reserved: Option<&'static str>,
}

/// The names that an API accepts.
#[derive(Clone, Copy)]
pub struct Names {
    /// The ids of calls.
    pub(crate) calls: Naming,
    /// The names of tools.
    pub(crate) tools: Naming,
}

/// Any name is accepted.
pub(crate) const ANY_NAME: Naming =
    Naming { min: 0, max: usize::MAX, is_word: false, reserved: None };

impl Naming {
    pub(crate) fn accepts(self, name: &str) -> bool {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let has_shape = !self.is_word || !name.is_empty() && name.bytes().all(is_word);
        let is_reserved = self.reserved.is_some_and(|begin| name.starts_with(begin));
        has_shape
            && !is_reserved
            && name.len() >= self.min
            && (name.len() <= self.max || name.chars().count() <= self.max)
    }

    /// Returns a name that the API accepts, or `name` itself if it does. Different names stay
    /// different, and the same name always becomes the same.
    pub(crate) fn legal(self, name: &str) -> String {
        if self.accepts(name) {
            return name.to_owned();
        }
        let hash = ShortHash::of(name).to_string();
        let is_word = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let own = self.reserved.and_then(|begin| name.strip_prefix(begin)).unwrap_or(name);
        let kept = own.chars().map(|c| if is_word(&c) || !self.is_word { c } else { '_' });
        let kept: String = kept.take(self.max.min(64) - hash.len() - 1).collect();
        format!("{kept}_{hash}")
    }
}

/// Returns true if a JSON string has no character other than whitespace.
pub(crate) fn is_blank(raw: &str) -> bool {
    let Some(inner) = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')) else {
        return false;
    };
    // Most texts begin with a letter, so few have to be decoded.
    match inner.chars().find(|c| !c.is_whitespace()) {
        Some('\\') => json::text(raw).is_some_and(|text| text.trim().is_empty()),
        other => other.is_none(),
    }
}

/// Finds escapes of single UTF-16 code units.
static ESCAPE: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\\u"));

/// Returns the places of the escapes in a JSON text that are one half of a surrogate pair without
/// the other.
pub(crate) fn lone_surrogates(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut from = 0;
    let unit_at = |at: usize| unit(bytes.get(at..)?);
    std::iter::from_fn(move || {
        while let Some(found) = ESCAPE.find(&bytes[from..]) {
            let at = from + found;
            let slashes = bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
            if slashes % 2 == 1 {
                from = at + 1;
                continue;
            }
            from = at + 2;
            match unit_at(at) {
                Some(0xD800..=0xDBFF) if matches!(unit_at(at + 6), Some(0xDC00..=0xDFFF)) => {
                    from = at + 12;
                }
                Some(0xD800..=0xDFFF) => return Some(at..at + 6),
                _ => {}
            }
        }
        None
    })
}

/// The image types that the APIs accept, each with the beginning of its data in base64.
const IMAGES: [(&str, &str); 4] = [
    ("image/png", "iVBORw0KGgo"),
    ("image/jpeg", "/9j/"),
    ("image/gif", "R0lGOD"),
    ("image/webp", "UklGR"),
];

/// How to make an image acceptable.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ImageFix {
    /// Its data are of this type, which is not the stated one.
    Type(&'static str),
    /// Its data are in a `data:` URL, or have whitespace.
    Data,
    /// Its data are of no type that is accepted.
    Drop,
}

/// Returns data in base64 without the beginning of a `data:` URL and without whitespace.
pub(crate) fn bare(data: &str) -> Cow<'_, str> {
    let url = data.strip_prefix("data:").and_then(|url| url.split_once(";base64,"));
    let data = url.map_or(data, |(_, data)| data);
    let is_bare = !data.contains(|c: char| c.is_ascii_whitespace());
    if is_bare { data.into() } else { data.split_ascii_whitespace().collect() }
}

/// Returns true for data in base64.
pub(crate) fn is_base64(data: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=\r\n".contains(&byte);
    !data.is_empty() && data.bytes().all(is_digit)
}

/// Returns how to make an image with this type and these base64 data acceptable; `None` if it is.
pub(crate) fn image_fix(mime: &str, data: &str) -> Option<ImageFix> {
    if !is_base64(data) {
        return Some(if is_base64(&bare(data)) { ImageFix::Data } else { ImageFix::Drop });
    }
    match IMAGES.iter().find(|(_, begin)| data.starts_with(begin)) {
        Some((real, _)) => (*real != mime).then_some(ImageFix::Type(real)),
        None => Some(ImageFix::Drop),
    }
}

/// Returns a text, as JSON, that says what was in its place.
pub(crate) fn was_here(what: &str, mime: Option<Cow<'_, str>>) -> String {
    let of_type = mime.map_or_else(String::new, |mime| format!(" of the type {mime}"));
    json::quoted(&format!("({what}{of_type} was here)"))
}

/// The edits that repair the faults of one record.
pub struct Mend<'r, 'a> {
    record: &'r Object<'a>,
    problems: &'r [&'r Problem],
    edits: Edits,
    pub(crate) is_dropped: bool,
}

impl Mend<'_, '_> {
    pub(crate) fn has(&self, rule: Rule) -> bool {
        self.problems.iter().any(|problem| problem.rule == rule)
    }

    pub(crate) fn has_id(&self, rule: Rule, id: &str) -> bool {
        self.problems.iter().any(|problem| problem.rule == rule && problem.id == id)
    }

    /// Gives a new id to a call of a server tool, or to its result, if an earlier call has the id.
    pub(crate) fn rename(&mut self, raw: Option<&str>) {
        let Some((raw, id)) = raw.and_then(|raw| Some((raw, json::text(raw)?))) else { return };
        if self.has_id(Rule::RepeatedServerId, &id) {
            self.put(raw, json::quoted(&format!("{id}_{}", self.problems[0].line)));
        }
    }

    /// Replaces a name that is missing or that the API does not accept.
    pub(crate) fn name(&mut self, within: &Object<'_>, key: &str, naming: Naming) {
        if !naming.accepts(&within.text_of(key).unwrap_or_default()) {
            let name = within.id_of(key).unwrap_or_default();
            self.set(within, key, &json::quoted(&naming.legal(&name)));
        }
    }

    /// Repairs an image whose type and data are members of `within`.
    pub(crate) fn image(
        &mut self,
        image: &Object<'_>,
        (within, mime, data): (&Object<'_>, &str, &str),
        fix: &ImageFix,
    ) {
        match fix {
            ImageFix::Type(real) => self.set(within, mime, &json::quoted(real)),
            ImageFix::Data => {
                let text = within.text_of(data).unwrap_or_default();
                self.set(within, data, &json::quoted(&bare(&text)));
            }
            ImageFix::Drop => self.replace_with_text(image),
        }
    }

    /// Replaces the images in `parts` that the API rejects with text.
    pub(crate) fn bad_images<'p>(&mut self, parts: impl IntoIterator<Item = Object<'p>>) {
        let images = if self.has(Rule::BadImage) { bad_images(parts) } else { Vec::new() };
        for image in &images {
            self.replace_with_text(image);
        }
    }

    /// Replaces the raw value `raw`, a slice of the record.
    pub(crate) fn put(&mut self, raw: &str, json: String) {
        self.edits.replace(self.record.place_of(raw), json);
    }

    /// Adds a member to `within`, an object in the record, or replaces its value.
    pub(crate) fn set(&mut self, within: &Object<'_>, key: &str, json: &str) {
        self.edits.set(self.record.place_of(within.text()).start, within, key, json);
    }

    /// Removes the blocks for which `goes` is true from the list of a message's content. If none is
    /// left, the content becomes [`NO_CONTENT`] instead.
    pub(crate) fn cut_blocks(&mut self, list: &str, blocks: &[&str], goes: &[bool]) -> bool {
        if goes.iter().all(|goes| *goes) {
            self.put(list, json::quoted(NO_CONTENT));
            return true;
        }
        let items = blocks.iter().zip(goes).map(|(raw, goes)| (self.record.place_of(raw), *goes));
        self.edits.cut(cuts(self.record.text(), items));
        false
    }

    /// Removes members of `within`, an object in the record.
    pub(crate) fn cut_members(&mut self, within: &Object<'_>, keys: &[&str]) {
        self.cut(within, |member| keys.contains(&&*member.key));
    }

    /// Removes the members of `within` with which `goes` returns true.
    pub(crate) fn cut(&mut self, within: &Object<'_>, goes: impl Fn(&Member<'_>) -> bool) {
        self.edits.cut(cut_members(self.record, within, goes));
    }

    /// Replaces a block that the API does not accept with a text that says what was there.
    pub(crate) fn replace_with_text(&mut self, block: &Object<'_>) {
        let what = match &*kind_of(block) {
            "image" | "image_url" | "input_image" => "an image".to_owned(),
            "document" => "a document".to_owned(),
            kind => format!("a block of the type {kind}"),
        };
        let mime = block.object_of("source").and_then(|source| source.text_of("media_type"));
        let text = was_here(&what, mime);
        let kind = if kind_of(block) == "input_image" { "input_text" } else { "text" };
        self.put(block.text(), format!("{{\"type\":\"{kind}\",\"text\":{text}}}"));
    }
}

/// Returns the bytes of a record with the content repaired that violates a rule, which are empty if
/// the record goes; `None` if there is nothing to repair. `problems` are those of the record.
pub fn mended(dialect: &dyn Dialect, bytes: &[u8], problems: &[&Problem]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let has_halves = problems.iter().any(|problem| problem.rule == Rule::LoneSurrogate);
    let text = if has_halves { without_surrogates(text) } else { text.to_owned() };
    let record = Origin::ALONE.record(text.as_bytes());
    let mut mend =
        Mend { record: record.object()?, problems, edits: Edits::default(), is_dropped: false };
    dialect.mend(mend.record, &mut mend);
    let mended = if mend.is_dropped { Vec::new() } else { record.edited(&mend.edits) };
    (mended != bytes).then_some(mended)
}

/// Returns the text of a record with U+FFFD in place of each escape that stands for half a
/// character.
pub(crate) fn without_surrogates(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut from = 0;
    for place in lone_surrogates(text) {
        whole.push_str(&text[from..place.start]);
        whole.push_str("\\ufffd");
        from = place.end;
    }
    whole.push_str(&text[from..]);
    whole
}
