use super::{Size, Step, Trigger, Triggers};
use crate::share::Share;

fn nothing() -> Triggers {
    Triggers::default()
}

/// Checks values just below, at and just above the limit of the only trigger.
fn assert_limit(triggers: Triggers, trigger: Trigger, limit: u64, size: impl Fn(u64) -> Size) {
    let cases = [(limit - 1, Step::None), (limit, Step::None), (limit + 1, Step::Compact)];
    for (value, step) in cases {
        let due = triggers.check(&size(value));
        let readings = due.readings.iter().map(|it| (it.trigger, it.value, it.limit, it.step));
        assert_eq!(readings.collect::<Vec<_>>(), [(trigger, value, limit, step)]);
        assert_eq!(due.step, step, "{trigger:?} {value}");
        assert_eq!(due.fired().count(), usize::from(step == Step::Compact));
    }
}

fn of_tokens(tokens: u64) -> Size {
    Size { tokens, ..Size::default() }
}

fn of_messages(messages: u64) -> Size {
    Size { messages, ..Size::default() }
}

#[test]
fn messages_fire_above_their_limit() {
    let triggers = Triggers { messages: Some(80), ..nothing() };
    assert_limit(triggers, Trigger::Messages, 80, of_messages);
}

#[test]
fn tokens_fire_above_their_limit() {
    let triggers = Triggers { tokens: Some(15_000), ..nothing() };
    assert_limit(triggers, Trigger::Tokens, 15_000, of_tokens);
}

#[test]
fn a_share_of_the_window_fires_above_it() {
    let triggers = Triggers { share: Some(Share::of_percent(80)), ..nothing() };
    assert_limit(triggers, Trigger::Share, 102_400, of_tokens);
    let odd = Triggers { share: Some(Share::of_percent(75)), window: Some(7), ..nothing() };
    // 5 is below 5.25, and 6 is above.
    assert_limit(odd, Trigger::Share, 5, of_tokens);
}

#[test]
fn a_reserve_fires_when_it_is_touched() {
    let triggers = Triggers { reserve: Some(8_000), ..nothing() };
    assert_limit(triggers, Trigger::Reserve, 120_000, of_tokens);
}

/// A reserve takes up at most half of a small window, so a small session needs no compaction.
#[test]
fn a_reserve_larger_than_the_window_leaves_half_of_it() {
    let triggers = Triggers { reserve: Some(20_000), window: Some(8_000), ..nothing() };
    assert_limit(triggers, Trigger::Reserve, 4_000, of_tokens);
}

#[test]
fn tool_bytes_fire_above_their_limit() {
    let triggers = Triggers { tool_bytes: Some(51_200), ..nothing() };
    assert_limit(triggers, Trigger::ToolBytes, 51_200, |tool_bytes| Size {
        tool_bytes,
        ..Size::default()
    });
}

#[test]
fn turns_fire_above_their_limit() {
    let triggers = Triggers { turns: Some(6), ..nothing() };
    assert_limit(triggers, Trigger::Turns, 6, |turns| Size { turns, ..Size::default() });
}

#[test]
fn an_overflow_counts_where_it_is_a_trigger() {
    let overflow = Size { overflow: true, ..Size::default() };
    assert_eq!(nothing().check(&overflow).step, Step::None);
    let triggers = Triggers { on_overflow: true, ..nothing() };
    assert_eq!(triggers.check(&overflow).step, Step::Compact);
    assert_eq!(triggers.check(&Size::default()).step, Step::None);
}

#[test]
fn too_few_messages_hold_back_all_but_an_overflow() {
    let triggers = Triggers {
        tokens: Some(100),
        min_messages: Some(10),
        flush_share: Some(Share::of_percent(90)),
        on_overflow: true,
        ..nothing()
    };
    for (messages, held_back, step) in
        [(9, Some(10), Step::None), (10, None, Step::Compact), (11, None, Step::Compact)]
    {
        let size = Size { messages, tokens: 101, ..Size::default() };
        let due = triggers.check(&size);
        assert_eq!((due.held_back, due.step), (held_back, step), "{messages}");
        assert_eq!(due.readings[0].reached, Some(1.01));
    }
    let full = Size { messages: 9, tokens: 101, overflow: true, ..Size::default() };
    let due = triggers.check(&full);
    assert_eq!(due.step, Step::Compact);
    let fired: Vec<_> = due.fired().map(|reading| reading.trigger).collect();
    assert_eq!(fired, [Trigger::Overflow]);
}

