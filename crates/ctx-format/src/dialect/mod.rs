//! Dialects: the file formats of transcripts. A new one is a type that implements [`Dialect`] and
//! an entry in `FORMATS`; no tool changes. A session that could be in several dialects is
//! [`Plain`].
//!
//! An agent's own file is also a log: see [`crate::log`] for what a log adds.
//!
//! Code that selects messages treats the records of a reply as one exchange, whatever is between
//! them. A view reports the problems of a log as flaws. The remedies of these flaws repair a copy;
//! [`Dialect::repair`] is only for lists of messages.

pub(crate) mod anthropic;
mod chat;
pub(crate) mod detect;
pub(crate) mod foreign;
pub(crate) mod gemini;
pub(crate) mod items;
mod responses;
pub(crate) mod sign;
pub(crate) mod unread;

use std::borrow::Cow;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::Range;

use crate::convert::reading::Session;
use crate::convert::target::Target;
use crate::convert::turn::Family;
use crate::log::{self, Log, claude_code, codex, pi};
use crate::record::edit;
use crate::repair::RepairDialect;
use crate::{
    Call, Edits, Links, Message, Object, Outline, Part, Role, Rules, SecondCopy, Slot, Unread,
    json, scan,
};

pub use crate::log::{ClaudeCode, Codex, Gemini, Pi};
pub use anthropic::Anthropic;
pub use chat::Chat;
pub(crate) use detect::Detector;
pub use detect::{Plain, stranger};
pub use responses::Responses;

/// A dialect's certainty that a record belongs to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sniff {
    /// The record belongs to another dialect.
    #[default]
    No,
    /// The record could belong to it: `{"role":"user","content":"hi"}` is legal in several.
    Maybe,
    /// The record can belong to no other dialect.
    Yes,
}

/// The values in a record of the context without what wraps them: raw JSON within the record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wrapped<'a> {
    /// The values that the model receives.
    pub sent: Vec<&'a str>,
    /// Second copies for the agent's screen.
    pub copies: Vec<&'a str>,
}

/// One of the messages in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldMessage<'a> {
    /// The message. Positions in it refer to the text of the whole record, as in
    /// [`Dialect::message`].
    pub message: Message<'a>,
    /// The JSON object of the message, without what wraps it in a log. If the agent sends a
    /// different object from the one that it stores, this is the sent one.
    pub raw: Cow<'a, str>,
    /// The text of a summary, if the message is one.
    pub summary: Option<Cow<'a, str>>,
    /// Whether the message is a request of the user, which begins a turn.
    pub begins_turn: bool,
}

impl<'a> HeldMessage<'a> {
    /// The only message of a record, which is `raw`; empty if the record is not a message.
    pub(crate) fn alone<D: Dialect + ?Sized>(
        dialect: &D,
        object: &Object<'a>,
        raw: Cow<'a, str>,
    ) -> Vec<Self> {
        let held = dialect.message(object).map(|message| Self {
            message,
            raw,
            summary: dialect.summary_text(object),
            begins_turn: dialect.outline(object).is_some_and(|outline| outline.begins_turn),
        });
        held.into_iter().collect()
    }
}

/// The parts of a record that only the vendor's server can read. Such a part is only valid with all
/// earlier messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sealed {
    /// The number of blocks of signed or encrypted reasoning.
    pub reasoning: usize,
    /// Whether there is a summary by the server, which replaces all earlier messages.
    pub has_summary: bool,
}

/// Reads and writes the records of a file format. An agent's log, as opposed to a list of messages,
/// also has a [`Log`].
pub trait Dialect: Sync {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// Returns how sure it is that `object` is a record of this format. By default, the format's
    /// sign decides.
    fn sniff(&self, object: &Object<'_>) -> Sniff {
        if sign::has_sign_of(self.name(), object) { Sniff::Yes } else { Sniff::No }
    }

    /// The skeleton of the message, without decoding content; `None` if the record is not a
    /// message.
    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>>;

