// Package inprocesstest checks the packages that link Helm: what they promise beyond the contract of helmclient.
package inprocesstest
