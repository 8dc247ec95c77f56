"""The clouds' own APIs on loopback, answered from the datacentre's database by the same operations."""
