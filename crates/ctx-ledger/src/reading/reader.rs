//! Reads a message part by part.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;

use ctx_redact::redact;
use ctx_transcript::{Call, Message, Part, Role, Zone};
use serde_json::{Map, Value};

use super::{Event, Mark, Quote, Reading, Source, beginnings};
use crate::action::{Action, Outcome, Target};
use crate::arguments::{Arguments, Leaf};
use crate::facts::Origin;
use crate::form::{self, Label};
use crate::harness::{Writer, answered, demonstration, unwrapped, writer};
use crate::hash::hash;
use crate::identifier::{self, Shape};
use crate::item::{Item, ItemKind};
use crate::kind::Kind;
use crate::outcome::names_something;
use crate::output::pieces;
use crate::own::{Run, own_words_and_runs};
use crate::said;
use crate::scan::Scan;
use crate::segment::segments;
use crate::statement::{Form, statements};
use crate::supersede::takes_back;
use crate::text::first_chars;

/// Arguments up to this length, in bytes, stand in one line with their call.
const SHORT_ARGUMENT: usize = 120;
/// Longer values, in bytes, are no single thing.
const LONGEST_VALUE: usize = 40;

struct Reader {
    reading: Reading,
    scan: Scan,
    /// Whether the message leaves, and so may be quoted.
    leaves: bool,
    /// The last call of an earlier summary.
    call: Option<usize>,
}

impl Reading {
    /// Of a message. One that is [`Zone::Old`] leaves and may be quoted; one that is
    /// [`Zone::Keep`] tells what need not be told again.
    pub fn of(message: &Message<'_>, zone: Zone) -> Self {
        if message.role.is_system() {
            return Self::of_system(message);
        }
        let says = |part: &Part<'_>| match part {
            Part::Text(text) => {
                writer(text) == Writer::User
                    && demonstration(text).is_none_or(|place| place.len() * 5 <= text.len() * 4)
            }
            _ => false,
        };
        let is_request = message.role == Role::User && message.parts.iter().any(says);
        let mut reader = Reader::new(Source::Message { is_request }, zone == Zone::Old);
        for part in &message.parts {
            reader.part(part, message.role);
        }
        if zone == Zone::Keep {
            reader.stays(message);
        }
        reader.finish()
    }

    /// Of a summary of what was before, as a recognizer of summaries finds it. An
    /// extractive one is read back: its items are items again, its details segments.
    pub fn of_earlier(text: &str) -> Self {
        let mut reader = Reader::new(Source::Earlier, true);
        let clean = reader.clean(text);
        match form::read(&clean) {
            Some(lines) => lines.into_iter().for_each(|line| reader.line(line)),
            None => reader.said(&clean, Origin::Said, None),
        }
        reader.finish()
    }

    /// Of a message that was read before and stays, perhaps with shorter results:
    /// only what it tells.
    pub fn of_stay(message: &Message<'_>) -> Self {
        let mut reader = Reader::new(Source::Stays, false);
        reader.stays(message);
        reader.finish()
    }

    fn of_system(message: &Message<'_>) -> Self {
        let mut reader = Reader::new(Source::System, false);
        for text in message.texts() {
            identifier::scan(text, |place, shape| {
                reader.reading.mentions.number(&text[place], shape, None);
            });
        }
        reader.finish()
    }
}

impl Reader {
    fn new(source: Source, leaves: bool) -> Self {
        Self {
            reading: Reading {
                source,
                events: Vec::new(),
                mentions: super::Mentions::default(),
                quotes: Vec::new(),
                marks: Vec::new(),
                kept: Vec::new(),
                secrets: 0,
            },
            scan: Scan::default(),
            leaves,
            call: None,
        }
    }

    fn finish(mut self) -> Reading {
        self.reading.mentions.close();
        self.reading
    }

