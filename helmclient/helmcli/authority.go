package helmcli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
)

// makeCA writes file $1 from standard input, whose digest is $2, and the certificates that the machine trusts: Helm
// uses the file instead of the latter (internal/tlsutil). The paths are those that Go tries (crypto/x509,
// root_linux.go).
const makeCA = `mkdir -p "$(dirname "$1")" || exit 74; t=$(mktemp "$1.XXXXXXXX") || exit 74; ` +
	`trap 'rm -f "$t"' EXIT; trap 'exit 143' HUP INT TERM; cat >"$t" || exit 74; ` +
	`s=$(sha256sum <"$t") || exit 74; [ "${s%% *}" = "$2" ] || { echo "the file arrived incomplete" >&2; exit 1; }; echo >>"$t"; ` +
	`for f in "$SSL_CERT_FILE" /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem /etc/pki/tls/cacert.pem ` +
	`/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem /etc/ssl/cert.pem; do ` +
	`if [ -f "$f" ] && [ -r "$f" ]; then cat "$f" >>"$t" || exit 74; break; fi; done; mv -f "$t" "$1"`

// authority writes a file of certificates on a machine: the given ones, and those that the machine trusts already.
func (m *machine) authority(ctx context.Context, given []byte) (file string, err error) {
	sum := sha256.Sum256(given)
	digest := hex.EncodeToString(sum[:])
	file = m.dir + "/ca/" + digest + ".pem"
	_, err = m.run(ctx, command{argv: []string{"/bin/sh", "-c", makeCA, "sh", file, digest}, files: true, stdin: bytes.NewReader(given)})
	return file, err
}
