module accelerator-fleet/engine/nvidia-device-plugin

go 1.26

require github.com/NVIDIA/k8s-device-plugin v0.19.0
