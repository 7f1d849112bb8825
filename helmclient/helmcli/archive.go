package helmcli

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/vnfkit/vnfkit/helmclient"
)

// maxPacked bounds the size of a packaged chart.
const maxPacked = 64 << 20

// readArchive reads a packaged chart and checks its members before any of it is written to a master.
func readArchive(open func() (io.ReadCloser, error)) ([]byte, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, maxPacked+1))
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	if len(data) > maxPacked {
		return nil, fmt.Errorf("%w: archive: more than %d MiB", helmclient.ErrInvalidChart, maxPacked>>20)
	}
	return data, checkArchive(data)
}

func checkArchive(data []byte) error {
	_, err := helmclient.CheckArchive(bytes.NewReader(data))
	return err
}
