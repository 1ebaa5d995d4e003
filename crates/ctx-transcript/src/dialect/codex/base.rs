//! Which compaction the context begins with: the newest one that no rollback has taken
//! back. The client looks for it from the end of the file, turn by turn.

use super::line::Line;
use crate::dialect::key::Key;

/// What was seen of a turn, from its end on.
#[derive(Default)]
struct Turn {
    name: Name,
    /// Whether the user has asked in it: only such turns are counted when some are taken
    /// back.
    has_request: bool,
    /// Its newest compaction.
    compaction: Option<usize>,
}

/// Which turn it is.
#[derive(Clone, Copy, Default)]
enum Name {
    /// Nothing has told yet.
    #[default]
    Unknown,
    /// The one of which this is the end: where the next one before it begins, it begins.
    Ended,
    /// The one of that id, and no other begins it.
    Of(Key),
}

/// The number of the line whose items the context begins with.
pub(super) fn base(lines: &[Line]) -> Option<usize> {
    let mut taken_back: u64 = 0;
    let mut open: Option<Turn> = None;
    for (number, line) in lines.iter().enumerate().rev() {
        match line {
            Line::Began(id) => {
                if let Some(turn) = open.take_if(|turn| turn.may_begin_as(*id))
                    && let Some(compaction) = close(&turn, &mut taken_back)
                {
                    return Some(compaction);
                }
            }
            Line::RolledBack(turns) => taken_back += u64::from(*turns),
            Line::Other => {}
            line => open.get_or_insert_default().add(number, line),
        }
    }
    close(&open?, &mut taken_back)
}

impl Turn {
    fn add(&mut self, number: usize, line: &Line) {
        match line {
            Line::Item(item) => self.has_request |= item.begins_turn(),
            Line::UserEvent => self.has_request = true,
            Line::Replacement(_) => {
                self.compaction.get_or_insert(number);
            }
            Line::Ended if matches!(self.name, Name::Unknown) => self.name = Name::Ended,
            Line::Settings(id) if matches!(self.name, Name::Unknown) => self.name = Name::Of(*id),
            _ => {}
        }
    }

    fn may_begin_as(&self, id: Key) -> bool {
        match self.name {
            Name::Of(own) => own == id,
            Name::Unknown | Name::Ended => true,
        }
    }
}

/// The turn is seen whole: its compaction, unless the turn is taken back.
fn close(turn: &Turn, taken_back: &mut u64) -> Option<usize> {
    if *taken_back == 0 {
        return turn.compaction;
    }
    *taken_back -= u64::from(turn.has_request);
    None
}
