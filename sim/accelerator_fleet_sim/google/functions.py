"""Names that plugin and daemon share: which projects exist here, and the functions that are answered (`reads.py`)."""

PREFIX = "embedded-"

TOKENS = {
    "gcp:organizations/getClientConfig:getClientConfig",
    "gcp:organizations/getProject:getProject",
    "gcp:compute/getZones:getZones",
    "gcp:compute/getNetwork:getNetwork",
    "gcp:compute/getSubnetwork:getSubnetwork",
    "gcp:container/getCluster:getCluster",
    "gcp:container/getEngineVersions:getEngineVersions",
}
