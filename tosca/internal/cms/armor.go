package cms

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"slices"

	"golang.org/x/crypto/cryptobyte/asn1"
)

// labels are the PEM labels of CMS: that of RFC 7468 section 9, that of older tools (section 8), and that of even older tools.
var labels = []string{"CMS", "PKCS7", "PKCS #7 SIGNED DATA"}

// unarmor returns data if it is BER. Otherwise it returns the content of the first PEM block with one of the labels.
func unarmor(data []byte) ([]byte, error) {
	// Do not search BER for PEM, because the signed content may contain PEM blocks.
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
