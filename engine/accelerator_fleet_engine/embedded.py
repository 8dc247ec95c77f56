"""Which environments this toolkit may run by itself: those whose every site lies in the embedded datacentre."""

from pathlib import Path

from accelerator_fleet_engine.errors import EngineError
from accelerator_fleet_engine.layout import Layout

ACCOUNT = "000000000000"
PROJECT_PREFIX = "embedded-"
CONTEXTS = ("lab",)  # existing clusters that the datacentre offers (`fleet sim seed`)


def spec_file(layout: Layout, env: str) -> Path:
    """The spec that the stack `env` names in `fleet:spec`; raises EngineError naming the stacks there are."""
    import yaml

    settings = layout.stack_settings(env)
    if not settings.is_file():
        known = ", ".join(sorted(p.name[len("Pulumi.") : -len(".yaml")] for p in settings.parent.glob("Pulumi.*.yaml")))
        raise EngineError(f"no environment '{env}': stacks/{settings.name} does not exist; there are: {known}")
    config = (yaml.safe_load(settings.read_text(encoding="utf-8")) or {}).get("config") or {}
    named = config.get("fleet:spec")
    if not isinstance(named, str):
        raise EngineError(f"stacks/{settings.name}: config.fleet:spec: names no spec, e.g. fleets/{env}.yaml")
    return settings.parent / named


def foreign_sites(layout: Layout, env: str) -> list[str]:
    """`site (account, project or context)` of every site that is not embedded. Raises what loading the spec raises."""
    from accelerator_fleet import spec

    foreign = []
    for site in spec.load(spec_file(layout, env)).sites:
        account = str(getattr(site, "account", None) or "")
        project = str(getattr(site, "project", None) or "")
        if site.kubeconfig is not None:
            context = site.kubeconfig.context
            foreign += [] if context in CONTEXTS else [f"{site.name} (context {context})"]
            continue
        if account != ACCOUNT and not project.startswith(PROJECT_PREFIX):
            foreign.append(f"{site.name} ({account or project or site.kind})")
    return foreign


def contexts(layout: Layout, env: str) -> list[str]:
    """Contexts of the env's `existing` sites that the embedded datacentre has a cluster for."""
    from accelerator_fleet import spec

    sites = spec.load(spec_file(layout, env)).sites
    named = {site.kubeconfig.context for site in sites if site.kubeconfig is not None}
    return sorted(named & set(CONTEXTS))


def require(layout: Layout, env: str) -> None:
    """Raises EngineError when `env` has a site in a real account: those are for the user's own Pulumi."""
    foreign = foreign_sites(layout, env)
    if foreign:
        raise EngineError(
            f"{env}: these sites are in real accounts: {', '.join(foreign)}. `fleet env`, `up`, `preview` and `down` "
            f"run the embedded datacentre only (account {ACCOUNT}, projects {PROJECT_PREFIX}*, context {CONTEXTS[0]}). "
            f"For {env} use your own Pulumi, backend and credentials, in a shell that is not prepared: "
            f"pulumi preview --stack {env}"
        )
