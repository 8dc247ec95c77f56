"""Networks: VPCs, subnetworks with their ranges, routers, NAT, firewalls, and the peering of Google's own services."""

from __future__ import annotations

import ipaddress
from typing import Any

from ...core.suppress import link_path
from ...daemon.store import Resource
from ..behaviour import Behaviour
from ..errors import GoogleError, invalid
from ..scope import (
    ADDRESS,
    CLUSTER,
    COMPUTE,
    CONNECTION,
    FIREWALL,
    NAT,
    NETWORK,
    ROUTER,
    SUBNETWORK,
    Scope,
    networks_of,
)

PROFILES = ("vpc-roce", "vpc-falcon", "vpc-roce-metal")


def need_network(scope: Scope, reference: Any, field: str = "network") -> Resource:
    """The network that is named, or Compute Engine's refusal."""
    found = scope.network(reference)
    if found is None or found.state == "deleting":
        raise invalid(field, reference, "The referenced network resource cannot be found.")
    return found


class Network(Behaviour):
    """A VPC."""

    def validate(self, scope: Scope, inputs: dict[str, Any], old: Resource | None) -> None:
        quota = scope.catalog.account["quotas"]["networks"]
        if old is None and len(scope.all(NETWORK)) >= quota:
            raise GoogleError(403, "quotaExceeded", f"Quota 'NETWORKS' exceeded.  Limit: {quota}.0 globally.")
        mtu = inputs.get("mtu")
        if mtu is not None and not 1300 <= int(mtu) <= 8896:
            raise invalid("mtu", mtu, "Must be between 1300 and 8896.")
        profile = inputs.get("networkProfile")
        if profile:
            self._check_profile(scope, str(profile), inputs)

    @staticmethod
    def _check_profile(scope: Scope, profile: str, inputs: dict[str, Any]) -> None:
        name = profile.rpartition("/")[2]
        kind = next((p for p in PROFILES if name.endswith(f"-{p}")), None)
        if kind is None or not scope.catalog.is_zone(name.removesuffix(f"-{kind}")):
            raise invalid("networkProfile", profile, "The referenced network profile cannot be found.")
        if inputs.get("autoCreateSubnetworks") is not False:
            raise invalid("autoCreateSubnetworks", True, "It must be false for a network with a network profile.")

    def complete(self, scope: Scope, resource: Resource) -> None:
        number = scope.number()
        out = resource.outputs
        profile = out.get("networkProfile")
        if profile:
            out["networkProfile"] = COMPUTE + link_path(profile)
        out |= {
            "networkId": number, "numericId": number, "gatewayIpv4": "",
            "mtu": out.get("mtu") or (8896 if profile else 1460), "routingMode": out.get("routingMode") or "REGIONAL",
            "bgpBestPathSelectionMode": out.get("bgpBestPathSelectionMode") or "LEGACY",
        }  # fmt: skip


