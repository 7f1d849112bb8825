package vnflcm

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// bounded returns the certificate as it is stored: a machine may give any text and any time.
func (c Certificate) bounded(machine string) Certificate {
	c.Machine, c.Name = limited(cmp.Or(machine, c.Machine)), limited(c.Name)
	c.NotBefore, c.NotAfter = storableTime(c.NotBefore), storableTime(c.NotAfter)
	return c
}

func limited(text string) string {
	if len(text) > maxCertificate {
		text = text[:maxCertificate] // printable replaces half a character
	}
	return printable(text)
}

// printable replaces bytes that are no text, and characters that a terminal would interpret, except for those that are allowed.
func printable(text string, allowed ...rune) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && !slices.Contains(allowed, r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// storableTime bounds a time to years that JSON has, without fractions of a second. The zero time stays.
func storableTime(t time.Time) time.Time {
	switch t = t.UTC().Truncate(time.Second); {
	case t.Year() > 9999:
		return time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	case t.Year() < 1:
		return time.Time{}
	}
	return t
}
