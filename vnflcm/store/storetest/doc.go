// Package storetest checks an implementation of store.Store, for example one on another database. Call Run
// in a test of it:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { return newMyStore(t) })
//	}
//
// It checks what a Manager relies on: the versions, so that of two writers one wins; that a batch is written as a
// whole or not at all, and only while its assertions hold; that List is complete, in order and of the given kind only; that texts
// of every kind are data and never part of a statement; that bodies come back byte for byte and are not shared with the caller; that
// nothing is written once the context has ended. Run it with the race detector.
package storetest
