package sshexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// errShort: a file ended before the size that the host had stated.
var errShort = fmt.Errorf("%w: the file became shorter meanwhile", ErrDigest)

// block is a part of a file that is being read.
type block struct {
	data   []byte
	offset int64
	done   chan error
}

// receive reads a file by SFTP from the offset at to end, with several concurrent requests, and passes the data to to in order.
func receive(ctx context.Context, s *sftpSession, name string, at, end int64, to func([]byte) error) error {
	file, err := s.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	readers := min(inFlight, inFlightBytes/s.packet)
	work := make(chan *block, readers)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer close(work)
	for range readers {
		reading.Go(func() {
			for b := range work {
				b.done <- b.read(file)
			}
		})
	}
	var waiting, spare []*block
	for at < end || len(waiting) > 0 {
		if at < end && len(waiting) < readers {
			if len(spare) == 0 {
				spare = append(spare, &block{data: make([]byte, s.packet), done: make(chan error, 1)})
			}
			b := spare[len(spare)-1]
			spare = spare[:len(spare)-1]
			b.offset, b.data = at, b.data[:min(int64(s.packet), end-at)]
			at += int64(len(b.data))
			waiting = append(waiting, b)
			work <- b
			continue
		}
		b := waiting[0]
		waiting = waiting[1:]
		if err := b.deliver(ctx, to); err != nil {
			return err
		}
		spare = append(spare, b)
	}
	return nil
}

func (b *block) read(from io.ReaderAt) error {
	n, err := from.ReadAt(b.data, b.offset)
	switch {
	case n == len(b.data):
		return nil
	case errors.Is(err, io.EOF):
		return errShort
	default:
		return err
	}
}

func (b *block) deliver(ctx context.Context, to func([]byte) error) error {
	select {
	case err := <-b.done:
		if err != nil {
			return err
		}
		return to(b.data)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
