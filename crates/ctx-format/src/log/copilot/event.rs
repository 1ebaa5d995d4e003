//! Reads the events from which the Copilot CLI builds its requests.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use crate::dialect::content::{kind_of, text_or_json};
use crate::dialect::sign::Sign;
use crate::dialect::unread::has_text;
use crate::legality::content::{ImageFix, image_fix};
use crate::log::compaction::LineText;
use crate::log::links::LineId;
use crate::{Call, Denial, Edits, Object, Part, Role, Slot, ToolResult, json};

/// The types of events that the Copilot CLI may send, or that decide what it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
pub(super) enum EventKind {
    /// The header.
    #[strum(serialize = "session.start")]
    Start,
    #[strum(serialize = "user.message")]
    User,
    #[strum(serialize = "assistant.message")]
    Reply,
    /// The result of a call, or the output of a command that the user ran.
    #[strum(serialize = "tool.execution_complete")]
    Result,
    /// A command that the user ran. It is sent together with its output.
    #[strum(serialize = "tool.user_requested")]
    Command,
    #[strum(serialize = "system.notification")]
    Notification,
    #[strum(serialize = "session.mode_notice_delivered")]
    ModeNotice,
    /// The instructions of a skill, as they were sent when the skill was invoked.
    #[strum(serialize = "skill.context_delivered")]
    SkillContext,
    #[strum(serialize = "skill.context_delivered_ref")]
    SkillContextRef,
    /// A skill, whose instructions are sent again with a summary.
    #[strum(serialize = "skill.invoked")]
    Skill,
    #[strum(serialize = "skill.invoked_ref")]
    SkillRef,
    /// A tool began a new conversation in the same file. The first message of the new conversation
    /// is also in an event of its own.
    #[strum(serialize = "session.context_cleared")]
    Cleared,
    #[strum(serialize = "session.compaction_complete")]
    Compaction,
}

/// The kinds of notifications that the Copilot CLI sends.
const NOTIFICATIONS: &str = "agent_completed agent_idle instruction_discovered new_inbox_message \
    shell_completed shell_detached_completed unclassified workflow_completed";

/// An event of the main agent.
pub(super) struct Event<'a> {
    pub(super) kind: EventKind,
    pub(super) data: Object<'a>,
}

impl<'a> Event<'a> {
    /// Reads an event; `None` if the Copilot CLI does not read it, or reads it only for its screen.
    pub(super) fn of(object: &Object<'a>) -> Option<Self> {
        let kind = kind_of(object).parse().ok()?;
        let data = object.object_of("data")?;
        let is_read = SHAPES.get(&*kind_of(object)).is_none_or(|shape| shape.is_of(object));
        (is_read && !object.is_true("ephemeral")).then_some(Self { kind, data })
    }

    /// Returns true if the event is a message when it is in the context.
    pub(super) fn is_message(&self) -> bool {
        match self.kind {
            // The text that is sent for these skills depends on other events.
            EventKind::Skill
            | EventKind::SkillRef
            | EventKind::SkillContextRef
            | EventKind::Start
            | EventKind::Command
            | EventKind::Cleared => false,
            EventKind::Reply => self.has("content") || !self.calls().is_empty(),
            EventKind::User => self.has("content") || !self.said().is_empty(),
            EventKind::Compaction => self.data.is_true("success") && self.has("summaryContent"),
            EventKind::Notification => {
                let kind = self.data.object_of("kind").map(|kind| kind_of(&kind));
                kind.is_some_and(|kind| NOTIFICATIONS.split(' ').any(|it| it == kind))
            }
            EventKind::ModeNotice => self.has("content"),
            EventKind::Result | EventKind::SkillContext => true,
        }
    }

    fn has(&self, key: &str) -> bool {
        has_text(&self.data, key) && self.data.get(key) != Some("\"\"")
    }

    /// Returns true for the output of a command that the user ran.
    pub(super) fn is_of_user_shell(&self) -> bool {
        self.kind == EventKind::Result && self.data.is_true("isUserRequested")
    }

    /// The role of the message that the Copilot CLI sends.
    pub(super) fn role(&self) -> Role {
        match self.kind {
            EventKind::Reply => Role::Assistant,
            EventKind::Result if !self.is_of_user_shell() => Role::Tool,
            _ => Role::User,
        }
    }

