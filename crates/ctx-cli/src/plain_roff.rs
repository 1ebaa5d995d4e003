//! Our manual pages as plain text, for a terminal without `man`: the requests that our pages
//! use, and no others.

/// The text of a page, a paragraph a line at most as wide as a terminal is.
pub(crate) fn plain(roff: &str) -> String {
    let mut page = Page::default();
    for line in roff.lines() {
        match line.strip_prefix('.') {
            Some(request) => page.request(request),
            None => page.text(line),
        }
    }
    page.end_paragraph();
    page.out
}

/// The width of a page.
const WIDTH: usize = 78;
/// The left margin.
const INDENT: usize = 4;

#[derive(Default)]
struct Page {
    out: String,
    paragraph: String,
    /// The indentation, in steps.
    depth: usize,
    /// Whether the next line is the term of a definition.
    is_term: bool,
    is_verbatim: bool,
    /// The text before the next paragraph.
    mark: String,
}

impl Page {
    fn request(&mut self, request: &str) {
        let (name, rest) = request.split_once(' ').unwrap_or((request, ""));
        let rest = unescaped(rest.trim_matches('"'));
        match name {
            "SH" | "SS" => {
                self.end_paragraph();
                let indent = if name == "SH" { "" } else { "  " };
                self.out += &["\n", indent, &rest, "\n"].concat();
                self.depth = 1;
            }
            "PP" => {
                self.gap();
                self.depth = 1;
            }
            "TP" => {
                self.gap();
                (self.depth, self.is_term) = (1, true);
            }
            "IP" => {
                self.end_paragraph();
                self.mark = String::from("- ");
            }
            "RS" => {
                self.end_paragraph();
                self.depth += 1;
            }
            "RE" => {
                self.end_paragraph();
                self.depth = self.depth.saturating_sub(1);
            }
            "br" => self.end_paragraph(),
            "nf" | "fi" => {
                self.end_paragraph();
                self.is_verbatim = name == "nf";
            }
            // The title, and requests for other programs.
            _ => {}
        }
    }

    fn text(&mut self, line: &str) {
        let line = unescaped(line);
        if !self.paragraph.is_empty() {
            self.paragraph.push(' ');
        }
        self.paragraph += &line;
        if self.is_term || self.is_verbatim {
            self.end_paragraph();
            self.depth += usize::from(std::mem::take(&mut self.is_term));
        }
    }

    fn gap(&mut self) {
        self.end_paragraph();
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    fn end_paragraph(&mut self) {
        let indent = " ".repeat(INDENT * self.depth);
        let mark = std::mem::take(&mut self.mark);
        let paragraph = std::mem::take(&mut self.paragraph);
        let (mut line, mut is_first) = (indent.clone() + &mark, true);
        for word in paragraph.split(' ').filter(|_| !paragraph.is_empty()) {
            let is_full = line.chars().count() + word.chars().count() >= WIDTH;
            if !is_first && is_full && !self.is_verbatim {
                self.out += &(line.trim_end().to_owned() + "\n");
                line = indent.clone() + &" ".repeat(mark.len());
            }
            line += word;
            line.push(' ');
            is_first = false;
        }
        if !is_first {
            self.out += &(line.trim_end().to_owned() + "\n");
        }
    }
}

/// A line without its fonts and escapes.
fn unescaped(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\\') {
        text += before;
        let known = [
            ("fB", ""),
            ("fI", ""),
            ("fR", ""),
            ("fP", ""),
            ("&", ""),
            ("*(Aq", "'"),
            ("(aq", "'"),
            ("(bu", ""),
            ("(ga", "`"),
            ("(ha", "^"),
            ("(ti", "~"),
            ("e", "\\"),
        ];
        let found = known.iter().find(|(name, _)| after.starts_with(name));
        let (name, shown) = found.copied().unwrap_or(("", ""));
        text += shown;
        // An escaped character stands for itself.
        rest = &after[name.len()..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::plain;

    /// Without `man` a page can still be read.
    #[test]
    fn a_page_is_plain_text() {
        let page = ".ie \\n(.g .ds Aq \\(aq\n.TH \"X\" \"1\"\n.SH \"SYNOPSIS\"\n\\fBctx\\-x\\fR [FILE]\n.SH OPTIONS\n.TP\n\\fB\\-q\\fR, \\fB\\-\\-quiet\\fR\nSay the tool\\*(Aqs errors\nonly\n.br\n\n.br\n.RS 14\n.IP \\(bu 2\nauto: One\n.RE\n.PP\n.nf\na   b \\e\n.fi\n";
        assert_eq!(
            plain(page),
            "\nSYNOPSIS\n    ctx-x [FILE]\n\nOPTIONS\n\n    -q, --quiet\n        Say the tool's errors only\n            - auto: One\n\n    a   b \\\n"
        );
    }

    /// Long lines are broken between words.
    #[test]
    fn paragraphs_fit_the_terminal() {
        let text = plain(&format!(".SH A\n{}\n", "word ".repeat(60)));
        assert!(text.lines().all(|line| line.len() <= 78));
        assert_eq!(text.matches("word").count(), 60);
        assert!(text.lines().count() > 4);
    }
}
