"""What counts as a secret: names, and forms of tokens. One table, to be read from top to bottom and extended by rows.

Keep every pattern linear: use possessive quantifiers (`{20,}+`) or small bounds.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, NamedTuple

__all__ = ["SHAPES", "TOKENS", "Sensitivity", "Shape", "Token", "is_random", "sensitivity", "words"]

Sensitivity = Literal["secret", "maybe", "no"]
"""Of what a name holds: all of it is secret; a text that looks random is; nothing is."""


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Names ------------------------------------------------------------------------------------------------
# A name is split into lower-case words (`X-Api-Key`, `apiKey`, `API_KEY`: api, key), and the last ones decide.

_SECRET = words(
    """
    password passwords passwd passphrase passphrases passcode psw pw secret secrets apikey apikeys accesskey secretkey
    privatekey authtoken authorization cookie cookies credential credentials creds mnemonic seedphrase sessionid sessid
    sessionkey otp totp cvv cvc
    """
)
_MAYBE = words("auth bearer jwt pass pwd session sid tokens")
"""Often the name of something else: a working directory, a count, an object that is not secret as a whole."""
_SECRET_AFTER = {
    "key": words(
        """
        access account admin aes api app application auth client consumer crypto deploy encryption function gpg hmac
        ingest master pgp private rsa secret server service session shared signing ssh storage subscription webhook write
        """
    ),
    "pass": words(
        "admin api auth basic database db email ftp http ldap login mail pg proxy redis root smtp ssh user"
    ),
    "phrase": words("backup mnemonic pass recovery seed wallet"),
    "word": words("pass"),
    "code": words("pass"),
    "id": words("session"),
}
"""Secret only after one of these words: an API key is, a primary key is not."""
_HARMLESS_TOKENS = tuple(
    words(
        """
        next page prev previous continuation continue sync cursor pagination pager resume start end stop first last max
        min num number total count input output prompt completion cached reasoning skip change delta scroll position
        eos bos pad unk sep cls mask special design lexer syntax begin
        """
    )
)
"""Before `token`: positions in a list, counts, and pieces of text."""
_SUFFIXES = words(
    """
    value string plain plaintext hash digest base base64 b64 hex encoded encrypted raw binary header data confirm
    confirmation repeat again old new current
    """
)
"""Words after which a name means the same: `password_hash`, `SecretString`."""
_ENDINGS = tuple(words("password passwd passphrase secret apikey accesskey secretkey privatekey sessid"))
"""Endings of a word that was not split: `pgpassword`."""

_LONGEST_NAME = 200
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@lru_cache(maxsize=8192)
def sensitivity(name: str) -> Sensitivity:
    """Return whether what a name holds is secret; case and separators do not matter."""
    words = [word.lower() for word in _WORD.findall(name[-_LONGEST_NAME:])]
    while len(words) > 1 and (words[-1] in _SUFFIXES or words[-1].isdigit()):
        words.pop()
    if not words:
        return "no"
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    single = last if last == "pass" else last.removesuffix("s")
    if last in _SECRET or last.endswith(_ENDINGS) or before in _SECRET_AFTER.get(single, ()):
        return "secret"
    if single.endswith("token"):
        is_harmless = (before + single).removesuffix("token").endswith(_HARMLESS_TOKENS)
        return "no" if is_harmless else "secret" if last == single else "maybe"
    return "maybe" if last in _MAYBE and (last != "pass" or len(words) == 1) else "no"


# Tokens -----------------------------------------------------------------------------------------------

_RUN = re.compile(r"[A-Za-z0-9]{6,}")
_LONG_RUN = 16


def is_random(text: str) -> bool:
    """Return whether a part of a text is longer than words are, or mixes digits and letters or small letters and capitals."""
    return any(len(run) >= _LONG_RUN or _is_mixed(run) for run in _RUN.findall(text))


def _is_mixed(run: str) -> bool:
    if run.isalpha():
        return not run.isupper() and not run[1:].islower()
    return not run.isdigit()


class Token(NamedTuple):
    """A token with a fixed prefix."""

    service: str
    prefixes: str
    """Separated by spaces."""
    rest: str
    """A pattern for what follows the prefix."""
    example: str
    """Made up, without the prefix, so that secret scanners do not report this file."""
    is_common: bool = False
    """Whether ordinary identifiers have the prefix, too, so that the rest has to look random."""


_A, _H, _W, _U = (rf"[{chars}]{{%d,}}+" for chars in ("A-Za-z0-9", "a-f0-9", r"\w-", "A-Z0-9"))
"""At least that many letters and digits; hexadecimal digits; also `_` and `-`; capitals and digits."""
_END = r"(?![A-Za-z0-9])"
_UUID = r"[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}"

TOKENS: tuple[Token, ...] = (
    # Source code and packages
    Token("GitHub", "ghp_ gho_ ghu_ ghs_ ghr_", _A % 20, "U8JZpDE0iGXlD6gNCFba"),
    Token("GitHub, fine-grained", "github_pat_", r"\w{20,}+", "erfMDd6NhqSSPdNPBdqc"),
    Token("GitLab", "glpat- gldt- glrt- glrtr- glcbt- glptt- glsoat- glft- glimt- glagent- gloas- glffct- GR1348941", r"[\w.-]{16,}+", "M8iuCjLhNvM6VmgP"),
    Token("Bitbucket", "ATBB ATCTT3", r"[\w=-]{24,}+", "NSnzgMXeNdRpHVLD3wFPFzvr"),
    Token("Sourcegraph", "sgp_ sgd_ slk_", r"[a-f0-9_]{32,}+", "f1c39483cd7f4e97bc44598cc29cb383"),
    Token("npm, Buildkite, Infracost", "npm_ bkua_ bkat_ ico-", _A % 28, "tY4qWB8dWKnHfDNxSIvPZZ63fFKcZj"),
    Token("PyPI, Docker", "pypi-Ag dckr_pat_ dckr_oat_", _W % 16, "ti6D9MtXCyVAqjfm"),
    Token("RubyGems, SonarQube", "rubygems_ sqp_ squ_ sqa_", _H % 32, "e11a9f23ae754eb86666d96b0c08fd4b"),
    Token("crates.io", "cio", r"[A-Za-z0-9]{32}" + _END, "GAkJiG8XnBE3NnYJoQ9WmXeHH2fdeeTF"),
    Token("NuGet", "oy2", r"[a-z0-9]{43}" + _END, "jgvq4k7bn7xj8b7tfq7xkwo886vompzom75wbbr4qmw"),
    Token("Clojars", "CLOJARS_", _A % 40, "cz7uW9XFOGOeMVNen5n1Ae6pWzpF1qH6YytwMe4L"),
    Token("Open VSX, WakaTime", "ovsxp_ waka_", _UUID, "74c686cf-feae-8e95-eeaa-de700a203142"),
    Token("JFrog", "AKCp cmVmd", r"[A-Za-z0-9]{59,}+", "iJhgB3cxLmAxzJLJenuHjDUrhhjeyxG4jDPMRCxGgcjBw56EcUngmgMsRcg"),
    Token("CircleCI", "CCIPAT_ CCIPRJ_", r"\w{20,}+", "L5GJrWKsMn7EiChBEweU"),
    Token("Snyk", "snyk_uat. snyk_sat.", r"[\w.-]{20,}+", "DetbSf5sfQ8qes9hFaxM"),
    Token("Octopus Deploy", "API-", _U % 26 + _END, "BQCAB69M64P2G158Z6TNOVMIZW"),
    # Language models and agents
    Token("OpenAI, Anthropic, OpenRouter, DeepSeek, Langfuse", "sk- sk-lf-", rf"(?=[\w-]{{0,100}}?[A-Za-z0-9_]{{16}}|{_UUID})[\w-]{{16,}}+", "ant-api03-Zc7uW9XFOGOeMVNen5n1", is_common=True),
    Token("Perplexity, Hugging Face, Groq, xAI, Cerebras, Replicate, RunPod, Apify, Samsara", "pplx- hf_ api_org_ gsk_ xai- csk- r8_ rpa_ apify_api_ samsara_api_", _A % 28, "JZlCZBTToOFl9h2wJq5ty4mYwUufJSun"),
    Token("NVIDIA, Together, LangSmith, LlamaCloud, Pinecone, Weights & Biases", "nvapi- tgp_v1_ lsv2_pt_ lsv2_sk_ llx- pcsk_ wandb_v1_", _W % 30, "Tjc67XJSDYW5JiK2JN765b6VP5XVWTqf"),
    Token("Fireworks", "fw_", _A % 20, "wV1ZH87MtA5vSQXEZY3l", is_common=True),
    Token("ElevenLabs", "sk_", r"[a-f0-9]{48}" + _END, "60cb78e39bef974332261396dffc0918487e01cf4c41520a"),
    Token("Voyage", "pa-", _W % 40, "Z9CACZKpAtx2dHtNziVJKS498pftrABTEDv869bi", is_common=True),
    Token("Jina", "jina_", _W % 32, "cDX25GPHaeB6K8FEr4gqjjKVg6YWT82F", is_common=True),
    Token("Tavily", "tvly-", _W % 16, "fM3ca4iqNcTXviSs"),
    Token("Firecrawl", "fc-", r"[a-f0-9]{32}" + _END, "7ddc30621aa38241911a73ba097c2175"),
    Token("Brave Search", "BSA", _W % 27, "qHcWxXCzVBna5uZ8JepHnv36nqF", is_common=True),
    Token("E2B, Daytona", "e2b_ dtn_", _H % 32, "986279e9fa3e14485c06f17cb94f7dc2"),
    Token("Modal", "as-", r"[A-Za-z0-9]{22}" + _END, "nFNGaftcLOIadn5rPvi2xq"),
    Token("Composio", "ak_", r"[\w-]{20}(?![\w-])", "qT5gTFcgaG6q7Ezcuqhd", is_common=True),
    Token("SettleMint", "sm_aat_ sm_pat_ sm_sat_", _A % 16, "Mm0lM7EXg3LcmQxx"),
    Token("Browserbase", "bb_live_ bb_test_", _W % 16, "UagSQXRypczxjcps", is_common=True),
    # Clouds and infrastructure
    Token("AWS", "AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}" + _END, "J8FKZR0ST0DTW00B"),
    Token("AWS Bedrock", "ABSK", r"[A-Za-z0-9+/]{60,}+=*+", "3xzXpMZuZN8Ab5KbH0FZk4XdxKIADjJpz6ZFkn7XvgKJWSKhK7EGYfwzy9zM"),
    Token("Google (API, refresh token, Gemini), Yandex Cloud, Heroku, Scalingo, Cloudflare, Defined Networking", "AIza 1//0 AQ.Ab8 AQVN y0_ HRKU- tk-us- cfat_ cfut_ cfk_ dnkey-", _W % 30, "vi7cGwdQSAfXRW6kS48qRBR8n7GmNp"),
    Token("Google, OAuth", "ya29. GOCSPX-", r"[\w.-]{16,}+", "cBKkAyhjrY6ncM72"),
    Token("Firebase", "AAAA", r"[\w-]{7}:APA91b[\w-]{100,}+", "fYw3YJf:APA91bd2JAT4ib8eRYW6hniHu54kV4Yqe7yR2skwRt6FjsJGpPsRJrwzcnmBkStVwAk44sh3KdS8z9EMKPWgsLS8BZ5zsAzNjzx2fEqmRZ"),
    Token("Alibaba Cloud", "LTAI", r"[A-Za-z0-9]{16,24}" + _END, "9DS0hQTo93l7q5Uu"),
    Token("Tencent Cloud", "AKID", r"[A-Za-z0-9]{32}" + _END, "AvCOJSnobagX5DIfOnpCBDAkWTGhWiOa"),
    Token("Scaleway", "SCW", r"[A-Z0-9]{17}" + _END, "9W275PKACD8BZLPKD"),
    Token("DigitalOcean, Pulumi", "dop_v1_ doo_v1_ dor_v1_ pul-", _H % 32, "da0e707f3c3b9a678c8f1d21bd42b272"),
    Token("Fly.io", "fm1_ fm1a_ fm1r_ fm2_ fo1_", r"[\w+/=-]{32,}+", "KWa8bDYqNv4pBRPeNkjcbhgRkyjWbbci"),
    Token("Vercel", "vcp_ vck_ vca_ vci_ vcr_", _A % 24, "spoCsEvCE2lwXM090i5qE43w"),
    Token("Netlify, Neon, Prefect, Datadog, Honeycomb, PostHog, ReadMe", "nfp_ nfc_ nfo_ nfu_ napi_ pnu_ pnb_ ddpat_ ddapp_ hcaik_ hcxik_ hcamk_ phx_ rdme_", _A % 28, "6t8YGPNNHCC826zwoF0wooSeGIGywp"),
    Token("Render", "rnd_", _A % 24, "NSUVbQBWQ7SDtwX6Ux9mge2S", is_common=True),
    Token("Cloudflare, origin CA", "v1.0-", r"[a-f0-9]{24}-[a-f0-9]{100,}+", "6c7a50327f618eb54e84f882-1e481023ee145f1402dfd06ee33720dd2068ba67138ae26a17711fd8742d716f2798a7f4a69db20f05d809a54780f6d5b226"),
    Token("OpenShift", "sha256~", r"[\w-]{43}(?![\w-])", "BdaeCCSWVyPsgqvZBKq5BFpki3e55SnGTMYq6jyUS76"),
    Token("HashiCorp Vault, Supabase, New Relic", "hvs. hvb. hvr. sbp_ sb_secret_ NRAK- NRII- NRRA- NRBR-", _W % 20, "SPaUapeTusQgPj8qm3Ey"),
    Token("Doppler", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"[\w.]{32,}+", "4jpB4LkRWQ4fUM4S7vnHWpKfZ7EUhMhs"),
    Token("1Password", "ops_eyJ", r"[\w+/-]{32,}+=*+", "Cq6iGHMdGFjWHrHkLQ9Zak7wFWNHUu7F"),
    Token("1Password, secret key", "A3-", r"[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,5}", "X10ELX-BBCVG-645JC-N0IVG-XV479"),
    Token("age", "AGE-SECRET-KEY-", _U % 16, "NS1V1Q9DSSW5ZV6R"),
    Token("Tailscale", "tskey-", _W % 16, "9JypTH4hxnwXviPS"),
    Token("Databricks", "dapi", r"[a-f0-9]{32,}+(?:-[0-9]++)?", "8fdfb7da5e323f7b4a7b9bd768ca6e97"),
    Token("PlanetScale", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w.=-]{32,}+", "sdXcadaTV6RfAvvYQk97HQdwzNYEGVkj"),
    Token("Confluent", "cflt", r"[A-Za-z0-9+/]{60,}+=*+", "9zHX9pKozaeYxyc8RywkVSRDnptz0mV3muA1Jm1Tlb4PYYrYmx5OzcSsAUQR"),
    Token("Unkey", "unkey_", _A % 20, "zYMywu7OTmDrZdtN7Qlw"),
    Token("Grafana", "glsa_ glc_", r"[\w+/=]{20,}+", "a4AFLfL5y3eqBPKs7KwG"),
    Token("Grafana, API key", "eyJrIjoi", r"[A-Za-z0-9+/]{60,}+=*+", "glMMNMFLzsSXkkWZxh2JPC7fX3GXodyFJUmBWRhmBGCN33kflkNQ7xRbG8cx"),
    Token("Dynatrace", "dt0c01. dt0s01.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}", "POLCQWD9BDQ64DGJUAMT2G4U.XQYHX4YK2PJA3MCKOEXI2GYBE2VUO4HXJVODL29J2JR00PJBRSVKQ5GU34HJ6DN9"),
    Token("Sentry", "sntrys_ sntryu_ sntrya_", r"[\w+/=-]{20,}+", "Ea47KumzDcCptNmi7mK3"),
    Token("LaunchDarkly", "api- sdk-", _UUID, "b5439ca7-9e21-f5bf-5a58-cd5146b3d98a"),
    Token("Postman", "PMAK-", r"[a-f0-9-]{32,}+", "ea1c1ffd32aad02a818d5dfb2d892ddd"),
    Token("Harness", "pat. sat.", r"[\w-]{22}\.[a-f0-9]{24}\.[A-Za-z0-9]{20}", "zxBr7xXD7N5w6B8MdwKjVy.17a5dfc470a1e768bbb22bd2.HhAbP8CSHTWpKHDm996g"),
    # Work and communication
    Token("Slack", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxp- xoxr- xoxs- xapp-", r"[A-Za-z0-9%.-]{8,}+", "5RFdli7J"),
    Token("Slack, webhook", "hooks.slack.com/services/ hooks.slack.com/workflows/", r"[\w/]{8,}+", "trZfZLu7"),
    Token("Microsoft Teams, webhook", "webhook.office.com/webhookb2/", r"[\w@-]{36,}+/[\w/-]{8,512}", "8160583993a141066a5f14492303bafc58b6/7EyZ2gKq"),
    Token("Discord", "M N O", r"[A-Za-z0-9]{23,27}\.[\w-]{6}\.[\w-]{27,38}(?![\w-])", "9rv7JaVqWIrMnn2R01hGv2v.2Gt4SX.SXiC9gaC3MPhHBNjC84t9RQhA8E"),
    Token("Discord, webhook", "discord.com/api/ discordapp.com/api/", r"(?:v\d{1,2}/)?webhooks/\d{1,20}/[\w-]{8,}+", "webhooks/7/uYyuyBKM"),
    Token("Atlassian", "ATATT3 ATTA", r"[\w=-]{32,}+", "QATwa4Z8HAEvmLv5jDNAPqf6xw7Q7rwp"),
    Token("Linear", "lin_api_ lin_oauth_ lin_wh_", _A % 16, "b569ABDQk5fT6ixT"),
    Token("Notion", "ntn_ secret_", _A % 40, "inbh0hurbYdWCmrWc8ArEhOGaXgZpj7kJ4M9afZc"),
    Token("Figma", "figd_ figo_ figu_", _W % 20, "3RPxWKZ6fkzwze6vJmhT"),
    Token("Asana", "1/ 2/", r"\d{16}(?:/\d{16})?:[a-f0-9]{32}", "4586284838362099:d5b7aa3a36daa0f92e07defdadcf987b"),
    Token("HubSpot", "pat-na1- pat-na2- pat-eu1-", _UUID, "a4e152fb-2dc5-086a-b16b-8b111bff4a83"),
    Token("ClickUp", "pk_", r"[0-9]{4,12}_[A-Z0-9]{30,}+", "6947_EPYO0TZ5BPFLKWYLASZ9XHV8YVZEH1"),
    Token("Airtable", "pat", r"[A-Za-z0-9]{14}\.[a-f0-9]{64}", "06WjPYMdSWPbCR.a4e1ec02e881f55066039018e285160edc26ae3a6cf140dc530c3c13e63568e2"),
    Token("Typeform, Contentful, Adobe, Frame.io", "tfp_ CFPAT- p8e- fio-u-", _W % 30, "mbzV5UWyCbUXWFr8BySgmuhtQYqXVcBc"),
    Token("Cal.com", "cal_live_", _H % 32, "3bb1db405c7612c57848b07e90b2ff12"),
    Token("Dropbox", "sl. sl.u.", _W % 60, "rdkyyCfnSviiVXHUGrXraJWEiTyWviXjPNrxS6hMD2kVUjQF73B7phWuazHp"),
    Token("Intercom", "dG9r", r"[A-Za-z0-9+/]{40,}+=*+", "CD5RTMHsTc9HKUcdkXSKjECAdwfFvtVvkQGpf9bf"),
    Token("Meta, Instagram", "EAA IGAA IGQV", r"[A-Za-z0-9]{60,}+", "57rKGyu1TvnUYLp0WUOXIj6X11QPDCGkzo60tZ5D8NfbfuKTmloFJsOKIcoZ"),
    Token("LinkedIn", "WPL_AP1.", r"[A-Za-z0-9]{16}\.[A-Za-z0-9+/=]{8,}+", "FC2ceMNuXAC1n21y.gbJSEqDg"),
    Token("X", "AAAAAAAAAAAAAAAAAAAAA", r"[A-Za-z0-9]{4,60}+%[A-Za-z0-9%]{40,}+", "MLheb7uW9%2BXFOGOeMVNen5n1Ae6pWzpF1qH6YytwMe4LcZ7uW9XFOG"),
    Token("Mapbox", "sk.eyJ", r"[\w-]{20,}+\.[\w-]{20,}+", "f55dYVxQUvNNCzGUTiv9.xKSb8nqVZEWfjUPzMPCz"),
    Token("Ionic, Adafruit", "ion_ aio_", _A % 28, "hPkcZQHOL94MjvHO31QpGMhqQtfO"),
    Token("Nostr", "nsec1", r"[a-z0-9]{50,}+", "93o8h6f0e2i696h6g3z8km4fixdzpdxcan3thi1fmhwkxvaqhp"),
    # Mail, telephony, payment
    Token("SendGrid", "SG.", r"[\w-]{16,}+\.[\w-]{16,}+", "zJZKyYHc6QygyMw5.QhcVrsynWEb7PEh4"),
    Token("Mailgun", "key-", r"[a-f0-9]{32}" + _END, "a9dc2fe36e228aa4e99bbcf69f861c54"),
    Token("Brevo", "xkeysib- xsmtpsib-", r"[a-f0-9]{64}[\w-]*+", "03eb0f5848654a4941a18bee262c25ebd07d531ec3451564b4495115ee0a8686"),
    Token("Resend", "re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}+", "kxT7KlEJ_TuTQukjq79VE6Ml7FlLT"),
    Token("Twilio", "SK AC", r"[a-f0-9]{32}" + _END, "5857c94f22af21a0b6803d01bebcc4ea"),
    Token("Telnyx", "KEY0", r"[A-Z0-9]{31}_[A-Za-z0-9]{22}", "MR8AUBNUUB5ZVLD0CFV5ZQ3ABUUD0VK_FBJNJhx1FW0XbWirl3jJqm"),
    Token("Stripe, Clerk, Paystack", "sk_live_ rk_live_ sk_test_ rk_test_", _A % 8, "kVOvnQ0t", is_common=True),
    Token("Webhook signing keys", "whsec_", r"[A-Za-z0-9+/=]{16,}+", "ewCxpTpxjtdjRXhh"),
    Token("Square", "sq0atp- sq0csp-", _W % 22, "zcZ7uW9XFOGOeMVNen5n1A"),
    Token("Square, access token", "EAAAE EAAAl EAAAA", r"[\w-]{58,}+", "zcZ7uW9XFOGOeMVNen5n1Ae6pWzpF1qH6YytwMe4LcZ7uW9XFOGOeMVNen5"),
    Token("Adyen", "AQE", r"[a-z]h[A-Za-z0-9+/]{80,}+=*+", "rhgNjxLQ8mXvJ5L3v26xKhBWxtPc3fNo6W5zYdNUy5BGquAEzp6Zr3WDOkYa66Y8qo3OBQBQtbPOWNUwbp"),
    Token("PayPal", "access_token$production$ access_token$sandbox$", r"[\w$]{16,}+", "tvHpN4kG993t2i6v"),
    Token("Plaid", "access-production- access-development- access-sandbox-", _UUID, "3c4a91f4-80b0-5b8f-7e3a-deae3e5df86c"),
    Token("Razorpay", "rzp_live_ rzp_test_", r"[A-Za-z0-9]{14}" + _END, "aVp6qtZ4V5ClPM"),
    Token("Mollie, Lob, GoCardless", "live_ test_", r"[\w-]{30,}+", "4SWaciJQqNDWgYbdwehhHiKDamqVLj", is_common=True),
    Token("Paddle, Duffel", "pdl_live_apikey_ pdl_sdbx_apikey_ duffel_live_ duffel_test_", _W % 30, "SZLJhKy7Heyp8qYetXmastecnJdC4Mzt"),
    Token("Midtrans", "Mid-server-", _W % 20, "awWcTFLuMxWC9ZXtBDwL"),
    Token("Shopify, Shippo", "shpat_ shpss_ shpca_ shppa_ shippo_live_ shippo_test_", _H % 32, "76e667ea12610dcbb64848a9946165c6"),
    Token("EasyPost", "EZAK EZTK", _A % 50, "PnXhVzYQBjMAkQDlLTtiR6UQPQ1cFhof2FMIb9ySnxX6CtcYXC"),
    Token("Flutterwave", "FLWSECK_TEST- FLWSECK-", _A % 12, "2lI7nM2tlXEq"),
)  # fmt: skip


# Other forms ------------------------------------------------------------------------------------------


class Shape(NamedTuple):
    """A secret without a fixed prefix. If the pattern has a group, only the group is secret."""

    name: str
    signs: str
    """The pattern is tried only in texts that contain one of these."""
    pattern: str
    example: str
    accept: Callable[[str], bool] | None = None
    """Rejects matches that are something else."""


def _is_basic(word: str) -> bool:
    """Distinguish `Basic dXNlcjpwYXNz` from `basic understanding`."""
    try:
        return b":" in base64.b64decode(word + "=" * (-len(word) % 4), validate=True)
    except ValueError:
        return False


SHAPES: tuple[Shape, ...] = (
    Shape("private key (PEM, OpenSSH, PGP)", "-----BEGIN", r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[\w+/=\s\\:,.()]|-(?!----))*+(?:-----END [A-Z0-9 ]{0,60}-----)?", "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE+/=\n-----END EC PRIVATE KEY-----"),
    Shape("JSON Web Token", "eyJ", r"\beyJ[\w-]{6,}+\.[\w-]{6,}+(?:\.[\w-]*+){0,3}", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3"),
    Shape("Bearer header", "earer EARER", r"(?i)\bbearer[ \t]{1,4}([\w.~+/-]{6,}+=*+)", "Bearer f3Kd93jf", is_random),
    Shape("Basic header", "asic ASIC", r"(?i)\bbasic[ \t]{1,4}([\w.~+/-]{6,}+=*+)", "Basic dXNlcjpwYXNz", _is_basic),
    Shape("password in a URL", "://", r"://[^\s/?#@:\"'<>]{0,256}+:([^\s/?#\"'<>]{1,512})@", "redis://:hunter2@db"),
    Shape("token as the user of a URL", "://", r"://([\w~%+=-]{16,512}+)@", "https://a1b2c3d4e5f6a7b8@host", is_random),
    Shape("signature of a URL", "?sig= &sig= ;sig= ignature= ecurity-", r"(?i)[?&;](?:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature)=([\w%+/=.~-]{8,}+)", "https://host/file?sv=1&sig=aB3%2Fd45%3D"),
    Shape("AWS secret beside its key id", "AKIA ASIA", r"A[KS]IA[A-Z0-9]{16}[^A-Za-z0-9/+](?:[\s\S]{0,200}?[^A-Za-z0-9/+=])?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])", "AKIAQ3EGRIYQ7QZW5LKU\nf3Kd93jfKs02mfLq8sV7bN1xQ4zR6yT5uI3oP2aS"),
    Shape("Azure key", "JQQJ99 AZDO +ASt +ARm ACDb AzFu AzSe AzCa AIoT", r"\b[A-Za-z0-9+/]{33,76}(?:JQQJ99|AZDO|\+ASt|\+ARm|ACDb|AzFu|AzSe|AzCa|AIoT)[A-Za-z0-9+/]{4,40}=*+", "f3Kd93jfKs02mfLq8sV7bN1xQ4zR6yT5uI3oP2aS+AStf3Kd93=="),
    Shape("Azure client secret", "Q~", r"(?<![\w~.])[\w~.]{3}\dQ~[\w~.-]{31,34}(?![\w~-])", "f3K8Q~f3Kd93jfKs02mfLq8sV7bN1xQ4zR6yT5u"),
    Shape("Telegram", ":AA", r"(?<![0-9])[0-9]{6,12}:AA[\w-]{33}(?![\w-])", "123456789:AAf3Kd93jfKs02mfLq8sV7bN1xQ4zR6yT5u"),
    Shape("Terraform", ".atlasv1.", r"\b[A-Za-z0-9]{14}\.atlasv1\.[\w-]{20,}+", "f3Kd93jfKs02mf.atlasv1.f3Kd93jfKs02mfLq8sV7bN1x"),
    Shape("Mailchimp", "-us", r"\b[a-f0-9]{32}-us[0-9]{1,2}\b", "0123456789abcdef0123456789abcdef-us21"),
    Shape("Mailgun, newer", "-", r"\b[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}\b", "0123456789abcdef0123456789abcdef-01234567-89abcdef"),
    Shape("MaxMind", "_mmk", r"\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b", "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"),
    Shape("New Relic, licence", "NRAL", r"\b[a-f0-9]{36}NRAL\b", "0123456789abcdef0123456789abcdef0123NRAL"),
    # Commands and statements
    Shape("curl -u", "curl", r"curl\b[^\n]{0,300}?\s(?:-[a-zA-Z]{0,4}[uU]|--(?:proxy-)?user)[\s=\"',]{0,4}[^\s:\"'/]{1,128}:([^\s\"'/][^\s\"']{0,511}+)", "curl -s -u ann:hunter2 https://host"),
    Shape("password option", "mysql mariadb sshpass", r"(?:mysql|mariadb|sshpass)\w{0,16}\b[^\n;|&]{0,300}?\s-p(?:(?<=pass\s-p)\s)?[\"']?([^\s\"'\\;|&]{1,512}+)", "mysql -u root -phunter2 shop"),
    Shape("SQL password", "assword ASSWORD dentified DENTIFIED", r"(?i)\b(?:(?:user|role|login|with|encrypted|set|by)\b[^\n;]{0,100}?\spassword|identified(?:\s{1,8}with\s{1,8}[\w'\"]{1,64})?\s{1,8}(?:by|as))\s{0,8}[=(]?\s{0,8}\\*+[\"']([^\"'\\\s][^\"'\\\n]{0,511}+)", "ALTER USER ann WITH PASSWORD 'hunter2'"),
)  # fmt: skip
