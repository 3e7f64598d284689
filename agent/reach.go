package agent

import "slices"

// Called are the names of the agents that the definition's tools run, each once, in the order of the tools.
func (d *Definition) Called() []string {
	var names []string
	for i := range d.Tools {
		if tool := &d.Tools[i]; tool.Type == ToolAgent && !slices.Contains(names, tool.Agent) {
			names = append(names, tool.Agent)
		}
	}
	return names
}

// Reachable are the agents that an execution of the definition may come to run besides: those that its tools call, those
// that these call, and so on. The definition is among them only if they call it. Agents that find does not know are left
// out.
func (d *Definition) Reachable(find func(name string) (*Definition, bool)) []*Definition {
	var found []*Definition
	seen := map[string]bool{}
	for names := d.Called(); len(names) > 0; names = names[1:] {
		if seen[names[0]] {
			continue
		}
		seen[names[0]] = true
		if called, ok := find(names[0]); ok {
			found = append(found, called)
			names = append(names[:len(names):len(names)], called.Called()...)
		}
	}
	return found
}

// checkCalled reports tools that run an agent which the file does not have, and trees of agents whose cost nobody could
// add up. Cycles are fine: how deep agents call each other is bounded where they run.
func checkCalled(agents *object, definitions []*Definition) {
	find := func(name string) (*Definition, bool) {
		at := slices.IndexFunc(definitions, func(d *Definition) bool { return d.Name == name })
		if at < 0 {
			return nil, false
		}
		return definitions[at], true
	}
	named := map[string]bool{}
	for _, e := range agents.node.entries {
		named[e.key] = true
	}
	for _, e := range agents.node.entries {
		if e.value.kind != mapNode {
			continue
		}
		caller := &object{problems: agents.problems, node: e.value, path: join(agents.path, e.key), asked: map[string]bool{}}
		tools := caller.get("tools")
		if tools == nil || tools.kind != listNode {
			continue
		}
		for i, item := range tools.items {
			if item.kind != mapNode {
				continue
			}
			o := &object{problems: agents.problems, node: item, path: caller.item("tools", i), asked: map[string]bool{}}
			kind, called := o.get("type"), o.get("agent")
			if kind == nil || kind.text != string(ToolAgent) || called == nil || called.kind != stringNode || called.text == "" {
				continue
			}
			if !named[called.text] {
				o.bad("agent", "there is no agent %q in this file", called.text)
				continue
			}
			if d, ok := find(e.key); ok {
				checkCurrencies(o, d, called.text, find)
			}
		}
	}
}

// checkCurrencies reports an agent that is called, at whatever depth, and whose cost cannot be added to the caller's.
func checkCurrencies(tool *object, caller *Definition, name string, find func(string) (*Definition, bool)) {
	called, ok := find(name)
	if !ok {
		return
	}
	for _, d := range append([]*Definition{called}, called.Reachable(find)...) {
		switch {
		case d.Backend != BackendLocal: // what a remote agent costs is not known
		case caller.Limits.MaxCost > 0 && !d.Model.Priced():
			tool.bad("agent", "limits.maxCost of %s needs the prices of every model that may be asked; agents.%s.model has none",
				caller.Name, d.Name)
			return
		case caller.Model.Prices != nil && d.Model.Prices != nil && caller.Model.Prices.Currency != d.Model.Prices.Currency:
			tool.bad("agent", "the prices of %s are in %s, those of %s in %s; an execution and those that it starts have one currency",
				caller.Name, caller.Model.Prices.Currency, d.Name, d.Model.Prices.Currency)
			return
		}
	}
}
