//! Values after the name of a secret: `password=…`, `"api_key": "…"`, YAML blocks, and values that
//! are separated from the name by markup or code.

use std::ops::Range;

use crate::name::name_before;
use crate::rules::{RULES, SecretKind};
use crate::value::{
    VALUE_MAX, Value, has_sign, is_constant, is_login, is_no_value, is_path, is_phrase, is_pin,
    is_prose, is_random, is_reference, is_term, line_end, looks_random,
};
use crate::{Cursor, ends_with_ignoring_case, forms, is_word, prose, run, run_back};

/// Finds a value that a sign or a word joins to its name. The sign or word is at the cursor and has
/// `width` bytes.
pub(super) fn assigned(cursor: Cursor<'_>, width: usize) -> Option<Range<usize>> {
    let (name, kind) = name_before(cursor)?;
    let text = cursor.text;
    let after = cursor.at + width;
    if kind == SecretKind::Mnemonic {
        return prose::wallet_words(text, after);
    }
    let is_chosen = prose::is_chosen(name, kind);
    let phrase = if is_chosen { prose::passphrase(cursor, after, name) } else { None };
    let token = || {
        ends_with_ignoring_case(name.as_bytes(), b"authorization").then_some(())?;
        let token = forms::after_scheme(text, after)?;
        looks_random(text[token.clone()].as_bytes()).then_some(token)
    };
    let secret = phrase.or_else(|| block(text, after, kind)).or_else(token);
    if secret.is_some() {
        return secret;
    }
    let below =
        || below(text, after).filter(|v| kind == SecretKind::Password || is_random(v.bytes));
    let value = Value::at(text, after).or_else(below)?;
    let is_secret = if value.is_quoted {
        looks_secret(value.bytes, kind)
    } else {
        is_assigned_secret(cursor, width, (name, kind), &value)
    };
    is_secret.then(|| value.whole(text))
}

/// Returns true if the value looks like a secret and if it is clear where it begins and ends, as in
/// quotes, a block or a cell.
pub(super) fn looks_secret(value: &[u8], kind: SecretKind) -> bool {
    if is_no_value(value) {
        return false;
    }
    let is_one = !value.contains(&b' ');
    match kind {
        // A quoted password may be any text that does not begin with a space. In `"PASSWORD=" +
        // value`, the closing quote is followed by a space.
        SecretKind::Password => value.len() >= 4 && value[0] != b' ' && !is_prose(value),
        SecretKind::Secret => {
            value.len() >= 8 && is_one && looks_random(value) && !is_constant(value)
        }
        SecretKind::Key => is_one && is_random(value),
        SecretKind::Login => is_login(value),
        SecretKind::Pin => is_pin(value),
        SecretKind::Mnemonic => false,
    }
}

/// Returns true if an unquoted value is secret that a sign of `width` bytes joins to its name.
fn is_assigned_secret(
    cursor: Cursor<'_>,
    width: usize,
    (name, kind): (&str, SecretKind),
    value: &Value<'_>,
) -> bool {
    let (bytes, sign) = (value.bytes, cursor.rest()[0]);
    let next = cursor.bytes().get(value.range.end);
    // There is no space between the sign `=` and the value.
    let is_joined = sign == b'=' && cursor.at + width == value.range.start;
    // Code such as `token = get_token(…)` or `password=user.password[0]` only refers to a
    // secret.
    let is_code = is_path(bytes) || matches!(next, Some(b'(' | b'[' | b'{'));
    if is_code || is_no_value(bytes) || is_constant(bytes) && !is_joined {
        return false;
    }
    // If the cursor is at a space, the value is part of a sentence: `the password is …`.
    let is_said = sign == b' ';
    let looks_random = || looks_random(bytes) && !(is_said && is_term(bytes));
    // `password=correct-horse` without spaces around the sign is a word, unless the text after
    // the value shows that the value is an argument in code.
    let ends = next.is_none_or(|next| b" \n\r\\&;'\"`".contains(next));
    let is_bare_word = || is_joined && ends && !bytes.contains(&b'_');
    match kind {
        SecretKind::Secret => bytes.len() >= 6 && looks_random(),
        SecretKind::Password if !is_said && is_variable(name, is_joined) => bytes.len() >= 4,
        SecretKind::Password if is_said && prose::is_mine(cursor) => {
            prose::may_be_own(cursor.text, value)
        }
        SecretKind::Password => {
            let is_password = bytes.len() >= 6
                && (looks_random()
                    || bytes.iter().all(u8::is_ascii_digit)
                    || is_phrase(bytes)
                    || has_sign(bytes)
                    || is_bare_word());
            is_password
                || is_said && prose::is_chosen(name, kind) && prose::is_told_word(cursor, value)
        }
        _ => looks_secret(bytes, kind),
    }
}

