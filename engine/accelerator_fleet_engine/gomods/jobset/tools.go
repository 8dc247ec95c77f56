// jobset: pins the module; the command is built by its import path, its chart is read from the module's folder.
package tools

import _ "sigs.k8s.io/jobset/pkg/version"
