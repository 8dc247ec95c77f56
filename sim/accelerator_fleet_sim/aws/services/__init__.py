"""Resource types with behaviour of their own, one file a subject."""
