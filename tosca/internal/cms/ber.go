package cms

import (
	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// maxDepth limits the nesting of elements. A certificate in SignedData needs about a dozen levels.
const maxDepth = 32

const constructed = 0x20

// definite rewrites BER with indefinite lengths, which "openssl cms -stream" and Bouncy Castle write: the result has definite
// lengths in their shortest form and octet strings in one piece, as DER requires. DER stays unchanged.
func definite(ber []byte) ([]byte, error) {
	in := cryptobyte.String(ber)
	out := cryptobyte.NewBuilder(make([]byte, 0, len(ber)))
	if err := rewrite(out, &in, 0); err != nil {
		return nil, err
	}
	if !in.Empty() {
		return nil, malformed("%d bytes follow the end of the CMS", len(in))
	}
	return out.Bytes()
}

// rewrite reads one element from in and writes it to out.
func rewrite(out *cryptobyte.Builder, in *cryptobyte.String, depth int) error {
	e, err := readElement(in)
	if err != nil {
		return err
	}
	out.AddASN1(e.tag&^pieces(e.tag), func(out *cryptobyte.Builder) {
		err = rewriteBody(out, in, e, depth)
	})
	return err
}

// pieces returns the bit to clear in the tag of an octet string that comes in pieces, 0 for any other tag.
func pieces(tag asn1.Tag) asn1.Tag {
	if tag == asn1.OCTET_STRING|constructed {
		return constructed
	}
	return 0
}

func rewriteBody(out *cryptobyte.Builder, in *cryptobyte.String, e element, depth int) error {
	if e.tag&constructed == 0 {
		out.AddBytes(e.body)
		return nil
	}
	if depth == maxDepth {
		return malformed("elements are nested more than %d deep", maxDepth)
	}
	if !e.indefinite {
		in = &e.body
	}
	for {
		if end, err := e.atEnd(in); end || err != nil {
			return err
		}
		if err := rewriteChild(out, in, e.tag, depth+1); err != nil {
			return err
		}
	}
}

// rewriteChild rewrites one element of a parent. If the parent is an octet string in pieces, it writes only the octets of the
// element.
func rewriteChild(out *cryptobyte.Builder, in *cryptobyte.String, parent asn1.Tag, depth int) error {
	if pieces(parent) == 0 {
		return rewrite(out, in, depth)
	}
	piece, err := readElement(in)
	if err != nil {
		return err
	}
	if piece.tag&^constructed != asn1.OCTET_STRING {
		return malformed("an octet string has a piece with the tag 0x%02x", uint8(piece.tag))
	}
	return rewriteBody(out, in, piece, depth)
}

// element is the beginning of a BER element. If the length is indefinite, body is empty, and the content follows in the input.
type element struct {
	tag        asn1.Tag
	body       cryptobyte.String
	indefinite bool
}

// atEnd reports whether the element has been read completely. It consumes the end-of-contents octets (X.690 8.1.5).
func (e element) atEnd(in *cryptobyte.String) (bool, error) {
	switch {
	case !e.indefinite:
		return in.Empty(), nil
	case len(*in) < 2:
		return false, malformed("an element of indefinite length has no end")
	case (*in)[0] == 0 && (*in)[1] == 0:
		return true, skip(in, 2)
	}
	return false, nil
}

func readElement(in *cryptobyte.String) (element, error) {
	var tag, first uint8
	if !in.ReadUint8(&tag) || !in.ReadUint8(&first) {
		return element{}, malformed("it ends within an element")
	}
	if tag&0x1f == 0x1f {
		return element{}, malformed("an element has a tag number above 30, which CMS does not use")
	}
	e := element{tag: asn1.Tag(tag), indefinite: first == 0x80}
	if e.indefinite {
		if tag&constructed == 0 {
			return element{}, malformed("an element that is not constructed has no length")
		}
		return e, nil
	}
	length, err := readLength(in, first)
	if err != nil {
		return element{}, err
	}
	if length > len(*in) {
		return element{}, malformed("an element of %d bytes has %d left", length, len(*in))
	}
	e.body = (*in)[:length]
	return e, skip(in, length)
}

// readLength reads the rest of a length (X.690 8.1.3) whose first octet is first.
func readLength(in *cryptobyte.String, first uint8) (int, error) {
	if first < 0x80 {
		return int(first), nil
	}
	var octets []byte
	if !in.ReadBytes(&octets, int(first&0x7f)) {
		return 0, malformed("it ends within a length")
	}
	length := 0
	for _, o := range octets {
		if length > 1<<30>>8 {
			return 0, malformed("an element is longer than 1 GiB")
		}
		length = length<<8 | int(o)
	}
	return length, nil
}

func skip(in *cryptobyte.String, n int) error {
	if !in.Skip(n) {
		return malformed("it ends within an element")
	}
	return nil
}
