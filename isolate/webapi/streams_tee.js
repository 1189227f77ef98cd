// Streams, tee: https://streams.spec.whatwg.org/#readable-stream-tee
// Public: none. Ops: none.
//
// Both functions return the states of two streams.

import { primordials } from "edge:primordials";
import { Deferred, cloneAsUint8Array, later } from "edge:streams_queue";
import { acquireByobReader, acquireDefaultReader, cancelStream, readerRead, readerReadInto, releaseReader } from "edge:streams_readable_core";
import { createReadable } from "edge:streams_readable_default";
import { createReadableByte } from "edge:streams_byte";

const { PromisePrototypeThen } = primordials;

/**
 * @param {StreamState} stream
 * @param {(chunk: any) => any} [clone] makes the second branch's chunk, where it
 *   must not be the first's
 */
export function teeStream(stream, clone = undefined) {
  const tee = stream.controller.bytes ? new ByteTee(stream) : new DefaultTee(stream, clone);
  return { __proto__: null, branch1: tee.branch1.stream, branch2: tee.branch2.stream };
}

/** The source of one branch. */
class Branch {
  idle = false;
  stream = null;
  canceled = false;
  reason = undefined;
  /** It was asked for data while a read was under way. */
  readAgain = false;
  #tee;
  constructor(tee) {
    this.#tee = tee;
  }
  get controller() {
    return this.stream.controller;
  }
  pull() {
    this.#tee.pull(this);
  }
  cancel(reason) {
    this.canceled = true;
    this.reason = reason;
    return this.#tee.cancel();
  }
}

/** What both kinds of tee do. */
class Tee {
  stream;
  reader;
  reading = false;
  branch1 = new Branch(this);
  branch2 = new Branch(this);
  /** Settles what cancel() of a branch returned. */
  canceled = new Deferred();

  constructor(stream) {
    this.stream = stream;
    this.reader = acquireDefaultReader(stream);
  }

  cancel() {
    const { branch1, branch2 } = this;
    if (branch1.canceled && branch2.canceled) this.canceled.resolve(cancelStream(this.stream, [branch1.reason, branch2.reason]));
    return this.canceled.promise;
  }

  /** Called with the promises of all readers. */
  forwardError(reader) {
    PromisePrototypeThen(reader.closed.promise, undefined, (e) => {
      if (reader !== this.reader) return;
      this.branch1.controller.error(e);
      this.branch2.controller.error(e);
      this.finish();
    });
  }

  /** Fulfils what cancel() of the one canceled branch returned. */
  finish() {
    if (!this.branch1.canceled || !this.branch2.canceled) this.canceled.resolve(undefined);
  }

  /** A chunk could not be copied. */
  fail(e) {
    this.branch1.controller.error(e);
    this.branch2.controller.error(e);
    this.canceled.resolve(cancelStream(this.stream, e));
  }
}

// https://streams.spec.whatwg.org/#abstract-opdef-readablestreamdefaulttee
class DefaultTee extends Tee {
  #clone;
  #readAgain = false;
  next = null; // it is its own read request, of which there is one at a time

  constructor(stream, clone) {
    super(stream);
    this.#clone = clone;
    this.branch1.stream = createReadable(this.branch1, undefined);
    this.branch2.stream = createReadable(this.branch2, undefined);
    this.forwardError(this.reader);
  }

  pull() {
    if (this.reading) {
      this.#readAgain = true;
      return;
    }
    this.reading = true;
    readerRead(this.reader, this);
  }