/// Returns true for the name of a shell or `.env` variable, and for `密码：…`.
fn is_variable(name: &str, is_joined: bool) -> bool {
    let is_in_capitals = !name.bytes().any(|b| b.is_ascii_lowercase());
    // A constant such as `DEVICE_TYPE_PASS` also ends with a short name.
    let last = name.rsplit('_').next().unwrap_or_default().to_lowercase();
    let is_constant = || RULES.short_names.iter().flatten().any(|name| last == name.end);
    is_in_capitals && (is_joined || !is_constant())
}

/// A block with more words than this is prose.
const BLOCK_WORDS: usize = 8;

/// Finds the lines of a YAML block such as `password: >-`; `at` is after the colon.
fn block(text: &str, at: usize, kind: SecretKind) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut start = at + run(&bytes[at..], |b| b == b' ');
    let is_joined = at < 2 || bytes[at - 2] != b' ';
    if !is_joined || !matches!(bytes.get(start), Some(b'>' | b'|')) {
        return None;
    }
    // Skip the block's chomping and indentation indicators.
    start += 1 + run(&bytes[start + 1..], |b| b"+-123456789 ".contains(&b));
    let (start, indent) = next_line(bytes, start)?;
    let judged = block_end(&bytes[..bytes.len().min(start + VALUE_MAX)], start, indent);
    let judged = (start..=judged).rev().find(|at| text.is_char_boundary(*at));
    let value = &text[start..judged.unwrap_or(start)];
    let words: Vec<_> = value.split_whitespace().collect();
    let is_secret = words.len() <= BLOCK_WORDS && looks_secret(words.concat().as_bytes(), kind);
    // A reference is not a secret, and the module `keys` finds framed keys.
    let is_other = value.starts_with('-') || bytes.get(start).is_some_and(|b| is_reference(*b));
    (is_secret && !is_other).then(|| start..block_end(bytes, start, indent))
}

/// Returns the value that is the whole of the next line, as in `password:\n  hunter2`.
fn below(text: &str, at: usize) -> Option<Value<'_>> {
    let bytes = text.as_bytes();
    let (start, _) = next_line(bytes, at + run(&bytes[at..], |b| b == b' '))?;
    let value = Value::at(text, start)?;
    let rest = &bytes[value.range.end..];
    let is_whole = matches!(rest.first(), None | Some(b'"' | b'\'')) || line_end(rest).is_some();
    is_whole.then_some(value)
}

/// Returns the start of the text on the line after the line end at `at`, and its indentation.
fn next_line(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    at += line_end(&bytes[at..])?;
    at += margin(&bytes[at..]);
    let indent = run(&bytes[at..], |b| b == b' ');
    (indent > 0).then_some((at + indent, indent))
}

/// Returns the end of the block that begins at `start`. All lines in the block are indented like
/// the first.
fn block_end(bytes: &[u8], start: usize, indent: usize) -> usize {
    let mut end = start;
    loop {
        // In quoted text, where line ends are `\n`, the closing quote ends the block.
        end += run(&bytes[end..], |b| !b"\r\n\\\"".contains(&b));
        let Some(length) = line_end(&bytes[end..]) else { return end };
        let next = end + length + margin(&bytes[end + length..]);
        if run(&bytes[next..], |b| b == b' ') < indent {
            return end;
        }
        end = next;
    }
}

