package cms_test

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509/pkix"
	"encoding/asn1"
	"slices"
	"testing"
)

// The structures of RFC 5652 for encoding/asn1. The package under test reads them with another library, so that a fault of one
// library does not go unnoticed.
type (
	contentInfo struct {
		Type    asn1.ObjectIdentifier
		Content signedData `asn1:"explicit,tag:0"`
	}
	signedData struct {
		Version      int
		Digests      []pkix.AlgorithmIdentifier `asn1:"set"`
		Encapsulated encapsulated
		Certificates asn1.RawValue `asn1:"optional"`
		Revocations  asn1.RawValue `asn1:"optional"`
		Signers      []signerInfo  `asn1:"set"`
		More         asn1.RawValue `asn1:"optional"` // this field and the fields below violate the RFC
	}
	encapsulated struct {
		Type    asn1.ObjectIdentifier
		Content []byte        `asn1:"explicit,optional,tag:0"`
		More    asn1.RawValue `asn1:"optional"`
	}
	signerInfo struct {
		Version    int
		ID         asn1.RawValue
		Digest     pkix.AlgorithmIdentifier
		Attributes asn1.RawValue `asn1:"optional"`
		Algorithm  pkix.AlgorithmIdentifier
		Signature  []byte
		Unsigned   asn1.RawValue `asn1:"optional"`
		More       asn1.RawValue `asn1:"optional"`
	}
	issuerAndSerial struct {
		Issuer asn1.RawValue
		Serial asn1.RawValue
		More   asn1.RawValue `asn1:"optional"`
	}
	attribute struct {
		ID     asn1.ObjectIdentifier
		Values []asn1.RawValue `asn1:"set"`
	}
)

func oid(arcs ...int) asn1.ObjectIdentifier { return arcs }

var (
	oidData          = oid(1, 2, 840, 113549, 1, 7, 1)
	oidSignedData    = oid(1, 2, 840, 113549, 1, 7, 2)
	oidContentType   = oid(1, 2, 840, 113549, 1, 9, 3)
	oidMessageDigest = oid(1, 2, 840, 113549, 1, 9, 4)
	oidSHA1          = oid(1, 3, 14, 3, 2, 26)
	oidSHA256        = oid(2, 16, 840, 1, 101, 3, 4, 2, 1)
	oidSHA512        = oid(2, 16, 840, 1, 101, 3, 4, 2, 3)
	oidMGF1          = oid(1, 2, 840, 113549, 1, 1, 8)
	oidRSA           = oid(1, 2, 840, 113549, 1, 1, 1)
	oidPSS           = oid(1, 2, 840, 113549, 1, 1, 10)
	oidECDSAwith256  = oid(1, 2, 840, 10045, 4, 3, 2)
	oidECDSAwith512  = oid(1, 2, 840, 10045, 4, 3, 4)
	oidEd25519       = oid(1, 3, 101, 112)
)

// forgery describes SignedData. Fields that a test does not set lead to a valid encoding.
type forgery struct {
	by           []*holder
	content      []byte
	carried      bool
	certificates []*holder
	direct       bool // no signed attributes
	keyID        bool
	unsorted     bool // signed attributes are sent and signed in the order given
	contentType  asn1.ObjectIdentifier
	attributes   []attribute              // replace the valid signed attributes
	digest       asn1.ObjectIdentifier    // replaces the identifier of SHA-512
	algorithm    pkix.AlgorithmIdentifier // replaces the algorithm of the key
	parameters   *pssParameters           // sign with RSA-PSS
	spoil        func(*signedData)        // changes the structure before it is encoded
}

func (f forgery) bytes(t testing.TB) []byte {
	t.Helper()
	if f.contentType == nil {
		f.contentType = oidData
	}
	sd := signedData{Version: 1, Encapsulated: encapsulated{Type: f.contentType}}
	if f.carried {
		sd.Encapsulated.Content = f.content
	}
	var raw []byte
	for _, c := range f.certificates {
		raw = append(raw, c.certificate.Raw...)
	}
	if raw != nil {
		sd.Certificates = implicit0(raw)
	}
	for _, h := range f.by {
		sd.Signers = append(sd.Signers, f.sign(t, h))
	}
	if f.spoil != nil {
		f.spoil(&sd)
	}
	return must(asn1.Marshal(contentInfo{oidSignedData, sd}))
}

func (f forgery) sign(t testing.TB, h *holder) signerInfo {
	t.Helper()
	si := signerInfo{Version: 1, Digest: pkix.AlgorithmIdentifier{Algorithm: oidSHA512}, Algorithm: f.algorithm}
	if f.digest != nil {
		si.Digest.Algorithm = f.digest
	}
	c := h.certificate
	if f.keyID {
		si.ID = asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, Bytes: c.SubjectKeyId}
	} else {
		serial := must(asn1.Marshal(c.SerialNumber))
		si.ID.FullBytes = must(asn1.Marshal(issuerAndSerial{Issuer: asn1.RawValue{FullBytes: c.RawIssuer}, Serial: asn1.RawValue{FullBytes: serial}}))
	}
	signed := f.content
	if !f.direct {
		list := f.signedAttributes()
		si.Attributes = implicit0(list)
		signed = must(asn1.Marshal(asn1.RawValue{Tag: asn1.TagSet, IsCompound: true, Bytes: list}))
	}
	if si.Algorithm.Algorithm == nil {
		si.Algorithm = f.algorithmOf(h.key)
	}
	si.Signature = f.signature(h.key, signed)
	return si
}

func (f forgery) signedAttributes() []byte {
	list := f.attributes
	if list == nil {
		list = []attribute{
			{oidContentType, values(f.contentType)},
			{oidMessageDigest, values(sum(crypto.SHA512, f.content))},
		}
	}
	var each [][]byte
	for _, a := range list {
		each = append(each, must(asn1.Marshal(a)))
	}
	if !f.unsorted {
		slices.SortFunc(each, bytes.Compare)
	}
	return bytes.Join(each, nil)
}

func (f forgery) algorithmOf(key crypto.Signer) pkix.AlgorithmIdentifier {
	switch key.(type) {
	case ed25519.PrivateKey:
		return pkix.AlgorithmIdentifier{Algorithm: oidEd25519}
	case *rsa.PrivateKey:
		if f.parameters == nil {
			return pkix.AlgorithmIdentifier{Algorithm: oidRSA, Parameters: asn1.NullRawValue}
		}
		parameters := must(asn1.Marshal(*f.parameters))
		return pkix.AlgorithmIdentifier{Algorithm: oidPSS, Parameters: asn1.RawValue{FullBytes: parameters}}
	}
	return pkix.AlgorithmIdentifier{Algorithm: oidECDSAwith512}
}

func (f forgery) signature(key crypto.Signer, message []byte) []byte {
	if key, ok := key.(ed25519.PrivateKey); ok {
		return ed25519.Sign(key, message)
	}
	var how crypto.SignerOpts = crypto.SHA512
	if f.parameters != nil {
		how = &rsa.PSSOptions{SaltLength: max(f.parameters.Salt, 20), Hash: crypto.SHA512}
	}
	return must(key.Sign(rand.Reader, sum(crypto.SHA512, message), how))
}

func implicit0(body []byte) asn1.RawValue {
	return asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: body}
}

func values(list ...any) []asn1.RawValue {
	var out []asn1.RawValue
	for _, v := range list {
		out = append(out, asn1.RawValue{FullBytes: must(asn1.Marshal(v))})
	}
	return out
}

func sum(h crypto.Hash, data []byte) []byte {
	w := h.New()
	w.Write(data)
	return w.Sum(nil)
}
