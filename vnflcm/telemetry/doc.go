// Package telemetry shows the operations of a VNF manager in OpenTelemetry: a trace for each operation, metrics, and log records
// with the ids of their traces.
//
//	traces := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithIDGenerator(telemetry.IDs()))
//	t, err := telemetry.New(telemetry.Options{Traces: traces, Metrics: metrics})
//	if err != nil {
//		return err
//	}
//	config := vnflcm.Config{...}
//	t.Attach(&config) // last: it wraps the Store, the Logger, Observe and Intercept
//	manager, err := vnflcm.New(ctx, config)
//
// The program makes the providers, and shuts them down after the Manager is closed.
//
// # Traces
//
// The ids of a trace and of its root span are made from the id of the operation, so every process that works on an operation adds
// to the same trace, also after a crash and without having met the other processes. The root span covers the operation; the
// process in which the operation ends exports it. Below it are the phases, and the steps with the machine and the attempt
// that they belong to. A span that is running when its process dies is lost; the next process exports a span for its own run of
// the step. Steps that the journal says are done have no second span.
//
// The context of a step has its span: commands of sshexec (package sshexec/sshotel) and HTTP requests (for example a transport of
// otelhttp in infra/openstack.Config.Transport) are below the step that sends them.
//
// Attributes hold ids, names and codes. They hold no parameters, no commands and no texts of errors, since these can quote what a
// machine has said.
//
// IDs is the generator of ids that the TracerProvider needs; without it the root span is in another trace. A sampler decides
// for an operation as a whole if it decides by the trace id:
//
//	sampler := sdktrace.TraceIDRatioBased(0.1)
//	sdktrace.ParentBased(sampler, sdktrace.WithRemoteParentSampled(sampler))
//
// # Metrics
//
//	vnfkit.operation.duration     s               vnfkit.operation.type, vnfkit.operation.state   until the state was entered
//	vnfkit.operation.active       {operation}     vnfkit.operation.state                          operations that have not ended
//	vnfkit.operation.queue        {operation}                                                     operations that no process works on yet
//	vnfkit.operation.suspected    {operation}                                                     at least two processes have ended with it
//	vnfkit.operation.takeovers    {operation}     vnfkit.operation.type                           continued by this process
//	vnfkit.operation.losses       {operation}     vnfkit.operation.type                           continued by another process
//	vnfkit.operation.waiting      s               vnfkit.wait.class                               the longest wait in this process
//	vnfkit.instance.certificates  {instance}      vnfkit.certificate.days                         by the first certificate that ends
//	vnfkit.vim.unrenewed          {vim}                                                           the renewal of the credentials is late
//	vnfkit.vim.count              {vim}           vnfkit.vim.state                                by the last login, of Telemetry.CheckVIMs
//	vnfkit.step.duration          s               vnfkit.phase, vnfkit.step, vnfkit.result        result is done or failed
//	vnfkit.step.failures          {step}          vnfkit.wait.class                               by the reason
//	vnfkit.notification.failures  {notification}                                                  not sent again
//	vnfkit.notification.delay     s                                                               the oldest one that is sent again
//	vnfkit.store.duration         s               vnfkit.store.method, error.type                 latency of the Store
//
// The gauges active, queue, suspected, certificates and unrenewed are read from the Store at each collection, and are the same in all processes
// that share it: take their maximum. The other metrics are those of one process: add them up, and take the maximum of waiting and delay.
// No metric names a tenant, an instance or a VIM. docs/monitoring.md has rules for Prometheus.
//
// The days are the last limit that had passed when the certificates were last read, 365 (of authorities only), 60, 30, 14, 7, 3 or 1 before the
// end, and 0 after it. Instances whose certificates end later, or are unknown, are not counted. vnflcm.Manager.CertificateStatus has the dates.
package telemetry
