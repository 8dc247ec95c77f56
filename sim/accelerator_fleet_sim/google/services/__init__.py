"""What the services of Google Cloud refuse and make."""