class Subnetwork(Behaviour):
    """A subnetwork: primary and secondary ranges do not overlap with any of the network."""

    def validate(self, scope: Scope, inputs: dict[str, Any], old: Resource | None) -> None:
        network = need_network(scope, inputs["network"])
        if network.outputs.get("autoCreateSubnetworks") and old is None:
            raise invalid("network", inputs["network"], "Cannot create subnetworks in an auto subnet mode network.")
        quota = scope.catalog.account["quotas"]["subnetworks"]
        if old is None and len(scope.all(SUBNETWORK)) >= quota:
            raise GoogleError(403, "quotaExceeded", f"Quota 'SUBNETWORKS' exceeded.  Limit: {quota}.0 globally.")
        ranges = [("ipCidrRange", inputs.get("ipCidrRange"))]
        names = []
        for row in inputs.get("secondaryIpRanges") or []:
            names.append(row.get("rangeName"))
            ranges.append(("secondaryIpRanges", row.get("ipCidrRange")))
        if len(set(names)) < len(names):
            raise invalid("secondaryIpRanges", names, "Secondary IP ranges must have unique names.")
        own: list[ipaddress.IPv4Network] = []
        for field, text in ranges:
            own.append(self._range(field, text, own))
        self._check_others(scope, network, own, old)

    @staticmethod
    def _range(field: str, text: Any, own: list[ipaddress.IPv4Network]) -> ipaddress.IPv4Network:
        try:
            found = ipaddress.IPv4Network(str(text))
        except ValueError as error:
            raise invalid(field, text, f"Invalid CIDR range: {error}.") from error
        if not 4 <= found.prefixlen <= 29:
            raise invalid(field, text, "The prefix length must be between 4 and 29.")
        for other in own:
            if found.overlaps(other):
                raise invalid(field, text, f"IP range {text} conflicts with range {other} of the same subnetwork.")
        return found

    @staticmethod
    def _check_others(scope: Scope, network: Resource, own: list[ipaddress.IPv4Network], old: Resource | None) -> None:
        for other in scope.all(SUBNETWORK, network=network.outputs["selfLink"]):
            if old is not None and other.id == old.id:
                continue
            for mine in own:
                for theirs in networks_of(other):
                    if mine.overlaps(theirs):
                        raise invalid("ipCidrRange", mine, f"Invalid IPCidrRange: {mine} conflicts with existing "
                                      f"subnetwork '{other.outputs['name']}' in region "
                                      f"'{other.outputs['region']}'.")  # fmt: skip
        for address in scope.all(ADDRESS):
            reserved = address_range(address)
            if reserved is not None and link_path(str(address.outputs.get("network"))) == network.id:
                for mine in own:
                    if mine.overlaps(reserved):
                        raise invalid("ipCidrRange", mine, f"IP range {mine} conflicts with the range {reserved} "
                                      f"reserved by '{address.outputs['name']}'.")  # fmt: skip

    def complete(self, scope: Scope, resource: Resource) -> None:
        self._fill(scope, resource)
        resource.outputs |= {"fingerprint": scope.fingerprint(), "subnetworkId": int(scope.number()[:9])}

    @staticmethod
    def _fill(scope: Scope, resource: Resource) -> None:
        out = resource.outputs
        network = need_network(scope, out["network"])
        out |= {
            "network": network.outputs["selfLink"],
            "gatewayAddress": str(ipaddress.IPv4Network(out["ipCidrRange"])[1]),
            "privateIpGoogleAccess": bool(out.get("privateIpGoogleAccess")),
            "privateIpv6GoogleAccess": out.get("privateIpv6GoogleAccess") or "DISABLE_GOOGLE_ACCESS",
            "purpose": out.get("purpose") or "PRIVATE", "stackType": out.get("stackType") or "IPV4_ONLY",
            "secondaryIpRanges": out.get("secondaryIpRanges") or [],
        }  # fmt: skip

    def updated(self, scope: Scope, resource: Resource, before: dict[str, Any]) -> None:
        dropped = {r["rangeName"] for r in before.get("secondaryIpRanges") or []} - {
            r["rangeName"] for r in resource.outputs.get("secondaryIpRanges") or []
        }
        for cluster in scope.all(CLUSTER):
            policy = cluster.outputs.get("ipAllocationPolicy") or {}
            used = {policy.get("clusterSecondaryRangeName"), policy.get("servicesSecondaryRangeName")}
            if dropped & used and link_path(str(cluster.outputs.get("subnetwork"))) == resource.id:
                name = sorted(dropped & used)[0]
                raise GoogleError(400, "resourceInUseByAnotherResource", f"The secondary range '{name}' of "
                                  f"'{resource.id}' is already being used by '{cluster.id}'")  # fmt: skip
        self._fill(scope, resource)
        resource.outputs["fingerprint"] = scope.fingerprint()


