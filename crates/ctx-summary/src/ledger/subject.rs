//! Compares statements that give a value, such as "the launch date is 4 May", to find out whether a
//! later statement replaces an earlier one.
//!
//! Two statements are about the same thing if they have the same subject, such as a date or a
//! budget, and if the words that narrow the subject down do not differ: the launch date is not the
//! freeze date. If in doubt, both statements hold.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use ctx_text::{Phrases, WordSet, first_chars, hash, is_unspaced};

use crate::ledger::rule::LISTS;

static VALUES: LazyLock<WordSet> =
    LazyLock::new(|| LISTS.words("values").into_iter().chain(TIMES.iter().cloned()).collect());
static TIMES: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("times"));
static JOINING: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("joining"));
static RENEWALS: LazyLock<Phrases> = LazyLock::new(|| LISTS.phrases("renewals"));
static UPDATES: LazyLock<Phrases> = LazyLock::new(|| LISTS.phrases("updates"));

/// Verbs between a subject and its value.
const COPULAS: [&str; 12] =
    ["is", "are", "was", "=", "run", "live", "sit", "land", "listen", "belong", "own", "use"];

/// The maximum length of a word in capitals that is a noun, such as `API`, in bytes.
const LONGEST_ACRONYM: usize = 4;
/// The maximum number of words before a subject that can narrow it down.
const ATTRIBUTES: usize = 3;
/// The number of characters by which two forms of a word are recognized as the same word.
const NOUN: usize = 6;
/// The maximum number of characters before a Chinese subject that can narrow it down.
const CHINESE_ATTRIBUTES: usize = 4;

/// The phrases for all subjects.
struct Subjects {
    phrases: Phrases,
    of_phrases: Vec<Topic>,
}

/// What a phrase says about the subject.
#[derive(Clone, Copy, Debug)]
struct Topic {
    /// The index of the subject.
    subject: usize,
    /// True if the subject has one value at a time.
    is_single: bool,
    /// True if values such as `UTC` name the subject.
    is_named_by_value: bool,
    /// True if the phrase itself narrows the subject down.
    is_attribute: bool,
}

static SUBJECTS: LazyLock<Subjects> = LazyLock::new(|| {
    let lines = LISTS.entries("subjects");
    let (mut of_phrases, mut phrases) = (Vec::new(), Vec::new());
    for (subject, line) in lines.iter().enumerate() {
        let (is_single, is_named_by_value) = (line.starts_with('!'), line.starts_with("!!"));
        for phrase in line.trim_start_matches('!').split('|') {
            let is_attribute = phrase.starts_with('+');
            of_phrases.push(Topic { subject, is_single, is_named_by_value, is_attribute });
            phrases.push(phrase.trim_start_matches('+'));
        }
    }
    Subjects { phrases: Phrases::new(phrases), of_phrases }
});

/// A statement, parsed so that it can be compared with many others.
#[derive(Debug)]
pub(crate) struct Subject {
    topic: Option<Topic>,
    /// The words that narrow the subject down, such as `launch` in "launch date".
    attributes: BTreeSet<String>,
    /// The words at the beginning of a sentence whose subject comes later, such as `server` in "the
    /// server listens on port 80".
    theme: BTreeSet<String>,
    values: BTreeSet<String>,
    /// The hash of the statement with its values masked.
    template: u64,
    /// The verb that the statement forbids, if the ban precedes the subject.
    forbidden: Option<String>,
    /// All words that describe something.
    words: BTreeSet<String>,
    /// The beginning of each word that describes something, with the word before it.
    nouns: Vec<(String, Option<String>)>,
    /// The kinds of values, as bits.
    kinds: u8,
    /// True if the statement says that its value is new.
    is_update: bool,
    /// True if the statement says for certain that its value replaces another one.
    is_renewal: bool,
    /// True if the statement says what something is.
    is_copular: bool,
}