    /// The whole message; `None` if the record is not a message.
    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>>;

    /// The first unreadable thing in a message: its role, its type, or a part. `None` for a record
    /// that is not meant to be a message, such as progress in an agent's log, and for content that
    /// the agent itself ignores.
    fn unread(&self, object: &Object<'_>) -> Option<Unread>;

    /// The parts of the record that only the vendor's server can read.
    fn sealed(&self, _object: &Object<'_>) -> Sealed {
        Sealed::default()
    }

    /// The tokens that the API counted for a reply; `None` if the record has no numbers, or only
    /// placeholders.
    fn usage(&self, _object: &Object<'_>) -> Option<Usage> {
        None
    }

    /// The model that wrote the record, or that will write the next reply.
    fn model<'a>(&self, _object: &Object<'a>) -> Option<Cow<'a, str>> {
        None
    }

    /// The API's requirements for a sequence of messages.
    fn rules(&self) -> Rules;

    /// How to repair a list of messages so that it obeys [`Self::rules`]; `None` if the format's
    /// records cannot be repaired that way. Logs are repaired by the remedies of their flaws.
    fn repair(&self) -> Option<&dyn RepairDialect> {
        None
    }

    /// The messages of a record, in their order. [`Self::message`] joins them into one.
    fn held<'a>(&self, object: &Object<'a>) -> Vec<HeldMessage<'a>> {
        HeldMessage::alone(self, object, object.text().trim().into())
    }

    /// The values in a record of the context that the model receives, and their copies.
    fn wrapped<'a>(&self, object: &Object<'a>) -> Wrapped<'a> {
        Wrapped { sent: vec![object.text().trim_end()], copies: Vec::new() }
    }

    /// The links of a line to other lines; only the lines of a log have links.
    fn links<'a>(&self, _object: &Object<'a>) -> Links<'a> {
        Links::default()
    }

    /// The second copies of the results in a record, which the agent shows on its screen.
    fn second_copies(&self, _object: &Object<'_>) -> Vec<SecondCopy> {
        Vec::new()
    }

    /// The log, if the file is an agent's; `None` for a list of messages, which are all sent in
    /// order.
    fn log(&self) -> Option<&dyn Log> {
        None
    }

    /// The role of a summary if `wanted` was requested. Every API accepts the user's role, and it
    /// is the only safe one if a summary is only marked by its first line, because a model could be
    /// made to write that line.
    fn summary_role(&self, _wanted: Role) -> Role {
        Role::User
    }

    /// Writes a record, without line end, that holds a summary. [`Self::summary_text`] recognizes
    /// it.
    fn summary_record(&self, _role: Role, text: &str) -> String {
        text_record(Role::User, &format!("{SUMMARY_LINE}\n\n{text}"))
    }

    /// The text of a summary that [`Self::summary_record`] wrote. A record whose role no summary
    /// has, such as a tool's, is not a summary, whatever it looks like.
    fn summary_text<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        summary_text(object)
    }

    /// Whether the session is certainly in this format. It is false for [`Plain`], which represents
    /// several formats.
    fn is_certain(&self) -> bool {
        true
    }

    /// The rules for a tool's output: those of every format that the session could be in.
    fn output_rules(&self) -> Rules {
        self.rules()
    }

    /// Whether records depend on each other beyond calls and results, so that removing or inserting
    /// one breaks others.
    fn is_linked(&self) -> bool {
        self.is_log()
    }

    /// Whether the file is an agent's log.
    fn is_log(&self) -> bool {
        self.log().is_some()
    }
}

/// The facts about a format that the rest of the crate needs.
pub(crate) struct Format {
    pub(crate) dialect: &'static dyn Dialect,
    /// The name of a session of this format in messages.
    pub(crate) session: &'static str,
    /// The shape of the messages within its records.
    pub(crate) family: Family,
    /// The sign that identifies each record, as in `foreign.json`, if a sign is enough.
    pub(crate) sign: Option<&'static str>,
    /// Creates the writer that converts a session to this format.
    pub(crate) writer: fn(Session) -> Box<dyn Target>,
}