    /// Returns true if the message has the user's words.
    pub(super) fn is_of_user(&self) -> bool {
        match self.kind {
            EventKind::Cleared => true,
            EventKind::User => {
                let source = self.data.text_of("source");
                !self.data.is_true("isAutopilotContinuation")
                    && source.is_none_or(|source| source == "user")
            }
            _ => false,
        }
    }

    /// Returns the text, as raw JSON, that the Copilot CLI repeats after a compaction; `None` if it
    /// does not repeat the message.
    pub(super) fn repeated(&self) -> Option<&'a str> {
        let key = match self.kind {
            EventKind::Cleared => "initialMessage",
            EventKind::User => "content",
            _ => return None,
        };
        let source = self.data.text_of("source");
        let is_repeated =
            source.is_none_or(|source| source == "user" || source.starts_with("agent-"));
        if is_repeated && self.has(key) { self.data.get(key) } else { None }
    }

    /// The command that the user ran.
    pub(super) fn command(&self) -> Option<String> {
        Some(self.data.object_of("arguments")?.text_of("command")?.into_owned())
    }

    /// The ids of a reply's calls, or the id of the call that the event belongs to.
    pub(super) fn call_ids(&self) -> Vec<LineId> {
        let id = |of: &Object<'_>| LineId::at(of, "toolCallId");
        let calls = self.calls();
        calls.iter().filter_map(id).chain(id(&self.data)).collect()
    }

    /// The calls in a reply.
    pub(super) fn calls(&self) -> Vec<Object<'a>> {
        if self.kind != EventKind::Reply {
            return Vec::new();
        }
        self.data.objects_of("toolRequests").into_iter().flatten().flatten().collect()
    }

    /// The parts of the message. The byte ranges in the parts refer to the text of `record`.
    pub(super) fn parts(&self, record: &Object<'a>) -> Vec<Part<'a>> {
        let text = |key| self.data.text_of(key).filter(|text| !text.is_empty()).map(Part::Text);
        match self.kind {
            EventKind::User => self.said(),
            EventKind::Result if self.is_of_user_shell() => {
                vec![Part::Text(self.shell_text(None).into())]
            }
            EventKind::Result => vec![Part::Result(self.result(record))],
            EventKind::Reply => {
                let calls = self.calls().into_iter().map(|it| Part::Call(call(record, &it)));
                text("content").into_iter().chain(calls).collect()
            }
            EventKind::Compaction => self.summary().map(Part::Text).into_iter().collect(),
            _ => text("content").into_iter().collect(),
        }
    }

    /// The parts of a user message: its text, the names of attached files, and images.
    fn said(&self) -> Vec<Part<'a>> {
        let sent = self.data.text_of("transformedContent").filter(|text| !text.is_empty());
        let mut sent = sent.or_else(|| self.data.text_of("content")).unwrap_or_default();
        let attached = self.attachments();
        let files = attached.iter().filter_map(|it| it.text_of("taggedFilesEntry"));
        let files: Vec<Cow<'_, str>> = files.collect();
        if !files.is_empty() {
            let files = files.join("\n");
            sent = format!("{sent}\n\n\n\n<tagged_files>\n{files}\n</tagged_files>").into();
        }
        let mut parts = Vec::from_iter((!sent.is_empty()).then_some(Part::Text(sent)));
        for file in attached.iter().filter(|it| is_image(it)) {
            let name = match file.text_of("path") {
                Some(path) => format!("Image file at path {path}").into(),
                None => file.text_of("displayName").unwrap_or("Attached image".into()),
            };
            parts.push(Part::Text(name));
            parts.push(Part::media("image", file.text().trim()));
        }
        parts
    }

    fn attachments(&self) -> Vec<Object<'a>> {
        self.data.objects_of("attachments").into_iter().flatten().flatten().collect()
    }

    /// Returns what the agent sends of the attached files, as raw JSON.
    pub(super) fn attached(&self) -> Vec<&'a str> {
        let sent = |file: Object<'a>| {
            if is_image(&file) { Some(file.text().trim()) } else { file.get("taggedFilesEntry") }
        };
        self.attachments().into_iter().filter_map(sent).collect()
    }

    /// Returns the images in the event's own data that no API accepts as they are.
    pub(super) fn bad_images(&self) -> Vec<(Object<'a>, ImageFix)> {
        let bad = |image: Object<'a>| {
            let data = image.text_of("data")?;
            let fix = image_fix(&image.text_of("mimeType")?, &data)?;
            Some((image, fix))
        };
        self.attachments().into_iter().filter(is_image).filter_map(bad).collect()
    }

    fn result(&self, record: &Object<'a>) -> ToolResult<'a> {
        let denial = self.data.object_of("error").and_then(|error| error.text_of("code"));
        let raw = self.output();
        let slot = raw.map(|raw| Slot::text(record, raw));
        let is_error = !self.data.is_true("success");
        let none = if is_error { "Tool execution failed" } else { "" };
        ToolResult {
            id: self.data.text_of("toolCallId"),
            is_error,
            denial: if denial.as_deref() == Some("denied") { Denial::Marked } else { Denial::None },
            parts: vec![Part::Text(raw.and_then(json::text).unwrap_or(none.into()))],
            slot,
            ..ToolResult::default()
        }
    }

    /// Returns the output of a tool or the reason why it failed, as raw JSON.
    pub(super) fn output(&self) -> Option<&'a str> {
        let (key, of) =
            if self.data.is_true("success") { ("result", "content") } else { ("error", "message") };
        self.data.object_of(key)?.get(of).filter(|raw| raw.starts_with('"'))
    }

    /// The text in which the Copilot CLI tells the model about a command that the user ran.
    pub(super) fn shell_text(&self, command: Option<&str>) -> String {
        let outcome =
            if self.data.is_true("success") { "exit code 0" } else { "non-zero exit code" };
        let command = command.map_or(" <unknown>".to_owned(), |command| format!("\n{command}"));
        let output = self.output().and_then(json::text).unwrap_or_default();
        format!(
            "<user_shell_command_output>\nThe user executed a shell command directly in their terminal ({outcome}).\n\nCommand:{command}\n\nOutput:\n{output}\n</user_shell_command_output>"
        )
    }

    /// The summary in a compaction, and what the agent says about running workflows.
    pub(super) fn summary(&self) -> Option<Cow<'a, str>> {
        let summary = self.data.text_of("summaryContent")?;
        Some(match self.data.text_of("activeWorkflowSummary") {
            Some(workflow) => format!("{summary}\n\n{workflow}").into(),
            None => summary,
        })
    }
}

