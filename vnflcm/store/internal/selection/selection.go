// Package selection writes a store.Query as SQL, for the stores of all databases.
package selection

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Columns are the columns of a selection, in the order of Fields. Every database has the same names.
const Columns = `kind, id, version, state, operation, instance, vnfd, start, body`

// Fields are the places into which Columns are scanned.
func Fields(r *store.Record) []any {
	return []any{&r.Kind, &r.ID, &r.Version, &r.Index.State, &r.Index.Operation, &r.Index.Instance, &r.Index.VNFD, &r.Index.Start, &r.Body}
}

// Values returns the values of a record for Columns.
func Values(r store.Record) []any {
	body := r.Body
	if body == nil {
		body = []byte{} // NULL is refused
	}
	return []any{r.Kind, r.ID, r.Version, r.Index.State, r.Index.Operation, r.Index.Instance, r.Index.VNFD, r.Index.Start, body}
}

// Indexes are statements for the indexes that a database of any version may have or lack. They also have the state, so that a
// condition on it reads no rows.
const Indexes = `
CREATE INDEX IF NOT EXISTS vnfkit_by_vnfd ON vnfkit_records (kind, vnfd, start, id, state) WHERE vnfd <> '';
CREATE INDEX IF NOT EXISTS vnfkit_by_operation ON vnfkit_records (kind, operation, start, id, state) WHERE operation <> '';`

// One returns the statement that selects the record of a kind and an id, which are its arguments.
func One(placeholder func(n int) string) string {
	return "SELECT " + Columns + " FROM vnfkit_records WHERE kind = " + placeholder(1) + " AND id = " + placeholder(2)
}

// Of returns the statement that selects what q says from the table vnfkit_records, and its arguments. placeholder is
// what stands for the n-th argument.
func Of(q store.Query, placeholder func(n int) string) (string, []any) {
	s := statement{placeholder: placeholder}
	parts := split(q)
	order := "start, id"
	if q.Prefix != "" {
		order = "+start, id" // with the sign no index serves the order: the one of the ids selects
	}
	for i, part := range parts {
		if i > 0 {
			s.add(" UNION ALL ")
		}
		if q.Limit == 0 || len(parts) == 1 {
			s.selectFrom(part)
			continue
		}
		s.add("SELECT * FROM (").selectFrom(part).inOrder(order, q.Limit).add(") AS part")
	}
	s.inOrder(order, q.Limit)
	return s.text.String(), s.args
}

// split returns queries that together select what q selects, each with one value for the index that serves it. A part then reads
// the index in the order of the list and stops at the limit. With IN a database would have to read all records in that order, or
// all records with those values.
func split(q store.Query) []store.Query {
	q.States = slices.Compact(slices.Sorted(slices.Values(q.States)))
	q.Operations = slices.Compact(slices.Sorted(slices.Values(q.Operations)))
	values := &q.States
	switch {
	case q.Prefix != "", q.Instance != "", q.VNFD != "":
		return []store.Query{q}
	case len(q.Operations) > 0:
		values = &q.Operations
	}
	if len(*values) < 2 {
		return []store.Query{q}
	}
	var parts []store.Query
	for _, value := range *values {
		*values = []string{value}
		parts = append(parts, q)
	}
	return parts
}

func (s *statement) inOrder(order string, limit int) *statement {
	s.add(" ORDER BY " + order)
	if limit > 0 {
		s.add(" LIMIT ").arg(limit)
	}
	return s
}

// selectFrom adds a SELECT of the records that q selects, without order and limit.
func (s *statement) selectFrom(q store.Query) *statement {
	s.add("SELECT " + Columns + " FROM vnfkit_records WHERE kind = ").arg(q.Kind)
	if q.Prefix != "" {
		s.add(" AND id >= ").arg(q.Prefix)
		if end := afterPrefix(q.Prefix); end != "" {
			s.add(" AND id < ").arg(end)
		}
	}
	// A planner uses an index WHERE state <> '' only for a statement that has this condition as text. Where several indexes
	// could serve, the one that is likely to find the fewest records is named.
	switch {
	case q.Instance != "":
		s.add(" AND instance <> ''")
	case q.VNFD != "":
		s.add(" AND vnfd <> ''")
	case len(q.Operations) > 0 && !slices.Contains(q.Operations, ""):
		s.add(" AND operation <> ''")
	case len(q.States) > 0 && !slices.Contains(q.States, ""):
		s.add(" AND state <> ''")
	}
	s.oneOf("state", q.States)
	s.oneOf("operation", q.Operations)
	if q.Instance != "" {
		s.oneOf("instance", []string{q.Instance})
	}
	if q.VNFD != "" {
		s.oneOf("vnfd", []string{q.VNFD})
	}
	if q.From != 0 {
		s.add(" AND start >= ").arg(q.From)
	}
	if q.Before != 0 {
		s.add(" AND start < ").arg(q.Before)
	}
	if q.AfterID != "" {
		s.add(" AND (start, id) > (").arg(q.AfterStart).add(", ").arg(q.AfterID).add(")")
	}
	return s
}

type statement struct {
	text        strings.Builder
	args        []any
	placeholder func(int) string
}

func (s *statement) add(text string) *statement {
	s.text.WriteString(text)
	return s
}

func (s *statement) arg(value any) *statement {
	s.args = append(s.args, value)
	return s.add(s.placeholder(len(s.args)))
}

func (s *statement) oneOf(column string, values []string) {
	for i, value := range values {
		if i == 0 {
			s.add(" AND " + column + " IN (")
		} else {
			s.add(", ")
		}
		s.arg(value)
	}
	if len(values) > 0 {
		s.add(")")
	}
}

// afterPrefix returns the least text that is greater than all texts with that prefix, "" if there is none. For a prefix
// in UTF-8 the result is UTF-8, because PostgreSQL refuses other texts. Code points have the same order as their bytes.
func afterPrefix(prefix string) string {
	for prefix != "" {
		last, size := utf8.DecodeLastRuneInString(prefix)
		end := prefix[len(prefix)-1]
		prefix = prefix[:len(prefix)-size]
		switch {
		case last == utf8.RuneError && size == 1 && end < 0xff: // not UTF-8
			return prefix + string([]byte{end + 1})
		case last == utf8.RuneError && size == 1 || last == utf8.MaxRune:
		case last == '\ud7ff': // the code points up to e000 do not occur in UTF-8
			return prefix + "\ue000"
		default:
			return prefix + string(last+1)
		}
	}
	return ""
}
