"""The real Kubernetes control planes of the embedded datacentre."""
