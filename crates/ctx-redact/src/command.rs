//! Secrets on command lines: `mysql -p…`, `curl -u user:…`, `--password …`.

use std::ops::Range;

use super::lines::line_end;
use super::name::{Kind, NAME_MAX, name_before};
use super::value::{
    VALUE_MAX, has_sign, is_no_value, is_phrase, is_value, looks_random, value_after,
};
use super::{is_word, random, run, run_back};

/// Where the value of a flag stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stands {
    /// `-pVALUE`
    Joined,
    /// `-p VALUE`
    Apart,
    /// Either.
    Both,
    /// `-U user%VALUE`
    Behind(u8),
}

/// A flag of a program whose value is a password.
struct Flag {
    /// What the name of the program begins with.
    program: &'static str,
    /// A word that must be there, too, where the flag means something else without it.
    with: &'static str,
    text: &'static str,
    stands: Stands,
}

const fn flag(
    program: &'static str,
    with: &'static str,
    text: &'static str,
    stands: Stands,
) -> Flag {
    Flag {
        program,
        with,
        text,
        stands,
    }
}

const FLAGS: &[Flag] = &[
    flag("mysql", "", "-p", Stands::Joined),
    flag("mariadb", "", "-p", Stands::Joined),
    flag("mycli", "", "-p", Stands::Joined),
    flag("sshpass", "", "-p", Stands::Both),
    flag("redis-cli", "", "-a", Stands::Both),
    flag("mongo", "", "-p", Stands::Both),
    flag("cqlsh", "", "-p", Stands::Both),
    flag("docker", "login", "-p", Stands::Apart),
    flag("podman", "login", "-p", Stands::Apart),
    flag("helm", "login", "-p", Stands::Apart),
    flag("oc", "login", "-p", Stands::Apart),
    flag("cf", "login", "-p", Stands::Apart),
    flag("az", "login", "-p", Stands::Apart),
    flag("twine", "upload", "-p", Stands::Apart),
    flag("ldap", "", "-w", Stands::Both),
    flag("sqlcmd", "", "-P", Stands::Both),
    flag("bcp", "", "-P", Stands::Both),
    flag("mosquitto_", "", "-P", Stands::Apart),
    flag("ipmitool", "", "-P", Stands::Apart),
    flag("zip", "", "-P", Stands::Apart),
    flag("unzip", "", "-P", Stands::Apart),
    flag("7z", "", "-p", Stands::Joined),
    flag("keytool", "", "-storepass", Stands::Apart),
    flag("keytool", "", "-keypass", Stands::Apart),
    flag("jarsigner", "", "-storepass", Stands::Apart),
    flag("openssl", "", "-passin pass:", Stands::Joined),
    flag("openssl", "", "-passout pass:", Stands::Joined),
    flag("openssl", "", "-pass pass:", Stands::Joined),
    flag("openssl", "enc", "-k", Stands::Apart),
    flag("smbclient", "", "-U", Stands::Behind(b'%')),
    flag("rpcclient", "", "-U", Stands::Behind(b'%')),
    flag("lftp", "", "-u", Stands::Behind(b',')),
];

/// How far the name of a program may be from its flag, in bytes.
const COMMAND_MAX: usize = 240;

/// What stands behind a flag in talk about it.
const TALK: &str =
    "and argument asks flag for is means option or parameter switch the to which with";

/// The password behind a short flag of a program that takes one there; `at` is the dash.
pub(super) fn short(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let begins = at > from && b" \t\"'".contains(&bytes[at - 1]);
    if !begins || !bytes.get(at + 1).is_some_and(|b| b"pPawskuU".contains(b)) {
        return None;
    }
    let rest = &bytes[at..];
    let mut flags = FLAGS
        .iter()
        .filter(|flag| rest.starts_with(flag.text.as_bytes()));
    let first = flags.next()?;
    let command = command_before(&bytes[from..at]);
    let is_meant = |flag: &&Flag| {
        has_word(command, |word| word.starts_with(flag.program.as_bytes()))
            && (flag.with.is_empty() || has_word(command, |word| word == flag.with.as_bytes()))
    };
    let flag = [first].into_iter().chain(flags).find(is_meant)?;
    value_of(text, at + flag.text.len(), flag.stands)
}

/// The command that the flag belongs to, up to it.
fn command_before(before: &[u8]) -> &[u8] {
    let part = &before[before.len().saturating_sub(COMMAND_MAX)..];
    let start = part
        .iter()
        .rposition(|b| b"\n|;&(`".contains(b))
        .map_or(0, |at| at + 1);
    let command = &part[start..];
    let escaped = command
        .windows(2)
        .rposition(|pair| line_end(pair).is_some());
    &command[escaped.map_or(0, |at| at + 2)..]
}

fn has_word(command: &[u8], wanted: impl Fn(&[u8]) -> bool) -> bool {
    command.split(|b| !(is_word(*b) || *b == b'-')).any(wanted)
}

fn value_of(text: &str, at: usize, stands: Stands) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let is_apart = matches!(bytes.get(at)?, b' ' | b'\t');
    let fits = match stands {
        Stands::Joined => !is_apart,
        Stands::Apart | Stands::Behind(_) => is_apart,
        Stands::Both => true,
    };
    // In a list of arguments: `"-p", "…"`.
    let is_listed = stands != Stands::Joined && bytes[at..].starts_with(b"\", \"");
    if !fits && !is_listed {
        return None;
    }
    let (mut value, _) = value_after(text, if is_listed { at + 2 } else { at })?;
    if let Stands::Behind(sign) = stands {
        value.start += bytes[value.clone()].iter().position(|b| *b == sign)? + 1;
    }
    let value_bytes = &bytes[value.clone()];
    let is_talk = TALK.split(' ').any(|word| value_bytes == word.as_bytes());
    let is_flag = value_bytes.first() == Some(&b'-');
    (value_bytes.len() >= 3 && !is_talk && !is_flag && !is_no_value(value_bytes)).then_some(value)
}

