"""A cluster on its own, to look at: `python -m accelerator_fleet_sim.cluster demo --folder X`."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

from accelerator_fleet_sim.cluster.api import ClusterRuntime, NodeShape, NodeSpec


def _nodes(count: int, kind: str) -> list[NodeSpec]:
    gpu = kind == "gpu"
    shape = NodeShape(
        labels={"demo/pool": kind},
        taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}] if gpu else [],
        capacity={"cpu": "192" if gpu else "8", "memory": "2048Gi" if gpu else "32Gi", "pods": "58"},
        device_resources={"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "32"} if gpu else {},
    )
    return [
        NodeSpec(
            name=f"ip-10-0-{10 if gpu else 1}-{i}.us-east-2.compute.internal",
            provider_id=f"aws:///us-east-2a/i-{kind}{i:08x}",
            zone="us-east-2a",
            region="us-east-2",
            instance_type="p5.48xlarge" if gpu else "m7i.2xlarge",
            internal_ip=f"10.0.{10 if gpu else 1}.{i}",
            shape=shape,
        )
        for i in range(1, count + 1)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["demo"])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--clusters", type=int, default=1)
    parser.add_argument("--system-nodes", type=int, default=2)
    parser.add_argument("--gpu-nodes", type=int, default=4)
    args = parser.parse_args()
    runtime = ClusterRuntime(args.folder, lambda text: print(text, file=sys.stderr))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        for number in range(1, args.clusters + 1):
            name, began = f"demo-{number}", time.monotonic()
            endpoint = runtime.ensure(name, version="1.36", cluster_id=name, authenticate=lambda *_: None)
            runtime.set_nodes(name, "system", _nodes(args.system_nodes, "system"))
            runtime.set_nodes(name, "gpu", _nodes(args.gpu_nodes, "gpu"))
            print(f"{name}: {endpoint.endpoint} after {time.monotonic() - began:.1f} s")
            print(f"  KUBECONFIG={runtime.admin_kubeconfig(name)}", flush=True)
        while True:
            time.sleep(30)
            for row in runtime.summary():
                print(f"{row['name']}: {row['rss'] >> 20} MiB", flush=True)
    except KeyboardInterrupt:
        return 0
    finally:
        runtime.stop()


if __name__ == "__main__":
    sys.exit(main())
