//! Generates secrets of all kinds, and places them in a session. Each secret is assembled when a
//! test runs, so that no source file contains a complete secret that a scanner would report.

/// A secret of one kind.
pub struct Planted {
    /// The kind of the secret.
    pub kind: &'static str,
    /// The secret in its usual context, such as an assignment, a header or a line of a file.
    pub text: String,
    /// The part that must be redacted, on one line.
    pub secret: String,
}

/// A mixture of upper-case letters, lower-case letters and digits, as in the keys of vendors.
const RANDOM: &str = "aB3dE5gH7jK9mN1pQ3sT5uV7wX9yZ1bC3dE5fG7hI9";
const HEX: &str = "9f86d081884c7d659a2feaa0c55ad015";

fn random(length: usize) -> String {
    RANDOM.chars().cycle().take(length).collect()
}

fn hex(length: usize) -> String {
    HEX.chars().cycle().take(length).collect()
}

/// Returns a typical password, without digits and upper-case letters.
fn word() -> String {
    ["correct-", "horse-", "battery"].concat()
}

fn value() -> String {
    ["q9X4fKpTz81m", "WvB7nRc2LdYs6HgJ3e"].concat()
}

fn planted_in(kind: &'static str, before: &str, secret: &str, after: &str) -> Planted {
    Planted { kind, text: [before, secret, after].concat(), secret: secret.to_owned() }
}

/// Returns a key that begins with the prefix of its vendor.
fn key(kind: &'static str, prefix: &str, rest: &str) -> Planted {
    planted_in(kind, "", &[prefix, rest].concat(), "")
}

/// Returns one secret of each kind.
pub fn secrets() -> Vec<Planted> {
    [clouds(), vendors(), tools(), files(), forms(), prose()].into_iter().flatten().collect()
}

fn clouds() -> Vec<Planted> {
    let account = [value(), value()].concat();
    let bytes = [value(), "%2Bb".to_owned()].concat();
    vec![
        key("AWS access key", "AKIA", "QWERTY7UIOP3ASDF"),
        planted_in("AWS secret key", "aws_secret_access_key = ", &value(), "\n"),
        planted_in("AWS session token", "AWS_SESSION_TOKEN=", &random(120), "\n"),
        key("Google API key", "AIza", &random(35)),
        key("Google client secret", "GOCSPX-", &random(28)),
        key("Google access token", "ya29.", &random(40)),
        key("Google refresh token", "1//0", &random(60)),
        planted_in("Azure storage key", "AccountName=a;AccountKey=", &account, "==;"),
        planted_in(
            "Azure signature",
            "https://a.blob.core.windows.net/c?sv=2022&sig=",
            &bytes,
            "%3D",
        ),
        key("Azure client secret", "abc8Q", &["~", &random(34)].concat()),
        key("Alibaba access key", "LTAI5t", &random(18)),
        key("DigitalOcean token", "dop_v1_", &hex(64)),
        key("Databricks token", "dapi", &hex(32)),
    ]
}

fn vendors() -> Vec<Planted> {
    let pair = |first, second| format!("{}.{}", random(first), random(second));
    vec![
        key("GitHub token", "ghp_", &random(36)),
        key("GitHub fine-grained token", "github_pat_11ABCDEFG0", &random(40)),
        key("GitLab token", "glpat-", &random(20)),
        key("Slack token", "xoxb-1234567890-1234567890-", &random(24)),
        planted_in(
            "Slack web hook",
            "https://hooks.slack.com/services/T01234567/B01234567/",
            &value(),
            "",
        ),
        key("Discord token", "MTk4NjIyNDgzNDcxOTI1MjQ4", &format!(".Cl2FMQ.{}", random(27))),
        // The encoded number in this token happens to contain no digit.
        key(
            "Discord token without digits",
            "MTEyMjMzMTEyMjMzMTEyMjMz",
            &format!(".X-hvzA.{}", random(38)),
        ),
        planted_in(
            "Discord web hook",
            "https://discord.com/api/webhooks/123456789012345678/",
            &random(68),
            "",
        ),
        key("Telegram token", "123456789:AA", &random(33)),
        key("Stripe key", "sk_live_", &random(24)),
        key("Stripe web hook secret", "whsec_", &random(32)),
        key("Square token", "sq0atp-", &random(22)),
        key("Shopify token", "shpat_", &hex(32)),
        key("Twilio key", "SK", &hex(32)),
        key("SendGrid key", "SG.", &pair(22, 43)),
        key("Mailgun key", "key-", &hex(32)),
        key("Mailchimp key", &hex(32), "-us12"),
        key("OpenAI key", "sk-proj-", &random(40)),
        key("Anthropic key", "sk-ant-api03-", &random(40)),
        key("Hugging Face token", "hf_", &random(34)),
        key("Groq key", "gsk_", &random(40)),
        key("Sentry token", "sntryu_", &hex(64)),
        key("Grafana token", "glsa_", &format!("{}_{}", random(32), hex(8))),
        key("New Relic key", "NRAK-", &random(27)),
        key("Heroku token", "HRKU-", "550e8400-e29b-41d4-a716-446655440000"),
        key("Linear key", "lin_api_", &random(40)),
        key("Notion token", "ntn_", &random(46)),
        key("Figma token", "figd_", &random(40)),
        key("Atlassian token", "ATATT3xFfGF0", &random(60)),
        key("Postman key", "PMAK-", &random(59)),
        key("Doppler token", "dp.pt.", &random(43)),
        key("Tailscale key", "tskey-auth-", &format!("{}-{}", random(17), random(32))),
        key("1Password secret key", "A3-", "ASWWYB-798JRY-LJVD4-23DC2-86TVM-H43EB"),
    ]
}

