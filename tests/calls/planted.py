"""Made-up secrets in the forms that services document, each within a text; and ordinary texts that look similar.

They are generated, so that secret scanners do not report this file.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
import uuid
from collections.abc import Callable

from halflap.calls.redact.table import words

_ALL = string.ascii_letters + string.digits
_UP, _HEX, _URL, _B64 = string.ascii_uppercase + string.digits, "0123456789abcdef", _ALL + "-_", _ALL + "+/"
_RANDOM = random.Random()


def _some(characters: str, count: int) -> str:
    return "".join(_RANDOM.choice(characters) for _ in range(count))


def _of(template: str) -> Callable[[], str]:
    """Return what fills a template: `<A20>` is 20 letters and digits; U capitals, h hexadecimal, u URL-safe, b base64, d digits."""
    kinds = {"A": _ALL, "U": _UP, "h": _HEX, "u": _URL, "b": _B64, "d": "123456789"}

    def make() -> str:
        return re.sub("<([AUhubd])([0-9]+)>", lambda part: _some(kinds[part[1]], int(part[2])), template)

    return make


def _word() -> str:
    return _RANDOM.choice(["sunflower", "Rocket", "marble", "Tangerine"]) + _some("0123456789", 2) + "!"


def _login() -> str:
    return base64.b64encode(f"ann:{_word()}".encode()).decode()


def _key() -> str:
    return "\n".join(_some(_B64, 64) for _ in range(3))


def _uuid() -> str:
    return str(uuid.UUID(int=_RANDOM.getrandbits(128), version=4))


_PROSE, _JSON, _LOG = "I used @ for the request.", '{"output": "made @ for you"}', "10:00 INFO started with @"
_BY_PREFIX = words(
    """
    AKIA<U16> AIza<u35> ya29.a0<u160> GOCSPX-<u28> ghp_<A36> github_pat_11A<U19>_<A59> ghs_<A36> glpat-<u20> glrt-<u20>
    xoxb-<d12>-<d12>-<A24> xapp-1-A0<U9>-<d13>-<h64> sk_live_51<A97> rk_live_51<A97> whsec_<A32> SK<h32> SG.<u22>.<u43>
    sk-proj-<u74>T3BlbkFJ<u74> sk-<A20>T3BlbkFJ<A20> sk-ant-api03-<u93>AA hf_<A34> pplx-<A48> nvapi-<u64> gsk_<A52>
    r8_<A37> npm_<A36> pypi-AgEIcHlwaS5vcmc<u120> dckr_pat_<u27> dop_v1_<h64> sntryu_<h64> glsa_<A32>_<h8> ntn_<d11><A35>
    secret_<A43> lin_api_<A40> figd_<u40> pat<A14>.<h64> sbp_<h40> sb_secret_<u22>_<u8> nfp_<A36> shpat_<h32>
    sq0csp-<u43> EAAAl<u59> MT<A24>.G<u5>.<u38> <d10>:AA<u33> key-<h32> <h32>-<h8>-<h8> dp.st.prd.<A43> hvs.CAES<u90>
    dapi<h32> HRKU-AA<u58> ATATT3xFfGF0<u170>=<U8> sk.eyJ1Ijoi<u60>.<u22> pcsk_<A5>_<A63> tskey-auth-<A16>-<A32>
    <A14>.atlasv1.<A67> NRAK-<U27> EAACEdEose0cBA<A150> AGE-SECRET-KEY-1<U58> xai-<A80> PMAK-<h24>-<h34> sl.u.<u140>
    vercel_blob_rw_<A16>_<A32> ctx7sk-<h8>-<h4>-4<h3>-a<h3>-<h12> mdb_sa_sk_<u40> pylf_v1_eu_<A43> pk_<d8>_<U32> m0-<A40>
    <h8>-<h4>-4<h3>-a<h3>-<h12>:fx <h36>NRAL 00D<A12>!<A96> <h32>.<A16> https://hook.eu1.make.com/<A32> oy2<A43>
    pscale_tkn_<u43> <A3>8Q~<A34> <A52>JQQJ99<U10>AC<A14> eyJhbGciOiJIUzI1NiJ9.eyJ<u45>.<u43>
