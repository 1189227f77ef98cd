package op

import "fmt"

// Class is the JavaScript class of an error that user code sees.
type Class uint8

// The classes an op may reject or throw with. The numbers are wire format.
const (
	PlainError Class = iota
	TypeError
	RangeError
	SyntaxError
	DOMException // Error.Name holds the DOMException name, such as "AbortError"
)

// Error is an error meant for user code: its text is shown to scripts, so it
// holds no path, credential or address of the host. Any other error that an op
// returns reaches scripts as "internal error" and is logged whole.
type Error struct {
	Class Class
	Name  string // DOMException name; empty for the other classes
	Msg   string
	Code  string // becomes error.code when not empty, such as "ERR_NOT_GRANTED"
}

// Error returns the message.
func (e *Error) Error() string { return e.Msg }

// Errorf returns an Error of the given class.
func Errorf(class Class, format string, args ...any) *Error {
	return &Error{Class: class, Msg: fmt.Sprintf(format, args...)}
}

// Aborted returns the DOMException that a canceled operation rejects with.
func Aborted(msg string) *Error {
	return &Error{Class: DOMException, Name: "AbortError", Msg: msg}
}

// NotGranted returns the error of an operation that the configuration does not
// allow. field is the config field that would grant it, such as
// "services.shop.worker.globalOutbound".
func NotGranted(what, field string) *Error {
	return &Error{Class: TypeError, Code: "ERR_NOT_GRANTED",
		Msg: fmt.Sprintf("%s is not granted: set %s in the configuration to allow it", what, field)}
}
