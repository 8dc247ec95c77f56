"""The embedded datacentre: simulated cloud control planes around real Kubernetes."""
