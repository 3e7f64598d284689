package agent

// At is the model that is asked after so many failed attempts at one request: the next one of the fallback list for each of
// them, and after the last one the first one again. It has no fallback list of its own.
func (m Model) At(failed int) Model {
	chosen := m
	if n := failed % (len(m.Fallback) + 1); n > 0 {
		chosen = m.Fallback[n-1]
	}
	chosen.Fallback = nil
	return chosen
}

// parseFallback reads the models that are asked when the first one fails.
func parseFallback(model *object) []Model {
	var fallback []Model
	for i, item := range model.list("fallback") {
		o := objectAt(model.problems, item, model.item("fallback", i))
		if o == nil {
			continue
		}
		if o.has("fallback") {
			o.bad("fallback", "a model of a fallback list has none of its own")
			o.asked["fallback"] = false
		}
		fallback = append(fallback, parseProvider(o))
	}
	return fallback
}

// modelPath names the model number i, the fallback list counted behind the first.
func modelPath(model *object, i int) string {
	if i == 0 {
		return model.path
	}
	return model.item("fallback", i-1)
}