/// A word of a statement.
struct Word<'t> {
    text: String,
    place: Range<usize>,
    is_value: bool,
    /// True if a clause ends with the word.
    ends_clause: bool,
    raw: &'t str,
}

impl Word<'_> {
    /// Returns true if the word describes something.
    fn says(&self) -> bool {
        !self.is_value && self.text.len() > 1 && !JOINING.contains(&self.text)
    }
}

impl Subject {
    pub(crate) fn of(text: &str) -> Self {
        let words = words_of(text);
        let found = topic_in(text, &words);
        let values = words.iter().filter(|word| word.is_value).map(|word| word.text.clone());
        let mut template = String::new();
        for word in &words {
            template.push_str(if word.is_value { "#" } else { &word.text });
            template.push(' ');
        }
        let mut subject = Self {
            topic: found.as_ref().map(|(topic, _)| *topic),
            attributes: BTreeSet::new(),
            theme: BTreeSet::new(),
            values: values.collect(),
            template: hash(&template),
            forbidden: None,
            nouns: nouns(&words),
            kinds: words
                .iter()
                .filter(|word| word.is_value)
                .fold(0, |all, word| all | kind_of(word)),
            words: words
                .iter()
                .filter(|word| word.is_value || word.says())
                .map(|word| word.text.clone())
                .collect(),
            is_update: UPDATES.are_in(text),
            is_renewal: RENEWALS.are_in(text),
            is_copular: words.windows(2).any(|pair| {
                let is_copula = COPULAS.contains(&pair[0].text.as_str());
                let is_place = ["to", "in", "from", "at"].contains(&pair[0].text.as_str());
                is_copula && (pair[1].is_value || !pair[1].says()) || is_place && pair[1].is_value
            }) || says_in_chinese(text),
        };
        let start = found.as_ref().map_or(text.len(), |(_, place)| place.start);
        subject.forbidden = forbidden(&words, start);
        if let Some((topic, place)) = found {
            subject.narrow_down(text, &words, &place, topic.is_attribute);
        }
        subject
    }

    /// Finds the words that narrow down the subject at `place`.
    fn narrow_down(
        &mut self,
        text: &str,
        words: &[Word<'_>],
        place: &Range<usize>,
        is_attribute: bool,
    ) {
        if is_attribute {
            self.attributes.insert(stem(&text[place.clone()].to_lowercase()));
        }
        if text[place.clone()].starts_with(is_unspaced) {
            let before = text[..place.start].chars().rev();
            let before =
                before.take_while(|c| is_unspaced(*c) && !"的把在用请从是为改将了".contains(*c));
            let before: String = before.take(CHINESE_ATTRIBUTES).collect();
            let pairs: Vec<char> = before.chars().rev().collect();
            self.attributes.extend(pairs.windows(2).map(String::from_iter));
            return;
        }
        let at = words.iter().position(|word| word.place.end > place.start).unwrap_or(0);
        let end = words.iter().position(|word| word.place.start >= place.end);
        let end = end.unwrap_or(words.len());
        let is_verb = words[at..end]
            .iter()
            .any(|word| word.text.ends_with("ed") || word.text.ends_with("ing"));
        // A verb's subject may be separated from it by an auxiliary verb.
        let mut before = words[..at].iter().rev().peekable();
        if is_verb {
            while before
                .next_if(|word| !word.ends_clause && !word.says() && !word.is_value)
                .is_some()
            {}
        }
        for word in before.take(ATTRIBUTES).take_while(|word| !word.ends_clause && word.says()) {
            self.attributes.insert(word.text.clone());
        }
        // "the budget for the trip", "calling the project …"
        let mut after = words[end..].iter().peekable();
        let is_of = |word: &Word<'_>| ["of", "for"].contains(&word.text.as_str());
        if !words[at..end].last().is_some_and(|word| word.ends_clause) {
            while after.next_if(|word| word.is_value && !word.ends_clause).is_some() {}
            if after.next_if(|word| is_of(word)).is_some() || is_verb {
                while after.next_if(|word| !word.says() && !word.is_value && !is_of(word)).is_some()
                {
                }
                let is_name = |word: &Word<'_>| {
                    word.is_value
                        && word.raw.chars().all(char::is_alphabetic)
                        && word.raw.starts_with(char::is_uppercase)
                };
                let names = |word: &&Word<'_>| word.says() || is_name(word);
                for word in after.take(ATTRIBUTES).take_while(names) {
                    if topics(word.raw).is_empty() {
                        self.attributes.insert(word.text.clone());
                    }
                    if word.ends_clause {
                        break;
                    }
                }
            }
        }
        let theme = words[..at].iter().skip_while(|word| !word.says());
        let theme: Vec<&Word<'_>> =
            theme.take_while(|word| word.says() && !word.ends_clause).collect();
        // The words directly before the subject are its attributes.
        if theme.last().is_some_and(|last| last.place.end + 1 < words[at].place.start) {
            self.theme.extend(theme.iter().map(|word| word.text.clone()));
        }
    }