/// Returns the length of the margin before a line: a diff sign, or a line number with an arrow or a
/// tab.
pub(super) fn margin(line: &[u8]) -> usize {
    let blanks = run(line, |b| b == b' ');
    let digits = run(&line[blanks..], |b| b.is_ascii_digit());
    let rest = &line[blanks + digits..];
    let is_next = |mark: &&str| digits > 0 && rest.starts_with(mark.as_bytes());
    let sign = usize::from(matches!(line.first(), Some(b'+' | b'-')));
    ["→", "\t"].into_iter().find(is_next).map_or(sign, |mark| blanks + digits + mark.len())
}

/// Finds the password in `setPassword("hunter2")` or `auth=("bob", "hunter2")`; the cursor is at
/// the opening parenthesis.
pub(super) fn argument(cursor: Cursor<'_>) -> Option<Range<usize>> {
    let is_tuple = cursor.before().ends_with(b"=");
    let (_, kind) = name_before(Cursor { at: cursor.at - usize::from(is_tuple), ..cursor })?;
    let mut value = Value::at(cursor.text, cursor.at + 1)?;
    if kind == SecretKind::Login {
        let comma = value.range.end + 1;
        cursor.bytes().get(comma).filter(|b| **b == b',')?;
        value = Value::at(cursor.text, comma + 1)?;
    }
    let Value { range, bytes, is_quoted } = value;
    let is_secret = is_quoted
        && matches!(kind, SecretKind::Password | SecretKind::Secret | SecretKind::Login)
        && !bytes.contains(&b' ')
        && bytes.len() >= 6
        && (looks_random(bytes) || is_phrase(bytes));
    is_secret.then_some(range)
}

/// Finds the value after a name and the word `value`, as in lists of environment variables:
/// `{"name": "DB_PASSWORD", "value": "…"}`, `key="DbPassword" value="…"`.
pub(super) fn member(cursor: Cursor<'_>) -> Option<Range<usize>> {
    // Return early if possible: this function is called at every colon and sign, and most words end
    // with a different letter.
    if !matches!(cursor.before(), [.., b'e' | b' ' | b'"' | b'\'' | b'\\']) {
        return None;
    }
    let before = cursor.text[cursor.from..cursor.at].trim_end_matches([' ', '"', '\'', '\\']);
    let rest = ["value", "Value", "default"].iter().find_map(|word| before.strip_suffix(word))?;
    let value = Value::at(cursor.text, cursor.at + 1)?;
    let kind = kind_before(cursor, rest).or_else(|| kind_after(cursor, value.range.end))?;
    let is_secret = if value.is_quoted || kind != SecretKind::Password {
        looks_secret(value.bytes, kind)
    } else {
        value.bytes.len() >= 4 && !is_no_value(value.bytes) && !is_path(value.bytes)
    };
    is_secret.then(|| value.whole(cursor.text))
}

/// Returns the kind of the name in `"name": "NAME",` at the end of the text, which begins after the
/// previous secret.
fn kind_before(cursor: Cursor<'_>, text: &str) -> Option<SecretKind> {
    let rest = without_separators(text);
    let (name, kind) = name_before(Cursor { at: cursor.from + rest.len(), ..cursor })?;
    let before = rest.strip_suffix(name)?.as_bytes();
    let quotes = run_back(before, 8, |b| b" \"'\\:=".contains(&b));
    let label = &before[..before.len() - quotes];
    let ends = |end: &&[u8]| ends_with_ignoring_case(label, end);
    let is_label = [&b"name"[..], b"key", b"type", b"variable"].iter().any(ends);
    (quotes > 0 && is_label).then_some(kind)
}

/// Returns the kind of the name in `, "name": "NAME"` at `at`.
fn kind_after(cursor: Cursor<'_>, at: usize) -> Option<SecretKind> {
    let text = cursor.text[at..].trim_start_matches(|c| " \"'\\,\n".contains(c));
    let rest = text.strip_prefix("name").or(text.strip_prefix("key"))?;
    let name = rest.trim_start_matches([' ', '"', '\'', '\\', ':', '=']);
    let from = cursor.text.len() - name.len();
    let at = from + run(name.as_bytes(), is_word);
    name_before(Cursor { from, at, ..cursor }).map(|(_, kind)| kind)
}

