"""Starts the language host: a gRPC server whose port is the first line on standard output."""

import argparse
import os
import signal
import sys
import threading
from concurrent import futures
from pathlib import Path
from types import FrameType

import grpc

from accelerator_fleet_engine.langhost.protocol import language_pb2_grpc
from accelerator_fleet_engine.langhost.server import LanguageHost

WATCH_EVERY = 1.0  # seconds between two looks at whether the engine still lives


def main() -> int:
    parser = argparse.ArgumentParser(prog="pulumi-language-python", allow_abbrev=False)
    parser.add_argument("--executor", type=Path, required=True, help="the official pulumi-language-python-exec")
    parser.add_argument("--tracing", default="", help="accepted for compatibility; nothing is traced")
    parser.add_argument("engine", nargs="?", default="", help="address of the engine")
    arguments, _ = parser.parse_known_args()

    host = LanguageHost(arguments.executor.resolve(), arguments.engine)
    unlimited = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16), options=unlimited)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)

    done = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        done.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    parent = os.getppid()
    # A killed engine cannot tell us: when our parent is another process, it is gone, and we go too.
    while not done.wait(WATCH_EVERY) and os.getppid() == parent:
        pass
    host.children.stop_all()
    server.stop(grace=0.5).wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
