"""Who may ask what, and how often."""

import base64
import hmac
import time
from typing import Literal, NamedTuple

from tsgrad_runtime.messages import Asked, Refused

# A reader may come with a browser, which asks for a user and a password. Browsers send it with every later request,
# whichever site has made it, so that it must not be taken where anything is changed.
Who = Literal["anybody", "reader", "user", "administrator"]
_ASK_FOR_PASSWORD = ((b"www-authenticate", b'Basic realm="tsgrad: any user, a token as password", charset="UTF-8"'),)


class Tokens(NamedTuple):
    """One to decide and report rewards with, one to administer with, which may do all."""

    decide: str
    administer: str


class Admission:
    """Tokens, and how many requests a second there may be."""

    def __init__(self, tokens: Tokens, rate: float) -> None:
        self._known = (tokens.decide.encode(), tokens.administer.encode())
        self._rate, self._allowance, self._then = rate, rate, time.monotonic()

    def admit(self, asked: Asked, who: "Who") -> None:
        """Refuses who has no right token, and what comes faster than the service may be asked."""
        given = b""
        for name, value in asked.scope["headers"]:
            if name == b"authorization":
                given = value
                break
        scheme, _, token = given.partition(b" ")
        scheme, token = scheme.lower(), token.strip()
        if scheme == b"basic" and who == "reader":
            token = _password(token)
        elif scheme != b"bearer":
            token = b""
        # Both are compared, so that the time tells nothing.
        decides, rules = (hmac.compare_digest(token, known) for known in self._known)
        if not (decides or rules):
            message = "authorization must be a bearer token of this service"
            raise Refused(401, message, "authorization", headers=_ASK_FOR_PASSWORD if who == "reader" else ())
        if who == "administrator" and not rules:
            raise Refused(403, "authorization must be the token of administrators here", "authorization")
        now = time.monotonic()
        self._allowance = min(self._rate, self._allowance + (now - self._then) * self._rate)
        self._then = now
        if self._allowance < 1:
            raise Refused(429, f"requests come faster than {self._rate:g} a second")
        self._allowance -= 1


def _password(given: bytes) -> bytes:
    """That of HTTP's basic authorization, whoever the user is."""
    try:
        return base64.b64decode(given, validate=True).partition(b":")[2]
    except ValueError:
        return b""
