//! Secrets in formats used by programs: command lines (`mysql -p…`, `curl -u user:…`), requests
//! (headers, cookies, URLs) and files (netrc).

use std::ops::Range;

use memchr::memmem;

use crate::name::NAME_MAX;
use crate::named::assigned;
use crate::rules::{Flag, FlagValue, RULES, is_in, words};
use crate::value::{VALUE_MAX, Value, is_no_value, is_reference, is_value, looks_random};
use crate::{Cursor, ends_with_ignoring_case, is_word, run, run_back};

/// The maximum distance between a program's name and its flag, in bytes.
const COMMAND_MAX: usize = 240;

/// Finds the password after a program's short flag; the cursor is at the dash.
pub(super) fn short_flag(cursor: Cursor<'_>) -> Option<Range<usize>> {
    let before = cursor.before();
    let second = *cursor.rest().get(1)?;
    if !before.last().is_some_and(|b| b" \t\"'".contains(b))
        || !b"-pPawskuUbncBAXNhS156".contains(&second)
    {
        return None;
    }
    let is_flag = |flag: &&Flag| flag.text.as_bytes()[1] == second && cursor.starts_with(flag.text);
    let mut flags = RULES.flags.iter().filter(is_flag).peekable();
    flags.peek()?;
    let command = command_before(before);
    let has_word = |wanted: &dyn Fn(&[u8]) -> bool| {
        command.split(|b| !(is_word(*b) || *b == b'-')).any(wanted)
    };
    let flag = flags.find(|flag| {
        let is_program = |program: &&str| has_word(&|word| word.starts_with(program.as_bytes()));
        (flag.programs == ["*"] || flag.programs.iter().any(is_program))
            && (flag.with.is_empty() || has_word(&|word| word == flag.with.as_bytes()))
    })?;
    flag_value(cursor.text, cursor.at + flag.text.len(), flag.value)
}

/// Returns the part of `before` that belongs to the same command as the cursor.
fn command_before(before: &[u8]) -> &[u8] {
    let part = &before[before.len().saturating_sub(COMMAND_MAX)..];
    // A backslash continues the command on the next line; in quoted text, it is `\\\n`.
    let ends = |end: &[u8]| match end {
        [first, second, b'\\', b'n'] => [*first, *second] != *b"\\\\",
        [_, _, before, b'\n'] => *before != b'\\',
        _ => b"|;&(`".contains(&end[3]),
    };
    &part[part.windows(4).rposition(ends).map_or(0, |at| at + 4)..]
}

fn flag_value(text: &str, at: usize, form: FlagValue) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let is_apart = matches!(bytes.get(at)?, b' ' | b'\t');
    // The flag and the value may be in a list of arguments: `"-p", "…"`.
    let is_listed = form != FlagValue::Joined && bytes[at..].starts_with(b"\", \"");
    if form == FlagValue::Joined && is_apart || form == FlagValue::Apart && !is_apart && !is_listed
    {
        return None;
    }
    let value = match form {
        FlagValue::After(sign) => {
            let mut start = at + run(&bytes[at..], |b| b" \t\n\"',\\".contains(&b));
            // In quoted text, a line ends with `\n`.
            if bytes[start..].starts_with(b"n ") && bytes[start - 1] == b'\\' {
                start += 1 + run(&bytes[start + 1..], |b| b == b' ');
            }
            let argument = run(&bytes[start..], |b| is_value(b) || b == sign);
            let user = bytes[start..start + argument].iter().position(|b| *b == sign)?;
            start + user + 1..start + argument
        }
        FlagValue::Last => {
            let most = &bytes[at..bytes.len().min(at + COMMAND_MAX)];
            let end = run(most, |b| !b"\n;|&<>`()\\\"".contains(&b));
            (end < COMMAND_MAX).then_some(())?;
            let command = most[..end].trim_ascii_end();
            let end = command.strip_suffix(b"'").unwrap_or(command).len();
            let length = run_back(&command[..end], VALUE_MAX, |b| !b" \t'".contains(&b));
            at + end - length..at + end
        }
        _ => Value::at(text, if is_listed { at + 2 } else { at })?.range,
    };
    let password = &bytes[value.clone()];
    let first = password.first()?;
    // A number after a user is the id of a group: `docker run -u 1000:1000`.
    let is_other = is_in("about-flags", password)
        || matches!(form, FlagValue::After(_)) && password.iter().all(u8::is_ascii_digit)
        || *first == b'-'
        || is_reference(*first)
        || is_no_value(password);
    (password.len() >= 3 && !is_other).then_some(value)
}

