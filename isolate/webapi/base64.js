// HTML Standard, Base64 utility methods: https://html.spec.whatwg.org/multipage/webappapis.html#atob
// Public: atob, btoa. Ops: none (native_base64_*, native_latin1_encode).

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { DOMException } from "edge:domexception";
import { native_base64_decode_forgiving, native_base64_encode, native_latin1_encode } from "edge:ops";

const { RegExpPrototypeExec } = primordials;

const aboveByte = /[^\x00-\xff]/;

// https://html.spec.whatwg.org/multipage/webappapis.html#dom-atob
export function atob(data) {
  const prefix = "Failed to execute 'atob'";
  webidl.requiredArguments(arguments.length, 1, prefix);
  data = webidl.converters.DOMString(data, prefix, "Argument 1");
  const decoded = native_base64_decode_forgiving(data);
  if (decoded === null) {
    throw new DOMException(`${prefix}: The string to be decoded is not correctly encoded.`, "InvalidCharacterError");
  }
  return decoded;
}

// https://html.spec.whatwg.org/multipage/webappapis.html#dom-btoa
export function btoa(data) {
  const prefix = "Failed to execute 'btoa'";
  webidl.requiredArguments(arguments.length, 1, prefix);
  data = webidl.converters.DOMString(data, prefix, "Argument 1");
  if (RegExpPrototypeExec(aboveByte, data) !== null) {
    throw new DOMException(`${prefix}: The string to be encoded has characters outside of the Latin1 range.`, "InvalidCharacterError");
  }
  return native_base64_encode(native_latin1_encode(data));
}
