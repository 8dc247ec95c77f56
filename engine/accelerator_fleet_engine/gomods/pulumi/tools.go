// pulumi: pins the CLI's modules; the command itself is built by its import path.
package tools

import _ "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi/version"
