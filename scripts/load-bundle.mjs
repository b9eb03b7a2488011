/**
 * Runs the program from the one file that the build made of it, with what V8 kept of compiling it.
 * V8 itself decides whether that fits this version of Node, and compiles again where it does not.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { Script } from 'node:vm';

const HEAD = '(function (exports, require, module, __filename, __dirname) {';

/** The bundle as a script that was not run yet. */
export function bundleScript(file, cachedData) {
  // The build writes nothing but ASCII.
  const source = readFileSync(file, 'latin1');
  return new Script(`${HEAD}${source}\n})`, {
    filename: file,
    columnOffset: -HEAD.length,
    cachedData,
  });
}

export function runBundle(script, file) {
  const module = { exports: {} };
  const run = script.runInThisContext();
  run(module.exports, createRequire(file), module, file, dirname(file));
  return module.exports;
}

export function cacheOf(file) {
  return `${file}.cache`;
}

export function loadBundle(file) {
  return runBundle(bundleScript(file, readCache(file)), file);
}

function readCache(file) {
  try {
    return readFileSync(cacheOf(file));
  } catch {
    return undefined;
  }
}