/// Strips trailing quotes, commas, line ends (even if written as `\n`) and line numbers.
pub(super) fn without_separators(text: &str) -> &str {
    let mut end = text.len();
    loop {
        let head = text[..end].trim_end_matches(|c| " \"'\\,{\n\r\t+-".contains(c));
        let head = head.strip_suffix("\\n").unwrap_or(head);
        let number = head.strip_suffix('→');
        let head = number.map_or(head, |head| head.trim_end_matches(|c: char| c.is_ascii_digit()));
        if head.len() == end {
            return head;
        }
        end = head.len();
    }
}

/// Finds the value of `<password>…</password>`; the cursor is at the end of the first tag.
pub(super) fn element(cursor: Cursor<'_>) -> Option<Range<usize>> {
    // In a property list, the name and the value are elements.
    let is_key = cursor.before().ends_with(b"</key");
    let cursor = Cursor { at: cursor.at - if is_key { 5 } else { 0 }, ..cursor };
    let (name, kind) = name_before(cursor)?;
    let before = cursor.text[cursor.from..cursor.at].strip_suffix(name);
    let is_tag = before.is_some_and(|before| before.ends_with(['<', ':', '.', '>']));
    let rest = &cursor.text[cursor.at + if is_key { 6 } else { 1 }..];
    let value = || rest.trim_start_matches(|c| c != '<').strip_prefix("<string>");
    let rest = if is_key { value()? } else { rest };
    let start = cursor.text.len() - rest.len();
    let rest = &rest.as_bytes()[..rest.len().min(VALUE_MAX)];
    let length = run(rest, |b| !b"<\n\"".contains(&b));
    let (value, end) = rest.split_at(length);
    let is_closed = end.starts_with(b"</") || end.starts_with(b"<\\/");
    let is_value = value.first().is_some_and(|first| !is_reference(*first));
    if !is_closed || !is_value {
        return None;
    }
    let is_secret = looks_secret(value, kind) && (is_tag || looks_random(value));
    is_secret.then(|| start..start + length)
}

/// How many bytes before the cursor to search for the beginning of a table row.
const ROW_MAX: usize = 200;

/// Finds the table cell after the name of a secret, as in `| password | hunter2 |`; the cursor is
/// at the second bar.
pub(super) fn cell(cursor: Cursor<'_>) -> Option<Range<usize>> {
    let before = cursor.before();
    let part = &before[before.len().saturating_sub(ROW_MAX)..];
    // A table row begins with a bar; otherwise the bar is a pipe in a shell command.
    let line = part.rsplit(|b| *b == b'\n').next()?;
    let is_row = line.trim_ascii_start().first() == Some(&b'|');
    let secret = if is_row { assigned(cursor, 1)? } else { return None };
    let is_number = |value: &str| value.bytes().all(|b| b.is_ascii_digit());
    let value = &cursor.text[secret.clone()];
    (value.len() >= 6 && !value.contains(['/', '.', ':']) && !is_number(value)).then_some(secret)
}

#[cfg(test)]
mod tests {
    use super::{line_end, margin};
    use crate::redact;