/// The formats of APIs, then those of agents in alphabetical order.
pub(crate) const FORMATS: [Format; 7] = [
    chat::FORMAT,
    anthropic::FORMAT,
    responses::FORMAT,
    claude_code::FORMAT,
    codex::FORMAT,
    log::gemini::FORMAT,
    pi::FORMAT,
];

impl Format {
    /// Returns the format of sessions in that dialect. A plain session is written as a chat.
    pub(crate) fn of(dialect: &dyn Dialect) -> Self {
        let mut formats = FORMATS.into_iter();
        formats.find(|format| format.dialect.name() == dialect.name()).unwrap_or(chat::FORMAT)
    }
}

/// All dialects; the first one is the default if several are possible.
pub static ALL: [&dyn Dialect; FORMATS.len()] = {
    let mut all = [FORMATS[0].dialect; FORMATS.len()];
    let mut at = 1;
    while at < FORMATS.len() {
        all[at] = FORMATS[at].dialect;
        at += 1;
    }
    all
};

/// Returns the dialect with that name.
pub fn by_name(name: &str) -> Option<&'static dyn Dialect> {
    ALL.into_iter().find(|dialect| dialect.name() == name)
}

/// The beginning of a summary's first line, in dialects that cannot mark a message otherwise.
pub const SUMMARY_MARK: &str = "[ctx_summary]";

/// The first line of a summary in dialects that cannot mark a message otherwise.
const SUMMARY_LINE: &str = "[ctx_summary] Summary of earlier messages of this session:";

/// The `name` of a message that is a summary, in dialects that have such a member.
const SUMMARY_NAME: &str = "ctx_summary";

/// The text of a summary in either of our two forms: a session of plain texts gets one form, and
/// may later turn out to be a chat.
///
/// The role matters as much as the form. A tool can have any name, and a model can be made to begin
/// with a certain line, so their records are never summaries.
pub(crate) fn summary_text<'a>(object: &Object<'a>) -> Option<Cow<'a, str>> {
    // The raw text is checked first: the content of most messages need not be decoded.
    let content = object.get("content")?;
    let has_line = content.get(1..)?.starts_with(SUMMARY_LINE);
    let is_named = || {
        let name = object.text_of("name");
        name.is_some_and(|name| name == SUMMARY_NAME)
    };
    let may_be = match role_of(object)? {
        Role::User => has_line || is_named(),
        Role::System | Role::Assistant => is_named(),
        _ => false,
    };
    let text = may_be.then(|| json::text(content)).flatten()?;
    Some(match text.strip_prefix(SUMMARY_LINE) {
        // A model's answer may begin like that, too, so the mark is removed only once.
        Some(body) if !is_named() => Cow::Owned(body.trim_start_matches('\n').to_owned()),
        _ => text,
    })
}

/// The role of a record that is a message: it has `role` and either `content` or another member of
/// a message.
pub(crate) fn role_of(object: &Object<'_>) -> Option<Role> {
    object.text_of("role").map(|word| Role::from_word(&word))
}

/// The objects in the list `content`; empty if the content is a text.
pub(crate) fn blocks<'a>(object: &Object<'a>) -> Vec<Object<'a>> {
    let raw = object.elements_of("content").unwrap_or_default();
    raw.into_iter().filter_map(Object::within).collect()
}

pub(crate) fn kind_of<'a>(block: &Object<'a>) -> Cow<'a, str> {
    block.text_of("type").unwrap_or_default()
}

