"""Cloud TPU queued resources and their nodes, as Google's queue gives them: no protobuf here, only JSON's words."""
