"""What the clouds' clients raise, as a sentence for people."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from accelerator_fleet.errors import FleetError


@contextlib.contextmanager
def asked(env: str) -> Iterator[None]:
    """Inside, a cloud's refusal or silence becomes a FleetError."""
    from botocore.exceptions import BotoCoreError, ClientError
    from google.api_core.exceptions import GoogleAPIError
    from google.auth.exceptions import GoogleAuthError
    from requests import RequestException

    try:
        yield
    except ClientError as refused:
        said = refused.response.get("Error") or {}
        raise FleetError(
            env, f"AWS refused {refused.operation_name}: {said.get('Code')}: {said.get('Message')}"
        ) from None
    except BotoCoreError as failed:
        raise FleetError(env, f"AWS does not answer: {failed}") from None
    except GoogleAuthError as failed:
        raise FleetError(env, f"Google: no credentials that work: {failed}") from None
    except (GoogleAPIError, RequestException) as failed:
        raise FleetError(env, f"Google Cloud does not answer: {failed}") from None
