//! What vendors' keys look like: the prefixes they give them so that scanners find them.

use std::sync::LazyLock;

/// What may follow a prefix.
#[derive(Clone, Copy)]
pub(super) enum Rest {
    /// At least so many letters and digits; fewer are a name (`npm_config`).
    Plain(usize),
    /// At least so many letters, digits, `-` and `_`, with a long unbroken run that
    /// has a digit: names with dashes (`sk-learn-contrib`) have none.
    Dashed(usize),
    /// Exactly so many capitals and digits.
    Capitals(usize),
    /// Exactly so many hexadecimal digits in lower case.
    Hex(usize),
    /// Parts of at least these lengths, joined by dots.
    Dotted(&'static [usize]),
    /// At least so many bytes of a URL's path: the address itself is the key.
    Path(usize),
}

/// Prefixes and what follows, by vendor. What is public (Stripe's `pk_`, the ids of
/// accounts) is not in it.
const PREFIXES: &[(&[&str], Rest)] = &[
    // OpenAI, Anthropic (sk-ant-…) and those who copy their form.
    (&["sk-"], Rest::Dashed(16)),
    // Stripe: keys and the secret of a web hook.
    (
        &["sk_live_", "sk_test_", "rk_live_", "rk_test_"],
        Rest::Plain(16),
    ),
    (&["whsec_"], Rest::Plain(24)),
    // GitHub: personal, OAuth, user, server and refresh tokens.
    (&["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], Rest::Plain(20)),
    (&["github_pat_"], Rest::Dashed(20)),
    // GitLab: personal, deploy, runner, trigger, feed and job tokens.
    (
        &["glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glcbt-"],
        Rest::Dashed(16),
    ),
    // AWS access keys, lasting and temporary.
    (&["AKIA", "ASIA", "ABIA"], Rest::Capitals(16)),
    // Slack: tokens, and the address of a web hook.
    (
        &[
            "xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xapp-",
        ],
        Rest::Dashed(16),
    ),
    (
        &["hooks.slack.com/services/", "hooks.slack.com/workflows/"],
        Rest::Path(20),
    ),
    // Discord.
    (
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        Rest::Path(40),
    ),
    // Google: API key, client secret, access token.
    (&["AIza"], Rest::Dashed(30)),
    (&["GOCSPX-", "ya29."], Rest::Dashed(20)),
    // SendGrid, Twilio, Mailgun, Mailchimp's successor.
    (&["SG."], Rest::Dotted(&[16, 32])),
    (&["SK", "key-"], Rest::Hex(32)),
    (&["xkeysib-"], Rest::Hex(64)),
    // npm, PyPI, RubyGems, Docker Hub.
    (&["npm_"], Rest::Plain(30)),
    (&["pypi-AgEI"], Rest::Dashed(30)),
    (&["rubygems_"], Rest::Hex(48)),
    (&["dckr_pat_"], Rest::Dashed(20)),
    // Models: Hugging Face, Groq, Replicate, xAI, Perplexity, NVIDIA.
    (&["hf_", "gsk_", "r8_"], Rest::Plain(30)),
    (&["xai-", "pplx-"], Rest::Plain(40)),
    (&["nvapi-"], Rest::Dashed(40)),
    // Hosting and infrastructure: DigitalOcean, Databricks, Vault, Supabase, Sentry.
    (&["dop_v1_"], Rest::Hex(64)),
    (&["dapi"], Rest::Hex(32)),
    (&["hvs."], Rest::Dashed(24)),
    (&["sbp_"], Rest::Hex(40)),
    (&["sntrys_"], Rest::Dashed(40)),
    // Shops and work: Shopify, Linear, Atlassian, Postman, Figma, Notion.
    (&["shpat_", "shpss_"], Rest::Hex(32)),
    (&["lin_api_"], Rest::Plain(30)),
    (&["ATATT3x", "PMAK-"], Rest::Dashed(40)),
    (&["figd_"], Rest::Dashed(30)),
    (&["ntn_"], Rest::Plain(40)),
    // age.
    (&["AGE-SECRET-KEY-1"], Rest::Capitals(58)),
    // JSON web tokens: three parts of base64url, the first of which begins with `{"`.
    (&["eyJ"], Rest::Dotted(&[7, 10, 10])),
];

/// Every prefix with what follows it.
pub(super) fn all() -> impl Iterator<Item = (&'static str, Rest)> {
    let alike = PREFIXES.iter();
    alike.flat_map(|(prefixes, rest)| prefixes.iter().map(|prefix| (*prefix, *rest)))
}

/// Those that begin with a byte: asked at every word.
pub(super) fn with_first(byte: u8) -> &'static [(&'static str, Rest)] {
    static BY_FIRST: LazyLock<Vec<Vec<(&str, Rest)>>> = LazyLock::new(|| {
        let mut by_first = vec![Vec::new(); 256];
        for (prefix, rest) in all() {
            by_first[usize::from(prefix.as_bytes()[0])].push((prefix, rest));
        }
        by_first
    });
    &BY_FIRST[usize::from(byte)]
}
