package agent

import (
	"regexp"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// defaultCurrency is that of prices that name none.
const defaultCurrency = "USD"

var validCurrency = regexp.MustCompile(`^[A-Z]{3}$`)

// parsePrices reads what a model costs, as decimals for a million tokens; nil when the file does not say.
func parsePrices(model *object) *Prices {
	o := model.child("prices")
	if o == nil {
		return nil
	}
	prices := &Prices{Currency: defaultCurrency}
	for _, price := range []struct {
		key      string
		value    *int64
		required bool
	}{
		{"inputPer1M", &prices.InputPer1M, true},
		{"outputPer1M", &prices.OutputPer1M, true},
		{"cachedInputPer1M", &prices.CachedInputPer1M, false},
	} {
		*price.value = o.amount(price.key)
		if price.required && !o.has(price.key) {
			o.bad(price.key, "is required")
		}
	}
	if currency, ok := o.text("currency"); ok {
		if prices.Currency = currency; !validCurrency.MatchString(currency) {
			o.bad("currency", "must be three capital letters, such as USD")
		}
	}
	o.refuseUnknown()
	return prices
}

// amount is a decimal amount of money in millionths, rounded up; 0 when it is not there.
func (o *object) amount(key string) int64 {
	n := o.get(key)
	if n == nil {
		return 0
	}
	if n.kind != numberNode {
		o.bad(key, "must be a number such as 2.5, not %s", n.kind)
		return 0
	}
	micros, err := execution.ParseMicros(n.number.String())
	if err != nil {
		o.bad(key, "must be a number such as 2.5 that is not negative, not %s", n.number)
	}
	return micros
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

// checkMoney reports a limit of the cost that nobody could keep: every model that may be asked needs its price, and all
// of them in one currency.
func checkMoney(agent *object, d *Definition) {
	model := agent.child("model")
	limits := agent.child("limits")
	if model == nil {
		return
	}
	currency := ""
	for i, m := range append([]Model{d.Model}, d.Model.Fallback...) {
		switch {
		case m.Prices == nil:
			if limits != nil && limits.has("maxCost") {
				limits.bad("maxCost", "needs the prices of every model that may be asked; %s has none", modelPath(model, i))
			}
		case currency == "":
			currency = m.Prices.Currency
		case m.Prices.Currency != currency:
			model.bad("fallback", "%s.prices is in %s, another one in %s; one execution has one currency",
				modelPath(model, i), m.Prices.Currency, currency)
		}
	}
}

// modelPath names the model number i, the fallback list counted behind the first.
func modelPath(model *object, i int) string {
	if i == 0 {
		return model.path
	}
	return model.item("fallback", i-1)
}

// refuseAnswerTool reports tools that a model which answers by a tool could not tell from that one.
func refuseAnswerTool(agent *object, d *Definition) {
	if !d.Model.UsesOutputTool() {
		return
	}
	for i, tool := range d.Tools {
		if tool.Name == FinalAnswer || tool.Type == ToolMCP && strings.HasPrefix(FinalAnswer, tool.ToolPrefix()) {
			agent.add(agent.node.line, agent.item("tools", i)+".name",
				"%q is the tool by which the agent's model gives its answer", FinalAnswer)
		}
	}
}