/// The value after a long flag, `--password hunter2`; `at` is the blank.
pub(super) fn flagged(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let before = &text.as_bytes()[from..at];
    let length = run_back(before, NAME_MAX, |b| is_word(b) || b == b'-');
    if length < 5 || !before[before.len() - length..].starts_with(b"--") {
        return None;
    }
    let (_, kind) = name_before(text, from, at)?;
    let (value, quoted) = value_after(text, at + 1)?;
    let bytes = &text.as_bytes()[value.clone()];
    let secret = match kind {
        Kind::Password => {
            let is_told = looks_random(bytes) || is_phrase(bytes) || has_sign(bytes);
            quoted && bytes.len() >= 4 || bytes.len() >= 6 && is_told
        }
        Kind::Secret => bytes.len() >= 8 && !bytes.contains(&b' ') && looks_random(bytes),
        Kind::Key => random::announced(bytes),
        Kind::Login | Kind::Words => false,
    };
    secret.then_some(value)
}

/// The password of `curl -u user:password`; `at` is the colon.
pub(super) fn login(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let before = &text.as_bytes()[from..at];
    let user = run_back(before, NAME_MAX, |b| is_word(b) || b"-.@".contains(&b));
    let flag = before[..before.len() - user].trim_ascii_end();
    let quoted = flag.strip_suffix(b"\"").or(flag.strip_suffix(b"'"));
    let flag = quoted.unwrap_or(flag).trim_ascii_end();
    let flag = flag.strip_suffix(b"\\").unwrap_or(flag).trim_ascii_end();
    let tail = &flag[flag.len().saturating_sub(7)..];
    if user == 0 || !(tail.ends_with(b" -u") || tail.ends_with(b" --user")) {
        return None;
    }
    let rest = &text.as_bytes()[at + 1..];
    let length = run(&rest[..rest.len().min(VALUE_MAX)], is_value);
    let is_number = rest[..length].iter().all(u8::is_ascii_digit);
    // `docker run -u 1000:1000`, `chown`-like pairs.
    (length >= 4 && !is_number && !b"$<{%*[(".contains(&rest[0])).then(|| at + 1..at + 1 + length)
}

/// What `echo` gives to a program that reads a password; `at` is the bar.
pub(super) fn piped(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let after = &bytes[at + 1..bytes.len().min(at + 1 + COMMAND_MAX)];
    let after = &after[..run(after, |b| !b"\n|;&".contains(&b))];
    let reads = [
        &b"sudo -S"[..],
        b"chpasswd",
        b"--password-stdin",
        b"passwd --stdin",
    ];
    if !reads
        .iter()
        .any(|word| after.windows(word.len()).any(|part| part == *word))
    {
        return None;
    }
    let command = command_before(&bytes[from..at]);
    let start = at - command.len();
    let echo = command.windows(5).rposition(|part| part == b"echo ")?;
    let mut start = start + echo + 5;
    while bytes[start..at].starts_with(b"-") {
        start += run(&bytes[start..at], |b| b != b' ');
        start += run(&bytes[start..at], |b| b == b' ');
    }
    let (value, _) = value_after(text, start)?;
    // `user:password`.
    let colon = bytes[value.clone()].iter().position(|b| *b == b':');
    let start = value.start + colon.map_or(0, |colon| colon + 1);
    (value.end <= at && value.end >= start + 3).then_some(start..value.end)
}

#[cfg(test)]
mod tests {
    use crate::redact;

    /// D13: a flag of one letter says nothing without its program.
    #[test]
    fn passwords_on_command_lines_go() {
        for (text, clean) in [
            (
                "mysql -uroot -pswordfish db",
                "mysql -uroot -p[REDACTED] db",
            ),
            (
                "mysqldump -h db -p'let me in' x",
                "mysqldump -h db -p'[REDACTED]' x",
            ),
            (
                "docker exec db mysql -proot1",
                "docker exec db mysql -p[REDACTED]",
            ),
            (
                r#"{"command":"cd /x\nmysql -pswordfish\nls"}"#,
                r#"{"command":"cd /x\nmysql -p[REDACTED]\nls"}"#,
            ),
            (
                "sshpass -p swordfish ssh a@b",
                "sshpass -p [REDACTED] ssh a@b",
            ),
            (
                "sshpass -pswordfish ssh a@b",
                "sshpass -p[REDACTED] ssh a@b",
            ),
            (
                r#"["sshpass", "-p", "swordfish"]"#,
                r#"["sshpass", "-p", "[REDACTED]"]"#,
            ),
            (
                "redis-cli -h a -a swordfish ping",
                "redis-cli -h a -a [REDACTED] ping",
            ),
            (
                "docker login -u me -p swordfish",
                "docker login -u me -p [REDACTED]",
            ),
            (
                "openssl rsa -in k -passin pass:swordfish",
                "openssl rsa -in k -passin pass:[REDACTED]",
            ),
            (
                "smbclient //a/b -U me%swordfish",
                "smbclient //a/b -U me%[REDACTED]",
            ),
            (
                "echo swordfish | sudo -S ls",
                "echo [REDACTED] | sudo -S ls",
            ),
            (
                "echo 'root:swordfish' | chpasswd",
                "echo 'root:[REDACTED]' | chpasswd",
            ),
            (
                "login --password correct-horse-battery",
                "login --password [REDACTED]",
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
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }
}