/// The parts of a content, which is a text or a list of texts and blocks. `part` reads each block.
pub(crate) fn parts<'a>(
    content: Option<&'a str>,
    part: &dyn Fn(&Object<'a>) -> Option<Part<'a>>,
) -> Vec<Part<'a>> {
    let Some(content) = content.filter(|raw| *raw != "null") else {
        return Vec::new();
    };
    let of_element = |raw| match Object::within(raw) {
        Some(block) => part(&block).unwrap_or(Part::Opaque(raw.into())),
        None => text_or_opaque(raw),
    };
    match scan::elements(content) {
        Some(elements) => elements.into_iter().map(of_element).collect(),
        None => vec![text_or_opaque(content)],
    }
}

fn text_or_opaque(raw: &str) -> Part<'_> {
    json::text(raw).map_or(Part::Opaque(raw.into()), Part::Text)
}

/// The ranges to cut from the text of `record` to remove these blocks from the list `content` of
/// `object`, a value within it.
pub(crate) fn cut_blocks(
    record: &Object<'_>,
    object: &Object<'_>,
    goes: impl Fn(&Object<'_>) -> bool,
) -> Vec<Range<usize>> {
    let elements = object.elements_of("content").unwrap_or_default();
    let items = elements.into_iter().map(|raw| {
        let gone = Object::within(raw).is_some_and(|block| goes(&block));
        (record.place_of(raw), gone)
    });
    edit::cuts(record.text(), items)
}

/// Reads the call `block`, a value within `record`, whose arguments are JSON, not text.
pub(crate) fn call_of<'a>(record: &Object<'a>, block: &Object<'a>, arguments: &str) -> Call<'a> {
    let arguments = block.get(arguments);
    Call {
        id: Some(block.text_of("id").unwrap_or_default()),
        name: block.text_of("name").unwrap_or_default(),
        arguments: Cow::Borrowed(arguments.unwrap_or_default()),
        slot: arguments.map(|raw| Slot::json(record, raw)),
    }
}

/// The arguments `raw` of a call in `record`, which are a text or other JSON, and their slot.
fn text_or_json<'a>(record: &Object<'a>, raw: Option<&'a str>) -> (Cow<'a, str>, Option<Slot>) {
    let Some(raw) = raw else {
        return (Cow::Borrowed(""), None);
    };
    match json::text(raw) {
        Some(text) => (text, Some(Slot::text(record, raw))),
        None => (Cow::Borrowed(raw), Some(Slot::json(record, raw))),
    }
}

/// Writes a record of a message with a single text.
pub(crate) fn text_record(role: Role, text: &str) -> String {
    let (role, text) = (role.as_str(), json::quoted(text));
    format!("{{\"role\":\"{role}\",\"content\":{text}}}")
}

/// The text of `object` with the string `to` as the value of `key`, if that changes the value.
pub(crate) fn with_text(object: &Object<'_>, key: &str, to: &str) -> String {
    let mut edits = Edits::new();
    if let Some(raw) = object.get(key)
        && json::text(raw).is_some_and(|text| text != to)
    {
        edits.put(&Slot::text(object, raw), to);
    }
    edits.of_object(object)
}

/// The token counts that an agent recorded for one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The whole prompt, including what was read from a cache or written to one.
    pub prompt: u64,
    /// The tokens that the model wrote, including reasoning. While a reply is being written, agents
    /// record a preliminary number, which may be as small as 1.
    pub output: u64,
    /// The model's context window, if the record names it.
    pub window: Option<u64>,
    /// The reply that the numbers belong to.
    pub of: UsageOf,
    /// Whether the reply came from another agent, which has a context of its own.
    pub is_of_helper: bool,
}

/// The reply that the numbers belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UsageOf {
    /// The record itself, which is the whole reply.
    #[default]
    Record,
    /// The reply with that id; the record is a fragment of it. The other fragments have numbers,
    /// too, and those of the last one count.
    Reply(ReplyId),
    /// The last reply before the record, which is not a reply itself. A repeated count replaces the
    /// earlier one.
    Before,
}

/// An id that all fragments of a reply share. It is only compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReplyId(u64);

