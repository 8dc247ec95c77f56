"""Where the embedded datacentre answers the clouds' own APIs, and the variables that make clients ask there."""

import hashlib
import json
import os
from pathlib import Path

# Public like the passphrase of embedded stacks: what they open is on loopback. Real AWS knows no such key.
ACCESS_KEY = "AKIAEMBEDDEDFLEET000"
SECRET_KEY = "embedded/datacentre/no/real/secret/00000"
NOTE = "endpoints.json"
CREDENTIALS = "google-credentials.json"
# Below the ports that control planes take (20000 to 32000) and far below the kernel's ephemeral ones.
RANGE = (15_000, 19_800)
# Each API's root as gcloud writes it (`gcloud config set api_endpoint_overrides/…`); Compute's has its version inside.
GOOGLE_ROOTS = {
    "compute": "compute/v1/",
    "container": "container/",
    "file": "file/",
    "lustre": "lustre/",
    "iam": "iam/",
    "servicenetworking": "servicenetworking/",
    "cloudresourcemanager": "cloudresourcemanager/",
}


def preferred(sim: Path) -> dict[str, int]:
    """The ports that a datacentre's folder takes when they are free: the same at every start. Pure."""
    digest = hashlib.sha256(os.fsencode(sim.absolute())).digest()
    first = RANGE[0] + 3 * (int.from_bytes(digest[:4], "big") % ((RANGE[1] - RANGE[0]) // 3))
    return {"aws": first, "google": first + 1, "tpu": first + 2}


def addresses(sim: Path) -> dict[str, str]:
    """`aws` and `google` as URLs, `tpu` as host:port; where the datacentre listens, or will when its ports are free."""
    note = sim / NOTE
    if note.is_file():
        found: dict[str, str] = json.loads(note.read_text(encoding="utf-8"))
        return found
    return written(preferred(sim))


def written(ports: dict[str, int]) -> dict[str, str]:
    """Ports as addresses."""
    return {
        "aws": f"http://127.0.0.1:{ports['aws']}",
        "google": f"http://127.0.0.1:{ports['google']}",
        "tpu": f"127.0.0.1:{ports['tpu']}",
    }


def variables(sim: Path) -> dict[str, str]:
    """What boto3, google-auth and gcloud read. Reads the note of a running datacentre, touches nothing."""
    where = addresses(sim)
    bypass = [e for e in (os.environ.get("NO_PROXY") or os.environ.get("no_proxy") or "").split(",") if e.strip()]
    bypass += [e for e in ("127.0.0.1", "localhost") if e not in bypass]
    overrides = {
        f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{name.upper()}": f"{where['google']}/{root}"
        for name, root in GOOGLE_ROOTS.items()
    }
    return {
        "AWS_ENDPOINT_URL": where["aws"],
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_SESSION_TOKEN": "",
        "AWS_EC2_METADATA_DISABLED": "true",
        **overrides,
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU": f"http://{where['tpu']}/",
        "GOOGLE_APPLICATION_CREDENTIALS": str(sim / CREDENTIALS),
        "NO_PROXY": ",".join(bypass),
        "no_proxy": ",".join(bypass),
    }