class OfNetwork(Behaviour):
    """A router or a firewall: something that names its network."""

    def validate(self, scope: Scope, inputs: dict[str, Any], old: Resource | None) -> None:
        if not inputs.get("network"):
            return
        network = need_network(scope, inputs["network"])
        if self.token == FIREWALL and network.outputs.get("networkProfile") and old is None:
            raise invalid("network", inputs["network"], "VPC firewall rules are not supported in a network with an "
                          "RDMA network profile.")  # fmt: skip

    def complete(self, scope: Scope, resource: Resource) -> None:
        out = resource.outputs
        if out.get("network"):
            out["network"] = need_network(scope, out["network"]).outputs["selfLink"]
        if self.token == FIREWALL:
            out["direction"] = out.get("direction") or "INGRESS"
            out["destinationRanges"] = out.get("destinationRanges") or []

    def updated(self, scope: Scope, resource: Resource, before: dict[str, Any]) -> None:
        if resource.outputs.get("network"):
            resource.outputs["network"] = need_network(scope, resource.outputs["network"]).outputs["selfLink"]

    def deleted(self, scope: Scope, resource: Resource) -> None:
        if self.token == ROUTER:  # its NATs are part of it
            for nat in scope.all(NAT, router=resource.outputs["name"], region=resource.outputs["region"]):
                scope.store.remove(nat)


class RouterNat(Behaviour):
    """A NAT configuration of a router."""

    def validate(self, scope: Scope, inputs: dict[str, Any], old: Resource | None) -> None:
        name = str(inputs["router"]).rpartition("/")[2]
        path = f"projects/{scope.project}/regions/{inputs['region']}/routers/{name}"
        router = scope.find(ROUTER, path)
        if router is None:
            raise GoogleError(404, "notFound", f"The resource '{path}' was not found")
        if inputs.get("natIpAllocateOption") == "MANUAL_ONLY" and not inputs.get("natIps"):
            raise invalid("nats[0].natIps", "", "At least one NAT IP is needed with MANUAL_ONLY.")
        if inputs.get("sourceSubnetworkIpRangesToNat") == "LIST_OF_SUBNETWORKS" and not inputs.get("subnetworks"):
            raise invalid("nats[0].subnetworks", "", "At least one subnetwork is needed with LIST_OF_SUBNETWORKS.")
        self._check_twice(scope, inputs, router, old)

    @staticmethod
    def _check_twice(scope: Scope, inputs: dict[str, Any], router: Resource, old: Resource | None) -> None:
        if inputs.get("sourceSubnetworkIpRangesToNat") == "LIST_OF_SUBNETWORKS":
            return
        for other in scope.all(NAT, region=inputs["region"]):
            if old is not None and other.id == old.id:
                continue
            theirs = scope.find(ROUTER, f"projects/{scope.project}/regions/{inputs['region']}/routers/"
                                f"{other.outputs['router']}")  # fmt: skip
            if theirs is not None and theirs.outputs.get("network") == router.outputs.get("network"):
                raise invalid("nats[0].sourceSubnetworkIpRangesToNat", inputs.get("sourceSubnetworkIpRangesToNat"),
                              f"It conflicts with NAT '{other.outputs['name']}' of router "
                              f"'{other.outputs['router']}' in the same network and region.")  # fmt: skip

    def complete(self, scope: Scope, resource: Resource) -> None:
        out = resource.outputs
        out["router"] = str(out["router"]).rpartition("/")[2]
        out |= {
            "endpointTypes": out.get("endpointTypes") or ["ENDPOINT_TYPE_VM"],
            "enableEndpointIndependentMapping": bool(out.get("enableEndpointIndependentMapping")),
            "enableDynamicPortAllocation": bool(out.get("enableDynamicPortAllocation")),
            "autoNetworkTier": out.get("autoNetworkTier") or "PREMIUM",
        }  # fmt: skip


def address_range(address: Resource) -> ipaddress.IPv4Network | None:
    """The range that a global address reserves for peering."""
    out = address.outputs
    if out.get("purpose") != "VPC_PEERING" or not out.get("address"):
        return None
    return ipaddress.IPv4Network(f"{out['address']}/{out['prefixLength']}", strict=False)


