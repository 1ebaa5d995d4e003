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
    /// At least so many characters of base64, also with `-` and `_`.
    Base64(usize),
    /// A UUID.
    Uuid,
    /// At least so many capitals, digits and dashes.
    Groups(usize),
    /// The rest of a private key in base64.
    PrivateKey,
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
    // GitLab: personal, deploy, runner, trigger, feed, job and other tokens.
    (
        &[
            "glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glcbt-", "gloas-", "glsoat-",
            "glagent-", "glimt-", "glffct-",
        ],
        Rest::Dashed(16),
    ),
    // AWS access keys, lasting and temporary.
    (&["AKIA", "ASIA", "ABIA"], Rest::Capitals(16)),
    // Slack: tokens, and the address of a web hook.
    (
        &[
            "xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xapp-",
        ],
        Rest::Dashed(16),
    ),
    (
        &[
            "hooks.slack.com/services/",
            "hooks.slack.com/workflows/",
            "hooks.zapier.com/hooks/catch/",
            "webhook.office.com/webhookb2/",
        ],
        Rest::Path(15),
    ),
    // Discord.
    (
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        Rest::Path(40),
    ),
    (&["mfa."], Rest::Dashed(60)),
    // Google: refresh token of a user, key of its cloud messages.
    (&["1//0"], Rest::Dashed(40)),
    (&["APA91b"], Rest::Dashed(100)),
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
    // Clouds: Alibaba, Tencent, Volcengine, Yandex.
    (&["LTAI"], Rest::Plain(16)),
    (&["AKID"], Rest::Plain(32)),
    (&["AKLT"], Rest::Plain(40)),
    (&["AQVN"], Rest::Dashed(35)),
    // Models, and what serves them.
    (&["sk_"], Rest::Hex(48)),
    (&["csk-"], Rest::Dashed(40)),
    (&["tvly-"], Rest::Dashed(28)),
    (&["fc-"], Rest::Hex(32)),
    (&["lsv2_pt_", "lsv2_sk_"], Rest::Dashed(40)),
    (&["pcsk_"], Rest::Dashed(50)),
    (&["e2b_"], Rest::Hex(40)),
    (&["jina_"], Rest::Plain(50)),
    (&["pa-"], Rest::Dashed(40)),
    (&["tgp_v1_"], Rest::Dashed(40)),
    (&["key_"], Rest::Hex(64)),
    // Hosting: Heroku, Netlify, Render, Fly.io, Neon, PlanetScale, Supabase, Pulumi,
    // Doppler, Tailscale, Cloudflare's origin.
    (&["HRKU-"], Rest::Uuid),
    (&["nfp_", "rnd_"], Rest::Plain(28)),
    (&["fm1_", "fm2_", "fo1_"], Rest::Base64(40)),
    (&["napi_"], Rest::Plain(40)),
    (
        &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"],
        Rest::Dashed(32),
    ),
    (&["sb_secret_"], Rest::Dashed(20)),
    (&["pul-"], Rest::Hex(40)),
    (
        &["dp.pt.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."],
        Rest::Plain(40),
    ),
    (&["dp.st."], Rest::Dotted(&[2, 40])),
    (&["tskey-"], Rest::Dashed(20)),
    (&["v1.0-"], Rest::Dashed(150)),
    (&["hvb.", "hvr."], Rest::Dashed(24)),
    // Building and watching: CircleCI, Buildkite, Prefect, SonarQube, Artifactory,
    // NuGet, Grafana, New Relic, Dynatrace, Sentry, ReadMe, Infracost.
    (&["CCIPAT_", "CCIPRJ_"], Rest::Dashed(40)),
    (&["bkua_"], Rest::Hex(40)),
    (&["pnu_"], Rest::Plain(36)),
    (&["squ_", "sqp_", "sqa_"], Rest::Hex(40)),
    (&["AKCp"], Rest::Plain(60)),
    (&["cmVmd"], Rest::Plain(59)),
    (&["oy2"], Rest::Plain(43)),
    (&["glsa_"], Rest::Dashed(40)),
    (&["glc_"], Rest::Base64(40)),
    (&["NRAK-"], Rest::Plain(27)),
    (&["dt0c01."], Rest::Dotted(&[24, 64])),
    (&["sntryu_"], Rest::Hex(64)),
    (&["rdme_"], Rest::Plain(70)),
    (&["ico-"], Rest::Plain(32)),
    // Payment and trade: Square, Plaid, Flutterwave, Shippo, EasyPost, Duffel, Shopify.
    (&["sq0atp-", "sq0csp-"], Rest::Dashed(22)),
    (
        &[
            "access-sandbox-",
            "access-development-",
            "access-production-",
        ],
        Rest::Uuid,
    ),
    (&["FLWSECK-", "FLWSECK_TEST-"], Rest::Dashed(32)),
    (&["shippo_live_", "shippo_test_"], Rest::Hex(40)),
    (&["EZAK", "EZTK"], Rest::Plain(54)),
    (&["duffel_live_", "duffel_test_"], Rest::Dashed(40)),
    (&["shpca_", "shppa_"], Rest::Hex(32)),
    // Work and the rest: Bitbucket, HubSpot, Typeform, Contentful, Airtable, Dropbox,
    // Facebook, Mapbox, LaunchDarkly, Adafruit, Notion as it was, 1Password.
    (&["ATBB"], Rest::Plain(28)),
    (&["ATCTT3x"], Rest::Dashed(40)),
    (&["pat-na1-", "pat-eu1-"], Rest::Uuid),
    (&["tfp_"], Rest::Dashed(40)),
    (&["CFPAT-"], Rest::Dashed(40)),
    (&["pat"], Rest::Dotted(&[14, 64])),
    (&["sl."], Rest::Dashed(100)),
    (&["EAA"], Rest::Plain(80)),
    (&["sk.eyJ"], Rest::Dotted(&[20, 20])),
    (&["sdk-", "api-"], Rest::Uuid),
    (&["aio_"], Rest::Plain(28)),
    (&["secret_"], Rest::Plain(43)),
    (&["ops_eyJ"], Rest::Base64(200)),
    (&["A3-"], Rest::Groups(33)),
    // A private key in base64: `-----BEGIN`.
    (&["LS0tLS1CRUdJTi"], Rest::PrivateKey),
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
