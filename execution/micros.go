package execution

import (
	"errors"
	"math/big"
	"regexp"
)

// decimal is an amount as people write it. Its length is bounded, and so is the work of reading it.
var decimal = regexp.MustCompile(`^[0-9]{1,18}(\.[0-9]{1,18})?$`)

// ErrAmount reports a text that is no amount of money.
var ErrAmount = errors.New("not an amount such as 2.5")

// ParseMicros reads a decimal amount as millionths of its unit, rounded up: 0.50 is 500000. It returns ErrAmount for
// anything else, negative and too large amounts among it.
func ParseMicros(text string) (int64, error) {
	if !decimal.MatchString(text) {
		return 0, ErrAmount
	}
	amount, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, ErrAmount
	}
	amount.Mul(amount, big.NewRat(1_000_000, 1))
	micros, rest := new(big.Int).QuoRem(amount.Num(), amount.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		micros.Add(micros, big.NewInt(1))
	}
	if !micros.IsInt64() {
		return 0, ErrAmount
	}
	return micros.Int64(), nil
}
