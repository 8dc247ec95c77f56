"""The network interfaces of a launch template: which card, which device, EFA or not."""

from __future__ import annotations

from accelerator_fleet.catalog.model import Machine
from accelerator_fleet.plan.model import NetworkInterfacePlan


def interfaces(machine: Machine) -> tuple[NetworkInterfacePlan, ...]:
    """All EFA interfaces of a machine whose pools span nodes; () where one plain interface is enough.

    The rule is AWS's "use case 1" (one IP address a node, all EFA bandwidth), data source `aws-efa` of machines.json:
    card 0 device 0 is a normal interface, card 0 device 1 EFA-only where card 0 supports EFA, then device 0 of each
    further card EFA-only, `efa_max` in all. The count is `efa_max`, never the number of cards.
    """
    if not machine.spans_nodes or machine.efa_max == 0:
        return ()
    out = [NetworkInterfacePlan(network_card=0, device=0, interface_type="interface")]
    if machine.efa_on_card_0:
        out.append(NetworkInterfacePlan(network_card=0, device=1, interface_type="efa-only"))
    further = machine.efa_max - (len(out) - 1)
    out += [NetworkInterfacePlan(network_card=c, device=0, interface_type="efa-only") for c in range(1, further + 1)]
    return tuple(out)
