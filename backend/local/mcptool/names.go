package mcptool

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is the longest name of a tool that models take.
const maxName = 64

// exposed is the name under which a model knows a server's tool.
func exposed(prefix, name string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	full := prefix + plain
	if plain == name && name != "" && len(full) <= maxName {
		return full
	}
	sum := sha256.Sum256([]byte(prefix + name))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return full[:min(len(full), maxName-len(suffix))] + suffix
}