    fn part(&mut self, part: &Part<'_>, role: Role) {
        match part {
            Part::Text(text) | Part::Refusal(text) => {
                let clean = self.clean(text);
                match role {
                    Role::User => self.of_user(&clean),
                    Role::Tool | Role::Function => self.lines(&clean, Origin::Result, None),
                    Role::Assistant => {
                        self.items(&clean, role);
                        self.said(&clean, Origin::Said, None);
                    }
                    _ => self.said(&clean, Origin::Said, None),
                }
            }
            Part::Call(call) => self.call(call),
            Part::Result(result) => {
                let first = self.reading.quotes.len();
                for text in result.parts.iter().filter_map(text_of) {
                    let clean = self.clean(text);
                    match answered(&clean) {
                        Some(said) => self.of_user(said),
                        None => self.lines(&clean, Origin::Result, None),
                    }
                }
                if self.leaves {
                    let quotes = first..self.reading.quotes.len();
                    let outcome = Outcome::of(result);
                    self.reading.events.push(Event::Result(outcome, quotes));
                }
            }
            Part::Reasoning(_) | Part::Media(_) | Part::Opaque(_) => {}
        }
    }

    /// A text in a user's message.
    fn of_user(&mut self, text: &str) {
        let before = self.reading.quotes.len();
        match writer(text) {
            Writer::User => {
                let text = unwrapped(text);
                let place = demonstration(&text).unwrap_or_default();
                if place.len() * 5 > text.len() * 4 {
                    // The words around it say how to read it.
                    self.lines(&text, Origin::Pasted, None);
                    return;
                }
                for (at, text) in [
                    &text[..place.start],
                    &text[place.clone()],
                    &text[place.end..],
                ]
                .into_iter()
                .enumerate()
                {
                    if at == 1 {
                        self.lines(text, Origin::Pasted, None);
                        continue;
                    }
                    let (own, runs) = own_words_and_runs(text);
                    self.items(&own, Role::User);
                    self.runs(&runs);
                }
                if let Some(first) = self.reading.quotes.get_mut(before) {
                    first.begins_turn = true;
                }
            }
            Writer::Program => self.lines(text, Origin::Pasted, None),
            Writer::Tool => self.lines(text, Origin::Result, None),
            Writer::Summary => self.said(text, Origin::Earlier, None),
        }
    }

    /// What a text of this role's own words asks, settles and plans.
    fn items(&mut self, own: &str, role: Role) {
        if !self.leaves {
            return;
        }
        said::read(own, role, |kind, text| {
            self.item(Item::new(kind, text.to_owned(), 0));
        });
    }

