package helmcli

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/internal/bounded"
)

// maxPacked bounds the size of a packaged chart.
const maxPacked = 64 << 20

// readArchive reads a packaged chart and checks its members before any of it is written to a machine.
func readArchive(open func() (io.ReadCloser, error)) ([]byte, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	data, err := bounded.Read(r, maxPacked)
	if errors.Is(err, bounded.ErrTooLarge) {
		err = fmt.Errorf("%w: archive: %w", helmclient.ErrInvalidChart, err)
	}
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	return data, checkArchive(data)
}

func checkArchive(data []byte) error {
	_, err := helmclient.CheckArchive(bytes.NewReader(data))
	return err
}
