//! What the records of a session come to, those of the context apart from the others.

use ctx_select::calibrate::{MOST_BESIDE, USUAL_BESIDE};
use ctx_select::count::PER_MESSAGE;
use ctx_transcript::view::{Outside, Presence};
use ctx_transcript::{Dialect, Object, Outline, Role};

use crate::content::Content;
use crate::facts::{Facts, Readable};
use crate::measure;
use crate::names::{Name, Names};
use crate::title::{self, Ask};

/// What is known after some of the records.
pub(crate) struct Sum {
    dialect: &'static dyn Dialect,
    content: Content,
    session: Name,
    folder: Name,
    model: Name,
    own_title: Option<String>,
    made_title: Option<String>,
    /// An ask that the client may have written itself.
    doubtful_ask: Option<String>,
    /// Estimated tokens of the context, and of what stands behind the newest usage.
    all: u64,
    behind: u64,
    beside: Beside,
}

/// Where a record stands.
#[derive(Clone, Copy)]
pub(crate) struct Stand {
    outside: Option<Outside>,
    /// Whether it continues the message of another record.
    continues: bool,
    is_inside: bool,
}

impl Stand {
    /// By its presence, which is `None` where the session is linear.
    pub(crate) fn of(presence: Option<Presence>) -> Self {
        let (outside, continues) = match presence {
            None => (None, false),
            Some(Presence::Inside(fragment)) => (None, !fragment.begins),
            Some(Presence::Outside(why)) => (Some(why), false),
        };
        Self {
            outside,
            continues,
            is_inside: matches!(presence, Some(Presence::Inside(_))),
        }
    }
}

impl Sum {
    pub(crate) fn of(dialect: &'static dyn Dialect) -> Self {
        Self {
            dialect,
            content: Content::default(),
            session: Name::default(),
            folder: Name::default(),
            model: Name::default(),
            own_title: None,
            made_title: None,
            doubtful_ask: None,
            all: 0,
            behind: 0,
            beside: Beside::new(),
        }
    }

    /// Whether anything that is said in a record matters, for [`Self::add`].
    pub(crate) fn wants(&self, facts: &Facts, stand: Stand) -> bool {
        let is_heard = match stand.outside {
            None => true,
            Some(Outside::OtherAgent) => false,
            Some(Outside::BeforeCompaction) => self.content.ask.is_none() || self.beside.is_open(),
            Some(_) => self.content.ask.is_none(),
        };
        is_heard && is_read(facts, stand)
    }

    /// Adds the next record, with its `object` where that is wanted.
    pub(crate) fn add(&mut self, facts: Facts, stand: Stand, object: Option<&Object<'_>>) {
        if !is_read(&facts, stand) {
            let is_bad = facts.class != Readable::No;
            self.content.bad_lines += u64::from(is_bad);
            return;
        }
        // What a helper says has nothing to do with what this session is.
        if stand.outside == Some(Outside::OtherAgent) {
            return;
        }
        if let Some(object) = object {
            self.hear(object, stand);
        }
        self.session = self.session.or(facts.session);
        self.folder = self.folder.or(facts.folder);
        if let Some(titles) = facts.titles {
            self.own_title = titles.own.or_else(|| self.own_title.take());
            self.made_title = titles.made.or_else(|| self.made_title.take());
        }
        let is_compacted = stand.outside == Some(Outside::BeforeCompaction);
        let is_event = stand.outside == Some(Outside::NeverSent);
        // A branch that was left tells nothing; events are of no branch.
        if stand.outside.is_some() && !is_compacted && !is_event {
            return;
        }
        self.model = facts.model.or(self.model);
        let Some(usage) = facts.usage.filter(|usage| !usage.is_of_helper) else {
            return;
        };
        self.beside.told(usage.total);
        self.content.recorded_window = usage.window.or(self.content.recorded_window);
        // Of a reply that is no longer said the number is of another context.
        if !is_compacted {
            self.content.recorded = Some(usage.total);
            self.behind = 0;
        }
    }

