//! The pages of README.md and docs/, and the fenced blocks in them.

use std::fs;
use std::path::{Path, PathBuf};

/// The text between two fences.
pub(crate) struct Block {
    /// `README.md:12`
    pub(crate) place: String,
    /// The first word after the fence: `console`, `yaml`.
    pub(crate) language: String,
    /// The rest of that line: the name of the file, if the block is one.
    pub(crate) file: Option<String>,
    /// The command in a comment above the block, which runs before it.
    pub(crate) before: Option<String>,
    pub(crate) lines: Vec<String>,
}

impl Block {
    /// Returns the lines in the form of a file.
    pub(crate) fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }
}

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// README.md and all pages below docs/.
pub(crate) fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = walkdir::WalkDir::new(root().join("docs"))
        .into_iter()
        .map(|entry| entry.expect("an entry").into_path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.push(root().join("README.md"));
    pages.sort();
    pages
}

/// Returns all fenced blocks of a page that name a language.
pub(crate) fn blocks(page: &Path) -> Vec<Block> {
    let text = fs::read_to_string(page).expect("a page");
    let name = page.strip_prefix(root()).expect("in the repository").display();
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    let mut above = "";
    while let Some((number, line)) = lines.next() {
        let before = above.strip_prefix("<!-- before: ");
        let before = before.and_then(|it| it.strip_suffix(" -->"));
        above = line;
        let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else {
            continue;
        };
        let (language, file) = match info.split_once(' ') {
            Some((language, file)) => (language, Some(file.to_owned())),
            None => (info, None),
        };
        let content = lines
            .by_ref()
            .map(|(_, line)| line.to_owned())
            .take_while(|line| line != "```")
            .collect();
        blocks.push(Block {
            place: format!("{name}:{}", number + 1),
            language: language.to_owned(),
            file,
            before: before.map(str::to_owned),
            lines: content,
        });
    }
    blocks
}
