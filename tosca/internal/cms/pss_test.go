package cms_test

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"slices"
	"testing"

	"github.com/vnfkit/vnfkit/tosca/internal/cms"
)

// pssParameters is RSASSA-PSS-params (RFC 4055 3.1).
type pssParameters struct {
	Hash    pkix.AlgorithmIdentifier `asn1:"explicit,optional,tag:0"`
	Mask    pkix.AlgorithmIdentifier `asn1:"explicit,optional,tag:1"`
	Salt    int                      `asn1:"explicit,optional,tag:2,default:20"`
	Trailer int                      `asn1:"explicit,optional,tag:3,default:1"`
	More    asn1.RawValue            `asn1:"optional"`
}

func pssOf(hash asn1.ObjectIdentifier, salt int) pssParameters {
	digest := pkix.AlgorithmIdentifier{Algorithm: hash, Parameters: asn1.NullRawValue}
	mask := pkix.AlgorithmIdentifier{Algorithm: oidMGF1}
	mask.Parameters.FullBytes = must(asn1.Marshal(digest))
	return pssParameters{Hash: digest, Mask: mask, Salt: salt, Trailer: 1}
}

func TestPSSParameters(t *testing.T) {
	vendor := certify(t, "vendor", rsaKey(), nil)
	with := func(change func(*pssParameters)) pssParameters {
		p := pssOf(oidSHA512, 64)
		change(&p)
		return p
	}
	for name, tt := range map[string]struct {
		parameters pssParameters
		want       error
	}{
		"salt as long as the hash": {pssOf(oidSHA512, 64), nil},
		"salt of default length":   {pssOf(oidSHA512, 20), nil},
		"longest salt":             {pssOf(oidSHA512, 256-64-2), nil},
		"negative salt":            {pssOf(oidSHA512, -1), cms.ErrMalformed},
		"endless salt":             {pssOf(oidSHA512, 1<<20), cms.ErrMalformed},
		"another trailer":          {with(func(p *pssParameters) { p.Trailer = 2 }), cms.ErrMalformed},
		"something behind":         {with(func(p *pssParameters) { p.More = asn1.NullRawValue }), cms.ErrMalformed},
		"hash is SHA-1 by default": {with(func(p *pssParameters) { p.Hash = pkix.AlgorithmIdentifier{} }), cms.ErrAlgorithm},
		"SHA-1 by default":         {with(func(p *pssParameters) { p.Hash, p.Mask = pkix.AlgorithmIdentifier{}, pkix.AlgorithmIdentifier{} }), cms.ErrAlgorithm},
		"mask with SHA-1 by default": {with(func(p *pssParameters) {
			p.Mask = pkix.AlgorithmIdentifier{}
		}), cms.ErrAlgorithm},
		"mask of another hash":     {with(func(p *pssParameters) { p.Mask = pssOf(oidSHA256, 32).Mask }), cms.ErrAlgorithm},
		"unknown mask":             {with(func(p *pssParameters) { p.Mask.Algorithm = oidRSA }), cms.ErrAlgorithm},
		"mask without a hash":      {with(func(p *pssParameters) { p.Mask.Parameters = asn1.RawValue{} }), cms.ErrMalformed},
		"hash is not the digest's": {pssOf(oidSHA256, 32), cms.ErrAlgorithm},
		"SHA-1":                    {pssOf(oidSHA1, 20), cms.ErrAlgorithm},
	} {
		t.Run(name, func(t *testing.T) {
			f := forgery{by: []*holder{vendor}, content: manifest, parameters: &tt.parameters, certificates: []*holder{vendor}}
			if salt := tt.parameters.Salt; salt < 0 || salt > 256 {
				f.algorithm, f.parameters = f.algorithmOf(vendor.key), nil
			}
			wantReason(t, verify(t, f.bytes(t), manifest, trusting(vendor))[0], tt.want)
		})
	}
}

func TestPSSParametersTwice(t *testing.T) {
	vendor, parameters := certify(t, "vendor", rsaKey(), nil), pssOf(oidSHA512, 64)
	f := forgery{by: []*holder{vendor}, content: manifest, parameters: &parameters, certificates: []*holder{vendor}}
	f.algorithm = f.algorithmOf(vendor.key)
	once := f.algorithm.Parameters.FullBytes
	f.algorithm.Parameters.FullBytes = slices.Concat(once, once)
	wantReason(t, verify(t, f.bytes(t), manifest, trusting(vendor))[0], cms.ErrMalformed)
}