class GlobalAddress(Behaviour):
    """A global address, or the range that Google's own services get."""

    def validate(self, scope: Scope, inputs: dict[str, Any], old: Resource | None) -> None:
        if inputs.get("purpose") != "VPC_PEERING" or old is not None:
            return
        network = need_network(scope, inputs.get("network") or "")
        if inputs.get("addressType") != "INTERNAL":
            raise invalid("purpose", "VPC_PEERING", "It needs address type INTERNAL.")
        length = inputs.get("prefixLength")
        if not length:
            raise invalid("prefixLength", "", "It is required for purpose VPC_PEERING.")
        if inputs.get("address"):
            wanted = ipaddress.IPv4Network(f"{inputs['address']}/{length}", strict=False)
            for subnet in scope.all(SUBNETWORK, network=network.outputs["selfLink"]):
                if any(wanted.overlaps(r) for r in networks_of(subnet)):
                    raise invalid("address", inputs["address"], f"The range {wanted} conflicts with subnetwork "
                                  f"'{subnet.outputs['name']}'.")  # fmt: skip

    def complete(self, scope: Scope, resource: Resource) -> None:
        out = resource.outputs
        if out.get("network"):
            out["network"] = need_network(scope, out["network"]).outputs["selfLink"]
        if not out.get("address"):
            taken = len(scope.all(ADDRESS))
            wide = out.get("purpose") == "VPC_PEERING"
            out["address"] = f"10.{240 - taken % 100}.0.0" if wide else f"203.0.113.{1 + taken % 250}"
        out["prefixLength"] = out.get("prefixLength") or 0


class Connection(Behaviour):
    """Private services access of a network."""

    def identity(self, scope: Scope, inputs: dict[str, Any]) -> str:
        network = need_network(scope, inputs["network"])
        return f"{network.id}:{inputs['service']}"

    def validate(self, scope: Scope, inputs: dict[str, Any], old: Resource | None) -> None:
        need_network(scope, inputs["network"])
        if inputs["service"] != "servicenetworking.googleapis.com":
            raise GoogleError(400, "badRequest", f"Service '{inputs['service']}' is not simulated")
        for name in inputs.get("reservedPeeringRanges") or []:
            path = f"projects/{scope.project}/global/addresses/{str(name).rpartition('/')[2]}"
            found = scope.find(ADDRESS, path)
            if found is None or address_range(found) is None:
                raise GoogleError(400, "badRequest", f"Cannot find allocated IP range '{name}' of purpose VPC_PEERING")

    def complete(self, scope: Scope, resource: Resource) -> None:
        resource.outputs["peering"] = "servicenetworking-googleapis-com"

    def validate_delete(self, scope: Scope, resource: Resource, state: dict[str, Any]) -> None:
        from ..scope import FILESTORE, LUSTRE

        network = resource.id.rpartition(":")[0]
        users = [r for r in scope.all(LUSTRE) if link_path(str(r.outputs.get("network"))) == network]
        users += [r for r in scope.all(FILESTORE) for n in r.outputs.get("networks") or []
                  if n.get("connectMode") == "PRIVATE_SERVICE_ACCESS" and scope.network(n["network"]) is not None
                  and getattr(scope.network(n["network"]), "id", "") == network]  # fmt: skip
        if users:
            raise GoogleError(400, "badRequest", "Failed to delete connection; Producer services (e.g. CloudSQL, Cloud "
                              "Memstore, etc.) are still using this connection.")  # fmt: skip


def peered(scope: Scope, network: Resource) -> ipaddress.IPv4Network | None:
    """The range of Google's own services in a network; None without private services access."""
    found = scope.find(CONNECTION, f"{network.id}:servicenetworking.googleapis.com")
    if found is None or found.state not in ("active", "updating"):
        return None
    for name in found.outputs.get("reservedPeeringRanges") or []:
        path = f"projects/{scope.project}/global/addresses/{str(name).rpartition('/')[2]}"
        address = scope.find(ADDRESS, path)
        if address is not None:
            return address_range(address)
    return None
