"""Simulated Google Cloud: the provider plugin and the control plane behind it."""
