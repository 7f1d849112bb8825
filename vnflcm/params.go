package vnflcm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"strings"
)

// Params are free-form attributes (KeyValuePairs of SOL003 v2.6.1 4.4.1.7: additionalParams, accessInfo,
// interfaceInfo, extra). They may hold passwords anywhere. In JSON they have their keys and their structure, and
// *** in the place of every value, except for those that a document of a Manager shows (PublicParams,
// Config.PublicParams). Package fmt and log/slog print them as *** as a whole, and the store seals them. The zero
// Params have no attributes.
type Params struct {
	raw   *json.RawMessage
	view  *disclosure // what JSON shows; nil shows no value
	shown bool        // set only in the copies that RevealJSON makes
}

// NewParams returns the attributes of v, which must marshal to a JSON object; secrets in it are kept.
func NewParams(v any) (Params, error) {
	data, err := RevealJSON(v)
	if err != nil {
		return Params{}, err
	}
	return ParseParams(data)
}

// ParseParams returns the attributes of a JSON object.
func ParseParams(data []byte) (Params, error) {
	var p Params
	if err := p.UnmarshalJSON(data); err != nil {
		return Params{}, err
	}
	return p, nil
}

// Reveal returns the attributes as a JSON object, in clear. It is never for a log.
func (p Params) Reveal() json.RawMessage {
	if p.raw == nil {
		return json.RawMessage("{}")
	}
	return *p.raw
}

// IsZero reports whether there are no attributes.
func (p Params) IsZero() bool {
	return p.raw == nil || bytes.Equal(*p.raw, []byte("{}"))
}

// Equal reports whether two Params have the same attributes: the same JSON except for the order of keys and white
// space. Package go-cmp uses it.
func (p Params) Equal(other Params) bool {
	var a, b any
	if decodeUseNumber(p.Reveal(), &a) != nil || decodeUseNumber(other.Reveal(), &b) != nil {
		return false
	}
	return reflect.DeepEqual(a, b)
}

// Decode fills into (a pointer to a struct with json tags) from the attributes. It is lenient where the meaning is
// clear (booleans and numbers may be strings, a single element may stand for a list) and reports every fault at once as
// *ParamError, joined. unknown names the attributes that into does not have. Drivers call Operation.DecodeParams, which logs them.
func (p Params) Decode(into any) (unknown []string, err error) {
	ignored, err := decodeAttributes(p.Reveal(), into, false)
	for _, a := range ignored {
		unknown = append(unknown, a.path)
	}
	return unknown, err
}

// Merge returns p with over on top, as a JSON merge patch (RFC 7396): objects are merged, null removes.
func (p Params) Merge(over Params) (Params, error) {
	if over.IsZero() {
		return Params{raw: p.raw}, nil
	}
	base, top := map[string]any{}, map[string]any{}
	if err := errors.Join(decodeUseNumber(p.Reveal(), &base), decodeUseNumber(over.Reveal(), &top)); err != nil {
		return Params{}, err
	}
	return NewParams(mergePatch(base, top))
}

func mergePatch(base, top map[string]any) map[string]any {
	for key, value := range top {
		object, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(base, key)
		case isObject:
			under, _ := base[key].(map[string]any)
			if under == nil {
				under = map[string]any{}
			}
			base[key] = mergePatch(under, object)
		default:
			base[key] = value
		}
	}
	return base
}

// Format implements fmt.Formatter: *** for every verb.
func (p Params) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, Mask) }

// LogValue implements slog.LogValuer.
func (p Params) LogValue() slog.Value { return slog.StringValue(Mask) }

// MarshalJSON implements json.Marshaler: an object with masked values.
func (p Params) MarshalJSON() ([]byte, error) {
	if p.shown {
		return p.Reveal(), nil
	}
	return p.view.document(p.Reveal())
}

// UnmarshalJSON implements json.Unmarshaler. It takes a JSON object, or null for none. Masked values stay "***", so
// that documents can be read; requests with masked values are refused (DecodeRequest, Manager).
func (p *Params) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	if string(data) == `"`+Mask+`"` {
		return errMasked
	}
	if string(data) == "null" {
		p.raw = nil
		return nil
	}
	if len(data) == 0 || data[0] != '{' || !json.Valid(data) {
		return errors.New("must be an object of attributes")
	}
	raw := json.RawMessage(bytes.Clone(data))
	p.raw = &raw
	return nil
}

func (p Params) reveal() any { p.shown = true; return p }

func decodeUseNumber(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the document")
	}
	return nil
}

// ParamError is one fault of a request: the attribute, its value (left out if it may be secret) and the fault.
// errors.Is(err, ErrInvalidRequest) is true.
type ParamError struct {
	Path   string // as a user would write it: additionalParams.k8s_cluster_installation_param.worker_node.username
	Value  string // empty when absent, or when it may be secret
	Reason string
}

// Error shows the beginning of a long value: a request can hold one of any length.
func (e *ParamError) Error() string {
	const longest = 64
	if e.Value == "" {
		return e.Path + ": " + e.Reason
	}
	value := maskURLs(e.Value) // first: half a URL is not recognised any more
	if runes := []rune(value); len(runes) > longest {
		value = string(runes[:longest]) + "…"
	}
	return fmt.Sprintf("%s: %q: %s", e.Path, value, e.Reason)
}

// Is makes every fault of a request an ErrInvalidRequest.
func (e *ParamError) Is(target error) bool { return target == ErrInvalidRequest }

// AtPath puts prefix before the path of every *ParamError in err, so that a driver can check its part of a
// request without knowing where it lies.
func AtPath(prefix string, err error) error {
	return eachFault(err, func(fault *ParamError) { fault.Path = strings.TrimSuffix(prefix+"."+fault.Path, ".") })
}

// eachFault returns err with a changed copy of every *ParamError.
func eachFault(err error, change func(*ParamError)) error {
	if err == nil {
		return nil
	}
	if list := joined(err); len(list) > 0 {
		out := make([]error, len(list))
		for i, each := range list {
			out[i] = eachFault(each, change)
		}
		return errors.Join(out...)
	}
	fault, ok := errors.AsType[*ParamError](err)
	if !ok {
		return err
	}
	changed := *fault
	change(&changed)
	return &changed
}

// joined returns the errors that errors.Join has joined in err. An error that adds text to several errors has none: it stays whole.
func joined(err error) []error {
	list, ok := err.(interface{ Unwrap() []error })
	if !ok || errors.Join(list.Unwrap()...).Error() != err.Error() {
		return nil
	}
	return list.Unwrap()
}
