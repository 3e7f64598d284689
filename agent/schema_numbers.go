package agent

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// maxNumberSize bounds the numbers that schemas hold and are compared with: how many characters they are written with, and
// their exponent, either way. A double goes to 308 and -324. What checks a schema writes numbers out in full: ten characters
// can ask it for a million digits, again and again, and with a few more of them it panics.
const maxNumberSize = 400

// plainNumbers refuses a document, decoded with json.Number, with a number out of bounds. Documents are bounded in depth by
// what decodes them.
func plainNumbers(document any) error {
	switch value := document.(type) {
	case json.Number:
		return plainNumber(value.String())
	case map[string]any:
		for _, member := range value {
			if err := plainNumbers(member); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range value {
			if err := plainNumbers(item); err != nil {
				return err
			}
		}
	}
	return nil
}

func plainNumber(text string) error {
	if len(text) > maxNumberSize {
		return fmt.Errorf("the number %s… has more than %d characters", text[:20], maxNumberSize)
	}
	at := strings.IndexAny(text, "eE")
	if at < 0 {
		return nil
	}
	if exponent, err := strconv.Atoi(text[at+1:]); err != nil || exponent > maxNumberSize || exponent < -maxNumberSize {
		return fmt.Errorf("the number %s is out of range: want an exponent from -%d to %d", text, maxNumberSize, maxNumberSize)
	}
	return nil
}
