// Package sol003 renders the documents of package vnflcm for the HTTP interface of a VNFM (ETSI GS NFV-SOL 003).
//
// The types of vnflcm marshal to version 1 of the VNF lifecycle management API (SOL003 v2.6.1) by themselves. For
// version 2 (SOL003 v3.3.1):
//
//	instance, err := manager.Get(ctx, id)
//	body, err := sol003.MarshalInstanceV2(instance)
//
// Both versions show the same values: secrets are ***, as the Manager has them (vnflcm.PublicParams and
// vnflcm.Config.PublicParams say what is shown). Requests need no conversion: vnflcm.DecodeRequest reads both versions.
//
// What differs in version 2:
//
//	attribute                                  version 1                 version 2
//	vimConnectionInfo                          list                      map by id (4.4.1.6)
//	cpConfig of external connection points     list                      map by cpInstanceId (4.4.1.10)
//	currentVnfExtCpData of external links      beyond v2.6.1             required (5.5.3.2)
//	cpConfigId of extCpInfo                    beyond v2.6.1             required (5.5.3.9)
//	virtual link of an affectedVirtualLink     virtualLinkDescId         vnfVirtualLinkDescId (5.5.3.13)
//	changedInfo of an operation                if there is any change    always, as ETSI's OpenAPI definition requires
package sol003
