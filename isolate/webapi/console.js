// Console: https://console.spec.whatwg.org/
// Public: console. Ops: op_log.

import { primordials } from "edge:primordials";
import { inspect } from "edge:inspect";
import { native_invocation, native_now, native_proxy_target, op_log } from "edge:ops";

export { inspect };

const {
  ArrayIsArray,
  ArrayPrototypeIndexOf,
  ArrayPrototypeJoin,
  ArrayPrototypePush,
  ArrayPrototypeUnshift,
  ErrorCaptureStackTrace,
  MathMax,
  MathMin,
  MathRound,
  NumberParseFloat,
  NumberParseInt,
  ObjectCreate,
  ReflectGetOwnPropertyDescriptor,
  ReflectOwnKeys,
  SafeMap,
  String,
  StringPrototypeCharCodeAt,
  StringPrototypeIncludes,
  StringPrototypeIndexOf,
  StringPrototypeRepeat,
  StringPrototypeReplaceAll,
  StringPrototypeSlice,
} = primordials;

/** String(value), or how console shows it when that throws. */
function text(value) {
  try {
    return String(value);
  } catch {
    return inspect(value);
  }
}

function show(value) {
  return typeof value === "string" ? value : inspect(value);
}

/** What one format specifier makes of its argument. */
function specified(code, value) {
  switch (code) {
    case "s":
      return text(value);
    case "d":
    case "i":
      return typeof value === "symbol" ? "NaN" : inspect(NumberParseInt(text(value), 10));
    case "f":
      return typeof value === "symbol" ? "NaN" : inspect(NumberParseFloat(text(value)));
    case "c":
      return ""; // style sheets have nothing to style here
    default:
      return inspect(value); // o, O
  }
}

/**
 * The text of a log call: https://console.spec.whatwg.org/#formatter
 * @param {any[]} args
 * @returns {string}
 */
export function formatLog(args) {
  let out = "";
  let next = 0;
  const first = args[0];
  if (args.length > 1 && typeof first === "string" && StringPrototypeIncludes(first, "%")) {
    next = 1;
    let from = 0;
    for (let at = StringPrototypeIndexOf(first, "%"); at >= 0 && at + 1 < first.length; at = StringPrototypeIndexOf(first, "%", at)) {
      const code = first[at + 1];
      if (code === "%") {
        out += StringPrototypeSlice(first, from, at + 1);
      } else if (StringPrototypeIncludes("sdifoOc", code) && next < args.length) {
        out += StringPrototypeSlice(first, from, at) + specified(code, args[next++]);
      } else {
        at++;
        continue;
      }
      from = at += 2;
    }
    out += StringPrototypeSlice(first, from);
    if (next < args.length) out += " ";
  }
  for (let i = next; i < args.length; i++) out += (i > next ? " " : "") + show(args[i]);
  return out;
}

/** Reports whether console.table takes a value apart: no proxies, their traps would run. */
function isTabular(value) {
  return typeof value === "object" && value !== null && native_proxy_target(value) === undefined;
}

/** The cells of console.table: rows by index, columns by property. */
function tableCells(data, properties) {
  const columns = ["(index)"];
  const rows = [];
  let hasValues = false;
  const add = (index, value) => {
    const cells = new SafeMap();
    cells.set("(index)", index);
    if (isTabular(value)) {
      const keys = ReflectOwnKeys(value);
      for (let i = 0; i < keys.length; i++) {
        const desc = ReflectGetOwnPropertyDescriptor(value, keys[i]);
        if (typeof keys[i] !== "string" || !desc?.enumerable) continue;
        if (properties !== undefined && ArrayPrototypeIndexOf(properties, keys[i]) < 0) continue;
        if (ArrayPrototypeIndexOf(columns, keys[i]) < 0) ArrayPrototypePush(columns, keys[i]);
        cells.set(keys[i], "value" in desc ? inspect(desc.value) : "[Getter]");
      }
    } else {
      hasValues = true;
      cells.set("Values", inspect(value));
    }
    ArrayPrototypePush(rows, cells);
  };
  const keys = ReflectOwnKeys(data);
  for (let i = 0; i < keys.length && rows.length < 1000; i++) {
    const desc = ReflectGetOwnPropertyDescriptor(data, keys[i]);
    if (typeof keys[i] === "string" && desc?.enumerable) add(keys[i], desc.value);
  }
  if (hasValues) ArrayPrototypePush(columns, "Values");
  return { columns, rows };
}

