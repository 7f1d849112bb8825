// Package sol003v2 converts the documents that types of vnflcm marshal to, which have the form of version 1 of the API (SOL003
// v2.6.1), to the form of version 2 (SOL003 v3.3.1). Free-form attributes stay as they are.
package sol003v2

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
)

// Instance converts a VnfInstance (SOL003 v3.3.1 5.5.2.2). An external connection point that exposes neither a connection point
// of a VNFC nor a virtual link is left out: version 2 has no form for one.
func Instance(document []byte) ([]byte, error) {
	return convert(document, func(doc object) {
		keyConnections(doc)
		info := member(doc, "instantiatedVnfInfo")
		convertLinks(info, "extVirtualLinkInfo", "currentVnfExtCpData")
		var cps []object
		for _, cp := range list(info, "extCpInfo") {
			if cp["associatedVnfcCpId"] == nil && cp["associatedVnfVirtualLinkId"] == nil {
				continue
			}
			if cp["cpConfigId"] == nil {
				cp["cpConfigId"] = cp["cpdId"]
			}
			cps = append(cps, cp)
		}
		delete(info, "extCpInfo")
		if len(cps) > 0 { // it has at least one item
			info["extCpInfo"] = cps
		}
	})
}

// Operation converts a VnfLcmOpOcc (SOL003 v3.3.1 5.5.2.13). operationParams has the form of Request.
func Operation(document []byte) ([]byte, error) {
	return convert(document, func(doc object) {
		convertRequest(member(doc, "operationParams"))
		renameDescriptors(member(doc, "resourceChanges"), "affectedVirtualLinks")
		convertLinks(doc, "changedExtConnectivity", "currentVnfExtCpData")
		// The specification has changedInfo "if applicable". The OpenAPI definition requires it, or its counterpart for a
		// change of the VNF package. An empty one satisfies both.
		if doc["operation"] == "CHANGE_VNFPKG" {
			doc[packageChanges] = member(doc, packageChanges)
			return
		}
		info := member(doc, "changedInfo")
		keyConnections(info)
		doc["changedInfo"] = info
	})
}

// packageChanges is the attribute that a CHANGE_VNFPKG has instead of changedInfo.
const packageChanges = "modificationsTriggeredByVnfPkgChange"

// Request converts the request of an operation.
func Request(document []byte) ([]byte, error) { return convert(document, convertRequest) }

func convertRequest(params object) {
	keyConnections(params)
	convertLinks(params, "extVirtualLinks", "extCps")
	renameDescriptors(params, "extManagedVirtualLinks")
}

// object is a JSON object that is converted in place. Free-form attributes in it are not touched.
type object = map[string]any

// convert decodes a document, converts it and returns it.
func convert(document []byte, change func(object)) ([]byte, error) {
	var doc object
	numbers := json.NewDecoder(bytes.NewReader(document))
	numbers.UseNumber()
	if err := numbers.Decode(&doc); err != nil {
		return nil, err
	}
	change(doc)
	return json.Marshal(doc)
}

// member returns an object in an object, or an empty object if it is missing.
func member(o object, name string) object {
	if inner, ok := o[name].(object); ok {
		return inner
	}
	return object{}
}

// list returns the objects of a list in an object.
func list(o object, name string) []object {
	items, _ := o[name].([]any)
	out := make([]object, 0, len(items))
	for _, item := range items {
		if inner, ok := item.(object); ok {
			out = append(out, inner)
		}
	}
	return out
}

// keyBy turns a list of objects into a map by their ids. An object without an id gets one from fallback: the first that
// is free.
func keyBy(o object, name, id string, fallback func(item object, n int) string) {
	if o[name] == nil {
		return
	}
	items, byID := list(o, name), object{}
	for _, item := range items {
		if key, ok := item[id].(string); ok {
			byID[key] = item
		}
	}
	for _, item := range items {
		if _, ok := item[id].(string); !ok {
			key := fallback(item, 0)
			for n := 1; byID[key] != nil; n++ {
				key = fallback(item, n)
			}
			byID[key] = item
		}
		delete(item, id)
	}
	o[name] = byID
}

// keyConnections converts vimConnectionInfo (SOL003 v3.3.1 4.4.1.6).
func keyConnections(o object) {
	keyBy(o, "vimConnectionInfo", "id", func(item object, n int) string {
		vim, _ := item["vimId"].(string)
		if vim = cmp.Or(vim, "vim"); n > 0 {
			vim = fmt.Sprintf("%s-%d", vim, n+1)
		}
		return vim
	})
}

// convertLinks converts the connection points of external links (SOL003 v3.3.1 4.4.1.10, 5.5.3.2).
func convertLinks(o object, links, connectionPoints string) {
	for _, link := range list(o, links) {
		if link[connectionPoints] == nil {
			link[connectionPoints] = []object{}
		}
		for _, cp := range list(link, connectionPoints) {
			keyBy(cp, "cpConfig", "cpInstanceId", func(_ object, n int) string { return fmt.Sprintf("%v-%d", cp["cpdId"], n) })
		}
	}
}

// renameDescriptors gives the descriptors of internal virtual links their name of version 2 (SOL003 v3.3.1 5.5.3.13).
func renameDescriptors(o object, links string) {
	for _, link := range list(o, links) {
		if id, ok := link["virtualLinkDescId"]; ok {
			link["vnfVirtualLinkDescId"] = id
			delete(link, "virtualLinkDescId")
		}
	}
}
