"""What the engine room says when it cannot go on: one sentence for people, and what to do."""


class EngineError(Exception):
    """Something a person can mend; printed as is, without a traceback."""


class EngineMissing(EngineError):
    """A binary is neither installed nor built; names the command that builds it."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name}: not found on PATH and not built yet; run: fleet engine build")
        self.name = name
