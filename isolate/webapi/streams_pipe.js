// Streams, piping: https://streams.spec.whatwg.org/#readable-stream-pipe-to
// Public: none. Ops: none.

import { primordials } from "edge:primordials";
import { abortReason, addAbortAlgorithm, isAborted, removeAbortAlgorithm } from "edge:abort";
import { Deferred, later } from "edge:streams_queue";
import { CLOSED, ERRORED, READABLE, acquireDefaultReader, cancelStream, readerRead, releaseReader } from "edge:streams_readable_core";
import { CLOSED as DEST_CLOSED, ERRORED as DEST_ERRORED, WRITABLE, WriterState } from "edge:streams_writable";

const { Promise, PromisePrototypeThen, PromiseReject, PromiseResolve, TypeError } = primordials;

/**
 * Pipes a stream into another and returns a promise. Neither is locked.
 * @param {StreamState} source
 * @param {WritableState} dest
 * @param {{preventClose: boolean, preventAbort: boolean, preventCancel: boolean, signal?: AbortSignal}} options
 */
export function pipe(source, dest, options) {
  return new Pipe(source, dest, options).promise;
}

/** The write of one chunk; it tells the pipe when it is over. */
class PipeWrite {
  next = null;
  #pipe;
  constructor(pipe) {
    this.#pipe = pipe;
  }
  resolve() {
    this.#pipe.writeDone();
  }
  reject() {
    this.#pipe.writeDone();
  }
}

/** One pipe under way. It is its own read request, of which there is one at a time. */
class Pipe {
  next = null;
  #source;
  #dest;
  #options;
  #reader;
  #writer;
  #finished = new Deferred();
  #shuttingDown = false;
  /** Chunks read whose write has not ended. */
  #unwritten = 0;
  /** Called when there are no such chunks. */
  #whenWritten = null;
  // A chunk that comes inside of our own call of read is written at once, any
  // other in a microtask: a source must not see its sink called in enqueue().
  #inStep = false;
  #gotChunk = false;
  #chunk = undefined;
  #onAbort = null;

