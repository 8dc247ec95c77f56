"""The Pulumi provider `accelerator-fleet-native`: Cloud TPU queued resources. Programs import `sdk`."""

PACKAGE = "accelerator-fleet-native"
VERSION = "0.1.0"  # the distribution's; a test asserts that they agree
QUEUED_RESOURCE = f"{PACKAGE}:index:QueuedResource"
