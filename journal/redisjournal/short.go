package redisjournal

import (
	"crypto/sha256"
	"encoding/hex"
)

// hashMark begins a SHA-256 that is stored as its 32 bytes.
const hashMark = "\x00"

// shortHash stores a SHA-256 in hex as its bytes; any other text stays as it is.
func shortHash(hash string) string {
	if raw, err := hex.DecodeString(hash); err == nil && len(raw) == sha256.Size && hex.EncodeToString(raw) == hash {
		return hashMark + string(raw)
	}
	return hash
}

// longHash is the inverse of shortHash.
func longHash(stored string) string {
	if len(stored) == len(hashMark)+sha256.Size && stored[:len(hashMark)] == hashMark {
		return hex.EncodeToString([]byte(stored[len(hashMark):]))
	}
	return stored
}

// fingerprintBytes is enough of a hash to tell the requests of one idempotency key apart.
const fingerprintBytes = 16

// shortFingerprint is what is stored of a fingerprint: itself, or of a long one the beginning of its hash.
func shortFingerprint(fingerprint string) string {
	if len(fingerprint) <= fingerprintBytes {
		return fingerprint
	}
	sum := sha256.Sum256([]byte(fingerprint))
	return string(sum[:fingerprintBytes])
}
