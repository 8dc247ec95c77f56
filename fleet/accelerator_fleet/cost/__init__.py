"""What a plan costs, from the catalogue's list prices."""
