package vnflcm

// secrets are the values that must not turn up in texts.
func (s *session) secrets() []string {
	return s.op.secrets(s.m.cfg.PublicParams, s.allDrivers()...)
}

// allDrivers returns the infrastructure driver and the management drivers.
func (s *session) allDrivers() []any {
	out := []any{s.infra}
	for _, d := range s.drivers() {
		out = append(out, d)
	}
	return out
}

// secrets are the values in the requests, the grant and the VIM that must not turn up in texts.
func (op *Operation) secrets(publicParams []string, drivers ...any) []string {
	declaredSecret, declaredPublic := declared(drivers...)
	allowed := newPathSet(publicParams...)
	secret, public := newPathSet(declaredSecret...), append(newPathSet(declaredPublic...), allowed.key(additionalParamsPath)...)
	found := op.Params.secrets(secret, public)
	found = append(found, op.Initial.AdditionalParams.secrets(secret, public)...) // those that this request replaced
	vims := append(VimConnections{op.VIM}, op.Initial.VimConnectionInfo...)
	if op.other != nil { // VNFCs of a mixed VNF are healed by it
		second := op.other.Initial
		found = append(found, second.AdditionalParams.secrets(secret, public)...)
		found = append(found, second.Extensions.secrets(nil, allowed.key(extensionsPath))...)
		found = append(found, second.VnfConfigurableProperties.secrets(nil, allowed.key(configurablePath))...)
		vims = append(vims, second.VimConnectionInfo...)
	}
	if g := op.Grant; g != nil {
		found = append(found, g.AdditionalParams.secrets(nil, nil)...)
		vims = append(vims, g.VimConnectionInfo...)
	}
	if c := op.ChangeExtConn; c != nil {
		vims = append(vims, c.VimConnectionInfo...)
	}
	if c := op.ChangeVnfPkg; c != nil {
		vims = append(vims, c.VimConnectionInfo...)
		found = append(found, c.AdditionalParams.secrets(secret, public)...)
		found = append(found, c.Extensions.secrets(nil, allowed.key(extensionsPath))...)
		found = append(found, c.VnfConfigurableProperties.secrets(nil, allowed.key(configurablePath))...)
	}
	if c := op.Modify; c != nil {
		vims = append(vims, c.VimConnectionInfo...)
		found = append(found, c.Extensions.secrets(nil, allowed.key(extensionsPath))...)
		found = append(found, c.VnfConfigurableProperties.secrets(nil, allowed.key(configurablePath))...)
		for _, m := range c.VnfcInfoModifications {
			found = append(found, m.VnfcConfigurableProperties.secrets(nil, allowed.under(vnfcPropertiesPath))...)
		}
	}
	if op.instance != nil {
		for _, p := range op.instance.VNFCProperties {
			found = append(found, p.secrets(nil, allowed.under(vnfcPropertiesPath))...)
		}
	}
	for _, vim := range vims {
		found = append(found, vim.InterfaceInfo.secrets(nil, allowed.under(vimPath+"interfaceInfo"))...)
		found = append(found, vim.AccessInfo.secrets(nil, allowed.under(vimPath+"accessInfo"))...)
		found = append(found, vim.Extra.secrets(nil, allowed.under(vimPath+"extra"))...)
	}
	found = append(found, op.Initial.VnfConfigurableProperties.secrets(nil, allowed.key(configurablePath))...)
	return append(found, op.Initial.Extensions.secrets(nil, allowed.key(extensionsPath))...)
}
