// High Resolution Time: https://w3c.github.io/hr-time/
// Public: Performance, performance. Ops: none.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { EventTarget } from "edge:event";
import { native_now, native_wall } from "edge:ops";

const { TypeError } = primordials;

const token = {};
// Read when it is first asked for: the snapshot was made at another time. From
// then on it stays, so that timeOrigin + now() never goes back.
let origin;
function timeOrigin() {
  origin ??= native_wall() - native_now();
  return origin;
}

// https://w3c.github.io/hr-time/#the-performance-interface
export class Performance extends EventTarget {
  #brand;

  constructor(key = undefined) {
    if (key !== token) webidl.illegalConstructor();
    super();
  }

  // https://w3c.github.io/hr-time/#now-method
  now() {
    if (!(#brand in this)) throw new TypeError("Illegal invocation");
    return native_now();
  }

  // https://w3c.github.io/hr-time/#timeorigin-attribute
  get timeOrigin() {
    if (!(#brand in this)) throw new TypeError("Illegal invocation");
    return timeOrigin();
  }

  // https://w3c.github.io/hr-time/#tojson-method
  toJSON() {
    if (!(#brand in this)) throw new TypeError("Illegal invocation");
    return { timeOrigin: timeOrigin() };
  }
}
webidl.configureInterface(Performance);

export const performance = new Performance(token);