/** The number of columns that text takes in a terminal, near enough. */
function width(cell) {
  let n = 0;
  for (let i = 0; i < cell.length; i++) {
    const code = StringPrototypeCharCodeAt(cell, i);
    if ((code & 0xfc00) !== 0xdc00) n++;
  }
  return n;
}

// https://console.spec.whatwg.org/#table
function tableText(data, properties) {
  const { columns, rows } = tableCells(data, properties);
  const widths = [];
  for (let c = 0; c < columns.length; c++) {
    let w = width(columns[c]);
    for (let r = 0; r < rows.length; r++) w = MathMax(w, width(rows[r].get(columns[c]) ?? ""));
    ArrayPrototypePush(widths, w + 2);
  }
  const rule = (left, middle, right) => {
    const parts = [];
    for (let c = 0; c < widths.length; c++) ArrayPrototypePush(parts, StringPrototypeRepeat("\u2500", widths[c]));
    return left + ArrayPrototypeJoin(parts, middle) + right;
  };
  const line = (cell) => {
    const parts = [];
    for (let c = 0; c < columns.length; c++) {
      const content = StringPrototypeReplaceAll(cell(columns[c]) ?? "", "\n", " ");
      ArrayPrototypePush(parts, ` ${content}${StringPrototypeRepeat(" ", MathMax(0, widths[c] - width(content) - 1))}`);
    }
    return `\u2502${ArrayPrototypeJoin(parts, "\u2502")}\u2502`;
  };
  const lines = [rule("\u250c", "\u252c", "\u2510"), line((column) => column), rule("\u251c", "\u253c", "\u2524")];
  for (let r = 0; r < rows.length; r++) ArrayPrototypePush(lines, line((column) => rows[r].get(column)));
  ArrayPrototypePush(lines, rule("\u2514", "\u2534", "\u2518"));
  return ArrayPrototypeJoin(lines, "\n");
}

const maxIndent = 20;

/** Labels are converted as Web IDL converts a DOMString with a default. */
function label(value) {
  return value === undefined ? "default" : `${value}`;
}

/**
 * What a console's methods share.
 * @typedef {{emit: (level: string, message: string) => void, logger: (level: string, args: any[]) => void,
 *   open: () => void, close: () => void, reset: () => void}} Output
 */

/** @returns {Output} */
function createOutput(print) {
  // Groups belong to the invocation that opened them: one that ends in the
  // middle of a group does not indent the lines of the next.
  let owner = 0;
  let depth = 0;
  const enter = () => {
    const invocation = native_invocation();
    if (owner !== invocation) {
      owner = invocation;
      depth = 0;
    }
  };
  const emit = (level, message) => {
    enter();
    if (depth > 0) {
      const space = StringPrototypeRepeat("  ", MathMin(depth, maxIndent));
      message = space + StringPrototypeReplaceAll(message, "\n", `\n${space}`);
    }
    print(level, message);
  };
  return {
    emit,
    // https://console.spec.whatwg.org/#logger
    logger: (level, args) => {
      if (args.length > 0) emit(level, formatLog(args));
    },
    open: () => {
      enter();
      depth++;
    },
    close: () => {
      enter();
      depth = MathMax(0, depth - 1);
    },
    reset: () => {
      depth = 0;
    },
  };
}

