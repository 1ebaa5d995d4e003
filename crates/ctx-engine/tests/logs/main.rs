//! Tests the removal of lines from an agent's own file. Whatever the tree in the file looks like,
//! the agent reads the same context, and the remaining lines keep their bytes except for references
//! to removed lines.

mod claude_code;
mod pi;

use std::collections::HashSet;
use std::io::Cursor;

use ctx_engine::message_counter::MessageCounter;
use ctx_engine::prune::{Options as PruneOptions, Plan, PrunePass};
use ctx_engine::{ErrorKind, Invalid, Notes, PassError, Session};
use ctx_format::view::Presence;
use ctx_format::{Dialect, Message, Object, Options, Record};
use ctx_policy::Rule;
use ctx_tokens::Encoding;
use proptest::prelude::*;

/// The rules for lines that are not sent to a model.
const OF_LINES: [Rule; 8] = [
    Rule::DeadBranches,
    Rule::BeforeCompaction,
    Rule::Rewritten,
    Rule::Sidechains,
    Rule::Progress,
    Rule::FileHistory,
    Rule::ApiRequests,
    Rule::Copies,
];

fn plan(drop: Vec<Rule>) -> Plan {
    Plan {
        options: PruneOptions { drop, ..PruneOptions::default() },
        pins: Vec::new(),
        zone: None,
        min_gain: 0,
        counter: MessageCounter::new(Encoding::Chars4),
        report_changes: false,
        strict: false,
        cache: None,
        signed_reasoning: ctx_policy::SignedReasoning::Auto,
        temp: std::env::temp_dir(),
    }
}

fn open(log: &str, dialect: &'static dyn Dialect) -> Session {
    let options = Options { dialect: Some(dialect), ..Options::default() };
    let reader = Box::new(Cursor::new(log.to_owned().into_bytes()));
    Session::open(reader, &options, Invalid::Keep).expect("from memory")
}

fn pruned(log: &str, dialect: &'static dyn Dialect, drop: &[Rule]) -> Result<String, PassError> {
    let plan = plan(drop.to_vec());
    let mut session = open(log, dialect);
    let mut pass = PrunePass::new(&plan, Some(dialect), false);
    session.each(|record| pass.push(record))?;
    let written = pass.finish(true, &mut Notes::default())?.write(0, Vec::new())?;
    Ok(String::from_utf8(written).expect("text"))
}

/// Returns what the agent would send: the texts of each message, in context order.
fn context(log: &str, dialect: &'static dyn Dialect) -> Vec<(u64, Vec<String>)> {
    let mut sent: Vec<(u64, Vec<String>)> = Vec::new();
    let add = |record: &Record<'_>| {
        if let Some(Presence::Inside(fragment)) = record.presence {
            let message = record.message(Some(dialect));
            let texts = message.iter().flat_map(Message::texts).map(str::to_owned);
            sent.push((fragment.message, texts.collect()));
        }
        Ok(())
    };
    open(log, dialect).each(add).expect("from memory");
    sent.sort_by_key(|(message, _)| *message);
    sent
}

/// Checks everything that must hold after applying these rules to a log.
fn holds(
    log: &str,
    dialect: &'static dyn Dialect,
    drop: &[Rule],
    may_be_refused: bool,
) -> Result<(), TestCaseError> {
    let after = match pruned(log, dialect, drop) {
        Ok(after) => after,
        Err(error) if may_be_refused => {
            prop_assert!(matches!(error.kind, ErrorKind::ChangedContext), "{error}");
            return Ok(());
        }
        Err(error) => return Err(TestCaseError::fail(format!("{error}\n{log}"))),
    };
    prop_assert_eq!(context(&after, dialect), context(log, dialect), "{}", log);
    // Pruning again may remove more lines that have become unnecessary, but none that are sent.
    if let Ok(again) = pruned(&after, dialect, drop) {
        prop_assert_eq!(context(&again, dialect), context(log, dialect), "{}", after);
    }
    let ids = |log: &str| -> HashSet<String> {
        let id = |line: &str| {
            let object = Object::parse(line).ok()?;
            Some(dialect.links(&object).id?.into_owned())
        };
        log.lines().filter_map(id).collect()
    };
    let (before_ids, after_ids) = (ids(log), ids(&after));
    let before: HashSet<String> = log.lines().map(|line| without_names(line, dialect)).collect();
    for line in after.lines() {
        prop_assert!(before.contains(&without_names(line, dialect)), "{line}");
        let object = Object::parse(line).expect("an object");
        let parent = dialect.links(&object).parent().map(str::to_owned);
        if let Some(parent) = parent.filter(|parent| before_ids.contains(parent)) {
            prop_assert!(after_ids.contains(&parent), "nothing above: {line}\n{log}");
        }
    }
    Ok(())
}

/// Returns the line without references to ids and without second copies.
fn without_names(line: &str, dialect: &'static dyn Dialect) -> String {
    let object = Object::parse(line).expect("an object");
    let names = dialect.links(&object).names.into_iter();
    let mut places: Vec<_> = names.map(|link| link.place).collect();
    places.extend(dialect.second_copies(&object).into_iter().map(|it| it.cut));
    places.sort_by_key(|place| place.start);
    let mut text = line.to_owned();
    for place in places.into_iter().rev() {
        text.replace_range(place, "");
    }
    text
}
