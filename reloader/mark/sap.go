package mark

// SAPHashKey is the pod template annotation of SAP's pod-reloader.
const SAPHashKey = "pod-reloader.cs.sap.com/config-hash"

// SAP writes one hash for all configs together, as SAP's pod-reloader does.
var SAP = joint("sap", SAPHashKey)
