// kubernetes: pins the control plane's modules; the commands are built by their import paths.
package tools

import _ "k8s.io/kubernetes/cmd/kube-apiserver/app"
