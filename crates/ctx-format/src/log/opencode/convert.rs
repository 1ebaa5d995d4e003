//! Writes sessions as documents that `opencode import` of version 1.18.33 accepts.

use super::NO_USAGE;
use super::compaction::{NewIds, part};
use crate::convert::media::{Data, DataLocation};
use crate::convert::target::{Line, Notes, Session, Target};
use crate::convert::turn::{Answer, Origins, Summary, TurnMessage};
use crate::log::compaction::{LineText, quoted};
use crate::{Call, Media, Part, Role};

#[derive(Default)]
pub(crate) struct Writer {
    ids: Option<NewIds>,
    /// The session's id, as JSON.
    session: String,
    /// The id of the first message.
    first: Option<String>,
    /// The id of the last user message.
    parent: Option<String>,
}

/// The provider of a model, guessed from the model's name.
fn provider(model: &str) -> &'static str {
    match model {
        _ if model.starts_with("claude") => "anthropic",
        _ if model.starts_with("gemini") => "google",
        _ => "openai",
    }
}

impl Writer {
    fn id(&mut self, kind: &str, notes: &mut Notes<'_>) -> String {
        let time = notes.session.time;
        let ids = self.ids.get_or_insert_with(|| NewIds::new(time));
        ids.next(kind, &mut notes.session.ids)
    }

    /// Begins a message of `role` with a new id. `at` lists the indexes, within the unit, of the
    /// source records.
    fn info(&mut self, role: &str, at: &[usize], notes: &mut Notes<'_>) -> (String, LineText) {
        notes.time(at);
        let time = notes.session.time;
        self.ids.get_or_insert_with(|| NewIds::new(time)).advance(time);
        let id = self.id("msg", notes);
        let created = self.ids.as_ref().map_or(0, |ids| ids.time).to_string();
        let mut times = LineText::default().json("created", &created);
        if role == "assistant" {
            times = times.json("completed", &created);
        }
        self.first.get_or_insert_with(|| id.clone());
        let info = LineText::default()
            .text("id", &id)
            .json("sessionID", &self.session)
            .text("role", role)
            .json("time", &times.end());
        (id, info)
    }

    fn user(&mut self, at: &[usize], notes: &mut Notes<'_>) -> (String, String) {
        let (id, info) = self.info("user", at, notes);
        self.parent = Some(id.clone());
        let model = notes.entries.iter().find_map(|entry| entry.model.clone());
        let model = model.as_deref().unwrap_or("unknown");
        let of =
            LineText::default().text("providerID", provider(model)).text("modelID", model).end();
        (id, info.text("agent", "build").json("model", &of).end())
    }

    fn reply(
        &mut self,
        agent: &str,
        said: (&Origins, Option<&str>, &str),
        notes: &mut Notes<'_>,
    ) -> (String, LineText) {
        let (at, model, finish) = said;
        let (id, info) = self.info("assistant", at, notes);
        let path = LineText::default().text("cwd", &notes.session.cwd).text("root", "/").end();
        let model = model.unwrap_or("unknown");
        let info = info
            .text("parentID", self.parent.as_deref().unwrap_or(&id))
            .text("mode", agent)
            .text("agent", agent)
            .json("path", &path)
            .json("cost", "0")
            .json("tokens", NO_USAGE)
            .text("modelID", model)
            .text("providerID", provider(model))
            .text("finish", finish);
        (id, info)
    }

    /// Begins a part of the message `id`.
    fn part(&mut self, kind: &str, id: &str, notes: &mut Notes<'_>) -> LineText {
        let own = self.id("prt", notes);
        part(kind, &own, id, &self.session)
    }

    /// A time for parts that have a beginning and an end.
    fn span(&self) -> String {
        let time = self.ids.as_ref().map_or(0, |ids| ids.time).to_string();
        LineText::default().json("start", &time).json("end", &time).end()
    }

    fn tool(
        &mut self,
        id: &str,
        call: &Call<'_>,
        answer: Option<&Answer<'_>>,
        notes: &mut Notes<'_>,
    ) -> String {
        let time = self.span();
        let input = notes.arguments(&call.arguments, call.slot.as_ref());
        let state = LineText::default().json("input", &input);
        let state = match answer {
            // opencode sends that the call was interrupted.
            None => state.text("status", "pending").text("raw", ""),
            Some(answer) => {
                let text = notes.texts(&answer.result).join("\n");
                if answer.result.is_error {
                    state.text("status", "error").text("error", &text).json("time", &time)
                } else {
                    let files = answer.result.parts.iter().filter_map(|part| match part {
                        Part::Media(media) => self.file(id, media, notes),
                        _ => None,
                    });
                    let files: Vec<String> = files.collect();
                    state
                        .text("status", "completed")
                        .text("output", &text)
                        .text("title", "")
                        .json("metadata", "{}")
                        .json("time", &time)
                        .some_list("attachments", &files)
                }
            }
        };
        let line = self.part("tool", id, notes);
        line.text("callID", call.id.as_deref().unwrap_or_default())
            .text("tool", &call.name)
            .json("state", &state.end())
            .end()
    }

