// kwok: pins the module; the command is built by its import path, its stages are read from the module's folder.
package tools

import _ "sigs.k8s.io/kwok/pkg/kwok/cmd"