    /// What a user wrote, and what he handed on.
    fn runs(&mut self, runs: &[Run<'_>]) {
        for run in runs {
            // What is handed on stands under what he says of it.
            let head = self.lead();
            if run.is_own {
                self.said(run.text, Origin::User, None);
            } else {
                self.lines(run.text, Origin::Pasted, head);
            }
        }
    }

    /// The last quote, if it leads to what comes.
    fn lead(&self) -> Option<usize> {
        let last = self.reading.quotes.last()?;
        matches!(last.kind, Kind::Lead | Kind::Heading).then(|| self.reading.quotes.len() - 1)
    }

    fn item(&mut self, item: Item) {
        let takes_back = item.kind == ItemKind::Decision && takes_back(&item.text);
        self.reading.events.push(Event::Item(item, takes_back));
    }

    fn call(&mut self, call: &Call<'_>) {
        // While the names of the members stand before their values.
        let mut clean = self.clean_arguments(&call.arguments);
        let mut parsed = Arguments::parse(&clean);
        if parsed.is_none() {
            clean = self.clean(&call.arguments);
        }
        // What a value has on a line of its own, or in quotes, shows only now.
        for leaf in parsed.iter_mut().flat_map(|parsed| &mut parsed.leaves) {
            if let Cow::Owned(value) = self.clean(&leaf.value) {
                leaf.value = value;
            }
        }
        let leaves = parsed.as_ref().map(|parsed| parsed.leaves.as_slice());
        let action = self.leaves.then(|| Action::of(call, &clean, leaves));
        let kind = action.as_ref().map_or(Kind::Call, kind_of);
        let quote = if let Some(leaves) = leaves {
            self.arguments(&call.name, leaves, kind)
        } else {
            let text = format!("{} {clean}", call.name);
            self.call_lines(&text, kind)
        };
        if let Some(action) = action {
            self.reading.events.push(Event::Call(action, quote));
        }
    }

    /// A call as a line of its own, `Read path: a.rs; limit: 20`; long arguments
    /// behind it as texts.
    fn arguments(&mut self, name: &str, leaves: &[Leaf], kind: Kind) -> Option<usize> {
        let mut short = name.to_owned();
        let mut long = Vec::new();
        // Of what is written in the place of something else, that is not new.
        let mut old = HashSet::new();
        for leaf in leaves {
            let value = leaf.value.as_str();
            if is_value(value) {
                let mentions = &mut self.reading.mentions;
                mentions.seen(value, Shape::Argument, None, Origin::Call);
            }
            let is_long = value.len() > SHORT_ARGUMENT || value.contains('\n');
            if is_long && kind == Kind::Command && long.is_empty() {
                // What is run is what the call is.
                let first = value.lines().map(str::trim).find(|line| !is_prelude(line));
                let first = first_chars(first.unwrap_or_default(), SHORT_ARGUMENT);
                let _ = write!(short, " {}: {first} …;", leaf.key);
            }
            if is_long {
                if leaf.key.starts_with("old") {
                    old.extend(value.lines().map(str::trim));
                }
                long.push(value);
            } else if tells(value) {
                let _ = write!(short, " {}: {value};", leaf.key);
            }
        }
        let call = self.call_lines(short.trim_end_matches(';'), kind);
        for text in long {
            let may_name = kind == Kind::Change && !old.contains(text.trim());
            for segment in segments(text) {
                let line = &text[segment];
                self.parts(line, may_name && !old.contains(line), call);
            }
        }
        call
    }

    /// A line of a long argument; where it may name something, its shape says whether it does.
    fn parts(&mut self, line: &str, may_name: bool, call: Option<usize>) {
        let kind = if may_name && names_something(line) {
            Kind::Name
        } else {
            Kind::Line
        };
        self.quote(line, Origin::Call, kind, call);
    }

    /// A call in a line, or in several; the first one stands for it.
    fn call_lines(&mut self, text: &str, kind: Kind) -> Option<usize> {
        let mut first = None;
        for segment in segments(text) {
            let kind = if first.is_none() { kind } else { Kind::Line };
            let quote = self.quote(&text[segment], Origin::Call, kind, first);
            first = first.or(quote);
        }
        first
    }

    fn line(&mut self, line: form::Line<'_>) {
        match line {
            form::Line::Item(item) => {
                self.leaves = false;
                self.said(&item.text, Origin::Said, None);
                self.leaves = true;
                self.item(item);
            }
            form::Line::Block(label, line, text) => self.block(label, line.unwrap_or(0), &text),
            form::Line::LeftOut(counts) => self.reading.events.push(Event::LeftOut(counts)),
        }
    }

    /// What somebody says in an earlier summary.
    fn block(&mut self, label: Label, line: u64, text: &str) {
        let first = self.reading.quotes.len();
        match label {
            Label::User | Label::Agent => {
                let (role, origin) = match label {
                    Label::User => (Role::User, Origin::User),
                    _ => (Role::Assistant, Origin::Said),
                };
                said::read(text, role, |kind, text| {
                    self.item(Item::new(kind, text.to_owned(), line));
                });
                self.said(text, origin, None);
            }
            Label::Earlier => self.said(text, Origin::Earlier, None),
            Label::Call => self.call_again(text),
            Label::Part => self.parts(text, true, self.call),
            Label::Quote => self.lines(text, Origin::Result, self.call),
        }
        if !matches!(label, Label::Call | Label::Part | Label::Quote) {
            self.call = None;
        }
        for (at, quote) in self.reading.quotes[first..].iter_mut().enumerate() {
            quote.line = Some(line);
            quote.begins_turn = at == 0 && label == Label::User;
        }
    }

    /// A call as a summary tells it: `Edit path: a.rs; limit: 20`.
    fn call_again(&mut self, text: &str) {
        let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
        let pairs = rest.split("; ").filter_map(|pair| pair.split_once(": "));
        let arguments: Map<String, Value> = pairs
            .map(|(key, value)| (key.to_owned(), Value::from(value)))
            .collect();
        let arguments = Value::from(arguments).to_string();
        let call = Call {
            id: None,
            name: name.into(),
            arguments: arguments.as_str().into(),
            slot: None,
        };
        let action = Action::of(&call, &arguments, None);
        self.call = self.call_lines(text, kind_of(&action));
        self.reading.events.push(Event::Call(action, self.call));
    }

    /// What a message that stays tells: its texts as they are, and its calls.
    fn stays(&mut self, message: &Message<'_>) {
        for text in message.texts() {
            self.told(text);
            let kept = &mut self.reading.kept;
            kept.extend(statements(text).iter().map(|one| hash(&one.text)));
            kept.extend(
                segments(text)
                    .into_iter()
                    .map(|segment| hash(&text[segment])),
            );
        }
        for call in message.calls() {
            let arguments = Arguments::parse(&call.arguments).unwrap_or_default();
            let values = arguments.leaves.iter().map(|leaf| leaf.value.as_str());
            let text = std::iter::once(call.name.as_ref()).chain(values);
            self.told(&text.collect::<Vec<_>>().join(" "));
        }
    }

    fn told(&mut self, text: &str) {
        for segment in segments(text) {
            let segment = &text[segment];
            let mentions = &mut self.reading.mentions;
            for found in self.scan.read(segment, true, true) {
                let number = mentions.number(&segment[found.place.clone()], found.shape, None);
                let told = &mut mentions.list[number as usize].told;
                *told = (*told).max(1 + found.words);
            }
        }
    }

    /// What somebody says, without secrets.
    fn said(&mut self, text: &str, origin: Origin, head: Option<usize>) {
        let mut quotes: Vec<Option<usize>> = Vec::new();
        for one in statements(text) {
            let kind = match one.form {
                Form::Heading => Kind::Heading,
                Form::Lead => Kind::Lead,
                Form::Sentence => Kind::Sentence,
                Form::Item => Kind::Item,
                Form::Quoted => Kind::Quoted,
            };
            let head = one.head.map_or(head, |head| quotes[head]);
            quotes.push(self.quote(&one.text, origin, kind, head));
        }
    }

    /// The lines of a text that nobody says, without secrets.
    fn lines(&mut self, text: &str, origin: Origin, head: Option<usize>) {
        for (kind, piece) in pieces(text) {
            let kind = if origin == Origin::Pasted {
                Kind::Quoted
            } else {
                kind
            };
            self.quote(&piece, origin, kind, head);
        }
    }

    /// A segment that may be quoted, if it is worth that; its number.
    fn quote(
        &mut self,
        text: &str,
        origin: Origin,
        kind: Kind,
        head: Option<usize>,
    ) -> Option<usize> {
        let prose = !matches!(origin, Origin::Call | Origin::Result);
        let found = self.scan.read(text, prose, self.leaves);
        let tells = kind.is_said() || matches!(kind, Kind::Outcome | Kind::Change | Kind::Command);
        if found.is_empty() && !(tells && self.leaves) {
            return None;
        }
        let Reading {
            mentions,
            marks,
            quotes,
            ..
        } = &mut self.reading;
        // What stays is not quoted: of it the names are enough.
        let quoted = self.leaves.then(|| mentions.push_text(text));
        let first = marks.len();
        for found in found {
            let name = &text[found.place.clone()];
            let place = quoted
                .as_ref()
                .map(|text| text.start + found.place.start..text.start + found.place.end);
            let id = mentions.seen(name, found.shape, place, origin);
            match marks[first..].iter_mut().find(|mark| mark.id == id) {
                Some(mark) => mark.words = mark.words.max(found.words),
                None => marks.push(Mark {
                    id,
                    words: found.words,
                }),
            }
        }
        let Some(text_place) = quoted else {
            marks.truncate(first);
            return None;
        };
        quotes.push(Quote {
            hash: hash(text),
            text: text_place,
            origin,
            kind,
            head,
            marks: marks.len() - first,
            line: None,
            begins_turn: false,
        });
        Some(quotes.len() - 1)
    }

    /// Arguments without the secrets that names give away: long values are searched by
    /// themselves.
    fn clean_arguments<'t>(&mut self, arguments: &'t str) -> Cow<'t, str> {
        match beginnings::of_values(arguments) {
            Some(short) if ctx_redact::find(&short).is_empty() => Cow::Borrowed(arguments),
            _ => self.clean(arguments),
        }
    }

    /// Without secrets; they are counted.
    fn clean<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let (clean, secrets) = redact(text);
        self.reading.secrets += secrets;
        clean
    }
}

