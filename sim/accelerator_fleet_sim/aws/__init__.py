"""AWS of the embedded datacentre: rules data, plugin, control plane behaviour."""
