package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Canonical is the definition's one JSON text: keys sorted, no white space, `${NAME}` references unresolved. Equal
// definitions have equal texts in every process. It panics on a definition whose raw JSON fields hold no JSON, which Parse
// and Decode never return.
func (d *Definition) Canonical() []byte {
	text, err := canonical(d)
	if err != nil {
		panic(fmt.Sprintf("agent: definition %q: %v", d.Name, err))
	}
	return text
}

// Hash names the definition: the sha256 of Canonical in lower-case hex.
func (d *Definition) Hash() string { return hashOf(d.Canonical()) }

// Decode reads what Canonical wrote. A field it does not know is an error: the text is of a later version, and leaving
// the field out would run another agent than the one declared.
func Decode(data []byte) (*Definition, error) {
	var d Definition
	if err := decodeStored(data, &d); err != nil {
		return nil, fmt.Errorf("decode agent definition: %w", err)
	}
	if d.Name == "" {
		return nil, errors.New("decode agent definition: it has no name")
	}
	return &d, nil
}

// hashOf names what is stored: its sha256 in lower-case hex.
func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// decodeStored reads one JSON value that was stored. It refuses fields that it does not know, which are of a later release, with
// execution.ErrNewer, and anything behind the value.
func decodeStored(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return newerField(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("trailing bytes")
	}
	return nil
}

// canonical encodes twice: the pass through plain maps sorts keys, those of raw JSON fields too.
func canonical(v any) ([]byte, error) {
	first, err := encode(v)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(first))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return nil, err
	}
	return encode(plain)
}

// encode is json.Marshal that leaves <, > and & as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
