package openapitest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	validation "github.com/pb33f/libopenapi-validator/errors"
)

// schemas compares bodies and parameters with the schemas of a document; a result says what is wrong, "" nothing.
//
// Its fields are functions because of what a compiler does with a type of the validator in a struct: each package that has a
// Checker would compile the validator's generic types anew, which takes longer than all else that there is in it.
type schemas struct {
	request func(*http.Request) string
	answer  func(*http.Request, *http.Response) string
}

// schemasOf reads a document, which must be an OpenAPI 3.1.
func schemasOf(document []byte) (schemas, error) {
	parsed, err := libopenapi.NewDocument(document)
	if err != nil {
		return schemas{}, fmt.Errorf("openapitest: %w", err)
	}
	v, errs := validator.NewValidator(parsed, config.WithoutSecurityValidation())
	if len(errs) > 0 {
		return schemas{}, fmt.Errorf("openapitest: %w", errors.Join(errs...))
	}
	if ok, found := v.ValidateDocument(); !ok {
		return schemas{}, fmt.Errorf("openapitest: the document is no OpenAPI 3.1: %s", listed(found))
	}
	return schemas{
		request: func(r *http.Request) string {
			return unless(v.ValidateHttpRequestSync(r))
		},
		answer: func(r *http.Request, answer *http.Response) string {
			return unless(v.GetResponseBodyValidator().ValidateResponseBody(r, answer))
		},
	}, nil
}

func unless(ok bool, found []*validation.ValidationError) string {
	if ok {
		return ""
	}
	return "not valid: " + listed(found)
}

func listed(found []*validation.ValidationError) string {
	var text []string
	for _, f := range found {
		text = append(text, f.Message+": "+f.Reason)
		for _, s := range f.SchemaValidationErrors {
			text = append(text, s.FieldPath+" "+s.Reason)
		}
	}
	return strings.Join(text, "; ")
}
