//! For thirty nights cron runs over sessions that grow by day: it saves them, compacts those that
//! need it, and collects old snapshots. The clock is faked; the tools are the real ones. The test
//! covers each preset and each kind of session: talk, large results, long pauses, a system message
//! that is larger than the window, and another message that is larger.
//!
//! `CTX_NIGHT_SESSIONS=50 cargo test --test cli nights:: -- --nocapture` uses fifty sessions for
//! each preset and prints a table.

mod field;

pub(crate) use field::clock;
use field::{Field, Kind, Night};

/// The presets, with the flags of the job. The windows are small, so that thirty days fill them.
const PRESETS: [(&str, &str); 7] = [
    ("default", "--window 32k"),
    ("sanbot", "--window 32k"),
    ("synapse", "--window 32k"),
    ("pomelobot", "--window 32k --trigger-tokens 24000 --target-tokens 16000"),
    ("turns", "--window 32k"),
    ("xopcbot", "--window 32k"),
    ("openclaw", "--window 64k"),
];

const NIGHTS: u32 = 30;
/// `ctx-gc` keeps snapshots for this many days, and removed ones for as many days again.
const KEPT: u32 = 7;

/// The result of thirty nights.
struct Told {
    preset: &'static str,
    /// The exit statuses of `ctx-compact`, night by night.
    statuses: Vec<i32>,
    compacted: usize,
    live: u64,
    store: u64,
    largest: u64,
}

fn thirty_nights(preset: &'static str, flags: &str, sessions: usize) -> Option<Told> {
    let mut field = Field::new(sessions)?;
    let mut told =
        Told { preset, statuses: Vec::new(), compacted: 0, live: 0, store: 0, largest: 0 };
    let compact = format!("ctx-compact -q --if-due --preset {preset} {flags} *.jsonl");
    for night in 1..=NIGHTS {
        field.grow(night);
        let saved = field.run(night, "ctx-snapshot *.jsonl");
        assert_eq!((saved.code, saved.stderr.as_str()), (0, ""), "{preset}");
        field.note(Night(night), &saved.stdout);
        let before = field.texts();
        let done = field.run(night, &compact);
        told.statuses.push(done.code);
        let after = field.texts();
        told.compacted += before.iter().zip(&after).filter(|(a, b)| a != b).count();
        let gone = field.run(night, "ctx-gc -q");
        assert_eq!((gone.code, gone.stderr.as_str()), (0, ""), "{preset}: {night}");
        // The live session must be legal after every job.
        let checked = field.run(night, "ctx-check -q *.jsonl");
        assert_eq!(checked.code, 0, "{preset}, night {night}: {}", checked.stderr);
        if night % 5 == 0 {
            field.is_whole(Night(night), KEPT);
        }
        (told.live, told.store) = (field.live_bytes(), field.store_bytes());
        told.largest = told.largest.max(told.store);
    }
    field.first_bytes(Night(NIGHTS), KEPT);
    Some(told)
}

/// A job exits with 0 unless something needs a person, and then reports it once for each
/// session. Snapshots exist as long as the rules say, and the store does not grow forever.
#[test]
#[allow(clippy::print_stderr)] // A skipped test must say so.
fn thirty_nights_of_cron_end_well() {
    let sessions = std::env::var("CTX_NIGHT_SESSIONS");
    let sessions = sessions.map_or(Kind::ALL.len(), |it| it.parse().expect("a number"));
    let stuck =
        sessions.div_ceil(Kind::ALL.len()) * Kind::ALL.iter().filter(|it| it.is_stuck()).count();
    let told = PRESETS
        .map(|(preset, flags)| std::thread::spawn(move || thirty_nights(preset, flags, sessions)));
    for told in told {
        let Some(told) = told.join().expect("the nights of a preset") else {
            eprintln!("skipped: cc is not here, or nothing can be preloaded");
            return;
        };
        let Told { preset, statuses, compacted, live, store, largest } = told;
        let of = |code| statuses.iter().filter(|status| **status == code).count();
        let (well, person) = (of(0), of(1));
        eprintln!(
            "{preset}: {well} nights 0, {person} nights 1; {compacted} compactions; live {live} bytes, store {store}, at most {largest}"
        );
        assert_eq!(well + person, statuses.len(), "{preset}: {statuses:?}");
        assert!(person <= stuck, "{preset}: {statuses:?}");
        assert!(compacted > 0, "{preset}: nothing was ever due");
    }
}
