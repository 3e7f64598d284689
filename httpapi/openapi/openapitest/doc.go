// Package openapitest holds the API against its document: requests that were accepted and every answer, with status, headers
// and body, those of event streams message by message. Whatever is not documented is an error.
//
// The schemas are checked by libopenapi-validator. It is stricter here than a client has to be: an answer may have no field
// that the document does not have, although the document lets later versions add some.
package openapitest
