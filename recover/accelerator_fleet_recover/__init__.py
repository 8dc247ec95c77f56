"""Recovery: the cloud against the stack's state; adopts what belongs to the program."""