/// Returns the event that the agent would send in the same way if the text that it sends for
/// `object` depends on other events; `None` if it does not.
pub(super) fn resolved(object: &Object<'_>) -> Option<String> {
    let content = object.portion.as_ref()?.content.as_deref()?;
    Some(as_user_message(object, content))
}

/// Turns an event into a user message with the given content, which is raw JSON.
pub(super) fn as_user_message(object: &Object<'_>, content: &str) -> String {
    let data = LineText::default().json("content", content);
    // After a compaction, the agent repeats only what the user or another agent said.
    let is_of_user = Event::of(object).is_some_and(|event| event.is_of_user());
    let data = data.some_text("source", (!is_of_user).then_some("system"));
    let mut edits = Edits::default();
    edits.set(0, object, "type", r#""user.message""#);
    edits.set(0, object, "data", &data.end());
    edits.of_object(object)
}

/// Returns true if the event belongs to a subagent.
pub(super) fn is_of_helper(object: &Object<'_>) -> bool {
    let filled = |within: &Object<'_>, key| within.text_of(key).is_some_and(|id| !id.is_empty());
    let data = object.object_of("data");
    filled(object, "agentId") || data.is_some_and(|data| filled(&data, "parentToolCallId"))
}

/// What the Copilot CLI requires of the data of an event, by the event's type.
pub(super) static SHAPES: LazyLock<HashMap<&str, Sign>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("shapes.json")).expect("the shapes are valid")
});

fn call<'a>(record: &Object<'a>, request: &Object<'a>) -> Call<'a> {
    let (arguments, slot) = text_or_json(record, request.get("arguments"));
    Call {
        id: request.text_of("toolCallId"),
        name: request.text_of("name").unwrap_or_default(),
        arguments,
        slot,
    }
}

fn is_image(attachment: &Object<'_>) -> bool {
    let mime = attachment.text_of("mimeType").unwrap_or_default();
    mime.starts_with("image/")
        && ["data", "assetId"].iter().any(|key| attachment.get(key).is_some())
}
