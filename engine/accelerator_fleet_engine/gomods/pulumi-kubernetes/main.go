// pulumi-resource-kubernetes: the real provider, served with the schema that lies in its own module.
// schema.json and terraform-mapping.json are copied beside this file at build time; they are not kept here.
package main

import (
	_ "embed"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version"
)

//go:embed schema.json
var schema []byte

//go:embed terraform-mapping.json
var mapping []byte

func main() { provider.Serve("kubernetes", version.Version, schema, mapping) }
