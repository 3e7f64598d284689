package agent

import (
	"fmt"
	"maps"
	"slices"
)

// Catalog is the agents a program knows. It never changes, and the definitions it hands out must not be changed.
type Catalog struct {
	agents map[string]*Definition
}

// NewCatalog holds the given definitions. Their names must differ.
func NewCatalog(definitions ...*Definition) (*Catalog, error) {
	agents := make(map[string]*Definition, len(definitions))
	for _, d := range definitions {
		if d.Name == "" {
			return nil, fmt.Errorf("catalog: a definition has no name")
		}
		if _, twice := agents[d.Name]; twice {
			return nil, fmt.Errorf("catalog: agent %q is there twice", d.Name)
		}
		agents[d.Name] = d
	}
	return &Catalog{agents: agents}, nil
}

// Agent is the definition of that name.
func (c *Catalog) Agent(name string) (*Definition, bool) {
	d, ok := c.agents[name]
	return d, ok
}

// Names lists the agents, sorted.
func (c *Catalog) Names() []string { return slices.Sorted(maps.Keys(c.agents)) }