/// Finds the value after a long flag, `--password hunter2`; the cursor is at the space.
pub(super) fn long_flag(cursor: Cursor<'_>) -> Option<Range<usize>> {
    let before = cursor.before();
    let length = run_back(before, NAME_MAX, |b| is_word(b) || b == b'-');
    let is_flag = length >= 5 && before[before.len() - length..].starts_with(b"--");
    if is_flag { assigned(cursor, 1) } else { None }
}

/// Finds the password that `echo` pipes to a program; the cursor is at the `|`.
pub(super) fn piped(cursor: Cursor<'_>) -> Option<Range<usize>> {
    let (bytes, at) = (cursor.bytes(), cursor.at);
    let command = command_before(cursor.before());
    let echo = memmem::rfind(command, b"echo ")?;
    let after = &bytes[at + 1..bytes.len().min(at + 1 + COMMAND_MAX)];
    let after =
        String::from_utf8_lossy(&after[..run(after, |b| !b"\n|;&".contains(&b))]).replace(' ', "_");
    if !words("readers").iter().any(|reader| after.contains(reader)) {
        return None;
    }
    let mut start = at - command.len() + echo + 5;
    while bytes[start..at].starts_with(b"-") {
        start += run(&bytes[start..at], |b| b != b' ');
        start += run(&bytes[start..at], |b| b == b' ');
    }
    let value = Value::at(cursor.text, start)?;
    // The text that `echo` prints may be `user:password`.
    let user = value.bytes.iter().position(|b| *b == b':').map_or(0, |colon| colon + 1);
    let Range { start, end } = value.range;
    (end <= at && end >= start + user + 3).then_some(start + user..end)
}

/// Finds the secret in `Bearer TOKEN` or `Basic LOGIN` in a request; the cursor is at the scheme.
pub(super) fn bearer(cursor: Cursor<'_>) -> Option<Range<usize>> {
    let Cursor { text, at, .. } = cursor;
    let scheme = cursor.rest().split(|b| *b == b' ').next()?.to_ascii_lowercase();
    let is_scheme = scheme == b"bearer" || scheme == b"basic";
    let value = is_scheme.then(|| after_scheme(text, at))??;
    // Phrases such as "Bearer tokens expire" and "basic authentication" are prose. Prose contains
    // no digits here, and it never follows the name of a header.
    let before = text[..at].trim_end_matches([' ', ':', '=', '"', '\'', '\\']);
    let is_sent = ends_with_ignoring_case(before.as_bytes(), b"authorization");
    (is_sent || looks_random(text[value.clone()].as_bytes())).then_some(value)
}

/// Finds the value of `Authorization: SCHEME VALUE` with any scheme; `at` is after the colon.
pub(super) fn after_scheme(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let start = at + run(&bytes[at..], |b| b" \"'`\\".contains(&b));
    let scheme = run(&bytes[start..], |b| b.is_ascii_alphanumeric() || b == b'-');
    let blanks = run(&bytes[start + scheme..], |b| b == b' ');
    let start = start + scheme + blanks;
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
    let value = &text[start..start + run(&bytes[start..], is_token)];
    let length = value.trim_end_matches('.').len();
    ((2..=20).contains(&scheme) && blanks > 0 && length >= 8).then(|| start..start + length)
}