  chunkSteps(chunk) {
    // A microtask later, so that an error of the stream comes first.
    later(() => {
      const { branch1, branch2 } = this;
      this.#readAgain = false;
      let chunk2 = chunk;
      if (!branch2.canceled && this.#clone !== undefined) {
        try {
          chunk2 = (0, this.#clone)(chunk);
        } catch (e) {
          this.fail(e);
          return;
        }
      }
      if (!branch1.canceled) branch1.controller.enqueue(chunk);
      if (!branch2.canceled) branch2.controller.enqueue(chunk2);
      this.reading = false;
      if (this.#readAgain) this.pull();
    });
  }

  closeSteps() {
    this.reading = false;
    if (!this.branch1.canceled) this.branch1.controller.close();
    if (!this.branch2.canceled) this.branch2.controller.close();
    this.finish();
  }

  errorSteps() {
    this.reading = false;
  }
}

// https://streams.spec.whatwg.org/#abstract-opdef-readablebytestreamtee
class ByteTee extends Tee {
  constructor(stream) {
    super(stream);
    this.branch1.stream = createReadableByte(this.branch1, undefined);
    this.branch2.stream = createReadableByte(this.branch2, undefined);
    this.forwardError(this.reader);
  }

  /** Replaces the reader where the other kind is needed. */
  useReader(byob) {
    if (this.reader.byob === byob) return;
    releaseReader(this.reader);
    this.reader = byob ? acquireByobReader(this.stream) : acquireDefaultReader(this.stream);
    this.forwardError(this.reader);
  }

  pull(branch) {
    if (this.reading) {
      branch.readAgain = true;
      return;
    }
    this.reading = true;
    const request = branch.controller.byobRequest;
    if (request === null) {
      this.useReader(false);
      readerRead(this.reader, new ByteTeeRead(this));
    } else {
      this.useReader(true);
      readerReadInto(this.reader, request.view, 1, new ByteTeeReadInto(this, branch));
    }
  }

  /** Ends one read: pulls again for a branch that asked meanwhile. */
  readDone() {
    this.reading = false;
    if (this.branch1.readAgain) this.pull(this.branch1);
    else if (this.branch2.readAgain) this.pull(this.branch2);
  }

  /** Begins the handling of a chunk. */
  readBegun() {
    this.branch1.readAgain = this.branch2.readAgain = false;
  }
}

/** A read that no branch brought a buffer for. */
class ByteTeeRead {
  next = null;
  #tee;
  constructor(tee) {
    this.#tee = tee;
  }

  chunkSteps(chunk) {
    later(() => {
      const tee = this.#tee;
      const { branch1, branch2 } = tee;
      tee.readBegun();
      let chunk2 = chunk;
      if (!branch1.canceled && !branch2.canceled) {
        try {
          chunk2 = cloneAsUint8Array(chunk);
        } catch (e) {
          tee.fail(e);
          return;
        }
      }
      if (!branch1.canceled) branch1.controller.enqueue(chunk);
      if (!branch2.canceled) branch2.controller.enqueue(chunk2);
      tee.readDone();
    });
  }

  closeSteps() {
    const tee = this.#tee;
    const { branch1, branch2 } = tee;
    tee.reading = false;
    if (!branch1.canceled) branch1.controller.close();
    if (!branch2.canceled) branch2.controller.close();
    if (branch1.controller.pending.length > 0) branch1.controller.respond(0);
    if (branch2.controller.pending.length > 0) branch2.controller.respond(0);
    tee.finish();
  }

  errorSteps() {
    this.#tee.reading = false;
  }
}

/** A read into the buffer of one branch's reader. */
class ByteTeeReadInto {
  next = null;
  #tee;
  #branch;
  #other;
  constructor(tee, branch) {
    this.#tee = tee;
    this.#branch = branch;
    this.#other = branch === tee.branch1 ? tee.branch2 : tee.branch1;
  }

  chunkSteps(chunk) {
    later(() => {
      const tee = this.#tee;
      const branch = this.#branch;
      const other = this.#other;
      tee.readBegun();
      if (!other.canceled) {
        let clone;
        try {
          clone = cloneAsUint8Array(chunk);
        } catch (e) {
          tee.fail(e);
          return;
        }
        if (!branch.canceled) branch.controller.respondWithNewView(chunk);
        other.controller.enqueue(clone);
      } else if (!branch.canceled) {
        branch.controller.respondWithNewView(chunk);
      }
      tee.readDone();
    });
  }

  closeSteps(chunk) {
    const tee = this.#tee;
    const branch = this.#branch;
    const other = this.#other;
    tee.reading = false;
    if (!branch.canceled) branch.controller.close();
    if (!other.canceled) other.controller.close();
    if (chunk !== undefined) {
      if (!branch.canceled) branch.controller.respondWithNewView(chunk);
      if (!other.canceled && other.controller.pending.length > 0) other.controller.respond(0);
    }
    tee.finish();
  }

  errorSteps() {
    this.#tee.reading = false;
  }
}
