/**
 * The part that runs inside of the sandbox: what expressions find there, and the function that
 * evaluates one of them on a list of values. JavaScript for QuickJS, kept as text.
 *
 * Expressions may change every built-in object, so the function holds on to what it needs and adds
 * nothing to lists or maps; the memory is put back after each evaluation besides.
 */

/** Host functions that `PRELUDE` takes, in this order. Each takes and returns a text as JSON. */
export const HOST_FUNCTIONS = ['atob', 'btoa', 'virtualToHostDNS'] as const;

export type HostFunctionName = (typeof HOST_FUNCTIONS)[number];

/**
 * Gives `(atob, btoa, virtualToHostDNS) => [evaluate, position, stringify]`. `evaluate(fn, values,
 * paths, context)` puts the results in the place of the values, `position()` tells which value it was
 * at, and `stringify(values)` answers the results as JSON with commas between them, `null` for
 * undefined. A failure is answered as `!` and `{message, stack, index}`.
 */
export const PRELUDE = `(() => {
  'use strict';
  const { parse, stringify } = JSON;
  const { defineProperty, keys } = Object;
  const { isArray } = Array;
  const { isFinite } = Number;
  const BaseError = Error;
  const Text = String;
  const slice = Function.prototype.call.bind(String.prototype.slice);

  const refuse = (name, why) => {
    const refused = function () { throw new TypeError(name + ' is not available: ' + why); };
    return refused;
  };
  const same = 'the same input has to give the same result';
  globalThis.Date = refuse('Date', same);
  globalThis.Date.now = globalThis.Date;
  Math.random = refuse('Math.random', same);
  for (const name of ['SharedArrayBuffer', 'Atomics', 'WeakRef', 'FinalizationRegistry']) {
    delete globalThis[name];
  }

  const lazy = (target, key, text) => {
    const put = (value) =>
      defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
    const get = () => { const value = parse(text); put(value); return value; };
    defineProperty(target, key, { get, set: put, enumerable: true, configurable: true });
  };
  const contextOf = (path, cluster, host, virtual) => {
    const context = { path };
    lazy(context, 'vcluster', cluster);
    lazy(context, 'hostObject', host);
    lazy(context, 'virtualObject', virtual);
    return context;
  };

  const strict = (value, depth) => {
    if (typeof value === 'number' && !isFinite(value)) {
      throw new TypeError('the result holds ' + value + ', which is no JSON');
    }
    if (typeof value !== 'object' || value === null || depth > 200) return;
    if (isArray(value)) {
      for (let i = 0; i < value.length; i++) strict(value[i], depth + 1);
      return;
    }
    const names = keys(value);
    for (let i = 0; i < names.length; i++) strict(value[names[i]], depth + 1);
  };
  const refusePromise = (result) => {
    if (typeof result === 'object' && result !== null && typeof result.then === 'function') {
      throw new TypeError('the result is a promise: an expression must return its value at once');
    }
  };
  const jsonOf = (result) => {
    if (result === undefined) return 'null';
    const text = stringify(result);
    if (text === undefined) throw new TypeError('the result is a ' + typeof result + ', which is no JSON');
    strict(result, 0);
    return text;
  };
  const describe = (thrown, index) => {
    let message = 'threw something that cannot be shown';
    let stack = '';
    try {
      if (thrown instanceof BaseError) {
        message = Text(thrown.name) + ': ' + Text(thrown.message);
        stack = Text(thrown.stack);
      } else message = 'threw ' + Text(thrown);
    } catch (_unshowable) {}
    const shown = { message: slice(message, 0, 300), stack: slice(stack, 0, 2000), index };
    return '!' + stringify(shown);
  };

  return (atob, btoa, virtualToHostDNS) => {
    const shared = (host) => (text) => parse(host(stringify(Text(text))));
    globalThis.atob = shared(atob);
    globalThis.btoa = shared(btoa);
    globalThis.virtualToHostDNS = shared(virtualToHostDNS);
    let at = 0;
    const guarded = (steps) => {
      at = 0;
      try {
        return steps();
      } catch (thrown) {
        return describe(thrown, at);
      }
    };
    const evaluate = (fn, values, pathsText, cluster, host, virtual) => guarded(() => {
      const paths = pathsText === undefined ? undefined : parse(pathsText);
      for (; at < values.length; at++) {
        const context = paths && contextOf(paths[at], cluster, host, virtual);
        const result = fn(values[at], true, context);
        refusePromise(result);
        values[at] = result;
      }
      return undefined;
    });
    const stringifyAll = (values) => guarded(() => {
      let out = '';
      for (; at < values.length; at++) {
        const text = jsonOf(values[at]);
        out = at === 0 ? text : out + ',' + text;
      }
      return out;
    });
    return [evaluate, () => at, stringifyAll];
  };
})()`;