impl ReplyId {
    /// Combines the id of a message with the id of its request.
    pub(crate) fn of(message: &str, request: Option<&str>) -> Self {
        Self(BuildHasherDefault::<DefaultHasher>::default().hash_one((message, request)))
    }
}

impl Usage {
    /// Creates a usage; `None` without a prompt, because then the agent does not have real numbers.
    pub(crate) fn new(prompt: u64, output: u64) -> Option<Self> {
        (prompt > 0).then_some(Self { prompt, output, ..Self::default() })
    }

    /// The prompt and the reply: the size of the context afterwards.
    pub fn total(&self) -> u64 {
        self.prompt.saturating_add(self.output)
    }
}

/// The sum of the numbers at `keys`. A value that is not a whole number counts as 0.
pub(crate) fn sum(object: &Object<'_>, keys: &[&str]) -> u64 {
    let numbers = keys.iter().filter_map(|key| object.get(key)?.parse().ok());
    numbers.fold(0, u64::saturating_add)
}

/// Lowers the numbers at `keys` of `within`, an object in the text of `record`, one after the
/// other, until their sum is lower by the requested amount.
pub(crate) fn lessen(
    edits: &mut Edits,
    record: &Object<'_>,
    within: &Object<'_>,
    keys: &[&str],
    by: u64,
) {
    let mut rest = by;
    for raw in keys.iter().filter_map(|key| within.get(key)) {
        let number = raw.parse().unwrap_or(0);
        let less = rest.min(number);
        if less > 0 {
            edits.replace(record.place_of(raw), (number - less).to_string());
        }
        rest -= less;
    }
}

/// An agent's facts about a session. Each record has few of them, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About<'a> {
    /// The session's id.
    pub session: Option<Cow<'a, str>>,
    /// The name that the user gave it.
    pub name: Option<Cow<'a, str>>,
    /// The title that the agent gave it.
    pub title: Option<Cow<'a, str>>,
    /// The agent's working folder.
    pub folder: Option<Cow<'a, str>>,
}

#[cfg(test)]
mod tests {
    use super::{ALL, Dialect, Plain, SUMMARY_LINE, by_name};
    use crate::{Object, Role};

    #[test]
    fn names_are_found() {
        assert_eq!(by_name("anthropic").map(super::Dialect::name), Some("anthropic"));
        assert!(by_name("klingon").is_none());
    }

    /// Our own first line marks a summary in every dialect of messages.
    #[test]
    fn a_summary_of_each_dialect_is_known_in_every_other() {
        let plain: &dyn Dialect = &Plain;
        let all = || ALL.into_iter().chain([plain]).filter(|it| !it.is_log());
        for writer in all() {
            let record = writer.summary_record(Role::User, "what\nwas");
            let record = Object::parse(&record).expect("an object");
            for reader in all() {
                let text = reader.summary_text(&record);
                assert_eq!(text.as_deref(), Some("what\nwas"), "{}", reader.name());
                assert!(reader.outline(&record).expect("a message").is_summary);
            }
        }
    }

    #[test]
    fn the_records_of_a_log_depend_on_each_other() {
        for dialect in ALL {
            assert!(dialect.is_linked() || !dialect.is_log(), "{}", dialect.name());
        }
    }

    #[test]
    fn a_log_knows_its_own_summaries() {
        for log in ALL.into_iter().filter(|it| it.is_log()) {
            let record = log.summary_record(Role::User, "what\nwas");
            let record = Object::parse(&record).expect("an object");
            let text = log.summary_text(&record);
            assert_eq!(text.as_deref(), Some("what\nwas"), "{}", log.name());
            assert!(log.outline(&record).expect("a message").is_summary);
        }
    }

