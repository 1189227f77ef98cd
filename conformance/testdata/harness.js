// What the tests of the web platform find as globals. The worker's handler lists
// the tests of the imported file ("/") and runs one ("/<number>").
const tests = [];

globalThis.test = (name, fn) => tests.push({ name, fn });

class AssertionError extends Error {}

function show(value) {
  if (typeof value === "string") return JSON.stringify(value);
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (Array.isArray(value)) return `[${value.map(show).join(", ")}]`;
  if (ArrayBuffer.isView(value)) return `${value.constructor.name}[${new Uint8Array(value.buffer, value.byteOffset, value.byteLength)}]`;
  if (typeof value === "object" && value !== null) {
    try {
      return JSON.stringify(value) ?? String(value);
    } catch {
      return Object.prototype.toString.call(value);
    }
  }
  return Object.is(value, -0) ? "-0" : String(value);
}

function equal(a, b, seen = new Map()) {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (seen.get(a) === b) return true;
  seen.set(a, b);
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b) && !(isPlain(a) && isPlain(b))) return false;
  if (a instanceof Error && (a.name !== b.name || a.message !== b.message)) return false;
  if (a instanceof Date || a instanceof RegExp) return String(a) === String(b);
  if (a instanceof ArrayBuffer) return equal(new Uint8Array(a), new Uint8Array(b), seen);
  if (a instanceof Map || a instanceof Set) return equal([...a], [...b], seen);
  const keys = Reflect.ownKeys(a);
  return keys.length === Reflect.ownKeys(b).length && keys.every((k) => Object.hasOwn(b, k) && equal(a[k], b[k], seen));
}

function isPlain(value) {
  const proto = Object.getPrototypeOf(value);
  return proto === null || proto === Object.prototype;
}

globalThis.assert = (cond, msg) => {
  if (!cond) throw new AssertionError(msg ?? "assertion failed");
};

globalThis.assertEquals = (got, want, msg) => {
  if (!equal(got, want)) throw new AssertionError(`${msg ? `${msg}: ` : ""}got ${show(got)}, want ${show(want)}`);
};

function check(error, Class, text) {
  if (Class !== undefined && !(error instanceof Class)) {
    throw new AssertionError(`threw ${show(error)}, which is no ${Class.name}`);
  }
  if (text !== undefined && !String(error?.message).includes(text)) {
    throw new AssertionError(`the message ${show(error?.message)} does not hold ${show(text)}`);
  }
  return error;
}

globalThis.assertThrows = (fn, Class, text) => {
  let error;
  try {
    fn();
  } catch (e) {
    error = e;
    return check(error, Class, text);
  }
  throw new AssertionError("did not throw");
};

globalThis.assertRejects = async (fn, Class, text) => {
  try {
    await (typeof fn === "function" ? fn() : fn);
  } catch (error) {
    return check(error, Class, text);
  }
  throw new AssertionError("did not reject");
};

export default {
  async fetch(request) {
    const path = new URL(request.url).pathname.slice(1);
    if (path === "") return Response.json(tests.map((t) => t.name));
    try {
      await tests[Number(path)].fn();
      return new Response("");
    } catch (error) {
      return new Response(error?.stack ?? `threw ${show(error)}`);
    }
  },
};
