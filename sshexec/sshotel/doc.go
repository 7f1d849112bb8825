// Package sshotel shows the commands of package sshexec in OpenTelemetry: a span and a duration for each command, and the number
// of connections.
//
//	observer, err := sshotel.New(traces, metrics)
//	if err != nil {
//		return err
//	}
//	pool := sshexec.NewPool(sshexec.Options{Observe: observer.Command, Dial: observer.Dial(dialer.DialContext)})
//
// A span is below the one in the context of the command. Its attributes are the host, the program without its arguments, the user
// and, of a failed command, the exit code: arguments and output can be secret.
//
//	ssh.command.duration   s             host.name, process.executable.name, error.type
//	ssh.connections        {connection}  network connections that are open
package sshotel
