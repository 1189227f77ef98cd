// HTML, client identification: https://html.spec.whatwg.org/multipage/system-state.html#the-navigator-object
// Public: Navigator, navigator. Ops: none.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";

const { TypeError } = primordials;

const token = {};

export class Navigator {
  #brand;

  constructor(key = undefined) {
    if (key !== token) webidl.illegalConstructor();
  }

  // https://min-common-api.proposal.wintertc.org/#navigator-useragent-requirements
  get userAgent() {
    if (!(#brand in this)) throw new TypeError("Illegal invocation");
    return "edge";
  }
}
webidl.configureInterface(Navigator);

export const navigator = new Navigator(token);