  constructor(source, dest, options) {
    this.#source = source;
    this.#dest = dest;
    this.#options = options;
    this.#reader = acquireDefaultReader(source);
    this.#writer = new WriterState(dest);
    source.disturbed = true;
    if (!this.#watchSignal()) this.#watchStreams();
  }

  get promise() {
    return this.#finished.promise;
  }

  /** Reports whether the signal is aborted, so that the pipe is already ending. */
  #watchSignal() {
    const { signal } = this.#options;
    if (signal === undefined) return false;
    this.#onAbort = () => this.#abort(abortReason(signal));
    if (isAborted(signal)) {
      this.#onAbort();
      return true;
    }
    addAbortAlgorithm(signal, this.#onAbort);
    return false;
  }

  #abort(e) {
    const source = this.#source;
    const dest = this.#dest;
    const { preventAbort, preventCancel } = this.#options;
    this.#shutdown(
      () => {
        const aborted = preventAbort || dest.state !== WRITABLE ? undefined : dest.abort(e);
        const canceled = preventCancel || source.state !== READABLE ? undefined : cancelStream(source, e);
        return waitForBoth(aborted, canceled);
      },
      true,
      e,
    );
  }

  #watchStreams() {
    const source = this.#source;
    const dest = this.#dest;
    const sourceErrored = (e) => {
      if (this.#options.preventAbort) this.#shutdown(null, true, e);
      else this.#shutdown(() => dest.abort(e), true, e);
    };
    const destErrored = (e) => {
      if (this.#options.preventCancel) this.#shutdown(null, true, e);
      else this.#shutdown(() => cancelStream(source, e), true, e);
    };
    const sourceClosed = () => {
      if (this.#options.preventClose) this.#shutdown(null, false, undefined);
      else this.#shutdown(() => closeWithErrorPropagation(dest), false, undefined);
    };
    if (source.state === ERRORED) sourceErrored(source.storedError);
    if (dest.state === DEST_ERRORED) destErrored(dest.storedError);
    else PromisePrototypeThen(this.#writer.closed.promise, undefined, destErrored);
    if (source.state === CLOSED) sourceClosed();
    else if (source.state === READABLE) PromisePrototypeThen(this.#reader.closed.promise, sourceClosed, sourceErrored);
    if (dest.closing || dest.state === DEST_CLOSED) {
      destErrored(new TypeError("The destination of the pipe is closed"));
    }
    later(() => this.#step());
  }

  /** Moves chunks until one side has to be waited for. */
  #step() {
    while (!this.#shuttingDown) {
      const { ready } = this.#writer;
      if (ready.pending) {
        ready.whenResolved(this.#onReady);
        return;
      }
      if (ready.rejected) return; // the writer's closed promise ends the pipe
      this.#inStep = true;
      this.#gotChunk = false;
      readerRead(this.#reader, this);
      this.#inStep = false;
      if (!this.#gotChunk) return;
    }
  }

  #onReady = () => this.#step();

  #onChunk = () => {
    const chunk = this.#chunk;
    this.#chunk = undefined;
    this.#unwritten--;
    this.#write(chunk);
    this.#step();
  };

  chunkSteps(chunk) {
    if (this.#inStep) {
      this.#gotChunk = true;
      this.#write(chunk);
      return;
    }
    this.#unwritten++;
    this.#chunk = chunk;
    later(this.#onChunk);
  }

  // What ends a read also settles the reader's closed promise.
  closeSteps() {}
  errorSteps() {}

  #write(chunk) {
    if (this.#writer.stream === null) return; // already over
    this.#unwritten++;
    this.#writer.write(chunk, new PipeWrite(this));
  }

  writeDone() {
    this.#unwritten--;
    this.#checkWritten();
  }

  #checkWritten() {
    if (this.#unwritten > 0 || this.#whenWritten === null) return;
    const then = this.#whenWritten;
    this.#whenWritten = null;
    later(then);
  }

  /**
   * @param {(() => Promise | undefined) | null} action
   * @param {boolean} failed whether the pipe's promise is rejected, with e
   * @param {any} e
   * @see https://streams.spec.whatwg.org/#rs-pipeTo-shutdown-with-action
   */
  #shutdown(action, failed, e) {
    if (this.#shuttingDown) return;
    this.#shuttingDown = true;
    const act = () => {
      const result = action === null ? undefined : action();
      if (result === undefined) {
        this.#finalize(failed, e);
        return;
      }
      PromisePrototypeThen(
        result,
        () => this.#finalize(failed, e),
        (error) => this.#finalize(true, error),
      );
    };
    const dest = this.#dest;
    if (dest.state !== WRITABLE || dest.closing) {
      act();
      return;
    }
    const written = () => {
      if (this.#unwritten === 0) act();
      else this.#whenWritten = written; // one more was read meanwhile
    };
    this.#whenWritten = written;
    this.#checkWritten();
  }

  // https://streams.spec.whatwg.org/#rs-pipeTo-finalize
  #finalize(failed, e) {
    this.#writer.release();
    releaseReader(this.#reader);
    if (this.#onAbort !== null) removeAbortAlgorithm(this.#options.signal, this.#onAbort);
    if (failed) this.#finished.reject(e);
    else this.#finished.resolve(undefined);
  }
}

/**
 * Returns a promise, or undefined when there is nothing to do.
 * @see https://streams.spec.whatwg.org/#writable-stream-default-writer-close-with-error-propagation
 */
function closeWithErrorPropagation(dest) {
  if (dest.closing || dest.state === DEST_CLOSED) return PromiseResolve(undefined);
  if (dest.state === DEST_ERRORED) return PromiseReject(dest.storedError);
  return dest.close();
}

/** Rejects when one of two promises does, either of which may be undefined. */
function waitForBoth(a, b) {
  if (a === undefined || b === undefined) return a ?? b ?? PromiseResolve(undefined);
  return new Promise((resolve, reject) => {
    let waiting = 2;
    const one = () => {
      if (--waiting === 0) resolve(undefined);
    };
    PromisePrototypeThen(a, one, reject);
    PromisePrototypeThen(b, one, reject);
  });
}
