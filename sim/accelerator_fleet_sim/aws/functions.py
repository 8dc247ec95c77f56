"""Names that plugin and daemon share: the account, and the functions that are answered (by `reads.py`)."""

ACCOUNT = "000000000000"

TOKENS = {
    "aws:index/getCallerIdentity:getCallerIdentity",
    "aws:index/getRegion:getRegion",
    "aws:index/getPartition:getPartition",
    "aws:index/getAvailabilityZones:getAvailabilityZones",
    "aws:ec2/getVpc:getVpc",
    "aws:ec2/getVpcs:getVpcs",
    "aws:ec2/getSubnet:getSubnet",
    "aws:ec2/getSubnets:getSubnets",
    "aws:ec2/getSecurityGroup:getSecurityGroup",
    "aws:eks/getCluster:getCluster",
    "aws:eks/getClusters:getClusters",
    "aws:eks/getNodeGroups:getNodeGroups",
}
