"""The process that is the embedded datacentre: HTTP over a unix socket, SQLite, a clock."""
