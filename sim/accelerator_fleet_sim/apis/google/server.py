"""stub"""

from ..listener import Answer


class GoogleApi:
    def __init__(self, *a: object) -> None:
        pass

    def handle(self, r: object) -> Answer:
        raise NotImplementedError
