package httpapi

import (
	"strconv"
	"unicode/utf16"
)

// loneSurrogate is where in well-formed JSON the escape of half a surrogate pair stands without its other half; -1: nowhere.
// It stands for no character: encoding/json would put another one in its place, and what is stored would not be what was sent.
func loneSurrogate(body []byte) int {
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		first := escaped(body, i)
		if !utf16.IsSurrogate(first) {
			i++ // what was escaped: it may be a backslash
			continue
		}
		if utf16.DecodeRune(first, escaped(body, i+6)) == '\uFFFD' {
			return i
		}
		i += 11
	}
	return -1
}

// escaped is the code unit of an escape \uXXXX that stands at i; 0: none does.
func escaped(body []byte, i int) rune {
	if i+6 > len(body) || body[i] != '\\' || body[i+1] != 'u' {
		return 0
	}
	unit, err := strconv.ParseUint(string(body[i+2:i+6]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(unit)
}
