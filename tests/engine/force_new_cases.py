"""One mutation for every force-new path: how the resource is first, and what changes. `None` takes a value away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.engine.force_new_world import LIFECYCLE, MANAGED, World

Patch = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """`first` is laid over the type's base inputs, `then` over the result. `replaces` is what must come of it.

    `state` is laid over inputs and outputs in the stack's state: what only a larger cloud can make.
    """

    then: Patch | Callable[[World], Patch]
    first: Patch | Callable[[World], Patch] = field(default_factory=dict)
    state: Patch = field(default_factory=dict)
    replaces: bool = True


def sources(kind: str) -> dict[str, Case]:
    """Security group rules: another kind of source replaces."""
    del kind
    to_v6 = {"cidrIpv4": None, "cidrIpv6": "fd00::/8"}
    return {
        "securityGroupId": Case(lambda w: {"securityGroupId": w.groups[1]}),
        "cidrIpv4": Case(to_v6),
        "cidrIpv6": Case({"cidrIpv6": None, "prefixListId": "pl-12345678"}, to_v6),
        "prefixListId": Case(
            lambda w: {"prefixListId": None, "referencedSecurityGroupId": w.groups[1]},
            state={"cidrIpv4": None, "prefixListId": "pl-87654321"},
        ),
        "referencedSecurityGroupId": Case(
            {"referencedSecurityGroupId": None, "cidrIpv4": "10.200.0.0/16"},
            lambda w: {"cidrIpv4": None, "referencedSecurityGroupId": w.groups[2]},
        ),
    }


NAMED = {
    "name": Case({"name": "second"}, {"name": "first"}),
    "namePrefix": Case({"namePrefix": "b-"}, {"namePrefix": "a-"}),
}
INTERFACE: Patch = {"vpcEndpointType": "Interface", "serviceName": "com.amazonaws.us-east-2.ec2"}
PRIVATE_NAT: Patch = {"allocationId": None, "connectivityType": "private"}
POOL = "ipam-pool-0123456789abcdef0"


def keyed(w: World) -> Patch:
    """A cluster whose secrets are encrypted."""
    return {"encryptionConfig": {"provider": {"keyArn": w.key}, "resources": ["secrets"]}}


CASES: dict[str, dict[str, Case]] = {
    "aws:ec2/vpc:Vpc": {
        "cidrBlock": Case({"cidrBlock": "10.8.0.0/16"}),
        "ipv4IpamPoolId": Case({"ipv4IpamPoolId": POOL}),
        "ipv4NetmaskLength": Case({"cidrBlock": None, "ipv4IpamPoolId": POOL, "ipv4NetmaskLength": 20}),
        "instanceTenancy": Case({"instanceTenancy": "dedicated"}),
    },
    "aws:ec2/subnet:Subnet": {
        "availabilityZone": Case({"availabilityZone": "us-east-2b"}, {"availabilityZone": "us-east-2a"}),
        "availabilityZoneId": Case({"availabilityZoneId": "use2-az2"}),
        "cidrBlock": Case({"cidrBlock": "10.1.250.0/24"}),
        "ipv4IpamPoolId": Case({"ipv4IpamPoolId": POOL}),
        "ipv4NetmaskLength": Case({"cidrBlock": None, "ipv4IpamPoolId": POOL, "ipv4NetmaskLength": 24}),
        "ipv6IpamPoolId": Case({"ipv6IpamPoolId": POOL}),
        "ipv6Native": Case({"ipv6Native": True}),
        "ipv6NetmaskLength": Case({"ipv6IpamPoolId": POOL, "ipv6NetmaskLength": 64}),
        "outpostArn": Case({"outpostArn": "arn:aws:outposts:us-east-2:000000000000:outpost/op-1"}),
        "vpcId": Case(lambda w: {"vpcId": w.vpc}),
        "ipv6CidrBlock": Case({"ipv6CidrBlock": "2600:1f16::/64"}, state={"assignIpv6AddressOnCreation": True}),
    },
    "aws:ec2/internetGateway:InternetGateway": {},
    "aws:ec2/natGateway:NatGateway": {
        "allocationId": Case({"allocationId": "eipalloc-0123456789abcdef0"}),
        "connectivityType": Case({"connectivityType": "public"}, PRIVATE_NAT),
        "privateIp": Case({"privateIp": "10.0.0.200"}),
        "secondaryPrivateIpAddressCount": Case({"secondaryPrivateIpAddressCount": 2}, PRIVATE_NAT),
        "subnetId": Case(lambda w: {"subnetId": w.subnets[1]}),
        "availabilityMode": Case({"availabilityMode": "regional"}),
        "vpcId": Case(lambda w: {"vpcId": w.vpc}),
    },
    "aws:ec2/eip:Eip": {
        "address": Case({"address": "3.130.0.1"}),
        "domain": Case({"domain": "standard"}),
        "ipamPoolId": Case({"ipamPoolId": POOL}),
        "networkBorderGroup": Case({"networkBorderGroup": "us-east-2-wl1"}),
        "publicIpv4Pool": Case({"publicIpv4Pool": "ipv4pool-ec2-0123456789abcdef0"}),
    },
    "aws:ec2/routeTable:RouteTable": {"vpcId": Case(lambda w: {"vpcId": w.vpc2})},
    "aws:ec2/routeTableAssociation:RouteTableAssociation": {
        "gatewayId": Case({"gatewayId": "vgw-0123456789abcdef0"}, lambda w: {"subnetId": None, "gatewayId": w.gateway}),
        "subnetId": Case(lambda w: {"subnetId": w.subnets[2]}),
    },
    "aws:ec2/route:Route": {
        "routeTableId": Case(lambda w: {"routeTableId": w.table2}),
        "destinationCidrBlock": Case({"destinationCidrBlock": "10.201.0.0/16"}),
        "destinationIpv6CidrBlock": Case({"destinationCidrBlock": None, "destinationIpv6CidrBlock": "::/0"}),
        "destinationPrefixListId": Case({"destinationCidrBlock": None, "destinationPrefixListId": "pl-12345678"}),
    },
    "aws:ec2/securityGroup:SecurityGroup": {
        **NAMED,
        "description": Case({"description": "two"}),
        "vpcId": Case(lambda w: {"vpcId": w.vpc2}),
    },
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": sources("ingress"),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": sources("egress"),
    "aws:ec2/launchTemplate:LaunchTemplate": {
        "name": NAMED["name"],
        "namePrefix": Case({"namePrefix": "bbb-"}, {"namePrefix": "aaa-"}),
    },
    "aws:ec2/placementGroup:PlacementGroup": {
        "name": NAMED["name"],
        "partitionCount": Case({"partitionCount": 3}, {"strategy": "partition"}),
        "spreadLevel": Case({"spreadLevel": "host"}, {"strategy": "spread"}),
        "strategy": Case({"strategy": "spread"}),
    },
    "aws:ec2/capacityReservation:CapacityReservation": {
        "availabilityZone": Case({"availabilityZone": "us-east-2b"}),
        "ebsOptimized": Case({"ebsOptimized": True}),
        "ephemeralStorage": Case({"ephemeralStorage": True}),
        "instanceMatchCriteria": Case({"instanceMatchCriteria": "targeted"}),
        "instancePlatform": Case({"instancePlatform": "Windows"}),
        "instanceType": Case({"instanceType": "m6i.xlarge"}),
        "tenancy": Case({"tenancy": "dedicated"}),
    },
    "aws:ec2/capacityBlockReservation:CapacityBlockReservation": {
        "capacityBlockOfferingId": Case({"capacityBlockOfferingId": "cb-0123456789abcdef0"}),
        "instancePlatform": Case({"instancePlatform": "Windows"}),
    },
    "aws:ec2/vpcEndpoint:VpcEndpoint": {
        "dnsOptions.privateDnsPreference": Case(
            {"dnsOptions": {"privateDnsPreference": "ALL_DOMAINS"}},
            {**INTERFACE, "dnsOptions": {"privateDnsPreference": "VERIFIED_DOMAINS_ONLY"}},
        ),
        "dnsOptions.privateDnsSpecifiedDomains": Case(
            {"dnsOptions": {"privateDnsSpecifiedDomains": ["b.example.com"]}},
            {**INTERFACE, "dnsOptions": {"privateDnsSpecifiedDomains": ["a.example.com"]}},
        ),
        "resourceConfigurationArn": Case({"serviceName": None, "resourceConfigurationArn": "arn:aws:vpc-lattice:::r"}),
        "serviceName": Case({"serviceName": "com.amazonaws.us-east-2.dynamodb"}),
        "serviceNetworkArn": Case({"serviceName": None, "serviceNetworkArn": "arn:aws:vpc-lattice:::n"}),
        "serviceRegion": Case({"serviceRegion": "us-west-2"}),
        "vpcEndpointType": Case({"vpcEndpointType": "Interface"}),
        "vpcId": Case(lambda w: {"vpcId": w.vpc2}),
        "privateDnsEnabled": Case({"privateDnsEnabled": True}),
    },
    "aws:eks/cluster:Cluster": {
        "accessConfig.bootstrapClusterCreatorAdminPermissions": Case(
            {"accessConfig": {"bootstrapClusterCreatorAdminPermissions": False}}
        ),
        "bootstrapSelfManagedAddons": Case({"bootstrapSelfManagedAddons": False}),
        "kubernetesNetworkConfig.ipFamily": Case({"kubernetesNetworkConfig": {"ipFamily": "ipv6"}}),
        "kubernetesNetworkConfig.serviceIpv4Cidr": Case(
            {"kubernetesNetworkConfig": {"serviceIpv4Cidr": "10.99.0.0/16"}}
        ),
        "name": NAMED["name"],
        "outpostConfig.controlPlaneInstanceType": Case(
            {"outpostConfig": {"controlPlaneInstanceType": "m5.large", "outpostArns": ["arn:aws:outposts:::o"]}}
        ),
        "outpostConfig.controlPlanePlacement.groupName": Case(
            {
                "outpostConfig": {
                    "controlPlaneInstanceType": "m5.large",
                    "outpostArns": ["arn:aws:outposts:::o"],
                    "controlPlanePlacement": {"groupName": "g"},
                }
            }
        ),
        "roleArn": Case(lambda w: {"roleArn": w.role_arn2}),
        "encryptionConfig": Case({"encryptionConfig": None}, keyed),
        "computeConfig.nodeRoleArn": Case(
            lambda w: {"computeConfig": {"enabled": False, "nodeRoleArn": w.role_arn2}},
            lambda w: {"computeConfig": {"enabled": False, "nodeRoleArn": w.role_arn}},
        ),
        "vpcConfig.controlPlaneEgressMode": Case(
            lambda w: {"vpcConfig": {"subnetIds": w.subnets, "controlPlaneEgressMode": "AWS_MANAGED"}},
            lambda w: {"vpcConfig": {"subnetIds": w.subnets, "controlPlaneEgressMode": "CUSTOMER_ROUTED"}},
        ),
    },
    "aws:eks/nodeGroup:NodeGroup": {
        "amiType": Case({"amiType": "BOTTLEROCKET_x86_64"}),
        "capacityType": Case({"capacityType": "SPOT"}),
        "clusterName": Case(lambda w: {"clusterName": w.cluster2}),
        "diskSize": Case({"diskSize": 50}),
        "instanceTypes": Case({"instanceTypes": ["m6i.large", "m6i.xlarge"]}),
        "launchTemplate.id": Case(
            lambda w: {"launchTemplate": {"id": w.template2.id, "version": "1"}},
            lambda w: {"launchTemplate": {"id": w.template.id, "version": "1"}, "instanceTypes": None},
        ),
        "launchTemplate.name": Case(
            lambda w: {"launchTemplate": {"name": w.template_name2, "version": "1"}},
            lambda w: {"launchTemplate": {"name": w.template_name, "version": "1"}, "instanceTypes": None},
        ),
        "nodeGroupName": Case({"nodeGroupName": "second"}, {"nodeGroupName": "first"}),
        "nodeGroupNamePrefix": Case({"nodeGroupNamePrefix": "b-"}, {"nodeGroupNamePrefix": "a-"}),
        "nodeRoleArn": Case(lambda w: {"nodeRoleArn": w.role_arn2}),
        "remoteAccess": Case({"remoteAccess": None}, state={"remoteAccess": {"ec2SshKey": "k"}}),
        "remoteAccess.ec2SshKey": Case(
            {"remoteAccess": {"ec2SshKey": "l"}}, state={"remoteAccess": {"ec2SshKey": "k"}}
        ),
        "remoteAccess.sourceSecurityGroupIds": Case(
            {"remoteAccess": {"ec2SshKey": "k", "sourceSecurityGroupIds": ["sg-1"]}},
            state={"remoteAccess": {"ec2SshKey": "k", "sourceSecurityGroupIds": ["sg-0"]}},
        ),
        "subnetIds": Case(lambda w: {"subnetIds": w.subnets}),
    },
    "aws:eks/addon:Addon": {
        "addonName": Case({"addonName": "aws-ebs-csi-driver"}, {"addonName": "eks-pod-identity-agent"}),
        "clusterName": Case(lambda w: {"clusterName": w.cluster2}),
        "namespaceConfig.namespace": Case(
            {"namespaceConfig": {"namespace": "b"}},
            {"namespaceConfig": {"namespace": "a"}, "addonName": "aws-efs-csi-driver"},
        ),
    },
    "aws:eks/accessEntry:AccessEntry": {
        "clusterName": Case(lambda w: {"clusterName": w.cluster2}),
        "principalArn": Case({"principalArn": "arn:aws:iam::000000000000:user/other"}),
        "type": Case({"type": "EC2_LINUX"}),
    },
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": {
        "clusterName": Case(lambda w: {"clusterName": w.cluster2}),
        "namespace": Case({"namespace": "other"}),
        "serviceAccount": Case({"serviceAccount": "other"}),
    },
    "aws:iam/role:Role": {**NAMED, "path": Case({"path": "/b/"})},
    "aws:iam/policy:Policy": {**NAMED, "path": Case({"path": "/b/"}), "description": Case({"description": "two"})},
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": {
        "policyArn": Case({"policyArn": f"{MANAGED}AmazonSSMManagedInstanceCore"}),
        "role": Case(lambda w: {"role": w.role2}, {"policyArn": f"{MANAGED}AmazonEC2ContainerRegistryReadOnly"}),
    },
    "aws:iam/instanceProfile:InstanceProfile": {**NAMED, "path": Case({"path": "/b/"})},
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": {"url": Case({"url": "https://other.example.com"})},
    "aws:efs/fileSystem:FileSystem": {
        "availabilityZoneName": Case({"availabilityZoneName": "us-east-2a"}),
        "creationToken": Case({"creationToken": "second"}, {"creationToken": "first"}),
        "encrypted": Case({"encrypted": True}),
        "kmsKeyId": Case(lambda w: {"kmsKeyId": w.key}, {"encrypted": True}),
        "performanceMode": Case({"performanceMode": "maxIO"}),
    },
    "aws:efs/mountTarget:MountTarget": {
        "fileSystemId": Case({"fileSystemId": "fs-0123456789abcdef0"}),
        "ipAddress": Case({"ipAddress": "10.0.0.201"}),
        "ipAddressType": Case({"ipAddressType": "DUAL_STACK"}),
        "ipv6Address": Case({"ipv6Address": "fd00::1"}),
        "subnetId": Case(lambda w: {"subnetId": w.subnets[1]}),
    },
    "aws:efs/accessPoint:AccessPoint": {
        "fileSystemId": Case({"fileSystemId": "fs-0123456789abcdef0"}),
        "posixUser": Case({"posixUser": None}),
        "posixUser.gid": Case({"posixUser": {"gid": 2, "uid": 1, "secondaryGids": [2]}}),
        "posixUser.secondaryGids": Case({"posixUser": {"gid": 1, "uid": 1, "secondaryGids": [3]}}),
        "posixUser.uid": Case({"posixUser": {"gid": 1, "uid": 2, "secondaryGids": [2]}}),
        "rootDirectory": Case({"rootDirectory": {"path": "/other"}}, {"rootDirectory": {"path": "/data"}}),
        "rootDirectory.creationInfo": Case(
            {"rootDirectory": {"path": "/", "creationInfo": {"ownerGid": 1, "ownerUid": 1, "permissions": "700"}}},
            {"rootDirectory": {"path": "/"}},
        ),
        "rootDirectory.creationInfo.ownerGid": Case(
            {"rootDirectory": {"path": "/data", "creationInfo": {"ownerGid": 2, "ownerUid": 1, "permissions": "755"}}}
        ),
        "rootDirectory.creationInfo.ownerUid": Case(
            {"rootDirectory": {"path": "/data", "creationInfo": {"ownerGid": 1, "ownerUid": 2, "permissions": "755"}}}
        ),
        "rootDirectory.creationInfo.permissions": Case(
            {"rootDirectory": {"path": "/data", "creationInfo": {"ownerGid": 1, "ownerUid": 1, "permissions": "700"}}}
        ),
        "rootDirectory.path": Case(
            {"rootDirectory": {"path": "/other", "creationInfo": {"ownerGid": 1, "ownerUid": 1, "permissions": "755"}}}
        ),
    },
    "aws:s3/bucket:Bucket": {
        "bucket": Case({"bucket": "second-of-000000000000"}, {"bucket": "first-of-000000000000"}),
        "bucketPrefix": Case({"bucketPrefix": "b-"}, {"bucketPrefix": "a-"}),
        "objectLockEnabled": Case({"objectLockEnabled": True}),
        "bucketNamespace": Case({"bucketNamespace": "account-regional"}),
    },
    "aws:ecr/repository:Repository": {
        "encryptionConfigurations": Case(
            {"encryptionConfigurations": None}, state={"encryptionConfigurations": [{"encryptionType": "KMS"}]}
        ),
        "encryptionConfigurations.encryptionType": Case({"encryptionConfigurations": [{"encryptionType": "KMS"}]}),
        "encryptionConfigurations.kmsKey": Case(
            lambda w: {"encryptionConfigurations": [{"encryptionType": "KMS", "kmsKey": w.key}]},
            {"encryptionConfigurations": [{"encryptionType": "KMS"}]},
        ),
        "name": NAMED["name"],
    },
    "aws:ecr/lifecyclePolicy:LifecyclePolicy": {
        "policy": Case({"policy": LIFECYCLE.replace("5", "6")}),
        "repository": Case({"repository": "another"}, lambda w: {"repository": _another(w)}),
    },
    "aws:kms/key:Key": {
        "customKeyStoreId": Case({"customKeyStoreId": "cks-1"}),
        "customerMasterKeySpec": Case({"customerMasterKeySpec": "RSA_2048"}),
        "keyUsage": Case({"keyUsage": "SIGN_VERIFY"}),
        "multiRegion": Case({"multiRegion": True}),
        "xksKeyId": Case({"customKeyStoreId": "cks-1", "xksKeyId": "x"}),
    },
    "aws:cloudwatch/logGroup:LogGroup": {**NAMED, "logGroupClass": Case({"logGroupClass": "INFREQUENT_ACCESS"})},
}


def _another(w: World) -> Any:
    return w.make("aws:ecr/repository:Repository", "w-repository2", {}).id


# Changes at conditional paths, and changes that mean the same, which must not replace.
HARMLESS: list[tuple[str, str, Case]] = [
    ("aws:ec2/vpc:Vpc", "instanceTenancy",
     Case({"instanceTenancy": "default"}, {"instanceTenancy": "dedicated"}, replaces=False)),
    ("aws:ec2/subnet:Subnet", "ipv6CidrBlock", Case({"ipv6CidrBlock": "2600:1f16::/64"}, replaces=False)),
    ("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", "cidrIpv4",
     Case({"cidrIpv4": "10.202.0.0/16"}, replaces=False)),
    ("aws:ec2/vpcEndpoint:VpcEndpoint", "privateDnsEnabled",
     Case({"privateDnsEnabled": True}, INTERFACE, replaces=False)),
    ("aws:eks/cluster:Cluster", "encryptionConfig", Case(keyed, replaces=False)),
    ("aws:eks/cluster:Cluster", "vpcConfig.controlPlaneEgressMode",
     Case(lambda w: {"vpcConfig": {"subnetIds": w.subnets, "controlPlaneEgressMode": "CUSTOMER_ROUTED"}},
          lambda w: {"vpcConfig": {"subnetIds": w.subnets}}, replaces=False)),
    ("aws:eks/nodeGroup:NodeGroup", "scalingConfig.desiredSize",
     Case({"scalingConfig": {"minSize": 0, "maxSize": 1, "desiredSize": 1}}, replaces=False)),
    ("aws:eks/nodeGroup:NodeGroup", "launchTemplate.version",
     Case(lambda w: {"launchTemplate": {"id": w.template.id, "version": "2"}},
          lambda w: {"launchTemplate": {"id": w.template.id, "version": "1"}, "instanceTypes": None}, replaces=False)),
    ("aws:eks/nodeGroup:NodeGroup", "labels.tier",
     Case({"labels": {"tier": "b"}}, {"labels": {"tier": "a"}}, replaces=False)),
    ("aws:ec2/launchTemplate:LaunchTemplate", "instanceType", Case({"instanceType": "m6i.xlarge"}, replaces=False)),
]  # fmt: skip
