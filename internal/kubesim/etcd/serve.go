package etcd

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// rpcError is the status of a call.
type rpcError struct {
	code    int // of gRPC
	message string
}

func (e *rpcError) Error() string { return e.message }

// Serve answers one call of gRPC: messages, each after five bytes that tell its length, the status in the trailer.
func Serve(out http.ResponseWriter, r *http.Request, do func(method string, message []byte) ([][]byte, error)) {
	message, err := readMessage(r.Body)
	var answers [][]byte
	if err == nil {
		answers, err = do(r.URL.Path, message)
	}
	if errors.Is(err, errWaits) {
		<-r.Context().Done()
	}
	status := &rpcError{}
	if err != nil && !errors.As(err, &status) {
		status = &rpcError{13, err.Error()}
	}
	out.Header().Set("Content-Type", "application/grpc")
	out.Header().Set(http.TrailerPrefix+"Grpc-Status", strconv.Itoa(status.code))
	out.Header().Set(http.TrailerPrefix+"Grpc-Message", status.message)
	out.WriteHeader(http.StatusOK)
	if err != nil {
		return
	}
	for _, answer := range answers {
		_, _ = out.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(answer))), answer...)) //nolint:gosec // short
	}
}

func readMessage(body io.Reader) ([]byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(body, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if head[0] != 0 || size > 1<<20 {
		return nil, errors.New("compressed, or too long")
	}
	message := make([]byte, size)
	_, err := io.ReadFull(body, message)
	return message, err
}

// Data is what the members have.
type Data struct {
	Revision int
	Content  func() ([]byte, error) // of a snapshot
}

// Answer answers a call to the member of a machine, with the messages of a stream or with one message.
func (e *Cluster) Answer(clusterID, machine, method string, message []byte, runs Running, data Data) ([][]byte, error) {
	if method == "/etcdserverpb.Maintenance/Snapshot" {
		return e.snapshot(machine, runs, data)
	}
	answer, err := e.answer(clusterID, machine, method, message, runs, data)
	return [][]byte{answer}, err
}

func (e *Cluster) snapshot(machine string, runs Running, data Data) ([][]byte, error) {
	self := e.Of(machine)
	switch {
	case self == nil || !runs(*self):
		return nil, ErrTimeout
	case self.Learner:
		return nil, errLearner
	}
	content, err := data.Content()
	if err != nil {
		return nil, err
	}
	return snapshot(content, data.Revision)
}

func (e *Cluster) answer(clusterID, machine, method string, message []byte, runs Running, data Data) ([]byte, error) {
	argument, err := firstNumber(message)
	if err != nil {
		return nil, err
	}
	self := e.Of(machine)
	switch {
	case self == nil || !runs(*self):
		return nil, ErrTimeout
	case method == "/etcdserverpb.Maintenance/Status":
		return e.status(clusterID, *self, runs, data.Revision), nil
	case self.Learner:
		return nil, errLearner
	case method == "/etcdserverpb.Cluster/MemberList":
		if linearizable := argument != 0; linearizable && !e.Quorate(runs) {
			return nil, ErrTimeout
		}
		return e.members(clusterID, *self), nil
	case method == "/etcdserverpb.Cluster/MemberRemove" && !e.Quorate(runs):
		return nil, errWaits
	case method == "/etcdserverpb.Cluster/MemberRemove":
		sender := *self
		if err := e.Remove(argument, runs); err != nil {
			return nil, err
		}
		return e.members(clusterID, sender), nil
	case method == "/etcdserverpb.Maintenance/MoveLeader":
		return nil, e.moveLeader(self.ID, argument, runs)
	}
	return nil, &rpcError{12, "kubesim: " + method + " is not simulated"}
}

// firstNumber is field 1, which is all that the simulated calls take.
func firstNumber(message []byte) (uint64, error) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return 0, protowire.ParseError(n)
		}
		if number == 1 && kind == protowire.VarintType {
			v, n := protowire.ConsumeVarint(message[n:])
			return v, protowire.ParseError(min(n, 0))
		}
		size := protowire.ConsumeFieldValue(number, kind, message[n:])
		if size < 0 {
			return 0, protowire.ParseError(size)
		}
		message = message[n+size:]
	}
	return 0, nil
}

func number(to []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), value)
}

func textField(to []byte, field protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(to, field, protowire.BytesType), value)
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// header is ResponseHeader.
func (e *Cluster) header(clusterID string, self Member) string {
	id, _ := strconv.ParseUint(clusterID, 16, 64)
	return string(number(number(number(nil, 1, id), 2, self.ID), 4, e.Term))
}

// status is StatusResponse.
func (e *Cluster) status(clusterID string, self Member, runs Running, revision int) []byte {
	leader := e.Elect(runs) // may raise the term
	header := string(number([]byte(e.header(clusterID, self)), 3, uint64(max(0, revision))))
	out := textField(textField(nil, 1, header), 2, self.Version)
	out = number(number(out, 4, leader), 6, e.Term)
	if leader == 0 {
		out = textField(out, 8, "etcdserver: no leader")
	}
	return number(out, 10, bit(self.Learner))
}

// members is MemberListResponse; MemberRemoveResponse is the same.
func (e *Cluster) members(clusterID string, self Member) []byte {
	out := textField(nil, 1, e.header(clusterID, self))
	for _, m := range e.Members {
		member := number(nil, 1, m.ID)
		member = textField(member, 3, "https://"+net.JoinHostPort(m.Address.String(), "2380"))
		if m.Name != "" {
			member = textField(member, 2, m.Name)
			member = textField(member, 4, "https://"+net.JoinHostPort(m.Address.String(), "2379"))
		}
		out = textField(out, 2, string(number(member, 5, bit(m.Learner))))
	}
	return out
}

// snapshot are the SnapshotResponses of a call: data, and their checksum.
func snapshot(content []byte, revision int) ([][]byte, error) {
	data, err := pack(content, revision)
	sum := sha256.Sum256(data)
	return [][]byte{textField(nil, 3, string(data)), textField(nil, 3, string(sum[:]))}, err
}