/// What a call is.
fn kind_of(action: &Action) -> Kind {
    match action.target {
        Target::File {
            is_changed: true, ..
        } => Kind::Change,
        Target::Command => Kind::Command,
        Target::File { .. } | Target::Other => Kind::Call,
    }
}

/// Whether a line of a script only prepares what it does.
fn is_prelude(line: &str) -> bool {
    line.is_empty()
        || ["#", "set ", "cd ", "export "]
            .iter()
            .any(|begin| line.starts_with(begin))
}

/// Whether a short argument says what a call does.
fn tells(value: &str) -> bool {
    !matches!(value, "" | "true" | "false" | "null")
}

/// Whether an argument is a thing by itself: a name, a number, an address.
fn is_value(text: &str) -> bool {
    let spaces = text.bytes().filter(|b| *b == b' ').count();
    (identifier::SHORTEST..=LONGEST_VALUE).contains(&text.len())
        && spaces < 3
        && !text.contains('\n')
        && tells(text)
}

fn text_of<'m>(part: &'m Part<'_>) -> Option<&'m str> {
    match part {
        Part::Text(text) | Part::Refusal(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ctx_transcript::{Message, Part, Role, Zone};

    use super::{LONGEST_VALUE, SHORT_ARGUMENT, is_value};
    use crate::facts::Origin;
    use crate::fixtures::{calls, result, says};
    use crate::identifier::SHORTEST;
    use crate::item::ItemKind;
    use crate::reading::{Event, Reading};

    fn quotes(reading: &Reading) -> Vec<&str> {
        let quotes = reading.quotes.iter();
        quotes
            .map(|quote| reading.mentions.text(&quote.text))
            .collect()
    }

    #[test]
    fn a_value_is_one_thing_of_a_few_words() {
        for text in ["W812", "src/main.rs", "New York City", "订单十七"] {
            assert!(is_value(text), "{text}");
        }
        assert!(is_value(&"x".repeat(SHORTEST)));
        assert!(is_value(&"x".repeat(LONGEST_VALUE)));
        for text in ["", "abc", "true", "null", "a b c d", "two\nlines", "订"] {
            assert!(!is_value(text), "{text}");
        }
        assert!(!is_value(&"x".repeat(LONGEST_VALUE + 1)));
    }

    #[test]
    fn an_argument_stands_with_its_call_up_to_its_limit() {
        for length in [1, SHORT_ARGUMENT, SHORT_ARGUMENT + 1] {
            let value = &"word ".repeat(length)[..length];
            let arguments = format!(r#"{{"path":"a.rs","text":"{value}"}}"#);
            let reading = Reading::of(&calls("Write", &arguments), Zone::Old);
            let first = quotes(&reading)[0];
            if length > SHORT_ARGUMENT {
                assert_eq!(first, "Write path: a.rs");
            } else {
                assert!(first.starts_with("Write path: a.rs; text: w"), "{first}");
            }
        }
    }

    #[test]
    fn reasoning_is_not_read_and_a_refusal_is_what_the_model_says() {
        let message = Message::new(
            Role::Assistant,
            vec![
                Part::Reasoning("secretly user_1".into()),
                Part::Refusal("I will not call user_2".into()),
            ],
        );
        let reading = Reading::of(&message, Zone::Old);
        assert_eq!(quotes(&reading), ["I will not call user_2"]);
        assert_eq!(reading.quotes[0].origin, Origin::Said);
    }

    #[test]
    fn what_was_asked_is_read_from_what_leaves_only() {
        let message = says(
            Role::User,
            "Please fix the login. Never touch the database.",
        );
        let kinds = |zone| -> Vec<ItemKind> {
            let events = Reading::of(&message, zone).events;
            let kinds = events.iter().filter_map(|event| match event {
                Event::Item(item, _) => Some(item.kind),
                _ => None,
            });
            kinds.collect()
        };
        assert!(kinds(Zone::Old).contains(&ItemKind::Constraint));
        assert_eq!(kinds(Zone::Keep), []);
    }

    #[test]
    fn a_result_of_a_user_message_is_the_tools() {
        // As the Anthropic API has it.
        let message = Message::new(Role::User, vec![Part::Result(result("row W8123"))]);
        let reading = Reading::of(&message, Zone::Old);
        assert!(
            matches!(reading.events.as_slice(), [Event::Result(_, quotes)] if *quotes == (0..1))
        );
        assert_eq!(reading.quotes[0].origin, Origin::Result);
    }

    #[test]
    fn no_secret_of_a_call_is_quoted_wherever_it_stands() {
        let key = ["ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4"].concat();
        let long = "word ".repeat(100);
        for arguments in [
            format!(r#"{{"content":"{long}\n{key}"}}"#),
            format!(r#"{{"content":"{long}","password":"correct-horse"}}"#),
            format!(r#"{{"content":"{long}\npassword: >-\n  correct-horse\n"}}"#),
            // The model did not finish it.
            format!(r#"{{"content":"{long}{key}","#),
            format!(r#"{{"content":"{long}{key}"}} and"#),
        ] {
            let reading = Reading::of(&calls("Write", &arguments), Zone::Old);
            assert_eq!(reading.secrets, 1, "{arguments}");
            for quote in quotes(&reading) {
                assert!(
                    !quote.contains("ghp_") && !quote.contains("correct"),
                    "{quote}"
                );
            }
        }
    }

    /// D6: what the user hands on is quoted as somebody else's words.
    #[test]
    fn what_the_user_pasted_is_not_labelled_as_his() {
        let text = "Please look at order_17.\n```\nrow order_18\n```\n> order_19 failed";
        let reading = Reading::of(&says(Role::User, text), Zone::Old);
        let origins: Vec<Origin> = reading.quotes.iter().map(|quote| quote.origin).collect();
        assert_eq!(origins, [Origin::User, Origin::Pasted, Origin::Pasted]);
    }

    #[test]
    fn what_a_system_message_names_is_listed_and_never_quoted() {
        let reading = Reading::of(&says(Role::System, "serve user_1 at 10:30"), Zone::Old);
        assert_eq!(reading.mentions.list.len(), 2);
        assert!(reading.quotes.is_empty() && reading.events.is_empty());
    }
}