#[test]
fn two_thresholds_flush_first_and_compact_then() {
    let triggers =
        Triggers { tokens: Some(80_000), flush_share: Some(Share::of_percent(90)), ..nothing() };
    for (tokens, step) in [
        (71_999, Step::None),
        (72_000, Step::None),
        (72_001, Step::Flush),
        (80_000, Step::Flush),
        (80_001, Step::Compact),
    ] {
        let due = triggers.check(&of_tokens(tokens));
        assert_eq!(due.step, step, "{tokens}");
        assert_eq!(due.readings[0].fired, step == Step::Compact);
    }
}

#[test]
fn a_limit_that_is_reached_may_count_as_exceeded() {
    let triggers = Triggers {
        tokens: Some(105),
        flush_share: Some(Share::of_percent(90)),
        at_limit: true,
        on_overflow: true,
        ..nothing()
    };
    // 0.9 of 105 is 94.5.
    for (tokens, step) in
        [(94, Step::None), (95, Step::Flush), (104, Step::Flush), (105, Step::Compact)]
    {
        assert_eq!(triggers.check(&of_tokens(tokens)).step, step, "{tokens}");
    }
    let triggers = Triggers { tokens: Some(100), ..triggers };
    assert_eq!(triggers.check(&of_tokens(89)).step, Step::None);
    assert_eq!(triggers.check(&of_tokens(90)).step, Step::Flush);
}

#[test]
fn any_trigger_is_enough_and_each_is_listed() {
    let triggers = Triggers {
        messages: Some(80),
        tokens: Some(1_000),
        share: Some(Share::WHOLE),
        reserve: Some(0),
        tool_bytes: Some(51_200),
        turns: Some(6),
        on_overflow: true,
        ..nothing()
    };
    let size = Size { messages: 40, turns: 3, tokens: 1_500, tool_bytes: 100, ..Size::default() };
    let due = triggers.check(&size);
    let listed: Vec<_> = due.readings.iter().map(|r| <&str>::from(r.trigger)).collect();
    let all = ["messages", "tokens", "share", "reserve", "tool-bytes", "turns", "overflow"];
    assert_eq!(listed, all);
    let fired: Vec<_> = due.fired().map(|reading| reading.trigger).collect();
    assert_eq!(fired, [Trigger::Tokens]);
    assert_eq!(due.step, Step::Compact);
    let reached: Vec<_> = due.readings.iter().map(|reading| reading.reached).collect();
    assert_eq!(reached[..2], [Some(0.5), Some(1.5)]);
}

#[test]
fn without_a_trigger_nothing_is_due() {
    let full = Size {
        messages: u64::MAX,
        system_messages: 0,
        turns: u64::MAX,
        tokens: u64::MAX,
        calibrated: None,
        window: None,
        tool_bytes: u64::MAX,
        overflow: true,
    };
    let conditions =
        Triggers { min_messages: Some(10), flush_share: Some(Share::of_percent(90)), ..nothing() };
    assert!(conditions.is_empty());
    let due = conditions.check(&full);
    assert_eq!((due.readings.len(), due.step), (0, Step::None));
}

#[test]
fn triggers_of_tokens_go_by_what_is_calibrated() {
    let size = Size { tokens: 50, calibrated: Some(150), ..Size::default() };
    let triggers = Triggers {
        tokens: Some(100),
        window: Some(1_000),
        reserve: Some(800),
        ..Triggers::default()
    };
    let due = triggers.check(&size);
    let values: Vec<u64> = due.readings.iter().map(|reading| reading.value).collect();
    assert_eq!(values, [150, 150]);
    assert_eq!(due.fired().count(), 1);
    let counted = Size { calibrated: None, ..size };
    assert_eq!(triggers.check(&counted).fired().count(), 0);
}

#[test]
fn the_window_is_the_one_that_is_given_else_the_sessions() {
    let size = Size { tokens: 60, window: Some(100), ..Size::default() };
    let triggers = Triggers { share: Some(Share::of_percent(50)), ..Triggers::default() };
    assert_eq!(triggers.check(&size).fired().count(), 1);
    let given = triggers.with_model(Some(1_000));
    assert_eq!(given.check(&size).fired().count(), 0);
}
