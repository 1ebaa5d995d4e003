//! Renders the story in session order. Lines are labelled with their speaker.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;

use ctx_tokens::TokenCounter;

use super::talk::{Talk, day};
use super::terms::is_wide;

use crate::ledger::form::{GAP, REFUTED};
use crate::ledger::{HANDLE, Index, Label, Origin, SegmentKind, labelled, without_marker};
use ctx_text::shorten_words;

/// Writes the chosen segments as lines, in session order. If `cite` is set, the user's lines begin
/// with their line number in the session, so that the reader can look up the whole turn.
pub(super) fn write(
    index: &Index,
    talk: Option<&Talk<'_>>,
    chosen: &[bool],
    refuted: &HashSet<usize>,
    cite: bool,
) -> String {
    let mut text = String::new();
    // The speaker, the turn and the line of the previous segment.
    let mut before: Option<(Label, usize, u64)> = None;
    let (mut next_cite, mut told_day, mut last) = (0, String::new(), 0);
    let mut after_piece = false;
    // The call that was written last, or that the last line belongs to.
    let mut call: Option<usize> = None;
    let numbers: Vec<usize> = (0..index.segments.len()).filter(|number| chosen[*number]).collect();
    let of_results = |number: &&usize| index.segments[**number].origin == Origin::Result;
    let calls = numbers.iter().filter(of_results).map(|it| call_of(index, *it));
    let answered: HashSet<usize> = calls.flatten().collect();
    let mut named_later = HashSet::new();
    for (at, number) in numbers.iter().copied().enumerate() {
        let segment = &index.segments[number];
        // A call that precedes its results is not repeated among the calls made at the same time.
        let next = numbers.get(at + 1).and_then(|next| call_of(index, *next));
        if answered.contains(&number) && next != Some(number) && segment.outcome.is_none() {
            named_later.insert(number);
            continue;
        }
        let said = talk.map(|talk| &talk.lines[number]);
        let kind = said.map_or(segment.kind, |said| said.kind);
        let label = Label::of(segment.origin, kind);
        let line = said.map_or_else(|| index.line(segment), |said| said.text.into());
        let announces = talk.is_none() && announces(index, number, &numbers[at + 1..]);
        let mut words = if announces { announcing(&line) } else { words_of(&line, kind) };
        if refuted.contains(&number) {
            let at = words.len() - without_marker(&words).1.len();
            words.to_mut().insert_str(at, REFUTED);
        }
        let message = said.map_or(segment.turn as usize, |said| said.message);
        let own_call = call_of(index, number);
        // The results of calls that were made at the same time follow all of these calls.
        // A handle names its call itself.
        let is_apart =
            segment.origin == Origin::Result && own_call != call && !words.starts_with(HANDLE);
        if let Some(of) = own_call.filter(|_| is_apart) {
            let text_of_call = index.text(&index.segments[of]).replace('\n', " ");
            let is_named = !named_later.remove(&of);
            let name = if is_named { short_call(&text_of_call) } else { text_of_call };
            let _ = writeln!(text, "{}{name}", <&str>::from(Label::ResultOf));
        }
        // Pieces of code and of text that was read share a line, with a mark between them.
        let is_piece = !label.goes_on()
            && matches!(segment.kind, SegmentKind::Line | SegmentKind::Name)
            && !words.contains('\n');
        let width =
            text.len() - text.rfind('\n').map_or(0, |at| text[..at].rfind('\n').unwrap_or(0));
        let same =
            before.is_some_and(|(of, ..)| of == label) && call == own_call && own_call.is_some();
        call = own_call;
        if is_piece && same && after_piece && width + words.len() <= WIDEST {
            text.pop();
            text.extend([GAP, &*words, "\n"]);
            continue;
        }
        after_piece = is_piece;
        let is_same = before.is_some_and(|(of, turn, _)| (of, turn) == (label, message));
        let place = Some((label, message, segment.line));
        if !(is_same && label.goes_on() && is_plain(&words)) {
            let is_new = label == Label::User && before != place;
            if cite && is_new && segment.line > next_cite {
                let _ = write!(text, "[{}] ", segment.line);
                next_cite = if talk.is_some() { segment.line + CITE_AFTER } else { 0 };
            }
            text.push_str(label.into());
            if let Some(said) = said.filter(|_| !is_same) {
                if let Some(date) = said.date.filter(|date| day(date) != told_day) {
                    told_day = day(date);
                    let date = date.trim_matches(['[', ']', '-', '#', '=', ' ']);
                    let _ = write!(text, "[{date}] ");
                }
                text.extend([said.name, said.colon]);
            }
        } else if talk.is_some() && number == last + 1 && kind == SegmentKind::Sentence {
            // Sentences that stood side by side do so again.
            text.pop();
            text.push_str(if words.starts_with(is_wide) { "" } else { " " });
        }
        last = number;
        before = place;
        if label.goes_on() || !words.contains('\n') {
            text.push_str(&words);
        } else {
            // Every line of a call or of tool output is labelled.
            text.push_str(&marked(&words, label));
        }
        text.push(if announces { ' ' } else { '\n' });
    }
    text
}

