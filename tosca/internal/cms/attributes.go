package cms

import (
	"bytes"
	encoding "encoding/asn1"
	"slices"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

var (
	oidContentType   = encoding.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3}
	oidMessageDigest = encoding.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 4}
)

// attributes are the signed attributes of a signer that verification uses.
type attributes struct {
	contentType   encoding.ObjectIdentifier
	messageDigest []byte
	// encodings are the encodings that the signature may cover.
	encodings [][]byte
}

// readAttributes reads SignedAttributes (RFC 5652 5.3). Content type and message digest must occur exactly once, with
// one value each (11.1 and 11.2): with two digests, one could match the content and the other one the signature.
func readAttributes(in cryptobyte.String) (attributes, error) {
	var a attributes
	var list [][]byte
	for !in.Empty() {
		var one, values cryptobyte.String
		var id encoding.ObjectIdentifier
		if !in.ReadASN1Element(&one, asn1.SEQUENCE) {
			return a, malformed("signed attributes")
		}
		list = append(list, one)
		if !one.ReadASN1(&one, asn1.SEQUENCE) || !one.ReadASN1ObjectIdentifier(&id) ||
			!one.ReadASN1(&values, asn1.SET) || !one.Empty() {
			return a, malformed("a signed attribute")
		}
		if err := a.take(id, values); err != nil {
			return a, err
		}
	}
	if a.contentType == nil || a.messageDigest == nil {
		return a, malformed("the signed attributes lack the content type or the message digest")
	}
	a.encodings = encode(list)
	return a, nil
}

func (a *attributes) take(id encoding.ObjectIdentifier, values cryptobyte.String) error {
	switch {
	case id.Equal(oidContentType):
		if a.contentType != nil || !values.ReadASN1ObjectIdentifier(&a.contentType) || !values.Empty() {
			return malformed("the signed attributes must hold one content type")
		}
	case id.Equal(oidMessageDigest):
		if a.messageDigest != nil || !values.ReadASN1Bytes(&a.messageDigest, asn1.OCTET_STRING) || !values.Empty() {
			return malformed("the signed attributes must hold one message digest")
		}
	}
	return nil
}

// encode returns the data that the signature over attributes may cover: their encoding as SET OF (RFC 5652 5.4), sorted as DER
// requires, and the unsorted encoding as received. Some signers sign the unsorted encoding, and openssl accepts it. Both encode
// the same set.
func encode(list [][]byte) [][]byte {
	asReceived := encodeSet(list)
	slices.SortFunc(list, bytes.Compare)
	sorted := encodeSet(list)
	if bytes.Equal(asReceived, sorted) {
		return [][]byte{sorted}
	}
	return [][]byte{sorted, asReceived}
}

func encodeSet(list [][]byte) []byte {
	var out cryptobyte.Builder
	out.AddASN1(asn1.SET, func(out *cryptobyte.Builder) {
		for _, one := range list {
			out.AddBytes(one)
		}
	})
	return out.BytesOrPanic() // cannot panic: the list was read from a set of this size
}
