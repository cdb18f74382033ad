"""Secrets as they stand in logs, reports, settings and command lines: many kinds and spellings.

Every value is made up. A plant is the text, and the words in it that nobody may read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

WORD = "Kq7vTz0Rw3LmXe9B"
PLAIN = "swordfishery"
ODD = "p@Zk/9+vQ7wLm"
LONG = "wJq8rXUtnFEMIvK7MDENGvbPxRfiCYzEXQMPLEKEY"
HEX = "9f3c1b7ae04d52886c1f7e3ab9d045127fe6a0c3"
HEX_LONG = "".join(f"{(37 * i * i + 11 * i + 5) % 16:x}" for i in range(64))
LETTERS = "Ab3dEf6hIj9kLmN2pQr5sTu8vWx1yZa4Bc7De0Fg"
BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7V3kq9sZx1m2T"
BODY2 = "qZ8xJ4v0nT6mW1rB5yKc3uLhPf9dGs7eAo2iXjNbVtCzMwQkRlYgHpEaUoSxDfTi"


class Plant(NamedTuple):
    """A text with secrets in it."""

    kind: str
    text: str
    secrets: tuple[str, ...]


def credentials() -> tuple[Plant, ...]:
    """Return what must be hidden always."""
    makers = (
        _environment, _keys, _options, _headers, _addresses, _queries, _shapes, _blocks,
        _connections, _files, _bare,
    )  # fmt: skip
    return tuple(plant for maker in makers for plant in maker())


_NAMES = {
    "aws secret": "AWS_SECRET_ACCESS_KEY", "hub token": "HF_TOKEN", "wandb key": "WANDB_API_KEY",
    "database password": "PGPASSWORD", "own secret": "MY_SERVICE_SECRET",
    "credentials": "REGISTRY_CREDENTIALS", "passphrase": "GPG_PASSPHRASE",
    "signing key": "DJANGO_SIGNING_KEY", "short pass": "MYSQL_PASS", "pwd": "DB_PWD",
}  # fmt: skip


def _environment() -> Iterator[Plant]:
    for kind, name in _NAMES.items():
        yield Plant(f"environment: {kind}", f"{name}={WORD}", (WORD,))
        yield Plant(f"environment: {kind}", f'export {name}="{PLAIN} and {WORD}"', (PLAIN, WORD))
    name = "HF_TOKEN"
    for text in (
        f"env: {name}='{WORD}' python train.py", f"set {name}={PLAIN}", f"-e {name}={PLAIN}",
        f'$env:{name} = "{WORD}"', f"ENV {name} {WORD}", f"setx {name} {WORD}",
        f"os.environ['{name}'] = '{PLAIN}'", f'os.environ["{name}"]="{PLAIN}"',
        f"os.environ.setdefault('{name}', '{WORD}')", f"{name}: {WORD}", f"{name} => {WORD}",
        f'declare -x {name}="{WORD}"', f"setenv {name} {WORD}", f"{name}={ODD}",
        f"os.putenv('{name}', '{WORD}')", f"{name.lower()} = {WORD}", f"{name} := {WORD}",
        f"environ({{'{name}': '{WORD}', 'HOME': '/root'}})", f'{name}=\\"{WORD}\\"',
    ):  # fmt: skip
        yield Plant(
            "environment: spelling",
            text,
            (ODD if ODD in text else WORD if WORD in text else PLAIN,),
        )


def _keys() -> Iterator[Plant]:
    for name in (
        "password", "passwd", "api_key", "apiKey", "client_secret", "access_token", "private_key",
        "secretAccessKey", "refreshToken", "db_password", "token",
    ):  # fmt: skip
        yield Plant("json key", f'{{"{name}": "{PLAIN}", "user": "x"}}', (PLAIN,))
        yield Plant("yaml key", f"{name}: {WORD}", (WORD,))
    for text, secret in (
        (f'{{\\"password\\": \\"{PLAIN}\\"}}', PLAIN),
        (f'{{\\\\\\"password\\\\\\": \\\\\\"{PLAIN}\\\\\\"}}', PLAIN),
        (f"{{'password': '{PLAIN}'}}", PLAIN),
        (f"{{'password': b'{PLAIN}'}}", PLAIN),
        (f'{{"password":"{PLAIN} \\" {WORD}"}}', WORD),
        (f"password: '{PLAIN} {WORD}'", WORD),
        (f"{{password: {PLAIN}, user: x}}", PLAIN),
        (f"Config(user='x', password='{PLAIN}', port=3)", PLAIN),
        (f"Config(user=x, password={PLAIN}, port=3)", PLAIN),
        (f'password = "{PLAIN}"', PLAIN),
        (f"&quot;password&quot;: &quot;{PLAIN}&quot;", PLAIN),
        (f"<password>{PLAIN}</password>", PLAIN),
        (f'<add key="ApiKey" value="{PLAIN}"/>', PLAIN),
        (f'{{"name": "HF_TOKEN", "value": "{PLAIN}"}}', PLAIN),
        (f"- name: HF_TOKEN\n  value: {PLAIN}", PLAIN),
        (f"password: |\n  {PLAIN}\n  {WORD}", WORD),
        (f'"password":\n  "{PLAIN}"', PLAIN),
        (f"password:  {PLAIN} {PLAIN}x", f"{PLAIN}x"),
        (f"auth_tokens: ['{WORD}']", WORD),
        (f'{{"secrets": ["{WORD}", "{PLAIN}"]}}', PLAIN),
        (f"“password”: “{PLAIN}”", PLAIN),
    ):  # fmt: skip
        yield Plant("key: spelling", text, (secret,))


def _options() -> Iterator[Plant]:
    for name in ("--password", "--token", "--api-key", "--hf-token", "--secret", "--client-secret"):
        for text in (
            f"{name} {PLAIN}",
            f"{name}={PLAIN}",
            f"{name} '{PLAIN}'",
            f'{name}="{PLAIN}"',
        ):
            yield Plant(f"option {name}", f"python train.py {text} --bf16", (PLAIN,))
    for text in (
        f"['login', '--password', '{PLAIN}', '--x']", f'["--token", "{PLAIN}"]',
        f'"--token","{PLAIN}"', f"argv=--token,{PLAIN}", f"--token\n{PLAIN}",
        f"sshpass -p {PLAIN} ssh x", f"mysql -u x -p{PLAIN}", f"docker login -u x -p {PLAIN}",
        f"curl -u bob:{PLAIN} x", f"curl --user bob:{PLAIN} x", f"wandb login {HEX}",
        f"wandb login --relogin {HEX}", f"cmdkey /pass:{PLAIN}", f"-Dpassword={PLAIN}",
        f"--set auth.password={PLAIN}", f"vault login {PLAIN}", f"--http-password {PLAIN}",
        f"--build-arg HF_TOKEN={PLAIN}", f"curl -sSu bob:{PLAIN} x",
        f"pip config set x.password {PLAIN}", f"redis-cli -h db -a {PLAIN} ping",
        f"mongosh -u bob -p {PLAIN} db", f"ldapsearch -D cn=x -w {PLAIN} -b y",
        f"ipmitool -H x -U y -P {PLAIN} sol", f"unzip -P {PLAIN} x.zip", f"7z x -p{PLAIN} x.7z",
        f"smbclient //s/x -U bob%{PLAIN}", f"lftp -u bob,{PLAIN} host", f"xfreerdp /u:x /p:{PLAIN}",
        f"net use Z: x /user:bob {PLAIN}", f"htpasswd -cb file bob {PLAIN}",
    ):  # fmt: skip
        yield Plant("command line", text, (HEX if HEX in text else PLAIN,))


def _headers() -> Iterator[Plant]:
    for text, secret in (
        (f"Authorization: Bearer {WORD}", WORD),
        (f"authorization: bearer {WORD}", WORD),
        (f"Authorization: Basic {LETTERS}==", LETTERS),
        (f"Authorization: Token {WORD}", WORD),
        (f"Authorization: token {PLAIN}", PLAIN),
        (f"Authorization: {WORD}", WORD),
        (f"Proxy-Authorization: Basic {LETTERS}=", LETTERS),
        (f'{{"Authorization": "Bearer {WORD}"}}', WORD),
        (f"{{'Authorization': 'Bearer {WORD}'}}", WORD),
        (f"-H 'Authorization: Bearer {WORD}' https://example.org", WORD),
        (f"got Bearer {WORD} back", WORD),
        (f"X-Api-Key: {WORD}", WORD),
        (f"x-api-key={PLAIN}", PLAIN),
        (f"X-Auth-Token: {PLAIN}", PLAIN),
        (f"PRIVATE-TOKEN: {PLAIN}", PLAIN),
        (f"Ocp-Apim-Subscription-Key: {WORD}", WORD),
        (f"Cookie: session={WORD}; theme=dark", WORD),
        (f"Cookie: theme=dark; id={WORD}", WORD),
        (f"Set-Cookie: sid={WORD}; Path=/; HttpOnly", WORD),
        (f"('Cookie', 'a={WORD}')", WORD),
        (f'Authorization: Digest username="x", response="{WORD}"', WORD),
        (f"Authorization: AWS4-HMAC-SHA256 Credential=A/b, Signature={HEX_LONG}", HEX_LONG),
        (f"[(b'authorization', b'Bearer {WORD}')]", WORD),
        (f"headers={{authorization=[Bearer {WORD}]}}", WORD),
    ):
        yield Plant("header", text, (secret,))


def _addresses() -> Iterator[Plant]:
    for text, secrets in (
        (f"https://bob:{PLAIN}@example.org/simple", (PLAIN,)),
        (f"https://bob:{ODD}@example.org/simple", (ODD, "9+vQ7wLm")),
        (f"https://{WORD}@example.org/a/b", (WORD,)),
        (f"git+https://{WORD}@github.com/a/b@v1", (WORD,)),
        (f"git+https://x-access-token:{WORD}@github.com/a/b", (WORD,)),
        (f"https://bob:pa/{PLAIN}@example.org/x", (PLAIN,)),
        (f"https://bob:p@{PLAIN}@example.org/x", (PLAIN,)),
        (f"https://bob:p#{PLAIN}?@example.org/x", (PLAIN,)),
        (f"https:\\/\\/bob:{PLAIN}@example.org\\/x", (PLAIN,)),
        (f"https%3A%2F%2Fbob%3A{PLAIN}%40example.org", (PLAIN,)),
        (f"bob:{PLAIN}@example.org", (PLAIN,)),
        (f"bob:{PLAIN}@10.1.2.3:5432", (PLAIN,)),
        (f"bob:pa/{PLAIN}@db.example.org/x", (PLAIN,)),
        (f"//bob:{PLAIN}@example.org/x", (PLAIN,)),
        (f"http_proxy=http://bob:{PLAIN}@proxy:3128", (PLAIN,)),
        (f"Looking in indexes: https://__token__:{PLAIN}@example.org/simple", (PLAIN,)),
        (f"--extra-index-url=https://{PLAIN}:@example.org", (PLAIN,)),
        (f"redis://:{PLAIN}@cache:6379/0", (PLAIN,)),
        (f"postgresql+psycopg2://bob:{PLAIN}@db/x", (PLAIN,)),
        (f"mongodb+srv://bob:{PLAIN}@c0.example.net/?x=1", (PLAIN,)),
        (f"s3://{PLAIN}:{WORD}@bucket/x", (PLAIN, WORD)),
        (f"ftp://bob:{PLAIN}@[::1]/x", (PLAIN,)),
        (f"smb://WORK;bob:{PLAIN}@server/share", (PLAIN,)),
        (f"socks5h://bob:{PLAIN}@127.0.0.1:1080", (PLAIN,)),
    ):
        yield Plant("address", text, secrets)


def _queries() -> Iterator[Plant]:
    for name in (
        "sig", "token", "X-Amz-Signature", "X-Amz-Credential", "X-Amz-Security-Token", "Signature",
        "X-Goog-Signature", "access_token", "api_key", "key", "AWSAccessKeyId", "code", "hmac",
    ):  # fmt: skip
        yield Plant("query", f"https://example.org/x?se=2026&{name}={WORD}%3D&b=1", (WORD,))
    yield Plant("query", f"https://example.org/x?sig={PLAIN}", (PLAIN,))
    yield Plant("query", f"https:\\/\\/example.org\\/x?a=1\\u0026sig={WORD}", (WORD,))
    yield Plant("query", f"https://example.org/x?a=1&amp;sig={WORD}", (WORD,))
    yield Plant("query", f"sv=2024-11-04&ss=b&sig={WORD}%3D", (WORD,))


def _shapes() -> Iterator[Plant]:
    for kind, value in {
        "AWS id": "AKIA" + "QZ7XW2MNB4VLK9PT", "AWS temporary id": "ASIA" + "QZ7XW2MNB4VLK9PT",
        "Google": "AIza" + LETTERS[:35], "Google OAuth": "ya29." + LETTERS + "_-x",
        "Google secret": "GOCSPX-" + LETTERS[:28], "Google refresh": "1//0" + LETTERS,
        "NVIDIA": "nvapi-" + LETTERS + "_-" + LETTERS[:10],
        "GitHub": "ghp_" + LETTERS[:36], "GitHub OAuth": "gho_" + LETTERS[:36],
        "GitHub server": "ghs_" + LETTERS[:36], "GitHub refresh": "ghr_" + LETTERS[:36],
        "GitHub fine": "github_pat_11" + LETTERS[:20] + "_" + LETTERS, "Hub": "hf_" + LETTERS[:34],
        "Hub organisation": "api_org_" + LETTERS[:34], "OpenAI": "sk-" + LETTERS,
        "OpenAI project": "sk-proj-" + LETTERS + "-_" + LETTERS,
        "Anthropic": "sk-ant-api03-" + LETTERS,
        "Slack bot": "xoxb-123456789012-" + LETTERS[:24], "Slack user": "xoxp-1-" + LETTERS,
        "Slack app": "xapp-1-A0-" + LETTERS, "GitLab": "glpat-" + LETTERS[:20],
        "GitLab deploy": "gldt-" + LETTERS[:20], "package index": "pypi-AgEIcHlwaS5vcmc" + LETTERS,
        "npm": "npm_" + LETTERS[:36], "JWT": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + LETTERS,
        "SendGrid": "SG." + LETTERS[:22] + "." + LETTERS, "Stripe": "sk_live_" + LETTERS[:24],
        "Stripe restricted": "rk_test_" + LETTERS[:24], "Replicate": "r8_" + LETTERS[:37],
        "Groq": "gsk_" + LETTERS, "Databricks": "dapi" + HEX[:32],
        "Docker": "dckr_pat_" + LETTERS[:27],
        "DigitalOcean": "dop_v1_" + HEX_LONG, "Vault": "hvs." + LETTERS,
        "age": "AGE-SECRET-KEY-1" + LETTERS.upper(),
        "Shopify": "shpat_" + HEX[:32], "Tailscale": "tskey-auth-k1-" + LETTERS[:20],
        "LangSmith": "lsv2_pt_" + HEX[:32] + "_" + HEX[:10], "RunPod": "rpa_" + LETTERS.upper(),
        "Perplexity": "pplx-" + LETTERS, "xAI": "xai-" + LETTERS + LETTERS,
        "Weights": "wandb_v1_" + LETTERS, "Atlassian": "ATATT3xFfGF0" + LETTERS,
        "Telegram": "123456789:AA" + LETTERS[:33], "40 hex digits": HEX, "64 hex digits": HEX_LONG,
        "Mailgun": "key-" + HEX[:32], "New Relic": "NRAK-" + LETTERS[:27].upper(),
        "Doppler": "dp.st.dev." + LETTERS, "Postman": "PMAK-" + HEX[:24] + "-" + HEX[:34],
        "Notion": "ntn_" + LETTERS, "Linear": "lin_api_" + LETTERS,
    }.items():  # fmt: skip
        yield Plant(f"shape: {kind}", f"using {value} now", (value,))
        yield Plant(f"shape: {kind}", f"'{value}',", (value,))
    hook = "T0Q8ZK2LM/B0Q8ZK2LM/" + LETTERS[:24]
    yield Plant("web hook", f"https://hooks.slack.com/services/{hook}", (hook, LETTERS[:24]))
    yield Plant("web hook", f"https://discord.com/api/webhooks/12345678/{LETTERS}", (LETTERS,))


def _blocks() -> Iterator[Plant]:
    for label in ("PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY",
                  "PGP PRIVATE KEY BLOCK"):  # fmt: skip
        begin, end = f"-----BEGIN {label}-----", f"-----END {label}-----"
        yield Plant(
            "PEM",
            f"{begin}\n{BODY}\n{BODY2}\nQk9rWlFhMTl4Vm5X\n{end}",
            (BODY, BODY2, "Qk9rWlFhMTl4Vm5X"),
        )
        yield Plant("PEM", f"{begin}\\n{BODY}\\n{BODY2}\\n{end}\\n", (BODY, BODY2))
    begin, end = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
    yield Plant("PEM", f"{begin} {BODY} {BODY2} {end}", (BODY, BODY2))
    yield Plant("PEM", f"{begin}\n{BODY}\n{BODY2}", (BODY, BODY2))
    yield Plant("PEM", f"{BODY}\n{BODY2}\n{end}", (BODY, BODY2))
    yield Plant("PEM", f"    {begin}\n    {BODY}\n    {BODY2}\n    {end}", (BODY, BODY2))
    yield Plant("PEM", f"> {begin}\n> {BODY}\n> {BODY2}\n> {end}", (BODY, BODY2))
    yield Plant("PEM", f'"private_key": "{begin}\\n{BODY}\\n{end}"', (BODY,))
    yield Plant("PuTTY", f"Private-Lines: 2\n{BODY}\n{BODY2}", (BODY, BODY2))


def _connections() -> Iterator[Plant]:
    for text in (
        f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey={LONG}==;EndpointSuffix=y",
        f"Endpoint=sb://x.example.net/;SharedAccessKeyName=R;SharedAccessKey={LONG}=",
        f"Server=db;Database=x;User Id=sa;Password={PLAIN};",
        f"Server=db;Uid=sa;Pwd={PLAIN};Encrypt=yes",
        f"DRIVER={{x}};UID=sa;PWD={{{PLAIN}}};",
        f"host=db user=x password={PLAIN} dbname=y",
        f"jdbc:oracle:thin:bob/{PLAIN}@db:1521:x",
        f"jdbc:postgresql://db/x?user=bob&password={PLAIN}",
        f"SharedAccessSignature sr=x&sig={LONG}&se=1",
        f"PrivateKey = {LONG}=",
    ):
        yield Plant("connection string", text, (LONG if LONG in text else PLAIN,))


def _files() -> Iterator[Plant]:
    for text, secret in (
        (f"machine example.org login bob password {PLAIN}", PLAIN),
        (f"machine example.org\n  login bob\n  password {PLAIN}", PLAIN),
        (f"default login bob password {PLAIN}", PLAIN),
        (f'{{"auths": {{"example.org": {{"auth": "{LETTERS}="}}}}}}', LETTERS),
        (f'"identitytoken": "{WORD}"', WORD),
        (f"db.example.org:5432:mydb:bob:{PLAIN}", PLAIN),
        (f"//example.org/:_authToken={WORD}", WORD),
        (f"//example.org/:_password={WORD}", WORD),
        (f"_auth = {LETTERS}=", LETTERS),
        (f"aws_secret_access_key = {LONG}", LONG),
        (f"bob:$apr1$Zk9vQ7wL${LETTERS[:22]}", LETTERS[:22]),
        (f"root:$6$Zk9vQ7wL${LETTERS}:19000:0:99999:7:::", LETTERS),
        (f"bob:$2y$10${LETTERS}", LETTERS),
        (f"username = __token__\npassword = {PLAIN}", PLAIN),
        (f"requirepass {PLAIN}", PLAIN),
    ):
        yield Plant("file of credentials", text, (secret,))


def _bare() -> Iterator[Plant]:
    yield Plant("prose", f"password is {WORD}", (WORD,))
    yield Plant("prose", f"the password '{PLAIN}' was refused", (PLAIN,))
    yield Plant("prose", f"Invalid API key provided: {WORD}", (WORD,))
    yield Plant("prose", f"Incorrect API key: {PLAIN}", (PLAIN,))
    yield Plant("prose", f"Fernet key b'{LETTERS}xyz=' is not valid", (LETTERS,))
    yield Plant("prose", f"with token {WORD} for the hub", (WORD,))
