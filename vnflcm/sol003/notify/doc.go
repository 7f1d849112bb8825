// Package notify sends the notifications of the SOL003 API of a VNFM to its subscribers.
//
// To serve subscriptions and to send notifications:
//
//	notifier := notify.New(manager, notify.Options{})
//	handler, err := sol003.NewHandler(manager, sol003.Options{Subscriptions: notifier, Authorize: authorize})
//	go notifier.Run(ctx)
//
// Several processes on the same store may do this: one of them sends, and another process takes over when it ends.
//
// # Guarantees
//
// Every change of the existence of a VNF instance and of the state of an operation is sent to each subscriber whose filter
// matches, at least once, also if the VNFM dies at any moment. So is every onboarding, deletion and change of the operational state of a
// VNF package. Notifications of the same instance or package are sent in the order of the changes. After a death of the VNFM the latest ones are sent again, with the same ids.
//
// A notification that the subscriber does not accept is sent again, after pauses of up to a minute, until it is older than
// Options.GiveUpAfter. One that the subscriber refuses by 400, 413, 415 or 422 is not sent again. Both are logged. A
// subscriber that does not answer does not delay other subscribers.
//
// # Where requests go
//
// Callback URIs and token endpoints come from clients, who could aim them at services that only this machine can reach.
// Options.Allow is asked for the address of each connection, after the name has been resolved. The default refuses loopback,
// link-local and metadata addresses (package outbound). Redirects are not followed and proxies are not used.
package notify
