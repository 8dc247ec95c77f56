"""AWS's APIs as botocore's service models describe them."""