fn tools() -> Vec<Planted> {
    vec![
        key("npm token", "npm_", &random(36)),
        key("PyPI token", "pypi-AgEIcHlwaS5vcmc", &random(40)),
        key("RubyGems key", "rubygems_", &hex(48)),
        key("Docker Hub token", "dckr_pat_", &random(27)),
        key("Vault token", "hvs.", &random(28)),
        key("Terraform token", &random(14), &format!(".atlasv1.{}", random(67))),
        key("Pulumi token", "pul-", &hex(40)),
        key("age key", "AGE-SECRET-KEY-1", &"QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".repeat(2)[..58]),
        planted_in("mysql -p", "mysql -h db -uroot -p", &word(), " app"),
        planted_in("sshpass -p", "sshpass -p ", &word(), " ssh root@host"),
        planted_in("redis-cli -a", "redis-cli -h cache -a ", &word(), " ping"),
        planted_in("docker login -p", "docker login -u me -p ", &word(), " registry.example"),
        planted_in("curl -u", "curl -u admin:", &word(), " http://host/"),
        planted_in("long flag", "vault login --password ", &word(), " now"),
        planted_in("sudo -S", "echo ", &word(), " | sudo -S id"),
        planted_in("openssl -passin", "openssl rsa -in a -passin pass:", &word(), " -out b"),
    ]
}

fn files() -> Vec<Planted> {
    let pem = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let encoded =
        ["LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBL", "RVktLS0tLQpNSUlFcEFJQkFBS0NBUUVB", &random(400)];
    let framed = |kind, label: &str| {
        let begin = format!("-----BEGIN {label}-----\n");
        planted_in(kind, &begin, pem, &format!("\n-----END {label}-----\n"))
    };
    let login = ["bWU6c3dvcmRm", "aXNoLWJsdWU="].concat();
    vec![
        framed("PEM key", "PRIVATE KEY"),
        framed("RSA key", "RSA PRIVATE KEY"),
        framed("OpenSSH key", "OPENSSH PRIVATE KEY"),
        framed("PGP key", "PGP PRIVATE KEY BLOCK"),
        planted_in(
            "service account",
            "{\"type\":\"service_account\",\"private_key\":\"-----BEGIN PRIVATE KEY-----\\n",
            pem,
            "\\n-----END PRIVATE KEY-----\\n\"}",
        ),
        planted_in("kubeconfig", "    client-key-data: ", &encoded.concat(), "\n"),
        planted_in("netrc", "machine api.example\n  login me\n  password ", &word(), "\n"),
        planted_in("npmrc token", "//registry.example/:_authToken=", &hex(36), "\n"),
        planted_in("npmrc login", "//registry.example/:_auth=", &login, "\n"),
        planted_in(
            "Docker login",
            "{\"auths\":{\"registry.example\":{\"auth\":\"",
            &login,
            "\"}}}",
        ),
        planted_in(
            "htpasswd",
            "me:",
            &["$apr1$", "abcdefgh$", "0123456789ABCDEFGHIJKL"].concat(),
            "\n",
        ),
        planted_in(
            "shadow",
            "root:",
            &["$6$", "saltsalt$", &random(86)].concat(),
            ":19000:0:99999:7:::\n",
        ),
        planted_in("pgpass", "db.local:5432:app:me:", &word(), "\n"),
        planted_in("my.cnf", "[client]\nuser=me\npassword=", &word(), "\n"),
    ]
}

