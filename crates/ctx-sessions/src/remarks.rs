//! The remarks after a list.

use crate::query::Query;
use crate::survey::Listed;

impl Listed {
    /// Warnings about skipped files and empty results.
    pub fn warnings(&self, query: &Query) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(first) = self.foreign.first() {
            let files = counted(self.foreign.len(), "file is no session", "files are no sessions");
            warnings.push(format!("{files}: {}", first.display()));
        }
        if let Some((first, error)) = self.unreadable.first() {
            let things = counted(self.unreadable.len(), "file or folder", "files or folders");
            let first = first.display();
            warnings.push(format!("{things} could not be read: {first}: {error}"));
        }
        if self.rows.is_empty() && self.failed.is_empty() {
            let looked_in = self.looked_in.iter();
            let places: Vec<String> = looked_in.map(|it| it.display().to_string()).collect();
            let project = query.project.as_ref();
            let project = project.map_or_else(String::new, |it| format!(" of {}", it.display()));
            let due = if query.due { " that are due" } else { "" };
            warnings.push(format!("no sessions{project}{due} in {}", places.join(", ")));
        }
        warnings
    }

    /// A note about files that are always skipped.
    pub fn note(&self) -> Option<String> {
        let files = counted(self.helpers, "file of a subagent", "files of subagents");
        (self.helpers > 0).then(|| format!("{files} passed over; --subagents lists them"))
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}
