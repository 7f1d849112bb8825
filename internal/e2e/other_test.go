//go:build !linux

package e2e_test

import "testing"

func TestSSH(t *testing.T) { t.Skip("real hosts are made of Linux namespaces") }