/// Returns true if the model's words `number` are a heading or an introduction that announces only
/// the first of the segments after it. Both are written on one line.
fn announces(index: &Index, number: usize, after: &[usize]) -> bool {
    let segment = &index.segments[number];
    let head = |at: usize| after.get(at).and_then(|number| index.segments[*number].head);
    segment.origin == Origin::Said
        && matches!(segment.kind, SegmentKind::Heading | SegmentKind::Lead)
        && (head(0) == Some(number) && head(1) != Some(number))
        && {
            let next = &index.segments[after[0]];
            let line = index.line(next);
            next.origin == Origin::Said
                && next.kind != SegmentKind::Quoted
                && !line.contains('\n')
                && is_plain(&line)
        }
}

/// Returns a heading or an introduction as the beginning of a line.
fn announcing(text: &str) -> Cow<'_, str> {
    let text = text.trim_start_matches('#').trim();
    if text.ends_with([':', '*', '：']) { text.into() } else { format!("{text}:").into() }
}

/// The minimum distance between two citations in a dialogue, in session lines.
const CITE_AFTER: u64 = 25;
/// The maximum length of a line of pieces, in bytes.
const WIDEST: usize = 320;
/// The maximum length of the name of a call above its results, in characters.
const CALL: usize = 80;

/// Returns a call in a few words. A path is shortened to its end.
fn short_call(call: &str) -> String {
    let first = call.split("; ").next().unwrap_or_default();
    let mut words = first.splitn(3, ' ');
    if let (Some(tool), Some(_), Some(path)) = (words.next(), words.next(), words.next())
        && !path.contains(' ')
        && let Some((end, _)) = path.rmatch_indices('/').nth(1)
    {
        return format!("{tool} …{}", &path[end..]);
    }
    shorten_words(first, CALL)
}

/// Returns the call to which a segment belongs.
fn call_of(index: &Index, number: usize) -> Option<usize> {
    let is_call = |number: &usize| index.segments[*number].origin == Origin::Call;
    chain_of_heads(index, None, number).filter(is_call).last()
}

/// The number of tokens that each line takes up in addition to its text.
pub(super) const PER_LINE: u64 = 1;
/// A summary cites the line numbers of its quotes if its limit is at least this many tokens.
pub(super) const CITES: u64 = 600;

/// Returns the text of a segment. A heading is written one level below the summary's own headings.
pub(super) fn words_of(text: &str, kind: SegmentKind) -> Cow<'_, str> {
    if kind == SegmentKind::Heading && text.starts_with('#') {
        return format!("### {}", text.trim_start_matches('#').trim_start()).into();
    }
    text.into()
}

/// Puts a label before each line of `words` except the first line, whose label is already written.
pub(super) fn marked(words: &str, label: Label) -> String {
    words.replace('\n', &format!("\n{}", <&str>::from(label)))
}

/// Returns true if the line cannot be mistaken for another speaker's line or for a heading of the
/// summary.
pub(super) fn is_plain(words: &str) -> bool {
    !words.starts_with("## ") && !words.starts_with("⟦") && labelled(words).is_none()
}

/// Returns segment `number`, the heading or call above it, the heading above that, and so on.
/// In a dialogue, what a segment needs to be understood is above it.
pub(super) fn chain_of_heads(
    index: &Index,
    talk: Option<&Talk<'_>>,
    number: usize,
) -> impl Iterator<Item = usize> {
    let head = move |at: &usize| match talk {
        Some(talk) => talk.lines[*at].head,
        None => index.segments[*at].head,
    };
    std::iter::successors(Some(number), head)
}

/// Returns the token count of each candidate and of each heading or call above a candidate. `known`
/// holds the counts that are already known, and 0 for all other segments.
pub(super) fn tokens_with_heads(
    index: &Index,
    candidates: &[bool],
    mut known: Vec<u64>,
    counter: &dyn TokenCounter,
) -> Vec<u64> {
    known.resize(candidates.len(), 0);
    let segments = &index.segments;
    let mut needed = candidates.to_vec();
    // A segment's heading or call always precedes the segment.
    for (number, segment) in segments.iter().enumerate().rev() {
        if let (true, Some(head)) = (needed[number], segment.head) {
            needed[head] = true;
        }
    }
    let tokens = |number: usize| match known[number] {
        0 if needed[number] => counter.count(&index.line(&segments[number])) + PER_LINE,
        known => known,
    };
    index.in_halves(|half| half.map(tokens).collect::<Vec<u64>>()).concat()
}
