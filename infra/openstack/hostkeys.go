package openstack

import (
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// pairKey is the prefix of the state keys of the host keys that the driver generates. The name follows that the template
// reads in ssh_host_keys.
const pairKey = "openstack/host-key/"

// pair is a host key that the driver has generated: for all servers of a VDU or, with StandardUserData, for one server.
type pair struct {
	Private vnflcm.Secret `json:"private"`
	Public  string        `json:"public"`
	// Replaced is the id of the server that is healed, if the pair was generated for healing. Former is the public key of
	// that server.
	Replaced string `json:"replaced,omitempty"`
	Former   string `json:"former,omitempty"`
}

func newPair() (pair, error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return pair{}, err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return pair{}, err
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		return pair{}, err
	}
	return pair{Private: vnflcm.NewSecret(string(pem.EncodeToMemory(block))), Public: authorizedKey(key, "made by the VNFM")}, nil
}

// hostKeys holds the known host keys of the servers of an instance: generated pairs by name, and keys from console logs.
type hostKeys struct {
	pairs   map[string]pair
	console map[string]string // by server
}

func (w *work) knownKeys(ctx context.Context) (hostKeys, error) {
	known := hostKeys{pairs: map[string]pair{}, console: map[string]string{}}
	err := readState(ctx, w.op.State(), pairKey, known.pairs)
	return known, errors.Join(err, readState(ctx, w.op.State(), consoleKey, known.console))
}

// readState reads the values of all state keys that begin with prefix. It removes the prefix from the keys of into.
func readState[T any](ctx context.Context, state *vnflcm.State, prefix string, into map[string]T) error {
	keys, err := state.Keys(ctx, prefix)
	if err != nil {
		return err
	}
	for _, key := range keys {
		var value T
		if err := state.Get(ctx, key, &value); err != nil && !errors.Is(err, vnflcm.ErrNotFound) {
			return err
		}
		into[strings.TrimPrefix(key, prefix)] = value
	}
	return nil
}

// pair returns the pair of a server of the VDU, and whether there is one. index is the index of an individual VNFC, or "".
func (k hostKeys) pair(vdu, index string) (pair, bool) {
	if p, individual := k.pairs[vdu+"-"+index]; individual {
		return p, true
	}
	p, ok := k.pairs[vdu]
	return p, ok
}

// of returns the public host key of a VNFC, or "" if the key is not known.
func (k hostKeys) of(v vnflcm.VNFC) string {
	p, made := k.pair(v.VDU, v.Metadata[metaIndex])
	switch {
	case !made:
		return k.console[v.ResourceID]
	case p.Replaced == v.ResourceID:
		return p.Former
	}
	return p.Public
}

// fillHostKeys sets the parameter ssh_host_keys and generates missing keys. A VNFC that is healed gets a new key, unless
// other servers have the same key. present holds the servers of the stack; it is empty if the stack is to be created. A
// stack that another program has created keeps its keys.
func (w *work) fillHostKeys(ctx context.Context, def *Definition, present []server) error {
	names := keyNames(def.Template, w.op.Flavour)
	if len(names) == 0 {
		return nil
	}
	known, err := w.knownKeys(ctx)
	if err != nil || len(known.pairs) == 0 && len(present) > 0 {
		return err
	}
	keys := map[string]any{}
	for _, name := range names {
		p, err := w.currentPair(ctx, known, name, w.healed(name, present))
		if err != nil {
			return err
		}
		keys[name] = map[string]string{"ed25519_private": p.Private.Reveal(), "ed25519_public": p.Public}
	}
	if def.Parameters == nil {
		def.Parameters = map[string]any{}
	}
	def.Parameters[hot.HostKeys] = keys
	return w.dropPairs(ctx, known, names, present)
}

