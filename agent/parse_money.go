package agent

import "regexp"

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
