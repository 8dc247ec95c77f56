"""Who may ask the Google APIs: the service account in the credentials file, its token endpoint and its tokens."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from accelerator_fleet_engine.endpoints import CREDENTIALS

from ...google.scope import World
from ..listener import Answer, Request

EMAIL = "operator@embedded-access.iam.gserviceaccount.com"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
AUDIENCE = "https://oauth2.googleapis.com/token"  # what google-auth says whatever token_uri is
LIFETIME = 3600
TOKEN_PATH = "/token"
PREFIX = "ya29.embedded-api-"
JSON = {"Content-Type": "application/json; charset=utf-8"}


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Access:
    """Makes the credentials file and checks what is made of it."""

    def __init__(self, folder: Path, world: World) -> None:
        self._path, self._world = folder / CREDENTIALS, world
        self._url = ""

    def _secret(self, name: str, make: Any) -> str:
        with self._world.store.lock:
            found = self._world.store.meta(name)
            if found is None:
                found = make()
                self._world.store.set_meta(name, found)
        return str(found)

    def _key(self) -> str:
        """The service account's private key in PEM: made once a datacentre."""

        def make() -> str:
            from cryptography.hazmat.primitives import serialization
            from cryptography.hazmat.primitives.asymmetric import rsa

            key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
            kind, form = serialization.PrivateFormat.PKCS8, serialization.Encoding.PEM
            return key.private_bytes(form, kind, serialization.NoEncryption()).decode()

        return self._secret("api key", make)

    def write(self, url: str) -> None:
        """The file that GOOGLE_APPLICATION_CREDENTIALS names."""
        self._url = url + TOKEN_PATH
        content = {
            "type": "service_account", "project_id": "embedded-access", "private_key_id": "embedded",
            "private_key": self._key(), "client_email": EMAIL, "client_id": "100000000000000000002",
            "token_uri": self._url, "universe_domain": "googleapis.com",
        }  # fmt: skip
        scratch = self._path.with_name(f".{self._path.name}")
        scratch.touch(mode=0o600)
        scratch.write_text(json.dumps(content, indent=1) + "\n")
        os.replace(scratch, self._path)

    # -- tokens ------------------------------------------------------------------------------------------------------
    def token(self, request: Request) -> Answer:
        """RFC 7523: an assertion signed with the key becomes a token."""
        fields = {k: v[0] for k, v in parse_qs(request.body.decode()).items()}
        try:
            if fields.get("grant_type") != GRANT:
                raise ValueError("unsupported grant type")
            self._check(fields["assertion"])
        except (ValueError, KeyError) as problem:
            body = {"error": "invalid_grant", "error_description": str(problem)}
            return Answer(400, json.dumps(body).encode(), JSON)
        until = int(time.time()) + LIFETIME
        made = {"access_token": f"{PREFIX}{until}.{self._sign(until)}", "expires_in": LIFETIME, "token_type": "Bearer"}
        return Answer(200, json.dumps(made).encode(), JSON)

    def _check(self, assertion: str) -> None:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import padding, rsa

        head, claims, signature = assertion.split(".")
        key = serialization.load_pem_private_key(self._key().encode(), None)
        assert isinstance(key, rsa.RSAPrivateKey)
        try:
            key.public_key().verify(
                _decoded(signature), f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256()
            )
        except InvalidSignature:
            raise ValueError("Invalid JWT Signature.") from None
        said = json.loads(_decoded(claims))
        if said.get("iss") != EMAIL or said.get("aud") not in (AUDIENCE, self._url):
            raise ValueError("Invalid JWT: iss or aud")
        if not said.get("scope"):
            raise ValueError("Invalid OAuth scope or ID token audience provided.")
        if float(said["exp"]) < time.time():
            raise ValueError("Invalid JWT: it has expired")

    def _sign(self, until: int) -> str:
        key = self._secret("api token key", lambda: secrets.token_hex(32))
        return hmac.new(bytes.fromhex(key), str(until).encode(), hashlib.sha256).hexdigest()

    def valid(self, header: str) -> bool:
        """Whether an Authorization header bears a token of this datacentre that still holds."""
        kind, _, token = header.partition(" ")
        until, _, signature = token.removeprefix(PREFIX).partition(".")
        if kind.lower() != "bearer" or not token.startswith(PREFIX) or not until.isdigit():
            return False
        return int(until) > time.time() and hmac.compare_digest(signature, self._sign(int(until)))
