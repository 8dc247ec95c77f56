"""Google's REST APIs as their discovery documents describe them, and Cloud TPU's gRPC API."""