"""
)
_BY_CONTEXT: list[tuple[Callable[[], str], str]] = [
    (_of("<b40>"), "aws_secret_access_key = @\nregion = eu-west-1"),
    (_of("<b40>"), '{"AccessKeyId": "x", "SecretAccessKey": "@"}'),
    (_of("<h64>"), "https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature=@"),
    (_of("<b86>=="), "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=@;EndpointSuffix=core.windows.net"),
    (_of("<A43>%3D"), "https://a.blob.core.windows.net/c/f?sv=2022-11-02&sp=r&sig=@"),
    (_of("T0<U8>/B0<U8>/<A24>"), "https://hooks.slack.com/services/@"),
    (_of("<u68>"), "https://discord.com/api/webhooks/1234567890123456789/@"),
    (_of("<h32>"), "TWILIO_AUTH_TOKEN=@"),
    (_of("<h32>"), "DD_API_KEY: '@'"),
    (_of("<h37>"), "X-Auth-Key: @"),
    (_uuid, "X-Postmark-Server-Token: @"),
    (_uuid, "pat-na1-@"),
    (_of("<A24>"), "vercel --token @ --prod"),
    (_of("<u40>"), "Authorization: Bearer @"),
    (_of("00<u40>"), "Authorization: SSWS @"),
    (_of("<A30>"), "Ocp-Apim-Subscription-Key: @"),
    (_of("<A24>"), "GET /v1/x?api_key=@&page=2"),
    (_of("<A32>"), "Set-Cookie: __Host-sess=@; Path=/; HttpOnly"),
    (_word, "--api-key @ --verbose"),
    (_word, "-H 'X-Auth-Token: @'"),
    (_of("<A36>"), "//registry.npmjs.org/:_authToken=@"),
    (_of("E<u79>"), "curl -u AbClientId:@ -d grant_type=client_credentials https://host"),
    (_login, "-H 'Authorization: Basic @'"),
    (_login, '{"auths": {"ghcr.io": {"auth": "@"}}}'),
    (_word, "mongodb+srv://ann:@@cluster0.mongodb.net/?retryWrites=true"),
    (_word, "redis://:@@cache:6379/0"),
    (_word, "jdbc:sqlserver://h:1433;databaseName=d;user=sa;password=@;encrypt=true"),
    (_word, "database:\n  user: ann\n  password: @\n  port: 5432"),
    (_word, 'export MYSQL_ROOT_PASSWORD="@"'),
    (_word, '{"clientId": "x", "clientSecret": "@"}'),
    (_word, "machine h\n  login ann\n  password @"),
    (_word, "PGPASSWORD=@ psql -h db"),
    *((_key, f"-----BEGIN {kind} PRIVATE KEY-----\n@\n-----END {kind} PRIVATE KEY-----") for kind in ("RSA", "OPENSSH")),
]  # fmt: skip


def secrets() -> list[tuple[str, str]]:
    """Return texts with a secret, and the secrets."""
    _RANDOM.seed(1)
    cases = [(_of(template), context) for template in sorted(_BY_PREFIX) for context in (_PROSE, _JSON, _LOG)]
    made = [(context, make()) for make, context in (*cases, *_BY_CONTEXT)]
    return [(context.replace("@", secret, 1), secret) for context, secret in made]


def ordinary() -> list[str]:
    """Return texts without a secret."""
    _RANDOM.seed(1)
    templates = [
        "commit <h40>\n\n    Fix the parser (<h7>)",
        "sha256:<h64>  file-<h8>.tar.gz <h32>  image.iso",
        '"integrity": "sha512-<b86>=="',
        "customer cus_<A14>, price price_1<A23>, payment pi_3<A23>, public pk_live_<A24>",
        "channel C0<U9> user U0<U9> team T0<U9> ts <d10>.<d6>",
        "ULID <U26>, nanoid <u21>, KSUID <A27>, object <h24>, e-tag <h32>, video <u11>",
        "arn:aws:iam::<d12>:role/app-<h8> i-0<h16> vpc-0<h16> AIDA<U16>",
        "next_page_token=<A40>&continuationToken=<A32>&max_tokens=<d5>",
        "main.<h8>.chunk.js /home/ann/.cache/pip/<h56>.body data-v-<h8> 0x<h64> 0x<h40>",
        "https://docs.google.com/document/d/1<u43>/edit#gid=<d9> DE<d20> +49 30 <d7>",
        '{"type": "image", "mimeType": "image/png", "data": "<b4000>"}',
    ]
    made = [_of(template)() for template in templates for _ in range(40)]
    made += [json.dumps({"id": _uuid(), "requestId": _uuid()}) for _ in range(40)]
    return made
