//! A compaction in opencode's format: a user message that requests it, and a reply with the
//! summary.
//!
//! The request names the first message to keep. If a message after that one is removed, or if a
//! kept message has changed, the request names none, and copies of the kept messages follow the
//! summary.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::NO_USAGE;
use super::message::Entry;
use super::view::Lines;
use crate::log::compaction::{
    Compaction, CompactionError, CompactionWriter, Ids, LineText, NewLines, quoted,
};
use crate::log::view::ViewBuilder;
use crate::{Edits, Object, Role};

/// Creates ids as opencode does: each begins with a time and a counter, so that ids sort by time.
pub(super) struct NewIds {
    pub(super) time: i64,
    count: i64,
}

impl NewIds {
    pub(super) fn new(time: DateTime<Utc>) -> Self {
        Self { time: time.timestamp_millis(), count: 0 }
    }

    /// Moves to `time` if it is later than the last id.
    pub(super) fn advance(&mut self, time: DateTime<Utc>) {
        let time = time.timestamp_millis();
        if time > self.time {
            (self.time, self.count) = (time, 0);
        }
    }

    pub(super) fn next(&mut self, kind: &str, ids: &mut Ids) -> String {
        self.count += 1;
        // The digits begin again after 2^36 milliseconds, as in opencode.
        let digits = (self.time * 0x1000 + self.count) & 0xffff_ffff_ffff;
        let random = ids.uuid().replace('-', "");
        format!("{kind}_{digits:012x}{}", &random[..14])
    }
}

/// The text of a part, with its ids.
pub(super) fn part(kind: &str, id: &str, message: &str, session: &str) -> LineText {
    LineText::of_type(kind).text("id", id).text("messageID", message).json("sessionID", session)
}

/// What a compaction needs to know about the session.
#[derive(Default)]
pub(super) struct Writer {
    lines: Lines,
    count: usize,
    session: Option<String>,
    /// The members `agent` and `model` of the last user message.
    user: Option<(String, String)>,
    /// The member `path` of the last reply.
    path: Option<String>,
}

impl CompactionWriter for Writer {
    fn push(&mut self, object: &Object<'_>) {
        self.lines.push(self.count, object);
        self.count += 1;
        let Some(Entry { info, role, .. }) = Entry::of(object) else { return };
        let member = |key| info.get(key).map(str::to_owned);
        self.session = member("sessionID").or(self.session.take());
        if role == Role::User {
            self.user = member("agent").zip(member("model")).or(self.user.take());
        } else {
            self.path = member("path").or(self.path.take());
        }
    }

    fn finish(&mut self, compaction: &Compaction<'_>) -> Result<Vec<String>, CompactionError> {
        let session = self.session.as_deref().ok_or(CompactionError::Missing("sessionID"))?;
        let (agent, model) = self.user.as_ref().ok_or(CompactionError::Missing("model"))?;
        let of_model = Object::parse(model).ok();
        let of_model = |key| of_model.as_ref().and_then(|it| it.get(key)).unwrap_or("\"\"");
        let mut new = NewLines::of(compaction);
        let time = new.time();
        let time = DateTime::parse_from_rfc3339(&time).map_or(compaction.now, Into::into);
        let mut ids = NewIds::new(time);
        let (request, of_request) = (ids.next("msg", &mut new.ids), ids.next("prt", &mut new.ids));
        let (summary, of_summary) = (ids.next("msg", &mut new.ids), ids.next("prt", &mut new.ids));
        let created = ids.time.to_string();
        let message = |info: LineText, part: LineText| {
            LineText::default().json("info", &info.end()).list("parts", &[part.end()]).end()
        };
        let first = self.first_kept(compaction);
        let info = |id, role| {
            LineText::default().text("id", id).json("sessionID", session).text("role", role)
        };
        let of_user = info(&request, "user")
            .json("time", &LineText::default().json("created", &created).end())
            .json("agent", agent)
            .json("model", model);
        let is_automatic = compaction.is_automatic.to_string();
        let part_of_user = part("compaction", &of_request, &request, session)
            .json("auto", &is_automatic)
            .some_text("tail_start_id", first.as_deref());
        let times = LineText::default().json("created", &created).json("completed", &created);
        let of_reply = info(&summary, "assistant")
            .text("parentID", &request)
            .text("mode", "compaction")
            .text("agent", "compaction")
            .json("summary", "true")
            .json("path", self.path.as_deref().unwrap_or(r#"{"cwd":"/","root":"/"}"#))
            .json("cost", "0")
            .json("tokens", NO_USAGE)
            .json("modelID", of_model("modelID"))
            .json("providerID", of_model("providerID"))
            .json("time", &times.end())
            .text("finish", "stop");
        let text = part("text", &of_summary, &summary, session).text("text", compaction.summary);
        let mut lines = vec![message(of_user, part_of_user), message(of_reply, text)];
        if first.is_none() {
            let mut copied: HashMap<String, String> = HashMap::new();
            for kept in &compaction.kept {
                let object = kept.object()?;
                lines.push(copy(&object, &request, &mut copied, &mut ids, &mut new.ids)?);
            }
        }
        Ok(lines)
    }
}

impl Writer {
    /// The id of the first message to keep, if all messages from there on stay as they are.
    fn first_kept(&self, compaction: &Compaction<'_>) -> Option<String> {
        let id = |object: Object<'_>| Some(object.object_of("info")?.text_of("id")?.into_owned());
        let ids = compaction.kept.iter().map(|kept| id(kept.object().ok()?));
        let ids: Vec<String> = ids.collect::<Option<_>>()?;
        let all = self.lines.all();
        let begin = all.iter().position(|line| Some(&line.order.1) == ids.first())?;
        // The request for an earlier compaction would be sent, too.
        let is_same = compaction.kept.iter().all(|kept| !kept.is_changed)
            && !all[begin..].iter().any(|line| line.is_compaction());
        let sent = all[begin..].iter().filter(|line| line.is_sent);
        let is_tail = is_same && sent.map(|line| &line.order.1).eq(&ids);
        is_tail.then(|| ids[0].clone())
    }
}

/// Writes a copy of a message with new ids. Its token counts are removed, because they would make
/// opencode compact the session again at once.
fn copy(
    object: &Object<'_>,
    request: &str,
    copied: &mut HashMap<String, String>,
    new: &mut NewIds,
    ids: &mut Ids,
) -> Result<String, CompactionError> {
    let Entry { info, parts, .. } = Entry::of(object).ok_or(CompactionError::Unreadable)?;
    let id = new.next("msg", ids);
    let mut edits = Edits::default();
    let mut put = |within: &Object<'_>, key: &str, json: String| {
        if let Some(raw) = within.get(key) {
            edits.replace(object.place_of(raw), json);
        }
    };
    let parent = info.text_of("parentID").and_then(|parent| copied.get(&*parent).cloned());
    put(&info, "parentID", quoted(parent.as_deref().unwrap_or(request)));
    put(&info, "id", quoted(&id));
    put(&info, "tokens", NO_USAGE.to_owned());
    if let Some(time) = info.object_of("time") {
        put(&time, "created", new.time.to_string());
    }
    for part in &parts {
        put(part, "id", quoted(&new.next("prt", ids)));
        put(part, "messageID", quoted(&id));
    }
    copied.insert(info.text_of("id").unwrap_or_default().into_owned(), id);
    Ok(edits.of_object(object).trim().to_owned())
}
