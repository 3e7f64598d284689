package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"
)

// maxCredential bounds what is looked at, in bytes: more than any token of an issuer has.
const maxCredential = 16 << 10

// newSecret has 260 random bits, in lower-case letters and digits.
func newSecret() string { return strings.ToLower(rand.Text() + rand.Text()) }

// hashOf is what is stored of a secret.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// equal compares two hashes in constant time.
func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
