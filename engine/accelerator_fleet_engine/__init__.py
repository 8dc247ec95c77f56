"""How the Pulumi engine and the Kubernetes binaries are found or built, and the environment of a shell."""