/// Finds the value of `Cookie:` or `Set-Cookie:` if the value contains a long random part; the
/// cursor is at the colon.
pub(super) fn cookie(cursor: Cursor<'_>) -> Option<Range<usize>> {
    if !ends_with_ignoring_case(cursor.before(), b"cookie") {
        return None;
    }
    let bytes = cursor.bytes();
    let start = cursor.at + 1 + run(&cursor.rest()[1..], |b| b == b' ');
    let is_inside = |b: u8| !b"\r\n\"'`\\<>".contains(&b);
    let judged = &bytes[start..bytes.len().min(start + VALUE_MAX)];
    let judged = &judged[..run(judged, is_inside)];
    let is_secret = judged.split(|b| *b == b';').any(|pair| {
        let value = pair.splitn(2, |b| *b == b'=').nth(1).unwrap_or_default();
        value.len() >= 16 && !value.contains(&b' ') && looks_random(value)
    });
    is_secret.then(|| start..start + run(&bytes[start..], is_inside))
}

/// Finds the password in `scheme://user:password@host`, or a key in place of the user name; the
/// cursor is at the first colon.
pub(super) fn url_password(cursor: Cursor<'_>) -> Option<Range<usize>> {
    let rest = cursor.rest().strip_prefix(b"://")?;
    let start = cursor.at + 3;
    let part = &rest[..rest.len().min(256)];
    let authority = run(part, |b| !b.is_ascii_whitespace() && !b"/\"'`<>".contains(&b));
    // A password may contain `@`, so search for the last `@`.
    let end = part[..authority].iter().rposition(|b| *b == b'@')?;
    let login = &part[..end];
    let Some(colon) = login.iter().position(|b| *b == b':') else {
        let is_key =
            end >= 20 && looks_random(login) && login.iter().all(u8::is_ascii_alphanumeric);
        return is_key.then(|| start..start + end);
    };
    // A group or a class is part of a regular expression.
    let is_pattern = login.windows(2).any(|pair| matches!(pair, b"[^" | b"(?" | b"\\w" | b")@"));
    let is_password = colon + 1 < end && !b"$<{%*[".contains(&part[colon + 1]) && !is_pattern;
    is_password.then(|| start + colon + 1..start + end)
}

/// How many bytes before the cursor to search for the beginning of a netrc entry.
const ENTRY_MAX: usize = 200;

/// Returns true if the word `password` before the cursor and its value are part of a netrc entry:
/// `machine HOST login USER password VALUE`.
pub(super) fn is_netrc(cursor: Cursor<'_>, value: &[u8]) -> bool {
    let before = cursor.before();
    let entry = &before[before.len().saturating_sub(ENTRY_MAX)..];
    // In quoted text, line ends are written as `\n`.
    let entry = String::from_utf8_lossy(entry).replace("\\n", " ");
    // Characters in the margin of a diff or a listing do not count as words.
    let is_margin = |word: &&str| matches!(*word, "+" | "-") || word.ends_with('→');
    let mut words = entry.split_ascii_whitespace().filter(|word| !is_margin(word)).rev().skip(2);
    let is_login = matches!(words.next(), Some("login" | "user" | "account"));
    // A quote or a diff marker may precede the first word.
    let is_head = |word: &str| word.ends_with("machine") || word.ends_with("default");
    is_login && words.take(2).any(is_head) && value.len() >= 3
}

#[cfg(test)]
mod tests {
    use crate::redact;

