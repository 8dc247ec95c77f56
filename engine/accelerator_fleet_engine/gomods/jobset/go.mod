module accelerator-fleet/engine/jobset

go 1.26

require sigs.k8s.io/jobset v0.11.1
