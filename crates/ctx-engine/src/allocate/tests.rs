use proptest::prelude::*;

use std::collections::HashMap;

use super::{Budget, Decision, Entries, RecordKind, TooSmall, Verdict};
use crate::message_counter::saturating_u32;
use crate::zones::Joined;
use ctx_policy::Keep;
use ctx_policy::share::Share;

#[derive(Clone, Debug, Default)]
struct Entry {
    tokens: u64,
    results: Vec<u64>,
    arguments: u64,
    exchange: Option<u64>,
    kind: RecordKind,
    pinned: bool,
    begins_message: bool,
}

impl FromIterator<Entry> for Entries {
    fn from_iter<I: IntoIterator<Item = Entry>>(all: I) -> Self {
        let mut entries = Self::default();
        for entry in all {
            entry.results.iter().for_each(|tokens| entries.push_result(*tokens));
            entries.push(super::Entry {
                tokens: saturating_u32(entry.tokens),
                arguments: saturating_u32(entry.arguments),
                exchange: saturating_u32(entry.exchange.unwrap_or(0)),
                kind: entry.kind,
                selected: entry.pinned,
                begins_message: entry.begins_message,
                ..super::Entry::default()
            });
        }
        entries
    }
}

/// Numbers each exchange by its first record, and then decides.
fn decide(entries: &[Entry], budget: &Budget) -> Result<Decision, TooSmall> {
    super::decide(&numbered(entries), budget)
}

fn numbered(entries: &[Entry]) -> Entries {
    let mut first = HashMap::new();
    let numbered = (1..).zip(entries).map(|(number, entry)| Entry {
        exchange: entry.exchange.map(|exchange| *first.entry(exchange).or_insert(number)),
        ..entry.clone()
    });
    numbered.collect()
}

fn budget(tokens: u64) -> Budget {
    Budget { tokens, frame: 3, tail: Share::of_percent(35), spare: 0, cuts_oldest: false }
}

fn message(kind: RecordKind, tokens: u64) -> Entry {
    Entry { tokens, kind, ..Entry::default() }
}

fn exchange(number: u64, call: u64, result: u64) -> [Entry; 2] {
    let part = |tokens, results| Entry {
        tokens,
        results,
        exchange: Some(number),
        kind: RecordKind::Other,
        ..Entry::default()
    };
    [part(call, vec![]), part(result + 4, vec![result])]
}

/// Returns a system message of 50 tokens, a request of 20, and ten exchanges.
fn session() -> Vec<Entry> {
    let mut entries = vec![message(RecordKind::System, 50), message(RecordKind::User, 20)];
    for number in 1..=10 {
        entries.extend(exchange(number, 10, 500));
    }
    entries
}

fn letters(decision: &Decision) -> String {
    let letter = |verdict: &Verdict| match verdict {
        Verdict::Keep => 'k',
        Verdict::Shorten { .. } => 's',
        Verdict::Old => '.',
    };
    decision.verdicts.iter().map(letter).collect()
}

#[test]
fn what_fits_stays_as_it_is() {
    let entries = session();
    let all: u64 = entries.iter().map(|entry| entry.tokens).sum();
    assert_eq!(letters(&decide(&entries, &budget(all + 3)).expect("fits")), "k".repeat(22));
    let one_less = decide(&entries, &budget(all + 2)).expect("can be summarized");
    assert!(letters(&one_less).contains('.'));
}

#[test]
fn request_and_last_exchanges_stay_within_their_share() {
    let decision = decide(&session(), &budget(3_500)).expect("fits");
    assert_eq!(letters(&decision), "ks................ssss");
    assert_eq!(decision.verdicts[21], Verdict::Shorten { tokens: 2 * 413, arguments: false });
    let less = decide(&session(), &budget(400)).expect("fits");
    assert_eq!(letters(&less), "ks..................ss");
}

#[test]
fn what_nothing_else_takes_is_for_more_of_the_latest_messages() {
    let mut asked = budget(3_500);
    asked.spare = 900;
    let more = decide(&session(), &asked).expect("fits");
    assert_eq!(letters(&more), "ks............ssssssss");
    // There is always room for the shortest summary.
    asked.spare = 1_000_000;
    let all = decide(&session(), &asked).expect("fits");
    assert_eq!(letters(&all), "ks......ssssssssssssss");
}

#[test]
fn the_oldest_exchange_is_cut_to_what_is_left() {
    let mut asked = budget(3_500);
    // Two exchanges take 1,028 of the 1,080 tokens, and the one before them would take 427.
    asked.tail = Share::of_percent(1);
    asked.spare = 1_300;
    asked.cuts_oldest = true;
    let cut = decide(&session(), &asked).expect("fits");
    assert_eq!(letters(&cut), "ks..............ssssss");
    let tokens = |at: usize| match cut.verdicts[at] {
        Verdict::Shorten { tokens, .. } => tokens,
        Verdict::Keep | Verdict::Old => 0,
    };
    assert_eq!((tokens(16), tokens(17)), (272, 272));
    assert_eq!((tokens(1), tokens(18)), (413, 826));
    // If fewer tokens are left than a useful text needs, the exchange does not stay.
    asked.spare = 1_080;
    let whole = decide(&session(), &asked).expect("fits");
    assert_eq!(letters(&whole), "ks................ssss");
}