fn forms() -> Vec<Planted> {
    let token = ["eyJhbGciOiJIUzI1NiJ9.", "eyJzdWIiOiIxMjM0NTYifQ", ".SflKxwRJSMeKKF2QT4fw"];
    vec![
        key("JSON web token", "", &token.concat()),
        planted_in("password in a URL", "https://me:", &word(), "@host.example/x"),
        planted_in("connection string", "postgres://app:", &value(), "@db.local:5432/x"),
        planted_in("MongoDB", "mongodb+srv://app:", &word(), "@cluster.example/x"),
        planted_in("ADO.NET", "Server=db;User Id=sa;Password=", &word(), ";Encrypt=true"),
        planted_in("JDBC", "jdbc:postgresql://db/x?user=a&password=", &word(), "&ssl=true"),
        planted_in("query of a URL", "https://host.example/x?access_token=", &value(), "&y=1"),
        planted_in("basic header", "Authorization: Basic ", "bWU6c3dvcmRmaXNo", "\n"),
        planted_in("bearer header", "Authorization: Bearer ", &value(), "\n"),
        planted_in("header of another scheme", "Authorization: token ", &hex(40), "\n"),
        planted_in("header of a key", "X-Api-Key: ", &value(), "\n"),
        planted_in("cookie", "Cookie: lang=en; session=", &hex(32), "\n"),
        planted_in("environment", "export DB_PASSWORD=", &word(), "\n"),
        planted_in("shell", "$env:API_SECRET = \"", &value(), "\"\n"),
        planted_in("JSON", "{\"api_key\": \"", &value(), "\"}"),
        planted_in("YAML", "db:\n  password: ", &word(), "\n"),
        planted_in("YAML block", "db:\n  password: >-\n    ", &word(), "\n  user: a\n"),
        planted_in("YAML of an environment", "- name: DB_PASSWORD\n  value: ", &word(), "\n"),
        planted_in("TOML", "[db]\npassword = \"", &word(), "\"\n"),
        planted_in("XML", "<server><password>", &word(), "</password></server>"),
        planted_in("SQL", "CREATE USER me IDENTIFIED BY '", &word(), "';"),
        planted_in("code", "config[\"password\"] = \"", &word(), "\";"),
        planted_in("session secret", "SESSION_SECRET=", &value(), "\n"),
        planted_in(
            "random string",
            "it printed ",
            &["Zx8K2q7Lw4Vn9Tb3Rm6Yc1H", "p5Jd0Gs8FaQeWu"].concat(),
            " alone",
        ),
    ]
}

fn prose() -> Vec<Planted> {
    let wallet = ["able baker chart delta eager fable ", "giant hotel india joker kayak lemon"];
    vec![
        planted_in("in a sentence", "my password is ", &word(), ", keep it"),
        planted_in("after a colon", "the password is: ", &value(), " for now"),
        planted_in("passphrase", "use the passphrase ", &word(), " there"),
        planted_in("Chinese with a colon", "密码：", &word(), "。"),
        planted_in("Chinese with a verb and a colon", "数据库密码是：", &word(), "，记住"),
        planted_in("Chinese with a verb", "口令为 ", &word(), "。"),
        planted_in("German", "Das Passwort lautet ", &value(), "."),
        planted_in("French", "le mot de passe est ", &value(), "\n"),
        planted_in("before its name", "use ", &value(), " as the pw"),
        planted_in("beside its user", "the login is bob / ", &value(), " for now"),
        planted_in("PIN", "the PIN is ", "4831", ", keep it"),
        planted_in("wallet", "seed phrase: ", &wallet.concat(), "\n"),
    ]
}

/// Returns `text` in each of the places in a session that may contain a secret.
pub fn positions(text: &str) -> [(&'static str, String); 6] {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    [
        ("user text", format!("We decided to use this: {text}")),
        ("tool argument as JSON", format!("{{\"command\":\"run it: {escaped}\",\"timeout\":5}}")),
        ("tool result", format!("Error: no login with {text}")),
        ("block of code", format!("So:\n```sh\n{text}\n```\nThat is all.")),
        ("header", format!("curl -H 'X-Note: {text}' https://host.example/")),
        ("diff", format!("@@ -1 +1 @@\n-old\n+{}", text.replace('\n', "\n+"))),
    ]
}
