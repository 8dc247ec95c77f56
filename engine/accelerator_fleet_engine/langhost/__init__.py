"""A Pulumi language host for Python programs, for machines where Pulumi's own binary is not to be had."""