// currentPair returns the pair with the name. If there is none, or if the server replaced has the current one, it
// generates a pair and stores it, so that the pair is known before Heat gets it.
func (w *work) currentPair(ctx context.Context, known hostKeys, name, replaced string) (pair, error) {
	p, made := known.pairs[name]
	if made && (replaced == "" || p.Replaced == replaced) {
		return p, nil
	}
	next, err := newPair()
	if err != nil {
		return pair{}, err
	}
	next.Replaced, next.Former = replaced, p.Public
	return next, w.op.State().Put(ctx, pairKey+name, next)
}

// healed returns the id of the only server with the pair of the name if the operation replaces that server, "" otherwise.
func (w *work) healed(name string, present []server) string {
	of := slices.DeleteFunc(slices.Clone(present), func(s server) bool { return !s.keyName(name) })
	if len(of) != 1 || of[0].group != nil {
		return ""
	}
	id := of[0].PhysicalID
	if !slices.ContainsFunc(w.op.Change.Replaced, func(v vnflcm.VNFC) bool { return v.ResourceID == id }) {
		return ""
	}
	return id
}

// keyName reports whether the server may have the pair with the name.
func (s server) keyName(name string) bool {
	return name == s.vdu || s.index != "" && name == s.vdu+"-"+s.index
}

// dropPairs deletes the pairs that neither the template names nor a server has.
func (w *work) dropPairs(ctx context.Context, known hostKeys, names []string, present []server) error {
	for name := range known.pairs {
		if slices.Contains(names, name) || slices.ContainsFunc(present, func(s server) bool { return s.keyName(name) }) {
			continue
		}
		if err := w.op.State().Delete(ctx, pairKey+name); err != nil {
			return err
		}
	}
	return nil
}

// forgetPairs deletes all pairs before the driver deletes the stack. The servers of the next stack get new pairs.
func (w *work) forgetPairs(ctx context.Context) error {
	known, err := w.knownKeys(ctx)
	if err != nil {
		return err
	}
	return w.dropPairs(ctx, known, nil, nil)
}

// keyNames returns the names of the host keys that a template reads: the name of a VDU or, for individual VNFCs, the name
// and the index.
func keyNames(t *hot.Template, f *tosca.Flavour) []string {
	var names []string
	for _, ref := range t.References(hot.HostKeys) {
		if len(ref.Path) > 1 && isKeyName(ref.Path[1], f) && !slices.Contains(names, ref.Path[1]) {
			names = append(names, ref.Path[1])
		}
	}
	return names
}

func isKeyName(name string, f *tosca.Flavour) bool {
	base, _ := cutIndex(name)
	return f.VDU(name) != nil || f.VDU(base) != nil
}

// checkHostKeys reports faults of the parameter ssh_host_keys, if the template declares it.
func checkHostKeys(t *hot.Template, op *vnflcm.Operation) error {
	i := slices.IndexFunc(t.Parameters(), func(p hot.Parameter) bool { return p.Name == hot.HostKeys })
	if i < 0 {
		return nil
	}
	p := t.Parameters()[i]
	var faults []error
	fault := func(line int, reason string) {
		faults = append(faults, &vnflcm.ParamError{Path: "VNFD " + hot.HostKeys, Reason: fmt.Sprintf("%s (%s:%d)", reason, p.File, line)})
	}
	if p.Type != "json" || !p.Hidden {
		fault(p.Line, "is filled with private keys by the VNFM: it must have the type json and hidden: true")
	}
	for _, ref := range t.References(hot.HostKeys) {
		if ref.File == p.File && (len(ref.Path) < 2 || !isKeyName(ref.Path[1], op.Flavour)) {
			fault(ref.Line, "is taken without the name of a VDU: write get_param: ["+hot.HostKeys+", <VDU>]")
		}
	}
	var given map[string]any
	if _, err := op.Params.Decode(&given); err == nil && given[hot.HostKeys] != nil {
		faults = append(faults, &vnflcm.ParamError{Path: "additionalParams." + hot.HostKeys, Reason: "is filled by the VNFM, which makes the keys: leave it out"})
	}
	return errors.Join(faults...)
}
