package nfvo

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"strings"
)

// checksum is the checksum of a file as an NFVO announces it (SOL013 v2.6.1 7.1.6); zero without one.
type checksum struct {
	Algorithm string `json:"algorithm"` // SHA-256
	Hash      string `json:"hash"`      // hexadecimal, lower case
}

// algorithms are the hash functions of SOL013 v2.6.1 7.1.6, by name without "-".
var algorithms = map[string]func() hash.Hash{"SHA224": sha256.New224, "SHA256": sha256.New, "SHA384": sha512.New384, "SHA512": sha512.New}

// UnmarshalJSON implements json.Unmarshaler. SOL013 has an object with algorithm and hash; the OpenAPI definition of SOL003 has a text.
func (c *checksum) UnmarshalJSON(text []byte) error {
	type plain checksum
	if len(text) > 0 && text[0] == '"' {
		var hash string
		if err := json.Unmarshal(text, &hash); err != nil {
			return err
		}
		*c = checksumOf(hash)
	} else if err := json.Unmarshal(text, (*plain)(c)); err != nil {
		return err
	}
	c.Hash = strings.ToLower(strings.TrimSpace(c.Hash))
	return nil
}

// checksumOf returns the checksum that a text has: "sha256:0123…", or the hash alone.
func checksumOf(text string) checksum {
	if algorithm, hash, is := strings.Cut(text, ":"); is {
		return checksum{algorithm, hash}
	}
	for name, make := range algorithms {
		if len(text) == hex.EncodedLen(make().Size()) {
			return checksum{name, text}
		}
	}
	return checksum{Hash: text}
}

// isSet reports whether the NFVO announces a checksum.
func (c checksum) isSet() bool { return c.Hash != "" }

// name returns the checksum as a name: two notations of a checksum have one name. "" without a checksum.
func (c checksum) name() string {
	if !c.isSet() {
		return ""
	}
	return normal(c.Algorithm) + ":" + c.Hash
}

// new returns the hash function of the checksum, nil without a checksum.
func (c checksum) new() (hash.Hash, error) {
	if !c.isSet() {
		return nil, nil
	}
	make, known := algorithms[normal(c.Algorithm)]
	if !known {
		return nil, fmt.Errorf("%w: the algorithm %.40q is unknown", ErrChecksum, c.Algorithm)
	}
	return make(), nil
}

// normal returns the name of an algorithm in the form of algorithms.
func normal(algorithm string) string {
	return strings.ToUpper(strings.NewReplacer("-", "", "_", "").Replace(algorithm))
}
