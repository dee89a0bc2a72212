"""What counts as a secret: names, prefixes of tokens, and other forms. Three tables, to be extended by rows.

Every pattern must take linear time: use possessive quantifiers (`{20,}+`) or small bounds.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, NamedTuple

__all__ = [
    "FORMS",
    "PREFIXES",
    "WORDLIKE_PREFIXES",
    "Form",
    "Sensitivity",
    "is_random",
    "is_token",
    "sensitivity",
    "words",
]

Sensitivity = Literal["secret", "maybe", "no"]
"""Of the value under a name: always secret; secret if it looks random; not secret."""


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Names ------------------------------------------------------------------------------------------------
# A name is split into lower-case words (`X-Api-Key`, `apiKey`, `API_KEY`: api, key). The last word, or the last two written
# as one (`session_id`: sessionid), decide. A plural counts like its singular.

_SECRET = words(
    """
    password passwd passphrase passcode psw pw secret apikey accesskey secretkey privatekey authtoken authorization cookie
    credential cred mnemonic seedphrase recoveryphrase walletphrase backupphrase sessionid sessid otp totp cvv cvc
    authcode authorizationcode devicecode codeverifier clientassertion verificationcode securitycode recoverycode
    backupcode
    """
)
_SECRET_KEYS = words(
    """
    access account admin aes api app application auth client consumer crypto deploy encryption function gpg hmac ingest
    licence license master pgp private rsa secret server service session shared signing ssh storage subscription webhook write
    """
)
"""Words before `key`: an API key is secret, a primary key is not."""
_SECRET_PASSES = words(
    "admin api auth basic database db email ftp http ldap login mail pg proxy redis root smtp ssh user"
)
"""Words before `pass`."""
_MAYBE = words("auth bearer jwt pass pwd session sid tokens")
"""Often the name of something else: a working directory, a count, an object that is not secret as a whole."""
_HARMLESS_TOKENS = tuple(
    words(
        """
        next page prev previous continuation continue sync cursor pagination pager resume start end stop first last max
        min num number total count input output prompt completion cached reasoning skip change delta scroll position
        eos bos pad unk sep cls mask special design lexer syntax begin
        """
    )
)
"""Words before `token`: positions in a list, counts, and pieces of text."""
_SUFFIXES = words(
    """
    value string plain plaintext hash digest base base64 b64 hex encoded encrypted raw binary header data field input
    confirm confirmation repeat again old new current
    """
)
"""Words after which a name means the same: `password_hash`, `SecretString`, `Password field`."""
_ENDINGS = tuple(words("password passwd passphrase secret apikey accesskey secretkey privatekey sessid"))
"""Ends of names that cannot be split: `pgpassword`."""

_MAX_NAME = 200
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@lru_cache(maxsize=8192)
def sensitivity(name: str) -> Sensitivity:
    """Return whether the value under a name is secret; case and separators do not matter."""
    words = [word.lower() for word in _WORD.findall(name[-_MAX_NAME:])]
    while len(words) > 1 and (words[-1] in _SUFFIXES or words[-1].isdigit()):
        words.pop()
    if not words:
        return "no"
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    single = last if last.endswith("pass") else last.removesuffix("s")
    if single in _SECRET or before + single in _SECRET or last.endswith(_ENDINGS):
        return "secret"
    if (single == "key" and before in _SECRET_KEYS) or (single == "pass" and before in _SECRET_PASSES):
        return "secret"
    if single.endswith("token"):
        is_harmless = (before + single).removesuffix("token").endswith(_HARMLESS_TOKENS)
        return "no" if is_harmless else "secret" if last == single else "maybe"
    return "maybe" if last in _MAYBE and (last != "pass" or len(words) == 1) else "no"


_RUN = re.compile(r"[A-Za-z0-9]{6,}")
_LONG_RUN = 16


def is_random(text: str) -> bool:
    """Return whether a part of a text is longer than words are, or mixes digits, small letters and capitals."""
    return any(len(run) >= _LONG_RUN or _is_mixed(run) for run in _RUN.findall(text))


def _is_mixed(run: str) -> bool:
    if run.isalpha():
        return not run.isupper() and not run[1:].islower()
    return not run.isdigit()


# Prefixes of tokens -----------------------------------------------------------------------------------

PREFIXES = {
    # Source code and packages
    "GitHub": "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
    "GitLab": "glpat- gldt- glrt- glrtr- glcbt- glptt- glsoat- glft- glimt- glagent- gloas- glffct- GR1348941",
    "Atlassian, Bitbucket, PyPI, Docker Hub": "ATATT3 ATBB ATCTT3 pypi-Ag dckr_pat_ dckr_oat_",
    "CircleCI, Snyk": "CCIPAT_ CCIPRJ_ snyk_uat. snyk_sat.",
    # Clouds and infrastructure
    "Google, Yandex Cloud, AWS Bedrock": "AIza ya29. GOCSPX- 1//0 AQ.Ab8 AQVN ABSK",
    "DigitalOcean, Heroku, Fly.io, OpenShift": "dop_v1_ doo_v1_ dor_v1_ HRKU- fm1_ fm1a_ fm1r_ fm2_ fo1_ sha256~",
    "HashiCorp Vault, Supabase, MongoDB Atlas": "hvs. hvb. hvr. sbp_ sb_secret_ mdb_sa_sk_",
    "Doppler, 1Password, age": "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. ops_eyJ AGE-SECRET-KEY-",
    "Tailscale, PlanetScale, Datadog": "tskey- pscale_tkn_ pscale_pw_ pscale_oauth_ ddpat_ ddapp_",
    "New Relic, Grafana, Dynatrace": "NRAK- NRII- NRRA- NRBR- NRJS- glsa_ glc_ eyJrIjoi dt0c01. dt0s01.",
    "Sentry, Postman, Axiom, Logfire": "sntrys_ sntryu_ sntrya_ PMAK- xaat- xapt- pylf_v1_",
    "Inngest, Trigger.dev, Depot": "signkey- tr_dev_ tr_prod_ tr_pat_ depot_org_ depot_project_ depot_user_",
    # Language models
    "Perplexity, NVIDIA, Together, LangSmith": "pplx- nvapi- tgp_v1_ lsv2_pt_ lsv2_sk_",
    "Tavily, Context7": "tvly- ctx7sk-",
    # Work and communication
    "Slack, Linear": "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxp- xoxr- xoxs- xapp- lin_api_ lin_oauth_ lin_wh_",
    "Notion, Figma, Contentful, LinkedIn, Mapbox": "ntn_ figd_ figo_ figu_ CFPAT- WPL_AP1. sk.eyJ",
    "Brevo": "xkeysib- xsmtpsib-",
    # Payment
    "Stripe, Clerk, webhooks, Square": "sk_live_ rk_live_ sk_test_ rk_test_ whsec_ sq0atp- sq0csp- EAAAE EAAAl",
    "PayPal, Paddle": "access_token$production$ access_token$sandbox$ pdl_live_apikey_ pdl_sdbx_apikey_",
    "Midtrans, Flutterwave, Shopify": "Mid-server- FLWSECK shpat_ shpss_ shpca_ shppa_ shptka_",
}
"""No word begins like this: it is a token if at least 12 more characters follow."""

WORDLIKE_PREFIXES = {
    "npm, crates.io, NuGet, RubyGems, SonarQube": "npm_ cio oy2 rubygems_ sqp_ squ_ sqa_",
    "Buildkite, Infracost, Clojars, Sourcegraph, JFrog": "bkua_ bkat_ ico- CLOJARS_ sgp_ sgd_ slk_ AKCp cmVmd",
    "Octopus Deploy, Harness, OpenAI, Anthropic, OpenRouter, DeepSeek, Hugging Face": "API- pat. sat. sk- hf_",
    "Groq, xAI, Cerebras, Replicate, RunPod, Apify": "gsk_ xai- csk- r8_ rpa_ apify_api_",
    "Pinecone, LlamaCloud, Weights & Biases": "pcsk_ llx- wandb_v1_",
    "ElevenLabs, Fireworks, Voyage, Jina": "sk_ fw_ pa- jina_",
    "Firecrawl, Brave Search, E2B, Daytona, Browserbase": "fc- BSA e2b_ dtn_ bb_live_ bb_test_",
    "browser-use, Hyperbrowser, Steel": "bu_ hb_ ste-",
    "Mem0, Zep, Composio, Arcade, Modal, Cursor": "m0- z_ ak_ arc_ ak- as- key_ crsr_",
    "Alibaba Cloud, Tencent Cloud, Yandex, Scalingo, Cloudflare": "LTAI AKID y0_ tk-us- cfat_ cfut_ cfk_",
    "Databricks, Vercel": "dapi dose vcp_ vck_ vca_ vci_ vcr_ vercel_blob_rw_",
    "Netlify, Neon, Render": "nfp_ nfc_ nfo_ nfu_ napi_ rnd_",
    "Pulumi, Prefect, Confluent, Unkey": "pul- pnu_ pnb_ cflt unkey_",
    "PostHog, Honeycomb, ReadMe, Trello, older Notion": "phx_ hcaik_ hcxik_ hcamk_ rdme_ ATTA secret_",
    "Typeform, Cal.com, Mailgun, Resend, Razorpay": "tfp_ cal_live_ key- re_ rzp_live_ rzp_test_",
    "Shippo, Duffel, EasyPost": "shippo_live_ shippo_test_ duffel_live_ duffel_test_ EZAK EZTK",
    "Nostr, Adafruit": "nsec1 aio_",
}
"""Ordinary names begin like this as well: it is a token only if what follows has a long run of digits and letters."""
_SHORTEST_RUN = 12


def is_token(rest: str) -> bool:
    """Return whether what follows a word-like prefix looks like a token."""
    return any(len(run) >= _SHORTEST_RUN and _is_mixed(run) for run in _RUN.findall(rest))


# Other forms ------------------------------------------------------------------------------------------


class Form(NamedTuple):
    """A secret without a telling prefix. If the pattern has a group, only the group is secret."""

    name: str
    signs: str
    """The pattern is tried only in texts that contain one of these."""
    pattern: str
    accept: Callable[[str], bool] | None = None
    """Rejects matches that are something else."""


def _is_basic(word: str) -> bool:
    """Distinguish `Basic dXNlcjpwYXNz` from `basic understanding`."""
    try:
        return b":" in base64.b64decode(word + "=" * (-len(word) % 4), validate=True)
    except ValueError:
        return False


_END = r"(?![A-Za-z0-9])"
_UUID = r"[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}"

FORMS = (
    Form("private key (PEM, OpenSSH, PGP)", "-----BEGIN", r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[\w+/=\s\\:,.()]|-(?!----))*+(?:-----END [A-Z0-9 ]{0,60}-----)?"),
    Form("JSON Web Token", "eyJ", r"eyJ[\w-]{6,}+\.[\w-]{6,}+(?:\.[\w-]*+){0,3}"),
    Form("Bearer header", "earer EARER", r"(?i)\bbearer[ \t]{1,4}([\w.~+/-]{6,}+=*+)", is_random),
    Form("Basic header", "asic ASIC", r"(?i)\bbasic[ \t]{1,4}([\w.~+/-]{6,}+=*+)", _is_basic),
    # In URLs
    Form("password", "://", r"://[^\s/?#@:\"'<>]{0,256}+:([^\s/?\"'<>]{1,512})@"),
    Form("token as the user", "://", r"://([\w~%+=-]{16,512}+)@", is_random),
    Form("signature", "?sig= &sig= ;sig= ignature= ecurity-", r"(?i)[?&;](?:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature)=([\w%+/=.~-]{8,}+)"),
    Form("webhook", "hook", r"(?:hooks\.slack\.com/\w{1,20}|hooks\.zapier\.com/hooks/catch|hook\.[\w.]{2,12}\.make\.com|webhook\.office\.com/webhookb2|discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks)/([\w@/-]{8,}+)"),
    # Clouds
    Form("AWS key id", "AKIA ASIA ABIA ACCA", r"A(?:KI|SI|BI|CC)A[A-Z0-9]{16}" + _END),
    Form("AWS secret beside its key id", "AKIA ASIA", r"A[KS]IA[A-Z0-9]{16}[^A-Za-z0-9/+](?:[\s\S]{0,200}?[^A-Za-z0-9/+=])?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"),
    Form("Azure key", "JQQJ99 AZDO +ASt +ARm ACDb AzFu AzSe AzCa AIoT", r"[A-Za-z0-9+/]{33,76}(?:JQQJ99|AZDO|\+ASt|\+ARm|ACDb|AzFu|AzSe|AzCa|AIoT)[A-Za-z0-9+/]{4,40}=*+"),
    Form("Azure client secret", "Q~", r"(?<![\w~.])[\w~.]{3}\dQ~[\w~.-]{31,34}(?![\w~-])"),
    Form("Terraform", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{20,}+"),
    # Services
    Form("Airtable", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    Form("Asana", "1/ 2/", r"[12]/\d{16}(?:/\d{16})?:[a-f0-9]{32}"),
    Form("ClickUp", "pk_", r"pk_\d{4,12}_[A-Z0-9]{32}" + _END),
    Form("DeepL", ":fx", rf"{_UUID}:fx{_END}"),
    Form("Discord", ".", r"[MNO][A-Za-z0-9]{23,27}\.[\w-]{6}\.[\w-]{27,38}(?![\w-])"),
    Form("Dropbox", "sl.", r"\bsl\.[\w.-]{60,}+"),
    Form("HubSpot, LaunchDarkly, Plaid, WakaTime", "pat- api- sdk- access- waka", rf"(?:pat-(?:na|eu)\d-|api-|sdk-|access-\w{{7,11}}-|waka_){_UUID}"),
    Form("Mailchimp, Mailgun, Z.ai", "- .", r"[a-f0-9]{32}(?:-us[0-9]{1,2}\b|-[a-f0-9]{8}-[a-f0-9]{8}\b|\.[A-Za-z0-9]{16}(?![A-Za-z0-9]))"),
    Form("Meta, Square", "EAA IGAA IGQV", r"\b(?:EAA|IGAA|IGQV)[A-Za-z0-9]{60,}+"),
    Form("New Relic, licence", "NRAL", r"[a-f0-9]{36}NRAL"),
    Form("Salesforce", "00D", r"\b00D[A-Za-z0-9]{12,15}+![\w.]{60,}+"),
    Form("SendGrid", "SG.", r"SG\.[\w-]{16,}+\.[\w-]{16,}+"),
    Form("Telegram", ":AA", r"(?<![0-9])[0-9]{6,12}:AA[\w-]{33}(?![\w-])"),
    Form("Twilio", "SK AC", r"(?:SK|AC)[a-f0-9]{32}" + _END),
    Form("X", "AAAAAAAAAA", r"\bA{20,}+[A-Za-z0-9]{4,60}+%[A-Za-z0-9%]{40,}+"),
    Form("1Password, secret key", "A3-", r"A3-[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,5}"),
    # Commands, files and statements
    Form("curl -u", "curl", r"curl\b[^\n]{0,300}?\s(?:-[a-zA-Z]{0,4}[uU]|--(?:proxy-)?user)[\s=\"',]{0,4}[^\s:\"'/]{1,128}:([^\s\"'/][^\s\"']{0,511}+)"),
    Form("password option", "mysql mariadb sshpass", r"(?:mysql|mariadb|sshpass)\w{0,16}\b[^\n;|&]{0,300}?\s-p(?:(?<=pass\s-p)\s)?[\"']?([^\s\"'\\;|&]{1,512}+)"),
    Form("netrc", "machine", r"\bmachine\s{1,8}\S{1,256}+\s{1,8}login\s{1,8}\S{1,256}+\s{1,8}password\s{1,8}(\S{1,512}+)"),
    Form("SQL password", "assword ASSWORD dentified DENTIFIED", r"(?i)\b(?:(?:user|role|login|with|encrypted|set|by)\b[^\n;]{0,100}?\spassword|identified(?:\s{1,8}with\s{1,8}[\w'\"]{1,64})?\s{1,8}(?:by|as))\s{0,8}[=(]?\s{0,8}\\*+[\"']([^\"'\\\s][^\"'\\\n]{0,511}+)"),
)  # fmt: skip
