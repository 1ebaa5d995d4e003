//! Whose server it is: a vendor's key is meant for that vendor's hosts alone.

/// A vendor whose users have a key of theirs at hand, for other programs, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// `openai.com` and what is under it.
    OpenAi,
    /// `anthropic.com` and what is under it.
    Anthropic,
}

const DOMAINS: [(&str, Vendor); 2] = [
    ("openai.com", Vendor::OpenAi),
    ("anthropic.com", Vendor::Anthropic),
];

impl Vendor {
    /// By the host alone: the path and the API are chosen by whoever writes the URL.
    pub(super) fn of(host: &str) -> Option<Self> {
        // A name may end in the dot of the root.
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let belongs = |domain: &str| {
            let before = host.strip_suffix(domain);
            before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
        };
        let mut domains = DOMAINS.into_iter();
        domains.find_map(|(domain, vendor)| belongs(domain).then_some(vendor))
    }
}

#[cfg(test)]
mod tests {
    use super::Vendor;

    #[test]
    fn a_host_is_its_vendors_only_below_the_domain() {
        for (host, vendor) in [
            ("api.openai.com", Some(Vendor::OpenAi)),
            ("EU.API.OpenAI.com", Some(Vendor::OpenAi)),
            ("api.anthropic.com.", Some(Vendor::Anthropic)),
            ("anthropic.com", Some(Vendor::Anthropic)),
            ("api.openai.com.example", None),
            ("notopenai.com", None),
            ("anthropic.example", None),
            ("127.0.0.1", None),
            ("", None),
        ] {
            assert_eq!(Vendor::of(host), vendor, "{host}");
        }
    }
}
