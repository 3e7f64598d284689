package delegation

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
)

// keyBytes is the length of a key.
const keyBytes = 32

// mark begins a sealed text, and nameBytes of the key's hash follow it, then a nonce.
const (
	mark      = byte(1)
	nameBytes = 8
)

// Keyring seals with its first key and opens with all of them, so that keys can be changed: a new one is put in front, and the
// old one is taken away when no lease that it sealed is left.
type Keyring struct{ keys []sealingKey }

type sealingKey struct {
	name [nameBytes]byte
	aead cipher.AEAD
}

var errSealed = errors.New("delegation: a sealed record cannot be opened")

// NewKeyring takes keys of 32 random bytes in base64, as `openssl rand -base64 32` prints them. It refuses none at all, and
// names one that is wrong by its place.
func NewKeyring(encoded ...string) (*Keyring, error) {
	if len(encoded) == 0 {
		return nil, errors.New("delegation: there is no key to seal with")
	}
	ring := &Keyring{}
	for i, text := range encoded {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(raw) != keyBytes {
			return nil, fmt.Errorf("delegation: key %d is not %d bytes in base64", i+1, keyBytes)
		}
		block, err := aes.NewCipher(raw)
		if err != nil {
			return nil, fmt.Errorf("delegation: key %d: %w", i+1, err)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, fmt.Errorf("delegation: key %d: %w", i+1, err)
		}
		sum := sha256.Sum256(raw)
		key := sealingKey{aead: aead}
		copy(key.name[:], sum[:])
		ring.keys = append(ring.keys, key)
	}
	return ring, nil
}

// seal encrypts a text for a place: it opens there and nowhere else.
func (r *Keyring) seal(text []byte, place string) []byte {
	key := r.keys[0]
	nonce := make([]byte, key.aead.NonceSize())
	_, _ = rand.Read(nonce) // crypto/rand never returns an error
	head := append([]byte{mark}, key.name[:]...)
	head = append(head, nonce...)
	return key.aead.Seal(head, nonce, text, []byte(place))
}

// open returns errSealed for what none of the keys has sealed for that place.
func (r *Keyring) open(sealed []byte, place string) ([]byte, error) {
	for _, key := range r.keys {
		head := 1 + nameBytes + key.aead.NonceSize()
		if len(sealed) < head || sealed[0] != mark || string(sealed[1:1+nameBytes]) != string(key.name[:]) {
			continue
		}
		text, err := key.aead.Open(nil, sealed[1+nameBytes:head], sealed[head:], []byte(place))
		if err != nil {
			return nil, errSealed
		}
		return text, nil
	}
	return nil, errSealed
}