    /// Returns keys, of which two statements share one if one of them can replace the other.
    pub(crate) fn keys(&self) -> impl Iterator<Item = u64> {
        let topic = self.topic.map(|topic| topic.subject as u64);
        [Some(self.template), topic].into_iter().flatten()
    }

    /// Returns true if the statement says that its value is new.
    pub(crate) fn is_update(&self) -> bool {
        self.is_update
    }

    /// Returns true if a statement says which value a known subject has.
    pub(crate) fn gives_value(text: &str) -> bool {
        // Few statements name a subject.
        if topics(text).is_empty() {
            return false;
        }
        let of = Self::of(text);
        let gives = |topic: Topic| of.is_update || of.is_copular || topic.is_named_by_value;
        !of.values.is_empty() && of.topic.is_some_and(gives)
    }

    /// Returns true if this statement says that a value is new, and names the value that it
    /// replaces, or shares a word with `earlier`, which has a value of the same kind.
    pub(crate) fn renews(&self, earlier: &Self) -> bool {
        let is_ban = self.forbidden.is_some() || earlier.forbidden.is_some();
        let kinds = self.kinds & earlier.kinds;
        // A name alone may be that of anything.
        let is_given = self.is_copular && earlier.is_copular || kinds & !NAME != 0;
        if !self.is_renewal || is_ban || kinds == 0 || !is_given {
            return false;
        }
        if earlier.values.is_subset(&self.values) {
            return self.values.len() > earlier.values.len();
        }
        let is_new = self.values.is_disjoint(&earlier.values);
        let topics = self.topic.zip(earlier.topic);
        // If both statements have the same topic, the words around the topic decide.
        let least = match topics {
            Some((topic, before)) if topic.subject == before.subject => return false,
            Some(_) => 2,
            None => 1,
        };
        let is_shared = |(noun, before): &&(String, Option<String>)| {
            earlier.nouns.iter().any(|(known, known_before)| {
                let differ = before.is_some() && known_before.is_some() && before != known_before;
                known == noun && !differ
            })
        };
        is_new && self.nouns.iter().filter(is_shared).count() >= least
    }

    /// Returns true if the statement says that its value is new.
    pub(crate) fn can_renew(&self) -> bool {
        self.is_renewal && self.kinds != 0
    }

