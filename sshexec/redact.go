package sshexec

import "github.com/vnfkit/vnfkit/internal/mask"

// tailBytes bounds how much standard error an error carries.
const tailBytes = 4096

// newTail returns what keeps the masked end of an output.
func newTail(m *mask.Masker) *mask.Tail { return &mask.Tail{Masker: m, Most: tailBytes} }
