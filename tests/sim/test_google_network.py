"""What the simulated Compute Engine says of networks, as the real one does."""

from __future__ import annotations

import pytest

from tests.sim.project import PROJECT, REGION, ZONE, Project, Refusal

NET = f"projects/{PROJECT}/global/networks/net"
SUB = f"projects/{PROJECT}/regions/{REGION}/subnetworks/sub"


def test_ids_and_links(project: Project) -> None:
    net = project.network()
    assert net == {"vpc": NET, "subnet": SUB, "link": f"https://www.googleapis.com/compute/v1/{NET}"}
    router = project.create("Router", name="r", network=net["vpc"], region=REGION)
    assert router["id"] == f"projects/{PROJECT}/regions/{REGION}/routers/r"
    assert router["network"] == net["link"]
    nat = project.create("RouterNat", name="n", router="r", region=REGION, natIpAllocateOption="AUTO_ONLY",
                         sourceSubnetworkIpRangesToNat="ALL_SUBNETWORKS_ALL_IP_RANGES")  # fmt: skip
    assert nat["id"] == f"{PROJECT}/{REGION}/r/n"
    account = project.create("Account", accountId="nodes-1")
    assert account["email"] == f"nodes-1@{PROJECT}.iam.gserviceaccount.com"
    member = project.create("IAMMember", project=PROJECT, role="roles/viewer", member=account["member"])
    assert member["id"] == f"{PROJECT}/roles/viewer/serviceAccount:{account['email']}"


def test_names_are_taken_once(project: Project) -> None:
    project.network()
    with pytest.raises(Refusal) as refused:
        project.create("Network", name="net", autoCreateSubnetworks=False)
    text = f"Error creating Network: googleapi: Error 409: The resource '{NET}' already exists, alreadyExists"
    assert str(refused.value) == text


def test_references_must_exist(project: Project) -> None:
    with pytest.raises(Refusal, match=r"Error 400: Invalid value for field 'resource.network': 'gone'. The referenced "
                       r"network resource cannot be found., invalid"):  # fmt: skip
        project.create("Subnetwork", name="s", network="gone", region=REGION, ipCidrRange="10.0.0.0/20")
    with pytest.raises(Refusal, match=r"Error 404: The resource '.*/routers/gone' was not found, notFound"):
        project.create("RouterNat", name="n", router="gone", region=REGION, natIpAllocateOption="AUTO_ONLY",
                       sourceSubnetworkIpRangesToNat="ALL_SUBNETWORKS_ALL_IP_RANGES")  # fmt: skip
    with pytest.raises(Refusal, match=r"Error 400: Service account gone@.* does not exist., badRequest"):
        project.create("IAMMember", project=PROJECT, role="roles/viewer",
                       member=f"serviceAccount:gone@{PROJECT}.iam.gserviceaccount.com")  # fmt: skip


@pytest.mark.parametrize(
    ("cidr", "secondary", "text"),
    [
        ("10.20.8.0/22", None, "conflicts with existing subnetwork 'sub' in region 'us-central1'"),
        ("10.21.128.0/20", None, "conflicts with existing subnetwork 'sub'"),
        ("10.40.0.0/30", None, "The prefix length must be between 4 and 29"),
        ("10.40.0.1/20", None, "Invalid CIDR range"),
        ("10.40.0.0/20", "10.40.8.0/24", "of the same subnetwork"),
        ("10.40.0.0/20", "10.22.0.0/24", "conflicts with existing subnetwork 'sub'"),
    ],
)
def test_ranges_do_not_overlap(project: Project, cidr: str, secondary: str | None, text: str) -> None:
    net = project.network()
    more = [{"rangeName": "x", "ipCidrRange": secondary}] if secondary else []
    with pytest.raises(Refusal, match=text):
        project.create("Subnetwork", name="s2", network=net["vpc"], region=REGION, ipCidrRange=cidr,
                       secondaryIpRanges=more)  # fmt: skip


def test_what_is_used_stays(project: Project) -> None:
    net = project.network()
    with pytest.raises(Refusal) as refused:
        project.delete("Network", net["vpc"])
    assert refused.value.code == "resourceInUseByAnotherResource"
    assert f"The network resource '{NET}' is already being used by '{SUB}'" in str(refused.value)
    project.delete("Subnetwork", net["subnet"])
    project.delete("Network", net["vpc"])
    project.delete("Network", net["vpc"])  # gone already is gone


def test_deletion_policy(project: Project) -> None:
    net = project.network()
    with pytest.raises(Refusal, match="deletion_policy"):
        project.delete("Subnetwork", net["subnet"], deletionPolicy="PREVENT")
    project.delete("Subnetwork", net["subnet"], deletionPolicy="ABANDON")
    assert project.scope.subnetwork("sub", REGION) is not None


def test_rdma_networks(project: Project) -> None:
    profile = f"projects/{PROJECT}/global/networkProfiles/{ZONE}-vpc-roce"
    made = project.create("Network", name="rdma", autoCreateSubnetworks=False, networkProfile=profile)
    assert made["mtu"] == 8896
    with pytest.raises(Refusal, match="firewall rules are not supported"):
        project.create(
            "Firewall", name="f", network=made["id"], allows=[{"protocol": "tcp"}], sourceRanges=["10.0.0.0/8"]
        )
    with pytest.raises(Refusal, match="network profile cannot be found"):
        project.create("Network", name="bad", autoCreateSubnetworks=False, networkProfile="us-nowhere1-a-vpc-roce")


def test_other_projects_are_refused(project: Project) -> None:
    with pytest.raises(Refusal, match=r"named embedded-\*, forbidden"):
        project.create("Network", name="n", project="real-project")
