"""The plugin process `pulumi-resource-accelerator-fleet-native`: serves until its engine is gone."""

from __future__ import annotations

import os
import sys
import threading
import time
from concurrent import futures


def _end_with(parent: int) -> None:
    """End when the engine that started this plugin is gone; Cloud TPU goes on with what it was asked."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


def main() -> None:
    """Entry point. The first argument is the engine's address, which is not needed."""
    import grpc
    from pulumi.runtime.proto import provider_pb2_grpc

    from accelerator_fleet_native.servicer import Servicer

    server = grpc.server(futures.ThreadPoolExecutor(max_workers=64))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Servicer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    try:
        server.wait_for_termination()
    except KeyboardInterrupt:
        server.stop(0)
    sys.exit(0)


if __name__ == "__main__":
    main()