    /// Returns true if this statement gives a new value for the subject of `earlier`.
    pub(crate) fn replaces(&self, earlier: &Self) -> bool {
        if self.values.is_subset(&earlier.values) || earlier.values.is_empty() {
            return false;
        }
        if !compatible(&self.attributes, &earlier.attributes) {
            return false;
        }
        if self.template == earlier.template && self.forbidden.is_none() {
            return self.topic.is_some() || self.is_copular || self.is_update;
        }
        let (Some(topic), Some(before)) = (self.topic, earlier.topic) else { return false };
        if topic.subject != before.subject {
            return false;
        }
        // A ban is replaced only by a ban on the same thing that says that it is new.
        if earlier.forbidden.is_some() && !(self.is_update && self.forbidden == earlier.forbidden) {
            return false;
        }
        let is_same_theme = compatible(&self.theme, &earlier.theme)
            || self.is_update && !self.theme.is_disjoint(&earlier.theme);
        let is_certain = self.is_update
            || topic.is_single
            || self.attributes == earlier.attributes && !self.attributes.is_empty();
        is_same_theme && is_certain
    }

    /// Returns true if both statements contain the same word.
    pub(crate) fn shares_a_word(&self, other: &Self) -> bool {
        !self.words.is_disjoint(&other.words)
    }

    /// Returns true if this statement, which lifts a rule, is about the same as `earlier`.
    pub(crate) fn lifts(&self, earlier: &Self) -> bool {
        self.words.intersection(&earlier.words).count() >= 2
    }
}

