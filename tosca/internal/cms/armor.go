package cms

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"slices"

	"golang.org/x/crypto/cryptobyte/asn1"
)

// labels are the PEM labels of CMS: RFC 7468 section 9, section 8 (older tools), and the label of even older tools.
var labels = []string{"CMS", "PKCS7", "PKCS #7 SIGNED DATA"}

// unarmor returns the BER of data that is BER itself or holds it as the first PEM
// block with one of the labels.
func unarmor(data []byte) ([]byte, error) {
	// PEM is not looked for in BER: signed content may well hold some.
	if len(data) > 0 && data[0] == byte(asn1.SEQUENCE) {
		return data, nil
	}
	for rest := data; ; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		switch {
		case block == nil:
			return nil, notArmored(data)
		case slices.Contains(labels, block.Type):
			return block.Bytes, nil
		}
	}
}

func notArmored(data []byte) error {
	for _, label := range labels {
		if bytes.Contains(data, []byte("-----BEGIN "+label+"-----")) {
			return malformed("the PEM block %q has no end or is not base64", label)
		}
	}
	return fmt.Errorf("%w: neither a PEM block labelled CMS or PKCS7 nor DER", ErrNotCMS)
}
