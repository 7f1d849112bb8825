package client

import (
	"bytes"
	"encoding/json"
	"errors"
)

// errNoObject reports that a shared file does not contain a JSON object.
var errNoObject = errors.New("is not a JSON object")

// member is where a member of a JSON object lies in its text.
type member struct {
	name       string
	begin      int // of the name
	value, end int
}

// members finds the members of an object, so that one of them can be changed and the rest stays byte for byte.
// closing is where its last brace is.
func members(doc []byte) (list []member, closing int, err error) {
	if !json.Valid(doc) || bytes.TrimSpace(doc)[0] != '{' {
		return nil, 0, errNoObject
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	if _, err := d.Token(); err != nil {
		return nil, 0, err
	}
	for d.More() {
		begin := int(d.InputOffset())
		begin += bytes.IndexByte(doc[begin:], '"')
		name, err := d.Token()
		if err != nil {
			return nil, 0, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, 0, err
		}
		end := int(d.InputOffset())
		text, _ := name.(string) // names of members are strings
		list = append(list, member{text, begin, end - len(value), end})
	}
	return list, bytes.LastIndexByte(doc, '}'), nil
}

// orEmpty treats a missing or empty file as an object without members.
func orEmpty(doc []byte) []byte {
	if len(bytes.TrimSpace(doc)) == 0 {
		return []byte("{}\n")
	}
	return doc
}

// memberOf returns the value of a member, or nil if the object lacks it. If a name occurs several times the last one counts, as
// in Go programs.
func memberOf(doc []byte, name string) (value []byte, err error) {
	list, _, err := members(orEmpty(doc))
	for _, m := range list {
		if m.name == name {
			value = doc[m.value:m.end]
		}
	}
	return value, err
}

// withMember returns the document with another value of a member.
func withMember(doc []byte, name string, value []byte) ([]byte, error) {
	doc = orEmpty(doc)
	list, closing, err := members(doc)
	if err != nil {
		return nil, err
	}
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].name == name {
			return splice(doc, list[i].value, list[i].end, value), nil
		}
	}
	quoted, err := json.Marshal(name)
	if err != nil {
		return nil, err
	}
	entry := append(append(quoted, ": "...), value...)
	if len(list) == 0 {
		return splice(doc, closing, closing, entry), nil
	}
	last := list[len(list)-1]
	before := bytes.LastIndexAny(doc[:last.begin], "{,") + 1 // only white space is in between: it is kept for the new member
	return splice(doc, last.end, last.end, append(append([]byte(","), doc[before:last.begin]...), entry...)), nil
}

// withoutMember returns the document without a member.
func withoutMember(doc []byte, name string) ([]byte, error) {
	doc = orEmpty(doc)
	for {
		list, _, err := members(doc)
		if err != nil {
			return nil, err
		}
		i := len(list) - 1
		for i >= 0 && list[i].name != name {
			i--
		}
		switch {
		case i < 0:
			return doc, nil
		case i+1 < len(list):
			doc = splice(doc, list[i].begin, list[i+1].begin, nil)
		case i > 0:
			doc = splice(doc, list[i-1].end, list[i].end, nil)
		default:
			doc = splice(doc, list[i].begin, list[i].end, nil)
		}
	}
}

func splice(doc []byte, from, to int, with []byte) []byte {
	return bytes.Join([][]byte{doc[:from], with, doc[to:]}, nil)
}
