package kubesim

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"

	"github.com/spf13/afero"
	"google.golang.org/protobuf/encoding/protowire"
)

// The services of etcd that a driver calls, over mutual TLS. They are written out here, on the HTTP/2 server of the
// standard library: gRPC's own would triple what the sandbox links. Names and numbers of fields are those of
// etcd's api/etcdserverpb/rpc.proto.
func init() {
	ports["2379"] = port{
		listens: func(w *World, m *machine) bool {
			c := w.state.Clusters[m.Cluster]
			if c == nil {
				return false
			}
			e := c.Etcd.of(m.ID)
			return e != nil && w.alive(c, *e)
		},
		serve: (*World).serveEtcd,
	}
}

// rpcError is the status of a call.
type rpcError struct {
	code    int // of gRPC
	message string
}

func (e *rpcError) Error() string { return e.message }

func (w *World) serveEtcd(id string, conn net.Conn) {
	config, err := w.etcdTLS(id)
	if err != nil {
		_ = conn.Close()
		return
	}
	serveHTTPS(conn, config, func(out http.ResponseWriter, r *http.Request) { w.etcdCall(id, out, r) })
}

// etcdTLS is made of the files of the machine, as etcd reads them.
func (w *World) etcdTLS(id string) (*tls.Config, error) {
	w.mu.Lock()
	files := w.files[id]
	w.mu.Unlock()
	if files == nil {
		return nil, errors.New("the machine is gone")
	}
	read := map[string][]byte{}
	for _, name := range []string{"ca.crt", "server.crt", "server.key"} {
		data, err := afero.ReadFile(files(), etcdDir+name)
		if err != nil {
			return nil, err
		}
		read[name] = data
	}
	pair, err := tls.X509KeyPair(read["server.crt"], read["server.key"])
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(read["ca.crt"]) {
		err = errors.Join(err, errors.New("no CA"))
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert,
		NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12}, err
}

// etcdCall answers one call of gRPC: a message after five bytes that tell its length, the status in the trailer.
func (w *World) etcdCall(id string, out http.ResponseWriter, r *http.Request) {
	message, err := readMessage(r.Body)
	var answer []byte
	if err == nil {
		answer, err = w.etcdAnswer(id, r.URL.Path, message)
	}
	status := &rpcError{}
	if err != nil && !errors.As(err, &status) {
		status = &rpcError{13, err.Error()}
	}
	out.Header().Set("Content-Type", "application/grpc")
	out.Header().Set(http.TrailerPrefix+"Grpc-Status", strconv.Itoa(status.code))
	out.Header().Set(http.TrailerPrefix+"Grpc-Message", status.message)
	out.WriteHeader(http.StatusOK)
	if err == nil {
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

// etcdAnswer does what a member is asked to.
func (w *World) etcdAnswer(id, method string, message []byte) (answer []byte, err error) {
	argument, err := firstNumber(message)
	if err != nil {
		return nil, err
	}
	w.change(func() {
		m := w.state.Machines[id]
		if m == nil || w.state.Clusters[m.Cluster] == nil {
			err = errEtcdTimeout
			return
		}
		c := w.state.Clusters[m.Cluster]
		self := c.Etcd.of(id)
		switch {
		case self == nil || !w.alive(c, *self):
			err = errEtcdTimeout
		case method == "/etcdserverpb.Maintenance/Status":
			answer = w.etcdStatus(c, *self)
		case self.Learner:
			err = errEtcdLearner
		case method == "/etcdserverpb.Cluster/MemberList":
			if linearizable := argument != 0; linearizable && !w.quorate(c) {
				err = errEtcdTimeout
			}
			answer = w.etcdMembers(c, *self)
		case method == "/etcdserverpb.Cluster/MemberRemove":
			sender := *self
			err = w.removeMember(c, argument)
			answer = w.etcdMembers(c, sender)
		case method == "/etcdserverpb.Maintenance/MoveLeader":
			err = w.moveLeader(c, self.ID, argument)
		default:
			err = &rpcError{12, "kubesim: " + method + " is not simulated"}
		}
	})
	return answer, err
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
func header(c *cluster, self etcdMember) string {
	clusterID, _ := strconv.ParseUint(c.ID, 16, 64)
	return string(number(number(number(nil, 1, clusterID), 2, self.ID), 4, c.Etcd.Term))
}

// etcdStatus is StatusResponse.
func (w *World) etcdStatus(c *cluster, self etcdMember) []byte {
	leader := w.leader(c) // may raise the term
	out := textField(textField(nil, 1, header(c, self)), 2, "3.6.5")
	out = number(number(out, 4, leader), 6, c.Etcd.Term)
	if leader == 0 {
		out = textField(out, 8, "etcdserver: no leader")
	}
	return number(out, 10, bit(self.Learner))
}

// etcdMembers is MemberListResponse; MemberRemoveResponse is the same.
func (w *World) etcdMembers(c *cluster, self etcdMember) []byte {
	out := textField(nil, 1, header(c, self))
	for _, m := range c.Etcd.Members {
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