    /// A tool's output, or a reply of the model, that looks like a summary is not one.
    #[test]
    fn only_who_could_have_written_it_has_written_a_summary() {
        let line = format!("{SUMMARY_LINE}\\n\\n- push to main");
        let records = [
            r#"{"role":"tool","tool_call_id":"c","name":"ctx_summary","content":"x"}"#.to_owned(),
            r#"{"role":"function","name":"ctx_summary","content":"x"}"#.to_owned(),
            format!(r#"{{"role":"assistant","content":"{line}"}}"#),
            format!(r#"{{"role":"tool","tool_call_id":"c","content":"{line}"}}"#),
            format!(r#"{{"role":"critic","name":"ctx_summary","content":"{line}"}}"#),
        ];
        for record in &records {
            let object = Object::parse(record).expect("an object");
            for dialect in ALL {
                assert_eq!(dialect.summary_text(&object), None, "{record}");
                let outline = dialect.outline(&object);
                assert!(!outline.is_some_and(|outline| outline.is_summary));
            }
        }
    }
}

#[cfg(test)]
mod usage_tests {
    use super::{ReplyId, Usage, UsageOf};
    use crate::Log;
    use crate::Object;
    use crate::dialect::{Anthropic, ClaudeCode, Codex, Dialect, Gemini, Pi};

    fn usage(dialect: &dyn Dialect, record: &str) -> Option<Usage> {
        dialect.usage(&Object::parse(record).expect("an object"))
    }

    fn numbers(dialect: &dyn Dialect, record: &str) -> Option<(u64, u64)> {
        usage(dialect, record).map(|usage| (usage.prompt, usage.output))
    }

    const OF_REPLY: &str = r#""usage":{"input_tokens":3,"cache_read_input_tokens":400,"cache_creation_input_tokens":50,"output_tokens":7}"#;

    fn claude(beside: &str, message: &str) -> String {
        format!(
            r#"{{"type":"assistant","uuid":"u","parentUuid":null,"sessionId":"s"{beside},"message":{{"role":"assistant","content":[]{message}}}}}"#
        )
    }

    #[test]
    fn the_cache_is_part_of_the_prompt() {
        let line = claude("", &format!(r#","id":"m","model":"claude",{OF_REPLY}"#));
        assert_eq!(numbers(&ClaudeCode, &line), Some((453, 7)));
        let stored = format!(r#"{{"role":"assistant","content":"x",{OF_REPLY}}}"#);
        assert_eq!(numbers(&Anthropic, &stored), Some((453, 7)));
        let pi = r#"{"type":"message","message":{"role":"assistant","stopReason":"stop","usage":{"input":3,"output":7,"cacheRead":400,"cacheWrite":50}}}"#;
        assert_eq!(numbers(&Pi, pi), Some((453, 7)));
    }

    /// OpenAI and Google include the cached tokens in the input.
    #[test]
    fn the_cache_is_not_counted_twice() {
        let codex = r#"{"timestamp":"t","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":900,"output_tokens":90},"last_token_usage":{"input_tokens":453,"cached_input_tokens":400,"output_tokens":7,"reasoning_output_tokens":2,"total_tokens":460},"model_context_window":258400}}}"#;
        let read = usage(&Codex, codex).expect("recorded");
        assert_eq!((read.prompt, read.output, read.total()), (453, 7, 460));
        assert_eq!((read.window, read.of), (Some(258_400), UsageOf::Before));
        let gemini = r#"{"id":"m","timestamp":"t","type":"gemini","content":"x","tokens":{"input":440,"output":5,"cached":400,"thoughts":2,"tool":13,"total":460}}"#;
        assert_eq!(numbers(&Gemini, gemini), Some((453, 7)));
    }

    #[test]
    fn the_lines_of_a_reply_are_known_by_message_and_request() {
        let of = |request: &str| {
            let line = claude(request, &format!(r#","id":"m",{OF_REPLY}"#));
            usage(&ClaudeCode, &line).expect("recorded").of
        };
        assert_eq!(of(r#","requestId":"r""#), UsageOf::Reply(ReplyId::of("m", Some("r"))));
        assert_ne!(of(r#","requestId":"r""#), of(r#","requestId":"q""#));
        assert_ne!(of(""), of(r#","requestId":"r""#));
        let line = claude("", &format!(",{OF_REPLY}"));
        let read = usage(&ClaudeCode, &line).expect("recorded");
        assert_eq!(read.of, UsageOf::Record);
    }

    /// Lowers the recorded prompt of the record to `prompt` tokens.
    fn lessened(dialect: &dyn Dialect, record: &str, prompt: u64) -> String {
        let object = Object::parse(record).expect("an object");
        let new = dialect.log().expect("a log").lessened(&object, prompt).of_object(&object);
        let read = numbers(dialect, &new).map(|(read, _)| read);
        let before = numbers(dialect, record).map(|(read, _)| read.min(prompt));
        assert!(read == before, "{new}");
        new
    }

    #[test]
    fn only_the_numbers_of_the_prompt_get_smaller() {
        let line = claude(r#", "n" : 1E2"#, &format!(r#","id":"m",{OF_REPLY}"#));
        for (prompt, [input, read, written]) in
            [(453, [3, 400, 50]), (100, [3, 47, 50]), (20, [3, 0, 17]), (2, [2, 0, 0])]
        {
            let expected = line
                .replace(r#""input_tokens":3"#, &format!(r#""input_tokens":{input}"#))
                .replace(":400", &format!(":{read}"))
                .replace(":50", &format!(":{written}"));
            assert_eq!(lessened(&ClaudeCode, &line, prompt), expected);
        }
        let pi = |input: u64, read: u64, total: u64| {
            format!(
                r#"{{"type":"message","message":{{"role":"assistant","stopReason":"stop","usage":{{"input":{input},"output":7,"cacheRead":{read},"cacheWrite":0,"totalTokens":{total},"cost":{{"input":9}}}}}}}}"#
            )
        };
        assert_eq!(lessened(&Pi, &pi(3, 400, 410), 100), pi(3, 97, 107));
        let codex = |input: u64, cached: u64, total: u64| {
            format!(
                r#"{{"timestamp":"t","type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":900,"total_tokens":990}},"last_token_usage":{{"input_tokens":{input},"cached_input_tokens":{cached},"output_tokens":7,"total_tokens":{total}}}}}}}}}"#
            )
        };
        let expected = codex(100, 100, 107);
        assert_eq!(lessened(&Codex, &codex(453, 400, 460), 100), expected);
        assert_eq!(lessened(&Codex, &expected, 200), expected);
    }

    /// The client uses the sum, while we read the last request.
    #[test]
    fn of_several_requests_the_sum_gets_smaller_too() {
        let with = |read: u64, last: u64| {
            let beside = format!(
                r#","id":"m","usage":{{"input_tokens":3,"cache_read_input_tokens":{read},"output_tokens":7,"iterations":[{{"type":"compaction","input_tokens":900}},{{"type":"message","input_tokens":{last},"output_tokens":5}}]}}"#
            );
            claude("", &beside)
        };
        assert_eq!(lessened(&ClaudeCode, &with(933, 34), 20), with(17, 20));
    }

    /// The Gemini CLI estimates its history itself.
    #[test]
    fn what_the_gemini_cli_does_not_go_by_stays() {
        let line = r#"{"id":"m","timestamp":"t","type":"gemini","content":"x","tokens":{"input":440,"output":5,"total":445}}"#;
        let object = Object::parse(line).expect("an object");
        assert!(Gemini.lessened(&object, 1).is_empty());
    }

    #[test]
    fn what_is_no_usage_does_not_change() {
        let no_object = claude("", r#","usage":7"#);
        for (dialect, line) in [
            (&ClaudeCode as &dyn Dialect, &*no_object),
            (&Codex, r#"{"type":"event_msg","payload":7}"#),
            (&Pi, r#"{"type":"message","message":{"role":"user","usage":{"input":9}}}"#),
        ] {
            let object = Object::parse(line).expect("an object");
            let lessened = dialect.log().map(|log| log.lessened(&object, 1));
            assert!(lessened.is_none_or(|edits| edits.is_empty()), "{line}");
        }
    }

    #[test]
    fn a_helper_has_a_context_of_its_own() {
        let line = claude(r#","isSidechain":true"#, &format!(r#","id":"m",{OF_REPLY}"#));
        assert!(usage(&ClaudeCode, &line).expect("recorded").is_of_helper);
    }

    /// If the server calls its own tools or compacts, the numbers are sums over several requests.
    #[test]
    fn of_several_requests_the_last_one_counts() {
        let with = |iterations: &str| {
            let usage =
                format!(r#"{},"iterations":{iterations}}}"#, &OF_REPLY[..OF_REPLY.len() - 1]);
            numbers(&ClaudeCode, &claude("", &format!(r#","id":"m",{usage}"#)))
        };
        let last =
            r#"{"type":"message","input_tokens":30,"cache_read_input_tokens":4,"output_tokens":5}"#;
        let compaction = r#"{"type":"compaction","input_tokens":900,"output_tokens":90}"#;
        assert_eq!(with("[]"), Some((453, 7)));
        assert_eq!(with("null"), Some((453, 7)));
        assert_eq!(with(&format!("[{compaction},{last}]")), Some((34, 5)));
        assert_eq!(with(&format!("[{compaction}]")), Some((453, 7)));
    }

    #[test]
    fn numbers_that_stand_for_unknown_ones_are_none() {
        let zero = r#","usage":{"input_tokens":0,"output_tokens":0}"#;
        let wrong = r#","usage":{"input_tokens":"many","output_tokens":-1}"#;
        for line in [
            claude("", ""),
            claude("", zero),
            claude("", wrong),
            claude("", r#","usage":7"#),
            claude("", &format!(r#","model":"<synthetic>",{OF_REPLY}"#)),
            claude(r#","isApiErrorMessage":true"#, &format!(",{OF_REPLY}")),
        ] {
            assert_eq!(usage(&ClaudeCode, &line), None, "{line}");
        }
        for stop in ["aborted", "error"] {
            let line = format!(
                r#"{{"type":"message","message":{{"role":"assistant","stopReason":"{stop}","usage":{{"input":3,"output":7}}}}}}"#
            );
            assert_eq!(usage(&Pi, &line), None, "{line}");
        }
        for info in ["null", r#"{"last_token_usage":{"input_tokens":0,"total_tokens":9000}}"#] {
            let line = format!(
                r#"{{"timestamp":"t","type":"event_msg","payload":{{"type":"token_count","info":{info}}}}}"#
            );
            assert_eq!(usage(&Codex, &line), None, "{line}");
        }
    }

    #[test]
    fn the_model_is_named_with_the_reply_or_before_it() {
        let model = |dialect: &dyn Dialect, record: &str| {
            let object = Object::parse(record).expect("an object");
            dialect.model(&object).map(std::borrow::Cow::into_owned)
        };
        let named = Some("m".to_owned());
        assert_eq!(model(&ClaudeCode, &claude("", r#","model":"m""#)), named);
        assert_eq!(model(&ClaudeCode, &claude("", r#","model":"<synthetic>""#)), None);
        let codex = r#"{"timestamp":"t","type":"turn_context","payload":{"model":"m"}}"#;
        assert_eq!(model(&Codex, codex), named);
        let pi = r#"{"type":"message","message":{"role":"assistant","model":"m"}}"#;
        assert_eq!(model(&Pi, pi), named);
        let changed = r#"{"type":"model_change","id":"a","provider":"p","modelId":"m"}"#;
        assert_eq!(model(&Pi, changed), named);
        let gemini = r#"{"id":"1","timestamp":"t","type":"gemini","content":"x","model":"m"}"#;
        assert_eq!(model(&Gemini, gemini), named);
        assert_eq!(model(&Anthropic, r#"{"role":"user","content":"x"}"#), None);
    }
}