    /// What is said: in the context, or what the user asked first.
    fn hear(&mut self, object: &Object<'_>, stand: Stand) {
        let Some(message) = self.dialect.message(object) else {
            return;
        };
        let is_of_model = message.role == Role::Assistant;
        // The outline costs as much as the message.
        let is_told = self.content.ask.is_none() || !is_of_model;
        let outline = is_told.then(|| self.dialect.outline(object)).flatten();
        let is = |what: fn(&Outline<'_>) -> bool| outline.as_ref().is_some_and(what);
        let (is_summary, begins_turn) = (is(|it| it.is_summary), is(|it| it.begins_turn));
        if begins_turn && !is_summary && self.content.ask.is_none() {
            match title::ask(&message) {
                Ask::Said(ask) => self.content.ask = Some(ask),
                Ask::Doubtful(ask) => {
                    self.doubtful_ask.get_or_insert(ask);
                }
                Ask::None => {}
            }
        }
        if !matches!(stand.outside, None | Some(Outside::BeforeCompaction)) {
            return;
        }
        let mut tokens = measure::tokens(&message);
        if !stand.continues {
            tokens = tokens.saturating_add(PER_MESSAGE);
        }
        self.beside.hear(tokens, is_summary);
        if stand.outside.is_some() {
            return;
        }
        let content = &mut self.content;
        content.turns += u64::from(begins_turn && !is_of_model);
        if is_summary && !is_of_model {
            // What was counted before was of another context.
            content.recorded = None;
        }
        if !stand.continues {
            content.messages += 1;
            content.system += u64::from(message.role.is_system());
        }
        let tool_bytes = measure::tool_bytes(&message);
        content.tool_bytes = content.tool_bytes.saturating_add(tool_bytes);
        self.all = self.all.saturating_add(tokens);
        self.behind = self.behind.saturating_add(tokens);
    }

    /// All records were added.
    pub(crate) fn finish(self, names: &Names) -> Content {
        let text = |name| names.get(name).map(str::to_owned);
        let content = self.content;
        Content {
            dialect: self.dialect.name().to_owned(),
            session: text(self.session),
            folder: text(self.folder),
            model: text(self.model),
            title: self.own_title.or(self.made_title),
            ask: content.ask.or(self.doubtful_ask),
            estimated: match content.recorded {
                Some(_) => self.behind,
                None => self.all.saturating_add(self.beside.tokens()),
            },
            ..content
        }
    }
}

/// What the API counts beside the messages: the system prompt and the tools. Behind a compaction,
/// before the next reply, nothing else tells of them. It is the least that the first requests of
/// the file and behind its summaries had.
#[derive(Clone, Copy, Default)]
struct Beside {
    least: Option<u64>,
    /// Tokens of the messages since such a beginning, until a reply tells.
    since: Option<u64>,
    /// Messages that were heard for this.
    heard: u64,
    is_told: bool,
}

/// A file whose messages tell nothing is not asked for ever.
const MOST_HEARD: u64 = 512;

impl Beside {
    fn new() -> Self {
        Self {
            since: Some(0),
            ..Self::default()
        }
    }

    fn is_open(self) -> bool {
        self.least.is_none() && self.heard < MOST_HEARD
    }

    /// A message of so many tokens; a summary begins the context anew.
    fn hear(&mut self, tokens: u64, is_summary: bool) {
        self.heard += 1;
        let before = if is_summary { Some(0) } else { self.since };
        self.since = before.map(|before| before.saturating_add(tokens));
    }

    /// The API has counted a request and its reply.
    fn told(&mut self, all: u64) {
        self.is_told = true;
        let beside = self.since.take().map(|tokens| all.saturating_sub(tokens));
        if let Some(beside) = beside.filter(|tokens| *tokens <= MOST_BESIDE) {
            self.least = Some(self.least.map_or(beside, |least| least.min(beside)));
        }
    }

    fn tokens(self) -> u64 {
        match self.least {
            None if self.is_told => USUAL_BESIDE,
            least => least.unwrap_or(0),
        }
    }
}

/// Whether the agent reads it as a record.
fn is_read(facts: &Facts, stand: Stand) -> bool {
    match facts.class {
        Readable::Yes => true,
        Readable::First => stand.is_inside,
        Readable::Bad | Readable::No => false,
    }
}