    #[test]
    fn named_values_go() {
        for (text, clean) in [
            ("password=hunter2", "password=[REDACTED]"),
            ("password: hunter2.", "password: [REDACTED]."),
            ("DB_PASSWORD=correcthorse\nX=1", "DB_PASSWORD=[REDACTED]\nX=1"),
            ("passwd = 'let me in'", "passwd = '[REDACTED]'"),
            (r#"{"password":"hunter two","user":"a"}"#, r#"{"password":"[REDACTED]","user":"a"}"#),
            (r#"{\"client_secret\":\"ab12cd34ef\"}"#, r#"{\"client_secret\":\"[REDACTED]\"}"#),
            ("X-Api-Key: 0a1b2c3d4e5f", "X-Api-Key: [REDACTED]"),
            (
                "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPx",
                "aws_secret_access_key = [REDACTED]",
            ),
            ("?token=a1b2c3d4&x=1", "?token=[REDACTED]&x=1"),
            ("Authorization: Bearer a1b2c3d4e5", "Authorization: Bearer [REDACTED]"),
            ("-H 'authorization: bearer a1b2c3d4e5'", "-H 'authorization: bearer [REDACTED]'"),
            ("Authorization: Basic dXNlcjpwYXNzMQ==", "Authorization: Basic [REDACTED]"),
            ("密码：hunter2，请保密", "密码：[REDACTED]，请保密"),
            ("数据库密码: abcd", "数据库密码: [REDACTED]"),
            ("**Password**: hunter2", "**Password**: [REDACTED]"),
            ("https://bob:pa55@example.com/x", "https://bob:[REDACTED]@example.com/x"),
            ("redis://:pa55@localhost:6379", "redis://:[REDACTED]@localhost:6379"),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
    }

    #[test]
    fn look_alikes_of_named_values_stay() {
        for text in [
            "DEVICE_TYPE_PASS = 0x100, AUTH_ALGO_PSK: DOT11_ALGORITHM = 7i32",
            "MasterSecret => \"CLIENT_SECRET_0\", MasterSecret => 0x0017",
            "Li4uPw== 186964",
            "--- PASS: Test_A_1 (0.00s)",
            "token: 5",
            "max_tokens=500 and tokens: a1b2c3",
            "token_count=12ab34cd",
            "password: string",
            "def login(user: str, password: str = None)",
            "token = get_token2(user)",
            "password=user1.password",
            "password = os.environ['DB2']",
            "token: $GITHUB_TOKEN2",
            "Authorization: Bearer $TOKEN1234",
            "Authorization: Bearer <token1>",
            "Authorization: required",
            "Bearer tokens expire, basic authentication does not",
            "secret: true",
            "The secret: never give up",
            "请输入密码：",
            "密码：由用户设置",
            "token: toolu_01A09q90qw90lq917835lq9",
            "https://bob@example.com/x and http://localhost:8080/@scope/a",
            "postgres://app:${DB_PASS}@db",
            "tokenizer: cl100k_base2",
            "a == b: c",
            "[]byte(\"DB_PASSWORD=\" + secret), f(\"x\")",
            "password=",
            "token:",
            "://:@",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }

    #[test]
    fn a_block_below_its_name_goes() {
        for (text, clean) in [
            ("password: >-\n  swordfish\nuser: a", "password: >-\n  [REDACTED]\nuser: a"),
            (
                "  password: |\n    correct horse\n    battery\n  x: 1",
                "  password: |\n    [REDACTED]\n  x: 1",
            ),
            (
                r#"{"a":"password: >-\n  swordfish\nuser: a"}"#,
                r#"{"a":"password: >-\n  [REDACTED]\nuser: a"}"#,
            ),
            ("api_token: |2-\n  a1b2c3\n  d4e5f6", "api_token: |2-\n  [REDACTED]"),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
    }

    #[test]
    fn a_block_in_a_diff_or_with_numbers_goes() {
        for (text, clean) in [
            ("+password: >-\n+  swordfish\n+user: a", "+password: >-\n+  [REDACTED]\n+user: a"),
            (
                "    1→password: |\n    2→  swordfish\n    3→user: a",
                "    1→password: |\n    2→  [REDACTED]\n    3→user: a",
            ),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
    }

    #[test]
    fn a_value_on_the_next_line_goes() {
        for (text, clean) in [
            ("password:\n  hunter2\nuser: a", "password:\n  [REDACTED]\nuser: a"),
            ("password =\n    \"swordfish\",\n", "password =\n    \"[REDACTED]\",\n"),
            (r#"{"a":"token:\n  k3J9x0Qz7Lp2Vt5w"}"#, r#"{"a":"token:\n  [REDACTED]"}"#),
            ("login --password \\\n  hunter2", "login --password \\\n  [REDACTED]"),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
        for text in [
            "password:\n  type: string2\n",
            "password:\nhunter2",
            "token:\n  - a1b2c3d4",
            "token =\n    get_token2(a)",
            "password:\n  required",
            "Secret:\n  name2x",
            "variable \"db_password\" {\n  default = var.x1\n}",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }

    #[test]
    fn other_blocks_stay() {
        for text in [
            "password: |\nuser: a",
            // The text ends where the value would begin.
            "password: |\n  ",
            "password: |\n  The password must have at least eight characters, a digit and a sign",
            "token: >-\n  {{ .Values.token }}",
            "password: >-\n  $PASSWORD",
            "this will pass :>\n  assert(a);",
            "key: |\n  first1\n  second2",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }

    #[test]
    fn lines_end_and_begin_in_several_ways() {
        for (text, length) in [("\n", 1), ("\r\n", 2), ("\\n", 2), ("\\r\\n", 4)] {
            assert_eq!(line_end(text.as_bytes()), Some(length), "{text:?}");
        }
        assert_eq!(line_end(b"\\t"), None);
        for (text, length) in
            [("+a", 1), ("-a", 1), ("  12→a", 7), ("3\ta", 2), ("  a", 0), ("12", 0)]
        {
            assert_eq!(margin(text.as_bytes()), length, "{text:?}");
        }
    }

    #[test]
    fn values_with_markup_before_them_go() {
        for (text, clean) in [
            ("<password>swordfish</password>", "<password>[REDACTED]</password>"),
            (
                "- name: DB_PASSWORD\n  value: swordfish\n",
                "- name: DB_PASSWORD\n  value: [REDACTED]\n",
            ),
            (
                r#"{"name":"DB_PASSWORD","value":"swordfish"}"#,
                r#"{"name":"DB_PASSWORD","value":"[REDACTED]"}"#,
            ),
            (
                r#"<add key="DbPassword" value="swordfish" />"#,
                r#"<add key="DbPassword" value="[REDACTED]" />"#,
            ),
            (
                r#"<input type="password" value="swordfish">"#,
                r#"<input type="password" value="[REDACTED]">"#,
            ),
            (
                r#"{"value":"swordfish","name":"DB_PASSWORD"}"#,
                r#"{"value":"[REDACTED]","name":"DB_PASSWORD"}"#,
            ),
            (
                "<key>Password</key>\n<string>swordfish</string>",
                "<key>Password</key>\n<string>[REDACTED]</string>",
            ),
            (
                "variable \"db_password\" {\n  default = \"swordfish\"\n}",
                "variable \"db_password\" {\n  default = \"[REDACTED]\"\n}",
            ),
            ("conn.setPassword(\"hunter2x\")", "conn.setPassword(\"[REDACTED]\")"),
            ("get(u, auth=('bob', 'hunter2x'))", "get(u, auth=('bob', '[REDACTED]'))"),
            ("HTTPBasicAuth(\"bob\", \"hunter2x\")", "HTTPBasicAuth(\"bob\", \"[REDACTED]\")"),
            ("| user | a |\n| password | hunter2x |", "| user | a |\n| password | [REDACTED] |"),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
    }

    #[test]
    fn other_pairs_stay() {
        for text in [
            "<label for=\"password\">Your password</label>, <password>string</password>",
            "<key>photos/2006/sample1.jpg</key>",
            "- name: PASSWORD_FILE\n  value: /run/secrets/one",
            "getpass(\"Password2: \"), input_password(\"Enter it\")",
            "auth('bob12345'), auth=(user, 'bob12345'), auth=('bob12345', password), auth('a', 'b c')",
            "| first pass | chars/4 |\n| repair pass | 4.5 seconds |",
            "cat token | sha256sum; echo $password | base64",
            "<input type=\"password\" value={password}>, type=\"text\" value=\"swordfish\"",
            "value: 5, \"value\": \"abcdef12\", key=value1234",
            "{\"value\":\"swordfish\",\"name\":\"USER\"}, variable \"size\" {\n  default = \"a1b2c3\"\n}",
            "<key>Label</key>\n<string>swordfish</string>, <key>Password</key>\n<true/>",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }
}