    /// Writes an image or a file; `None` if opencode cannot send it.
    fn file(&mut self, id: &str, media: &Media<'_>, notes: &mut Notes<'_>) -> Option<String> {
        let data = Data::of(media).filter(|data| !data.mime.is_empty())?;
        let (mime, url) = match data.place {
            DataLocation::Here(base64) => {
                let url = format!("data:{};base64,{base64}", data.mime);
                (data.mime, url)
            }
            DataLocation::At(url) => (data.mime.replace("/*", "/png"), url),
        };
        let line = self.part("file", id, notes).text("mime", &mime);
        Some(line.some_text("filename", data.name.as_deref()).text("url", &url).end())
    }
}

/// Writes a message; `None` if it has no parts.
fn message(info: &str, parts: &[String]) -> Option<String> {
    let line = LineText::default().json("info", info).list("parts", parts);
    (!parts.is_empty()).then(|| line.end())
}

impl Target for Writer {
    fn frame(&mut self, session: &Session) -> Option<[String; 2]> {
        let own = Some(&session.id).filter(|id| id.starts_with("ses")).cloned();
        let id = own.unwrap_or_else(|| format!("ses_{}", session.id.replace('-', "")));
        self.session = quoted(&id);
        let time = session.time.timestamp_millis().to_string();
        let time = LineText::default().json("created", &time).json("updated", &time).end();
        let info = LineText::default()
            .json("id", &self.session)
            .text("slug", "converted")
            .text("projectID", "global")
            .text("directory", &session.cwd)
            .text("title", "Converted session")
            .text("version", "1.18.33")
            .json("time", &time);
        let begin = format!("{{\"info\":{},\"messages\":[\n", info.end());
        Some([begin, "]}\n".to_owned()])
    }

    fn said(&mut self, said: &TurnMessage<'_>, notes: &mut Notes<'_>) -> Vec<String> {
        if said.role == Role::Assistant {
            return self.answered(said, &[], notes).into_iter().collect();
        }
        let (id, info) = self.user(&said.origins, notes);
        let mut parts = Vec::new();
        for piece in &said.pieces {
            parts.extend(match &piece.part {
                Part::Media(media) => self.file(&id, media, notes),
                other => {
                    other.said().map(|text| self.part("text", &id, notes).text("text", text).end())
                }
            });
        }
        message(&info, &parts).into_iter().collect()
    }

    /// Writes a result whose call is not in the preceding reply.
    fn answer(&mut self, answer: &Answer<'_>, notes: &mut Notes<'_>) -> String {
        let (id, info) = self.user(&[answer.origin], notes);
        let text = notes.texts(&answer.result).join("\n");
        let text = self.part("text", &id, notes).text("text", &text).end();
        message(&info, &[text]).unwrap_or_default()
    }

    /// Writes a compaction that keeps all messages before it, because opencode sends the summary
    /// before the kept messages.
    fn summary(&mut self, summary: &Summary<'_>, notes: &mut Notes<'_>) -> Vec<Line> {
        let first = self.first.clone();
        let (id, info) = self.user(&summary.origins, notes);
        let request = self
            .part("compaction", &id, notes)
            .json("auto", "false")
            .some_text("tail_start_id", first.as_deref());
        let request = message(&info, &[request.end()]);
        let of = (&summary.origins, None, "stop");
        let (id, info) = self.reply("compaction", of, notes);
        let text = self.part("text", &id, notes).text("text", &summary.text).end();
        let answer = message(&info.json("summary", "true").end(), &[text]);
        let lines = request.map(|it| Line::new(it, [])).into_iter();
        lines.chain(answer.map(|it| Line::new(it, summary.origins.clone()))).collect()
    }

    fn answered(
        &mut self,
        said: &TurnMessage<'_>,
        answers: &[Answer<'_>],
        notes: &mut Notes<'_>,
    ) -> Option<String> {
        let finish = if said.has_calls() { "tool-calls" } else { "stop" };
        let of = (&said.origins, said.model.as_deref(), finish);
        let (id, info) = self.reply("build", of, notes);
        let mut parts = Vec::new();
        for piece in &said.pieces {
            match &piece.part {
                Part::Call(call) => {
                    let own = call.id.as_deref().unwrap_or_default();
                    let answer = answers.iter().find(|answer| answer.id == own);
                    parts.push(self.tool(&id, call, answer, notes));
                }
                other => {
                    let text = other.said().filter(|text| !text.is_empty());
                    if let Some(text) = text {
                        parts.push(self.part("text", &id, notes).text("text", text).end());
                    }
                }
            }
        }
        message(&info.end(), &parts)
    }
}
