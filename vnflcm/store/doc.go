// Package store is where a Manager of vnflcm keeps its records: the interface, and an implementation in memory. Packages sqlite and
// postgres below it keep them in databases, and storetest checks an implementation. sqlite and postgres have the
// same columns and write a Query as SQL with the same code.
package store
