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

/// Prefix and what follows, by vendor. What is public (Stripe's `pk_`, the ids of
/// accounts) is not in it.
pub(super) const PREFIXES: &[(&str, Rest)] = &[
    // OpenAI, Anthropic (sk-ant-…) and those who copy their form.
    ("sk-", Rest::Dashed(16)),
    // Stripe: keys and the secret of a web hook.
    ("sk_live_", Rest::Plain(16)),
    ("sk_test_", Rest::Plain(16)),
    ("rk_live_", Rest::Plain(16)),
    ("rk_test_", Rest::Plain(16)),
    ("whsec_", Rest::Plain(24)),
    // GitHub: personal, OAuth, user, server and refresh tokens.
    ("ghp_", Rest::Plain(20)),
    ("gho_", Rest::Plain(20)),
    ("ghu_", Rest::Plain(20)),
    ("ghs_", Rest::Plain(20)),
    ("ghr_", Rest::Plain(20)),
    ("github_pat_", Rest::Dashed(20)),
    // GitLab: personal, deploy, runner, trigger, feed and job tokens.
    ("glpat-", Rest::Dashed(16)),
    ("gldt-", Rest::Dashed(16)),
    ("glrt-", Rest::Dashed(16)),
    ("glptt-", Rest::Dashed(16)),
    ("glft-", Rest::Dashed(16)),
    ("glcbt-", Rest::Dashed(16)),
    // AWS access keys, lasting and temporary.
    ("AKIA", Rest::Capitals(16)),
    ("ASIA", Rest::Capitals(16)),
    ("ABIA", Rest::Capitals(16)),
    // Slack: tokens, and the address of a web hook.
    ("xoxa-", Rest::Dashed(16)),
    ("xoxb-", Rest::Dashed(16)),
    ("xoxe-", Rest::Dashed(16)),
    ("xoxp-", Rest::Dashed(16)),
    ("xoxr-", Rest::Dashed(16)),
    ("xoxs-", Rest::Dashed(16)),
    ("xapp-", Rest::Dashed(16)),
    ("hooks.slack.com/services/", Rest::Path(20)),
    ("hooks.slack.com/workflows/", Rest::Path(20)),
    // Discord.
    ("discord.com/api/webhooks/", Rest::Path(40)),
    ("discordapp.com/api/webhooks/", Rest::Path(40)),
    // Google: API key, client secret, access token.
    ("AIza", Rest::Dashed(30)),
    ("GOCSPX-", Rest::Dashed(20)),
    ("ya29.", Rest::Dashed(20)),
    // SendGrid, Twilio, Mailgun, Mailchimp's successor.
    ("SG.", Rest::Dotted(&[16, 32])),
    ("SK", Rest::Hex(32)),
    ("key-", Rest::Hex(32)),
    ("xkeysib-", Rest::Hex(64)),
    // npm, PyPI, RubyGems, Docker Hub.
    ("npm_", Rest::Plain(30)),
    ("pypi-AgEI", Rest::Dashed(30)),
    ("rubygems_", Rest::Hex(48)),
    ("dckr_pat_", Rest::Dashed(20)),
    // Models: Hugging Face, Groq, Replicate, xAI, Perplexity, NVIDIA.
    ("hf_", Rest::Plain(30)),
    ("gsk_", Rest::Plain(30)),
    ("r8_", Rest::Plain(30)),
    ("xai-", Rest::Plain(40)),
    ("pplx-", Rest::Plain(40)),
    ("nvapi-", Rest::Dashed(40)),
    // Hosting and infrastructure: DigitalOcean, Databricks, Vault, Supabase, Sentry.
    ("dop_v1_", Rest::Hex(64)),
    ("dapi", Rest::Hex(32)),
    ("hvs.", Rest::Dashed(24)),
    ("sbp_", Rest::Hex(40)),
    ("sntrys_", Rest::Dashed(40)),
    // Shops and work: Shopify, Linear, Atlassian, Postman, Figma, Notion.
    ("shpat_", Rest::Hex(32)),
    ("shpss_", Rest::Hex(32)),
    ("lin_api_", Rest::Plain(30)),
    ("ATATT3x", Rest::Dashed(40)),
    ("PMAK-", Rest::Dashed(40)),
    ("figd_", Rest::Dashed(30)),
    ("ntn_", Rest::Plain(40)),
    // age.
    ("AGE-SECRET-KEY-1", Rest::Capitals(58)),
];

/// Where in [`PREFIXES`] are those that begin with a byte: asked at every word.
pub(super) fn with_first(byte: u8) -> &'static [u8] {
    static BY_FIRST: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
        let mut by_first = vec![Vec::new(); 256];
        for (index, (prefix, _)) in (0..).zip(PREFIXES) {
            by_first[usize::from(prefix.as_bytes()[0])].push(index);
        }
        by_first
    });
    &BY_FIRST[usize::from(byte)]
}