#[test]
fn what_does_not_fit_is_told() {
    assert_eq!(decide(&session(), &budget(60)), Err(TooSmall { needed: 77, budget: 60 }));
    // Pinned messages cannot go into the summary.
    let mut entries = session();
    for entry in &mut entries {
        entry.pinned = true;
    }
    let TooSmall { needed, .. } = decide(&entries, &budget(400)).expect_err("too small");
    assert!(needed > 400);
}

#[test]
fn where_it_is_close_the_request_and_then_the_last_exchange_are_summed_up() {
    let decision = decide(&session(), &budget(145)).expect("fits");
    assert!(decision.latest_request_is_old);
    assert_eq!(letters(&decision), "k...................ss");
    let decision = decide(&session(), &budget(100)).expect("fits");
    assert_eq!(letters(&decision), "k.....................");
}

#[test]
fn a_request_that_is_too_long_goes_into_the_summary() {
    let mut entries = session();
    entries[1].tokens = 5_000;
    let decision = decide(&entries, &budget(1_500)).expect("fits");
    assert!(decision.latest_request_is_old);
    assert_eq!(decision.verdicts[1], Verdict::Old);
    entries[1].pinned = true;
    assert!(decide(&entries, &budget(1_500)).is_err());
}

#[test]
fn long_arguments_of_the_last_exchange_are_shortened_last() {
    let mut entries = session();
    entries[20].tokens = 2_000;
    entries[20].arguments = 1_990;
    let decision = decide(&entries, &budget(1_000)).expect("fits");
    assert_eq!(decision.verdicts[20], Verdict::Shorten { tokens: 36, arguments: true });
}

#[test]
fn an_earlier_summary_is_never_in_the_tail() {
    let mut entries = session();
    entries.insert(20, message(RecordKind::Summary, 30));
    let decision = decide(&entries, &budget(3_000)).expect("fits");
    assert_eq!(decision.verdicts[20], Verdict::Old);
}

#[test]
fn lines_go_with_the_record_before_them() {
    let mut entries = session();
    entries.insert(1, Entry::default());
    entries.insert(4, Entry::default());
    entries.push(message(RecordKind::Tail, 0));
    let decision = decide(&entries, &budget(400)).expect("fits");
    assert_eq!(letters(&decision), "kks...................ssk");
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let part = prop_oneof![
        (4u64..400).prop_map(|tokens| vec![message(RecordKind::User, tokens)]),
        (4u64..400).prop_map(|tokens| vec![message(RecordKind::Other, tokens)]),
        (4u64..90, 0u64..3_000).prop_map(|(call, result)| exchange(0, call, result).to_vec()),
        Just(vec![Entry::default()]),
    ];
    prop::collection::vec(part, 1..30).prop_map(|parts| {
        let mut entries = vec![message(RecordKind::System, 40)];
        for (number, part) in (1..).zip(parts) {
            entries.extend(
                part.into_iter()
                    .map(|entry| Entry { exchange: entry.exchange.map(|_| number), ..entry }),
            );
        }
        entries
    })
}

proptest! {
    #[test]
    fn exchanges_stay_whole_and_the_rest_fits(entries in entries(), tokens in 80u64..4_000) {
        let Ok(decision) = decide(&entries, &budget(tokens)) else { return Ok(()) };
        prop_assert_eq!(decision.verdicts.len(), entries.len());
        let mut used = 3;
        for (entry, verdict) in entries.iter().zip(&decision.verdicts) {
            let of_exchange = entries.iter().zip(&decision.verdicts)
                .filter(|(other, _)| other.exchange.is_some() && other.exchange == entry.exchange);
            for (_, other) in of_exchange {
                prop_assert_eq!(*other == Verdict::Old, *verdict == Verdict::Old);
            }
            used += match verdict {
                Verdict::Old => 0,
                Verdict::Keep => entry.tokens,
                Verdict::Shorten { tokens, .. } => entry.tokens
                    - entry.results.iter().map(|result| result.saturating_sub((*tokens).into())).sum::<u64>(),
            };
        }
        prop_assert!(used <= tokens, "{used} > {tokens}");
    }
}

#[test]
fn what_is_to_be_kept_is_pinned_with_its_exchange_but_not_for_the_latest_request() {
    let entries = [
        message(RecordKind::User, 10),
        message(RecordKind::Other, 10),
        message(RecordKind::User, 10),
        message(RecordKind::Line, 0),
        message(RecordKind::Other, 10),
        message(RecordKind::Other, 10),
    ];
    let with_exchange = (1..).zip(entries).map(|(number, entry)| Entry {
        exchange: [2, 6].contains(&number).then_some(2),
        begins_message: true,
        ..entry
    });
    let mut entries: Entries = with_exchange.collect();
    let keep = Keep { messages: Some(1), ..Keep::default() };
    entries.join(&Joined::default());
    entries.pin(keep);
    let pinned: Vec<bool> = entries.list.iter().map(|entry| entry.pinned).collect();
    assert_eq!(pinned, [false, true, false, false, false, true]);
}
