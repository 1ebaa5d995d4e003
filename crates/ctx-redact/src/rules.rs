//! The rules of `rules.txt`: prefixes of keys, names of secrets, flags of programs, words.
//!
//! They are parsed at the first text in which something looks like a secret.

use std::sync::LazyLock;

pub(super) static RULES: LazyLock<Rules> =
    LazyLock::new(|| Rules::parse(include_str!("rules.txt")));

/// All rules.
pub(super) struct Rules {
    /// Keys by their first byte, which is looked up at every word.
    keys: Vec<Vec<Key>>,
    /// Names by their end, those of one kind together.
    pub(super) names: Vec<Name>,
    /// Short names, which must be a word of their own.
    pub(super) short_names: Vec<Name>,
    pub(super) flags: Vec<Flag>,
    words: Vec<(&'static str, Vec<&'static str>)>,
}

/// A prefix and what follows it.
pub(super) struct Key {
    pub(super) prefix: &'static str,
    pub(super) rest: Rest,
}

/// What follows the prefix of a key.
pub(super) enum Rest {
    Run { class: Class, length: usize, is_exact: bool },
    Dotted(Vec<usize>),
    Uuid,
    PrivateKey,
}

/// The bytes of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Letters,
    Dashed,
    Capitals,
    Groups,
    Hex,
    Base64,
    Path,
}

/// The end of a name, and its kind.
pub(super) struct Name {
    pub(super) end: &'static str,
    pub(super) kind: SecretKind,
}

/// What a name says about its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SecretKind {
    /// Chosen by people, so it may be a word.
    Password,
    /// Made by machines: digits and letters.
    Secret,
    /// A secret if it is random.
    Key,
    /// A user and a password in base64.
    Login,
    /// Words that are the key of a wallet.
    Mnemonic,
}

/// A flag whose value is a password.
pub(super) struct Flag {
    pub(super) text: &'static str,
    pub(super) programs: Vec<&'static str>,
    /// A word that the command must also have, or nothing.
    pub(super) with: &'static str,
    pub(super) value: FlagValue,
}

/// How the value follows a flag.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FlagValue {
    /// `-pVALUE`
    Joined,
    /// `-p VALUE`
    Apart,
    /// Either.
    Both,
    /// `-U user%VALUE`
    After(u8),
}

/// Keys whose prefix begins with a byte.
pub(super) fn keys_with(first: u8) -> &'static [Key] {
    &RULES.keys[usize::from(first)]
}

/// A list of words.
pub(super) fn words(list: &str) -> &'static [&'static str] {
    let words = RULES.words.iter().find(|(name, _)| *name == list);
    words.map(|(_, words)| words.as_slice()).expect("a list of rules.txt")
}

/// Whether a list has a word.
pub(super) fn is_in(list: &str, word: &[u8]) -> bool {
    words(list).iter().any(|other| other.as_bytes() == word)
}

impl Rules {
    fn parse(text: &'static str) -> Self {
        let mut rules = Self {
            keys: (0..256).map(|_| Vec::new()).collect(),
            names: Vec::new(),
            short_names: Vec::new(),
            flags: Vec::new(),
            words: Vec::new(),
        };
        let mut section = "";
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if line.starts_with('[') {
                section = line;
            } else {
                rules.add(section, line).unwrap_or_else(|| panic!("rules.txt: {line}"));
            }
        }
        rules
    }

    /// Adds the rule of a line; `None` if it is wrong.
    fn add(&mut self, section: &str, line: &'static str) -> Option<()> {
        if section == "[flags]" {
            self.flags.push(flag(line)?);
            return Some(());
        }
        let (name, rule) = line.split_once(" = ")?;
        match section {
            "[keys]" => {
                for prefix in name.split(' ') {
                    let first = usize::from(*prefix.as_bytes().first()?);
                    self.keys[first].push(Key { prefix, rest: rest(rule)? });
                }
            }
            "[names]" => add_names(&mut self.names, name, rule)?,
            "[short names]" => add_names(&mut self.short_names, name, rule)?,
            "[words]" => match self.words.last_mut() {
                Some((last, words)) if *last == name => words.extend(rule.split(' ')),
                _ => self.words.push((name, rule.split(' ').collect())),
            },
            _ => return None,
        }
        Some(())
    }
}

fn rest(rule: &str) -> Option<Rest> {
    let (class, lengths) = rule.split_once(' ').unwrap_or((rule, ""));
    let class = match class {
        "uuid" => return Some(Rest::Uuid),
        "private-key" => return Some(Rest::PrivateKey),
        "dotted" => {
            let lengths = lengths.split(' ').map(|length| length.parse().ok());
            return Some(Rest::Dotted(lengths.collect::<Option<_>>()?));
        }
        "letters" => Class::Letters,
        "dashed" => Class::Dashed,
        "capitals" => Class::Capitals,
        "groups" => Class::Groups,
        "hex" => Class::Hex,
        "base64" => Class::Base64,
        "path" => Class::Path,
        _ => return None,
    };
    let least = lengths.strip_suffix('+');
    let length = least.unwrap_or(lengths).parse().ok()?;
    Some(Rest::Run { class, length, is_exact: least.is_none() })
}

fn add_names(names: &mut Vec<Name>, kind: &str, ends: &'static str) -> Option<()> {
    let kind = match kind {
        "password" => SecretKind::Password,
        "secret" => SecretKind::Secret,
        "key" => SecretKind::Key,
        "login" => SecretKind::Login,
        "mnemonic" => SecretKind::Mnemonic,
        _ => return None,
    };
    names.extend(ends.split(' ').map(|end| Name { end, kind }));
    Some(())
}

fn flag(line: &'static str) -> Option<Flag> {
    let mut columns = line.split(" | ");
    let value = match columns.next()? {
        "joined" => FlagValue::Joined,
        "apart" => FlagValue::Apart,
        "both" => FlagValue::Both,
        other => FlagValue::After(*other.strip_prefix("after ")?.as_bytes().first()?),
    };
    let programs = columns.next()?.split(' ').collect();
    Some(Flag { value, programs, text: columns.next()?, with: columns.next().unwrap_or_default() })
}