/// Returns the beginning of each word that describes something, with the word directly before it.
fn nouns(words: &[Word<'_>]) -> Vec<(String, Option<String>)> {
    let begin = |word: &Word<'_>| first_chars(&word.text, NOUN).to_owned();
    let before = |at: usize| {
        let before = words.get(at.checked_sub(1)?)?;
        (before.says() && !before.ends_clause).then(|| begin(before))
    };
    let nouns = words.iter().enumerate().filter(|(_, word)| word.says());
    nouns.map(|(at, word)| (begin(word), before(at))).collect()
}

/// The kind of proper names.
const NAME: u8 = 16;

/// Returns true if a Chinese statement says what something is.
fn says_in_chinese(text: &str) -> bool {
    let mut parts = text.split(['是', '为']).skip(1);
    parts.any(|part| part.trim_start().starts_with(|c: char| c.is_ascii_alphanumeric()))
}

/// Returns the kind of a value, as a bit.
fn kind_of(value: &Word<'_>) -> u8 {
    let has = |is: fn(char) -> bool| value.raw.contains(is);
    let has_digit = has(|c| c.is_ascii_digit());
    if TIMES.contains(&value.text)
        || has_digit && value.text.ends_with("am")
        || has_digit && value.text.ends_with("pm")
    {
        1
    } else if VALUES.contains(&value.text) {
        2
    } else if has_digit && !has(char::is_alphabetic) {
        4
    } else if has_digit || has(|c| "/_@.".contains(c)) {
        8
    } else {
        NAME
    }
}

/// Returns true if one set contains the other, so that no word of one excludes the other.
fn compatible(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    one.is_subset(other) || other.is_subset(one)
}

/// Returns the topic of a statement, and its place: the first subject in it, or the last in the
/// same compound, as in "release date".
fn topic_in(text: &str, words: &[Word<'_>]) -> Option<(Topic, Range<usize>)> {
    let all = topics(text);
    if let Some(named) = all.iter().find(|(topic, _)| topic.is_named_by_value) {
        return Some(named.clone());
    }
    let (mut head, mut place) = all.first()?.clone();
    for (topic, next) in &all[1..] {
        let between = words.iter().filter(|word| word.place.start >= place.end);
        let mut between = between.take_while(|word| word.place.start < next.start);
        let ends = words.iter().any(|word| word.ends_clause && word.place.end == place.end);
        if head.is_single
            || topic.is_single
            || ends
            || !between.all(|word| word.says() && !word.ends_clause)
        {
            break;
        }
        (head, place) = (*topic, next.clone());
    }
    Some((head, place))
}

/// Returns all subjects in `text`, in order. Where several phrases begin, the longest counts.
fn topics(text: &str) -> Vec<(Topic, Range<usize>)> {
    let mut found: Vec<(Topic, Range<usize>)> = Vec::new();
    SUBJECTS.phrases.any_words(text, |number, place| {
        let topic = SUBJECTS.of_phrases[number];
        match found.last_mut() {
            Some((known, last)) if last.start == place.start => {
                if place.end > last.end {
                    (*known, *last) = (topic, place);
                }
            }
            Some((_, last)) if last.end > place.start => {}
            _ => found.push((topic, place)),
        }
        false
    });
    found
}

/// Returns the verb after "never", "do not" or "don't" before position `end`.
fn forbidden(words: &[Word<'_>], end: usize) -> Option<String> {
    let before = words.iter().take_while(|word| word.place.start < end);
    let before: Vec<&Word<'_>> = before.collect();
    let ban = before.iter().position(|word| {
        ["never", "don't", "don’t", "not", "cannot"].contains(&word.text.as_str())
    })?;
    let verb = before.get(ban + 1..)?.first()?;
    Some(verb.text.clone())
}

/// Splits a statement into words, in lower case and without plural endings.
fn words_of(text: &str) -> Vec<Word<'_>> {
    let mut found: Vec<Word<'_>> = Vec::new();
    let mut is_code = false;
    for raw in text.split_whitespace() {
        let start = raw.as_ptr() as usize - text.as_ptr() as usize;
        let begins_code = raw.matches('`').count() % 2 == 1;
        let is_quoted = is_code || raw.contains('`');
        is_code ^= begins_code;
        let bare = raw.trim_matches(|c: char| !c.is_alphanumeric() && !"$€£¥/~#@".contains(c));
        let bare = bare.strip_suffix("'s").or_else(|| bare.strip_suffix("’s")).unwrap_or(bare);
        if bare.is_empty() {
            if let Some(last) = found.last_mut() {
                last.ends_clause |= raw.len() == 1 && ",;:–—-".contains(raw);
            }
            continue;
        }
        let ends_clause =
            raw.ends_with([',', ';', ':', '.', '!', '?', ')', '，', '；', '：', '。']);
        let is_first = found.last().is_none_or(|last| last.ends_clause);
        let is_value =
            is_quoted || is_value(bare, is_first) || VALUES.contains(&bare.to_lowercase());
        // "Dana Lee owns it": at the beginning of a sentence, only the second word shows that both
        // are a name.
        if is_value
            && bare.starts_with(char::is_uppercase)
            && let [first] = found.as_mut_slice()
        {
            first.is_value |= first.raw.starts_with(char::is_uppercase) && first.says();
        }
        let parts = if is_value { vec![bare] } else { bare.split('-').collect() };
        let count = parts.len();
        for (number, part) in parts.into_iter().enumerate().filter(|(_, part)| !part.is_empty()) {
            let at = start + (part.as_ptr() as usize - raw.as_ptr() as usize);
            found.push(Word {
                text: if is_value { part.to_lowercase() } else { stem(&part.to_lowercase()) },
                place: at..at + part.len(),
                is_value,
                ends_clause: ends_clause && number + 1 == count,
                raw: part,
            });
        }
    }
    found
}

/// Returns true if a word is a value: a number, an identifier, a path or a proper name.
fn is_value(word: &str, is_first: bool) -> bool {
    word.contains(|c: char| c.is_ascii_digit() || "/_@\\$€£¥".contains(c))
        || word.trim_matches('.').contains('.')
        || word.len() > LONGEST_ACRONYM && word.chars().all(char::is_uppercase)
        || !is_first && word.starts_with(char::is_uppercase) && word.contains(char::is_lowercase)
}

fn stem(word: &str) -> String {
    let plural =
        word.strip_suffix('s').filter(|stem| stem.len() > 2 && !stem.ends_with(['s', 'u', 'i']));
    plural.unwrap_or(word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::Subject;

    fn replaces(later: &str, earlier: &str) -> bool {
        Subject::of(later).replaces(&Subject::of(earlier))
    }

    #[test]
    fn a_new_value_replaces_the_old_one_in_other_words() {
        let pairs = [
            ("The server port is 8080.", "The server port is 9090."),
            (
                "Our grant budget cap is $900.",
                "Update: keep grant spending under seven hundred dollars.",
            ),
            ("Beta launch deadline is 2031-04-02.", "The beta launch date moved to May 9."),
            ("The tool's codename is HERON-12.", "We are calling the tool OSPREY-7 now."),
            ("Put every timestamp in UTC.", "For invoices, show clocks in Eastern Time."),
            ("The on-call owner this week is Ada Brook.", "Lin Moss now owns the pager."),
            (
                "Branch fix/heron-1 is based on the old base.",
                "We rebased onto fix/osprey-2; tests come next.",
            ),
            (
                "Work is parked on branch fix/heron-1.",
                "We switched active work to branch fix/osprey-2.",
            ),
            ("I want terse answers without emojis.", "I would rather get friendly, warm answers."),
            (
                "Keep replies short and use imperial measurements.",
                "Please make responses playful, and stick to metric measurements.",
            ),
            (
                "Never reveal the gate code heron-12 to guests.",
                "Never reveal the new gate code osprey-7; the old one is retired.",
            ),
            (
                "The back door access code is heron-12 and must never be shared.",
                "Access-code rotation is done: never reveal osprey-7.",
            ),
            (
                "Day-trip expenses must stay below $80.",
                "New ceiling for trip costs: keep them under sixty dollars.",
            ),
            (
                "The release target date is 2031-04-02.",
                "Release timing has changed: we now ship on May 9.",
            ),
            (
                "Internally, this effort is designated HERON-12.",
                "The internal label for the effort has changed to OSPREY-7.",
            ),
            (
                "Ada Brook is handling support escalation this week.",
                "Support duty now belongs to Lin Moss.",
            ),
            ("预算是 5000 元。", "预算改为 3000 元。"),
        ];
        let wrong: Vec<_> =
            pairs.iter().filter(|(earlier, later)| !replaces(later, earlier)).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn what_differs_is_not_replaced() {
        let pairs = [
            (
                "The production database is Postgres 15 in eu-north-3.",
                "The staging database is MySQL 8 in us-west-2.",
            ),
            (
                "The primary deployment region is eu-north-3.",
                "The backup deployment region is us-west-2.",
            ),
            (
                "Run unit tests with pytest before pushing.",
                "Run integration tests with make test-all before release.",
            ),
            ("Project spending ceiling is $500.", "Conference spending ceiling is $300."),
            (
                "Conference spending ceiling is $300.",
                "New ceiling for trip costs: keep them below sixty dollars.",
            ),
            (
                "Product launch is scheduled for 2031-04-02.",
                "Documentation freeze lands on 2031-05-09.",
            ),
            (
                "Documentation freeze lands on 2031-05-09.",
                "Release timing has changed: we now ship on May 9.",
            ),
            (
                "Ada Brook is the release approver this week.",
                "Lin Moss is the design reviewer this week.",
            ),
            (
                "Ada Brook is the release approver this week.",
                "Release timing has changed: we now ship on May 9.",
            ),
            ("The release date is May 1.", "The launch date moved to June 2."),
            ("The server runs on port 8080.", "The client runs on port 9090."),
            ("Use port 8080 for the API.", "Use port 9090 for the UI."),
            (
                "Never push to the release branch release/7.4.",
                "Work on branch fix/heron-1 from now on.",
            ),
            ("Do not touch src/a.rs.", "Do not touch src/b.rs."),
            ("Always run make fmt before you commit.", "Always run make lint before you commit."),
            ("The budget is $500.", "The budget is $500 and not more."),
            ("测试数据库是 MySQL 8。", "生产数据库是 Postgres 15。"),
        ];
        let wrong: Vec<_> =
            pairs.iter().filter(|(earlier, later)| replaces(later, earlier)).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
