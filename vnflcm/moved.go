package vnflcm

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// RequestParams returns the additionalParams of the operation's request alone. Params has those of the instantiation below.
func (op *Operation) RequestParams() Params {
	switch {
	case op.Instantiate != nil:
		return op.Instantiate.AdditionalParams
	case op.Scale != nil:
		return op.Scale.AdditionalParams
	case op.ScaleToLevel != nil:
		return op.ScaleToLevel.AdditionalParams
	case op.Heal != nil:
		return op.Heal.AdditionalParams
	case op.Terminate != nil:
		return op.Terminate.AdditionalParams
	case op.ChangeExtConn != nil:
		return op.ChangeExtConn.AdditionalParams
	case op.Operate != nil:
		return op.Operate.AdditionalParams
	case op.ChangeVnfPkg != nil:
		return op.ChangeVnfPkg.AdditionalParams
	case op.CreateSnapshot != nil:
		return op.CreateSnapshot.AdditionalParams
	case op.RevertToSnapshot != nil:
		return op.RevertToSnapshot.AdditionalParams
	case op.Maintain != nil:
		return op.Maintain.AdditionalParams
	}
	return Params{}
}

// CheckMoved is for drivers that send secrets of additionalParams to an address of additionalParams. It returns a *ParamError for
// each secret of the instantiation that a later request would send to another address: the request changes an attribute of
// addresses, and does not give the secret again. Both lists have paths in the form of SecretPaths.
func (op *Operation) CheckMoved(addresses, secrets []string) error {
	var stored, given map[string]any
	if err := errors.Join(decodeUseNumber(op.Initial.AdditionalParams.Reveal(), &stored), decodeUseNumber(op.RequestParams().Reveal(), &given)); err != nil {
		return err
	}
	i := slices.IndexFunc(addresses, func(path string) bool {
		address, isGiven := attributeAt(given, path)
		known, _ := attributeAt(stored, path)
		return isGiven && !sameAttribute(address, known)
	})
	if i < 0 {
		return nil
	}
	var faults []error
	for _, path := range notReplaced("", stored, given, newPathSet(secrets...)) {
		faults = append(faults, &ParamError{Path: "additionalParams." + path,
			Reason: fmt.Sprintf("is required with another %s than in the instantiation: stored secrets are not sent there", addresses[i])})
	}
	return errors.Join(faults...)
}

// CheckAddresses is for drivers whose additionalParams have addresses for programs on machines. It asks allow about the host and the port
// of each address in the operation's request, and returns a *ParamError for each refusal. paths have the form of SecretPaths; an
// address is a URL, or a host with a port or without. allow may be outbound.Policy.CheckHost. The port is 443 if it is not given.
func (op *Operation) CheckAddresses(paths []string, allow func(host string, port uint16) error) error {
	var given any
	if err := decodeUseNumber(op.RequestParams().Reveal(), &given); err != nil {
		return err
	}
	var faults []error
	eachText("additionalParams", given, newPathSet(paths...), func(path, text string) {
		host, port := hostOf(text)
		if err := allow(host, port); err != nil {
			faults = append(faults, &ParamError{Path: path, Reason: err.Error()})
		}
	})
	return errors.Join(faults...)
}

// eachText visits the texts at the paths of a set, in order.
func eachText(path string, tree any, at pathSet, visit func(path, text string)) {
	switch t := tree.(type) {
	case map[string]any:
		for _, name := range sortedKeys(t) {
			eachText(join(path, name), t[name], at.key(name), visit)
		}
	case []any:
		for i, item := range t {
			eachText(fmt.Sprintf("%s[%d]", path, i), item, at.items(), visit)
		}
	case string:
		if at.hasLeaf() {
			visit(path, t)
		}
	}
}

// hostOf returns host and port of a URL, or of host[:port].
func hostOf(address string) (string, uint16) {
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", 0 // the driver reports the fault
	}
	port, err := strconv.ParseUint(cmp.Or(u.Port(), "443"), 10, 16)
	if err != nil {
		port = 0
	}
	return u.Hostname(), uint16(port)
}

// attributeAt returns the attribute at a path of names.
func attributeAt(tree map[string]any, path string) (any, bool) {
	name, rest, deeper := strings.Cut(path, ".")
	value, found := tree[name]
	if !deeper {
		return value, found
	}
	object, _ := value.(map[string]any)
	return attributeAt(object, rest)
}

// notReplaced returns the paths, in order, of the secrets of a tree that remain when a merge patch is applied.
func notReplaced(path string, tree, patch map[string]any, secret pathSet) (found []string) {
	for _, name := range sortedKeys(tree) {
		over, isGiven := patch[name]
		object, isObject := tree[name].(map[string]any)
		inner, isPatch := over.(map[string]any)
		switch {
		case isGiven && (!isObject || !isPatch): // replaced or removed
		case isObject:
			found = append(found, notReplaced(join(path, name), object, inner, secret.key(name))...)
		case len(findSecrets(name, tree[name], secret.key(name), nil)) > 0:
			found = append(found, join(path, name))
		}
	}
	return found
}
