"""Plan accelerator fleets as data: spec, catalogue, plan. Imports no Pulumi SDK."""