    #[test]
    fn passwords_on_command_lines_go() {
        for (text, clean) in [
            ("mysql -uroot -pswordfish db", "mysql -uroot -p[REDACTED] db"),
            ("mysqldump -h db -p'let me in' x", "mysqldump -h db -p'[REDACTED]' x"),
            ("docker exec db mysql -proot1", "docker exec db mysql -p[REDACTED]"),
            (
                r#"{"command":"cd /x\nmysql -pswordfish\nls"}"#,
                r#"{"command":"cd /x\nmysql -p[REDACTED]\nls"}"#,
            ),
            ("sshpass -p swordfish ssh a@b", "sshpass -p [REDACTED] ssh a@b"),
            ("sshpass -pswordfish ssh a@b", "sshpass -p[REDACTED] ssh a@b"),
            (r#"["sshpass", "-p", "swordfish"]"#, r#"["sshpass", "-p", "[REDACTED]"]"#),
            ("redis-cli -h a -a swordfish ping", "redis-cli -h a -a [REDACTED] ping"),
            ("docker login -u me -p swordfish", "docker login -u me -p [REDACTED]"),
            (
                "openssl rsa -in k -passin pass:swordfish",
                "openssl rsa -in k -passin pass:[REDACTED]",
            ),
            ("echo abc --|sudo -S", "echo [REDACTED] --|sudo -S"),
            ("smbclient //a/b -U me%swordfish", "smbclient //a/b -U me%[REDACTED]"),
            ("echo swordfish | sudo -S ls", "echo [REDACTED] | sudo -S ls"),
            ("echo 'root:swordfish' | chpasswd", "echo 'root:[REDACTED]' | chpasswd"),
            ("login --password correct-horse-battery", "login --password [REDACTED]"),
            ("htpasswd -bc f bob swordfish", "htpasswd -bc f bob [REDACTED]"),
            ("htpasswd -b -c f bob 'swordfish'; ls", "htpasswd -b -c f bob '[REDACTED]'; ls"),
            ("htpasswd -nbB bob swordfish\n", "htpasswd -nbB bob [REDACTED]\n"),
            ("openssl passwd -6 swordfish | tee f", "openssl passwd -6 [REDACTED] | tee f"),
            ("lftp -u bob,swordfish ftp://a", "lftp -u bob,[REDACTED] ftp://a"),
            ("lftp -u 'bob,swordfish' ftp://a", "lftp -u 'bob,[REDACTED]' ftp://a"),
            ("curl --proxy-user bob:swordfish a", "curl --proxy-user bob:[REDACTED] a"),
            ("useradd -p swordfish bob", "useradd -p [REDACTED] bob"),
            ("nxc smb h -u bob -p swordfish", "nxc smb h -u bob -p [REDACTED]"),
            ("ssh-keygen -N 'swordfish' -f k", "ssh-keygen -N '[REDACTED]' -f k"),
            ("unrar x -hpswordfish a.rar", "unrar x -hp[REDACTED] a.rar"),
            ("snmpget -A swordfish h", "snmpget -A [REDACTED] h"),
            ("curl -ubob:swordfish a", "curl -ubob:[REDACTED] a"),
            ("curl -sSu bob:swordfish a", "curl -sSu bob:[REDACTED] a"),
            ("curl -u \\\n  bob:swordfish a", "curl -u \\\n  bob:[REDACTED] a"),
            ("curl -b 'sid=swordfish' a", "curl -b 'sid=[REDACTED]' a"),
            ("http -a bob:swordfish GET a", "http -a bob:[REDACTED] GET a"),
            ("mysql -u root \\\n  -pswordfish db", "mysql -u root \\\n  -p[REDACTED] db"),
            ("cypher-shell -u a -p swordfish", "cypher-shell -u a -p [REDACTED]"),
            ("isql -U sa -Pswordfish", "isql -U sa -P[REDACTED]"),
            ("plink -ssh a@b -pw swordfish", "plink -ssh a@b -pw [REDACTED]"),
            ("swaks -au a -ap swordfish", "swaks -au a -ap [REDACTED]"),
            (
                "ConvertTo-SecureString -String \"swordfish\" -Force",
                "ConvertTo-SecureString -String \"[REDACTED]\" -Force",
            ),
            ("redis-server --requirepass h#nter2x", "redis-server --requirepass [REDACTED]"),
            (
                "skopeo copy --src-creds b:H4rb0ur7C0pper9 a",
                "skopeo copy --src-creds b:[REDACTED] a",
            ),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
    }

    #[test]
    fn other_flags_stay() {
        for text in [
            "mkdir -p a/b; ssh -p 2222 host; docker run -p 80:80 web; cp -pr a b",
            "mysql -p db; the mysql -p flag",
            "mysql -u a -p$PASS; sshpass -p \"$SSHPASS\" ssh a",
            "sshpass -p option is unsafe",
            "mysql -e 'x' && mkdir -pv a",
            "zip -r a.zip x; unzip -p a.zip",
            "echo hello | tee a; echo $PW | sudo -S ls",
            "| a | b | chpasswd |",
            "htpasswd -c f bob; htpasswd f bob; openssl passwd -6; openssl x509 -in a -noout -1",
            "ssh-keygen -t ed25519 -N '' -f k; ldapsearch -s base -x; unrar x -p- a.rar",
            "curl -b cookies.txt a; curl -u $USER:$PASS a; curl -u bob a; git checkout -b a=b",
            "curl -o a http://b; ps -u bob:x; ls -a; apt -ap; make \\\n  -pn",
            "cat <<EOF; cat <<< hello; echo hello | grep passwd x",
            r"/^https?:\/\/([^:]+):([^@]+)@/, https?://(\w+):(\w+)@",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }

    #[test]
    fn secrets_of_requests_go() {
        for (text, clean) in [
            ("Authorization: token a1b2c3d4e5", "Authorization: token [REDACTED]"),
            ("\"Authorization\": \"SSWS 00a1b2c3d4\"", "\"Authorization\": \"SSWS [REDACTED]\""),
            (
                "Cookie: theme=dark; session=9f86d081884c7d659a2f\nHost: a",
                "Cookie: [REDACTED]\nHost: a",
            ),
            ("https://9f86d081884c7d659a2feaa0c55ad015@host/1", "https://[REDACTED]@host/1"),
            ("d=xoxd-aB3dE5gH7jK9mN1pQ%2FsT5uV7; x", "d=xoxd-[REDACTED]; x"),
            (
                "https://a.webhook.office.com/webhookb2/a1b2@c3d4/IncomingWebhook/e5f6/g7",
                "https://a.webhook.office.com/webhookb2/[REDACTED]",
            ),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
        for text in [
            "Cookie: theme=dark; lang=en",
            "Set-Cookie: id=5; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT",
            "Authorization: none given",
            "https://somebody.with.a.long.name@example.com/",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }

    #[test]
    fn passwords_in_known_files_go() {
        let sum = ["W6ph5Mm5Pz8GgiULbPg", "zG37mj9g="].concat();
        let hash = ["$apr1$abcdefgh$", "0123456789ABCDEFGHIJKL"].concat();
        for (text, clean) in [
            ("machine a.b login me password swordfish", "machine a.b login me password [REDACTED]"),
            (
                "machine a.b\n  login me\n  password sword fish",
                "machine a.b\n  login me\n  password [REDACTED] fish",
            ),
            (
                r#""machine a.b\nlogin me\npassword swordfish\n""#,
                r#""machine a.b\nlogin me\npassword [REDACTED]\n""#,
            ),
            (
                "+machine a.b\n+  login me\n+  password swordfish\n",
                "+machine a.b\n+  login me\n+  password [REDACTED]\n",
            ),
            ("default login me password swordfish", "default login me password [REDACTED]"),
            (&format!("me:{hash}"), "me:[REDACTED]"),
            (&format!("me:{{SHA}}{sum}"), "me:{SHA}[REDACTED]"),
            ("db.local:5432:app:me:swordfish", "db.local:5432:app:me:[REDACTED]"),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
    }

    #[test]
    fn other_lines_of_files_stay() {
        for text in [
            "ports: 5432:5432, a:5432:b",
            "costs $1$ or $2a$ in all",
            "on this machine the login page wants a password twice",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }
}