// https://console.spec.whatwg.org/#logging
function loggingMethods({ emit, logger, reset }) {
  const methods = {
    // https://console.spec.whatwg.org/#assert
    assert(condition = false, ...data) {
      if (condition) return;
      if (typeof data[0] === "string") data[0] = `Assertion failed: ${data[0]}`;
      else ArrayPrototypeUnshift(data, "Assertion failed");
      logger("error", data);
    },
    // https://console.spec.whatwg.org/#clear
    clear() {
      reset();
    },
    debug(...data) {
      logger("debug", data);
    },
    error(...data) {
      logger("error", data);
    },
    info(...data) {
      logger("info", data);
    },
    log(...data) {
      logger("log", data);
    },
    // https://console.spec.whatwg.org/#table
    table(tabularData = undefined, properties = undefined) {
      if (!isTabular(tabularData)) {
        logger("log", [tabularData]);
        return;
      }
      emit("log", tableText(tabularData, ArrayIsArray(properties) ? properties : undefined));
    },
    // https://console.spec.whatwg.org/#trace
    trace(...data) {
      const holder = {};
      ErrorCaptureStackTrace(holder, methods.trace);
      const message = formatLog(data);
      const stack = String(holder.stack);
      const frames = StringPrototypeIndexOf(stack, "\n");
      emit("log", `Trace${message === "" ? "" : `: ${message}`}${frames < 0 ? "" : StringPrototypeSlice(stack, frames)}`);
    },
    warn(...data) {
      logger("warn", data);
    },
    // https://console.spec.whatwg.org/#dir
    dir(item = undefined, _options = undefined) {
      emit("log", inspect(item));
    },
    // https://console.spec.whatwg.org/#dirxml
    dirxml(...data) {
      logger("log", data);
    },
  };
  return methods;
}

// https://console.spec.whatwg.org/#counting
function countingMethods({ emit }) {
  const counts = new SafeMap();
  return {
    // https://console.spec.whatwg.org/#count
    count(name = undefined) {
      name = label(name);
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      emit("info", `${name}: ${count}`);
    },
    // https://console.spec.whatwg.org/#countreset
    countReset(name = undefined) {
      name = label(name);
      if (!counts.delete(name)) emit("warn", `Count for '${name}' does not exist`);
    },
  };
}

// https://console.spec.whatwg.org/#grouping
const groupingMethods = ({ logger, open, close }) => ({
  // https://console.spec.whatwg.org/#group
  group(...data) {
    logger("log", data);
    open();
  },
  // https://console.spec.whatwg.org/#groupcollapsed
  groupCollapsed(...data) {
    logger("log", data);
    open();
  },
  // https://console.spec.whatwg.org/#groupend
  groupEnd() {
    close();
  },
});

// https://console.spec.whatwg.org/#timing
function timingMethods({ emit }) {
  const started = new SafeMap();
  const elapsed = (name) => `${name}: ${MathRound((native_now() - started.get(name)) * 10) / 10}ms`;
  const missing = (name) => {
    if (started.has(name)) return false;
    emit("warn", `Timer '${name}' does not exist`);
    return true;
  };
  return {
    // https://console.spec.whatwg.org/#time
    time(name = undefined) {
      name = label(name);
      if (started.has(name)) emit("warn", `Timer '${name}' already exists`);
      else started.set(name, native_now());
    },
    // https://console.spec.whatwg.org/#timelog
    timeLog(name = undefined, ...data) {
      name = label(name);
      if (missing(name)) return;
      ArrayPrototypeUnshift(data, "%s", elapsed(name));
      emit("info", formatLog(data));
    },
    // https://console.spec.whatwg.org/#timeend
    timeEnd(name = undefined) {
      name = label(name);
      if (missing(name)) return;
      const message = elapsed(name);
      started.delete(name);
      emit("info", message);
    },
  };
}

/**
 * Makes a console namespace. https://console.spec.whatwg.org/#console-namespace
 * @param {(level: "debug" | "log" | "info" | "warn" | "error", text: string) => void} print
 * @returns {object}
 */
export function createConsole(print) {
  const output = createOutput(print);
  const methods = {
    ...loggingMethods(output),
    ...countingMethods(output),
    ...groupingMethods(output),
    ...timingMethods(output),
  };
  // The namespace object has a prototype of its own, for historical reasons.
  const namespace = ObjectCreate({});
  const names = ReflectOwnKeys(methods);
  for (let i = 0; i < names.length; i++) namespace[names[i]] = methods[names[i]];
  return namespace;
}

/** The console of the global object. */
export const console = createConsole((level, message) => op_log(level, message));
